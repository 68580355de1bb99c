// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled BPF objects: loading them, registering congestion controls, and pinning.

pub(crate) mod compiled;
pub mod control;
mod control_file;
mod hash;
mod name;
pub mod parameters;
pub mod pin_directory;
pub(crate) mod programs;
pub(crate) mod shared_map;

use pin_directory::PinDirectory;

use crate::error::Result;

pub use compiled::{Kind, Verified};

/// Returns name, role and version of each compiled object. The version is a hash of the object's bytes, in 16
/// hexadecimal digits: two programs whose objects have the same version share what is registered in the kernel.
pub fn versions() -> impl Iterator<Item = (&'static str, Kind, &'static str)> {
    compiled::OBJECTS
        .iter()
        .map(|object| (object.name, object.kind, object.version))
}

/// Loads all objects, and returns what the kernel's verifier tells of their programs.
pub fn verify(pins: &PinDirectory) -> Result<Vec<Verified>> {
    let _loading = pins.while_loading()?;
    let verified = compiled::OBJECTS.iter().map(|object| object.verify(pins));
    Ok(verified
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}
