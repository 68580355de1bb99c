// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls: registering them with the kernel, and replacing them by newer versions.
//!
//! A control is registered for all network namespaces at once. A pin `NAME-VERSION` in the BPF file system of
//! [`PinDirectory`] keeps it registered: of a link if the kernel has links for congestion controls (6.4), else of the
//! map that holds the callbacks.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use libbpf_rs::{ErrorKind, Link, MapCore, MapHandle, MapMut, MapType};

use crate::error::{Context, Error, Result};
use crate::features;
use crate::objects::compiled::{Kind, OBJECTS, Object};
use crate::objects::name::{self, Patience, when_free};
use crate::objects::pin_directory::{Loading, PinDirectory};

/// The kernel's names of controls from C files begin with it.
pub(crate) const FILE_PREFIX: &str = "file_";

/// Congestion control in this binary.
#[derive(Clone, Copy)]
pub struct Control {
    object: &'static Object,
}

/// The result of [`Control::register`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// This version was registered already.
    Already,
    /// The control was not registered and now is.
    New,
    /// Another version was registered; live connections keep it until they end.
    Replaced,
    /// Another program registered the name and holds it out of sight; its version is unknown, and parameters set here
    /// do not reach it.
    Foreign,
}

impl Control {
    /// The control that commands use by default.
    pub fn default_control() -> Self {
        Self::all()
            .find(|control| control.name() == "netnice")
            .expect("netnice.bpf.c is part of this crate")
    }

    /// Returns all controls in this binary.
    pub fn all() -> impl Iterator<Item = Self> {
        OBJECTS
            .iter()
            .filter(|object| object.kind != Kind::CgroupPrograms)
            .map(|object| Self { object })
    }

    /// Returns true if it was compiled from a C file.
    pub fn is_from_file(self) -> bool {
        self.name().starts_with(FILE_PREFIX)
    }

