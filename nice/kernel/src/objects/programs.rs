// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of pinned programs: `NAME-VERSION/` in the BPF file system holds what one object offers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::objects::compiled::Object;
use crate::objects::pin_directory::{Loading, PinDirectory, make_directory};

/// The programs of one object, wherever they are.
#[derive(Clone, Copy)]
pub(crate) struct Set(&'static Object);

impl Set {
    /// Returns the programs of the object called `name`, which must be part of this crate.
    pub(crate) fn new(name: &str) -> Self {
        Self(Object::find(name).expect("the object is part of this crate"))
    }

    /// Returns the directory where the programs of this version are pinned.
    pub(crate) fn directory(self, pins: &PinDirectory) -> PathBuf {
        pins.bpf().join(self.directory_name())
    }

    /// Returns true if the programs of this version are pinned.
    pub(crate) fn is_pinned(self, pins: &PinDirectory) -> bool {
        self.directory(pins).exists()
    }

    /// Loads the object and lets `pin` pin its programs and maps to a given directory. The pins
    /// of other versions are removed; cgroups that have these attached keep them.
    pub(crate) fn load(
        self,
        _: &Loading,
        pins: &PinDirectory,
        pin: impl FnOnce(&libbpf_rs::Object, &Path) -> libbpf_rs::Result<()>,
    ) -> Result<()> {
        if self.is_pinned(pins) {
            return Ok(());
        }
        let (bpf, directory) = (pins.bpf(), self.directory(pins));
        // The directory gets its name when complete, so that a crash leaves nothing that seems complete.
        let unfinished = bpf.join(format!("unfinished-{}", self.0.name));
        let pinning = || format!("pinning to {}", directory.display());
        for entry in fs::read_dir(&bpf).doing(pinning)?.flatten() {
            if self.is_version(&entry.file_name().to_string_lossy()) || entry.path() == unfinished {
                fs::remove_dir_all(entry.path())
                    .doing(|| format!("unpinning {}", entry.path().display()))?;
            }
        }
        make_directory(&unfinished)?;
        let loaded = self.0.load(pins)?;
        pin(&loaded, &unfinished).map_err(|error| self.0.explain(&error))?;
        fs::rename(&unfinished, &directory).doing(pinning)
    }

    fn directory_name(self) -> String {
        format!("{}-{}", self.0.name, self.0.version)
    }

    fn is_version(self, directory: &str) -> bool {
        let version = directory.strip_prefix(self.0.name);
        version.is_some_and(|version| version.starts_with('-'))
    }
}
