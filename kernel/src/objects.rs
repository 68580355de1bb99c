// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled BPF objects, embedded in the binary, and how they get into the kernel.

use std::cell::RefCell;

use libbpf_rs::{ErrorKind, MapCore, MapHandle, OpenObject, PrintLevel};

use crate::error::{Error, Result};
use crate::pins::Pins;
use crate::release;

/// Keeps the bytes where libelf can read them without copying.
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);

/// One compiled `src/bpf/NAME.bpf.c`.
pub(crate) struct Object {
    /// The file's name without `.bpf.c`.
    pub(crate) name: &'static str,
    /// A hash of the compiled file, in 16 hexadecimal digits: tells versions apart.
    pub(crate) version: &'static str,
    bytes: &'static Aligned<[u8]>,
}

/// All objects, by name.
pub(crate) static OBJECTS: &[Object] = &include!(concat!(env!("OUT_DIR"), "/objects.rs"));

thread_local! {
    /// What libbpf has said on this thread since the last load began.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Object {
    /// The object called `name`.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        OBJECTS.iter().find(|object| object.name == name)
    }

    /// Loads the object, its shared maps being those pinned for all objects of netnice. `adjust`
    /// may change it before the kernel sees it.
    pub(crate) fn load(
        &self,
        pins: &Pins,
        adjust: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
    ) -> Result<libbpf_rs::Object> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
            SAID.with_borrow_mut(|said| said.push_str(&line));
        })));
        SAID.with_borrow_mut(String::clear);
        let load = || {
            let mut open = libbpf_rs::ObjectBuilder::default()
                .name(self.name)?
                .pin_root_path(pins.maps())?
                .open_memory(&self.bytes.0)?;
            adjust(&mut open)?;
            unpin_changed_maps(pins, &open);
            open.load()
        };
        load().map_err(|error| self.explain(&error))
    }

    /// Why the kernel would not take this object.
    pub(crate) fn explain(&self, error: &libbpf_rs::Error) -> Error {
        let (major, minor) = release::kernel();
        if (major, minor) < release::OLDEST {
            return Error::TooOld { major, minor };
        }
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Error::NoBtf;
        }
        if error.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root() {
            return Error::NeedsRoot {
                action: "loading a congestion control into the kernel",
            };
        }
        let log = SAID.with_borrow(String::clone);
        Error::Refused {
            object: self.name.to_owned(),
            reason: match verdict(&log) {
                Some(verdict) => verdict.to_owned(),
                None => format!("{error:#}").replace('\n', " "),
            },
            log,
        }
    }
}

/// Removes the pins of shared maps that are not as this object knows them: another version made
/// them. What already uses these keeps them.
fn unpin_changed_maps(pins: &Pins, open: &OpenObject) {
    for map in open.maps() {
        let pin = pins.maps().join(map.name());
        if let Ok(pinned) = MapHandle::from_pinned_path(&pin) {
            let same = pinned.map_type() == map.map_type()
                && pinned.key_size() == map.key_size()
                && pinned.value_size() == map.value_size()
                && (pinned.info()).is_ok_and(|pinned| pinned.info.map_flags == map.map_flags());
            if !same {
                // Failing to, the load will fail and say why.
                let _ = std::fs::remove_file(pin);
            }
        }
    }
}

/// What the verifier objects to: the last line before its figures.
fn verdict(log: &str) -> Option<&str> {
    let (before, _) = log.rsplit_once("\nprocessed ")?;
    before.lines().next_back()
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn the_verifiers_objection_is_found_in_its_log() {
        let log = "libbpf: prog 'a': BPF program load failed: -EACCES\n\
                   71: (63) *(u32 *)(r6 +412) = r2\n\
                   no write support to tcp_sock at off 412\n\
                   processed 71 insns (limit 1000000)\n\
                   -- END PROG LOAD LOG --\n";
        assert_eq!(
            verdict(log),
            Some("no write support to tcp_sock at off 412")
        );
        assert_eq!(verdict("libbpf: failed to open\n"), None);
    }
}
