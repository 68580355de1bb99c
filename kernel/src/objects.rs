// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled BPF objects, embedded in the binary, and how they get into the kernel.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::{ErrorKind, OpenObject, PrintLevel};

use crate::error::{Error, Result};
use crate::pins::Pins;

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

/// What libbpf has said since the last load began.
static SAID: Mutex<String> = Mutex::new(String::new());

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
            said().push_str(&line);
        })));
        said().clear();
        let load = || {
            let mut open = libbpf_rs::ObjectBuilder::default()
                .name(self.name)?
                .pin_root_path(pins.maps())?
                .open_memory(&self.bytes.0)?;
            adjust(&mut open)?;
            open.load()
        };
        load().map_err(|error| self.explain(&error))
    }

    /// Why the kernel would not take this object.
    pub(crate) fn explain(&self, error: &libbpf_rs::Error) -> Error {
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Error::NoBtf;
        }
        if error.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root() {
            return Error::NeedsRoot {
                action: "loading a congestion control into the kernel",
            };
        }
        Error::Refused {
            object: self.name.to_owned(),
            reason: format!("{error:#}").replace('\n', " "),
            log: said().clone(),
        }
    }
}

fn said() -> std::sync::MutexGuard<'static, String> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}