    /// Returns the control called `name`.
    pub fn find(name: &str) -> Result<Self> {
        Self::all()
            .find(|control| control.name() == name)
            .ok_or_else(|| Error::UnknownControl {
                name: name.to_owned(),
                known: Self::all()
                    .map(|control| control.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }

    /// Returns the control of an object.
    pub(crate) fn of(object: &'static Object) -> Self {
        Self { object }
    }

    /// Returns its name for `TCP_CONGESTION`.
    pub fn name(self) -> &'static str {
        self.object.name
    }

    /// Returns true if it yields to all other traffic. dstcp does not: it takes what the network has assured.
    pub fn is_low_priority(self) -> bool {
        self.object.kind == Kind::LowPriorityControl
    }

    /// Returns the control whose policy governs what is received under this one: itself if it has a program for that,
    /// `receive_NAME.bpf.c`, otherwise netnice.
    pub fn receiver(self) -> Self {
        match Object::find(&receiving_object(self.name())) {
            Some(_) => self,
            None => Self::default_control(),
        }
    }

    /// Returns the controls that have a program for what is received.
    pub fn receivers() -> impl Iterator<Item = Self> {
        Self::all().filter(|control| control.receiver().name() == control.name())
    }

    /// Returns the name of the object with the program for what is received.
    pub(crate) fn receiving_object(self) -> String {
        receiving_object(self.receiver().name())
    }

    /// Fails if unprivileged users may not choose it. They may choose controls that yield to all other traffic, since
    /// these do no harm.
    pub(crate) fn check_open_to_all(self) -> Result<()> {
        match self.is_low_priority() {
            true => Ok(()),
            false => Err(Error::NeedsRoot {
                action: "a control that is not of low priority",
            }),
        }
    }

    /// Returns the error of a caller who needs it registered, and may not register it.
    pub(crate) fn not_registered(self) -> Error {
        match features::CONTROLS.is_there() {
            true => Error::NotRegistered {
                control: self.name(),
            },
            false => Error::Lacks(features::CONTROLS),
        }
    }

    /// Returns the hash of the compiled control, in 16 hexadecimal digits.
    pub fn version(self) -> &'static str {
        self.object.version
    }

    /// Returns true if the kernel has a control of this name, whoever registered it.
    pub fn is_registered(self) -> bool {
        available().iter().any(|name| name == self.name())
    }

    /// Returns true if somebody keeps it registered: a link or a map that can be opened has its name. Without one, the
    /// kernel is about to unregister it. Who may not list links, which takes CAP_SYS_ADMIN, takes it for held.
    pub fn is_held(self) -> bool {
        name::is_held(self.name())
    }

    /// Ensures that the kernel has this version, registering or replacing it as needed.
    pub fn register(self, pins: &PinDirectory) -> Result<Registered> {
        if self.is_pinned(pins) {
            return Ok(Registered::Already);
        }
        self.register_while(&pins.while_loading()?, pins)
    }

    /// Returns true if this version is registered by a pin of netnice.
    pub(crate) fn is_pinned(self, pins: &PinDirectory) -> bool {
        self.pin(pins).exists()
    }

    fn pin(self, pins: &PinDirectory) -> PathBuf {
        pins.bpf()
            .join(format!("{}-{}", self.name(), self.version()))
    }

    /// Does [`Self::register`] for a caller that holds the loading lock.
    pub(crate) fn register_while(self, _: &Loading, pins: &PinDirectory) -> Result<Registered> {
        let pin = self.pin(pins);
        if pin.exists() {
            return Ok(Registered::Already);
        }
        let stale = self.stale_pin(pins)?;
        if features::LINKS.is_there() {
            self.register_by_link(pins, &pin, stale)
        } else {
            self.register_by_map(pins, &pin, stale)
        }
    }

    fn register_by_link(
        self,
        pins: &PinDirectory,
        pin: &Path,
        stale: Option<PathBuf>,
    ) -> Result<Registered> {
        let mut object = self.object.load(pins)?;
        let mut map = struct_ops(&mut object);
        let patience = match stale {
            Some(_) => Patience::NONE,
            None => Patience::UNREGISTERING,
        };
        let attached = when_free(self.name(), patience, || map.attach_struct_ops());
        match (attached, stale) {
            (Ok(mut link), stale) => {
                link.pin(pin).map_err(|error| self.object.explain(&error))?;
                // A pin without a registration: the control was unregistered by other means.
                if let Some(stale) = stale {
                    remove(&stale)?;
                }
                Ok(Registered::New)
            }
            // The attempt has filled the map, so that it can replace the old one.
            (Err(error), Some(stale)) if error.kind() == ErrorKind::AlreadyExists => {
                let link = Link::open(&stale).map_err(|error| self.object.explain(&error))?;
                replace(&link, &map)
                    .doing(|| format!("replacing the registered control `{}`", self.name()))?;
                fs::rename(&stale, pin).doing(|| format!("renaming {}", stale.display()))?;
                Ok(Registered::Replaced)
            }
            (Err(error), None) if error.kind() == ErrorKind::AlreadyExists => {
                Ok(Registered::Foreign)
            }
            (Err(error), _) => Err(self.object.explain(&error)),
        }
    }

    /// Registers before 6.4: the map's value is the registration, and the map's pin its handle.
    fn register_by_map(
        self,
        pins: &PinDirectory,
        pin: &Path,
        stale: Option<PathBuf>,
    ) -> Result<Registered> {
        let mut object = self.object.load(pins)?;
        let mut map = struct_ops(&mut object);
        let replaced = stale.is_some();
        if let Some(stale) = stale {
            unregister_map(&stale)?;
        }
        match when_free(self.name(), Patience::UNREGISTERING, || {
            map.attach_struct_ops()
        }) {
            Ok(mut link) => {
                // Dropping the link would unregister the control.
                link.disconnect();
                map.pin(pin).map_err(|error| self.object.explain(&error))?;
                Ok(if replaced {
                    Registered::Replaced
                } else {
                    Registered::New
                })
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Registered::Foreign),
            Err(error) => Err(self.object.explain(&error)),
        }
    }

    /// Returns the pin of another version of this control.
    fn stale_pin(self, pins: &PinDirectory) -> Result<Option<PathBuf>> {
        let bpf = pins.bpf();
        for entry in fs::read_dir(&bpf).doing(|| format!("reading {}", bpf.display()))? {
            let entry = entry.doing(|| format!("reading {}", bpf.display()))?;
            let name = entry.file_name();
            if split_pin(&name.to_string_lossy()).is_some_and(|(name, _)| name == self.name()) {
                return Ok(Some(entry.path()));
            }
        }
        Ok(None)
    }
}

fn receiving_object(control: &str) -> String {
    format!("receive_{control}")
}

/// Returns the names of the congestion controls that the kernel has, whoever registered them.
pub(crate) fn available() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let names = names.unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Returns true if a congestion control of this name is one of netnice's.
pub(crate) fn is_ours(control: &str) -> bool {
    control.starts_with(FILE_PREFIX) || Control::all().any(|ours| ours.name() == control)
}

/// Unregisters the controls that only a pinned map keeps registered. For pins of links, removing the pins suffices.
pub(crate) fn unregister_all(bpf: &Path) -> Result<()> {
    if features::LINKS.is_there() {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(bpf) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if split_pin(&name.to_string_lossy()).is_some_and(|(name, _)| is_ours(name)) {
            unregister_map(&entry.path())?;
        }
    }
    Ok(())
}

/// Splits `NAME-VERSION`.
fn split_pin(pin: &str) -> Option<(&str, &str)> {
    pin.rsplit_once('-').filter(|(_, version)| {
        version.len() == 16 && version.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn struct_ops(object: &mut libbpf_rs::Object) -> MapMut<'_> {
    object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .expect("each control has one struct_ops map")
}

/// Replaces the callbacks that `link` has registered by those in `map`.
fn replace(link: &Link, map: &MapMut<'_>) -> io::Result<()> {
    // SAFETY: both file descriptors are open for the duration of the call.
    let answer = unsafe {
        libbpf_rs::libbpf_sys::bpf_link_update(
            link.as_fd().as_raw_fd(),
            map.as_fd().as_raw_fd(),
            std::ptr::null(),
        )
    };
    if answer < 0 {
        return Err(io::Error::from_raw_os_error(-answer));
    }
    Ok(())
}

/// Unregisters the control whose callbacks are in the map pinned at `pin`, and removes the pin.
fn unregister_map(pin: &Path) -> Result<()> {
    let map = MapHandle::from_pinned_path(pin)
        .map_err(io::Error::other)
        .doing(|| format!("opening {}", pin.display()))?;
    map.delete(&0u32.to_ne_bytes())
        .map_err(io::Error::other)
        .doing(|| format!("unregistering {}", pin.display()))?;
    remove(pin)
}

fn remove(pin: &Path) -> Result<()> {
    fs::remove_file(pin).doing(|| format!("removing {}", pin.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_leave_what_is_received_to_netnice() {
        for (control, receiver) in [("tcplp", "tcplp"), ("ledbat", "netnice")] {
            let control = Control::find(control).unwrap();
            assert_eq!(control.receiver().name(), receiver);
        }
    }
}
