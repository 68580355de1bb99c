// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of the cgroups that `netnice apply` has attached, so that the next call detaches those that the file no
//! longer names. It is written before anything changes, and is gone after a reboot, as the attachments are.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use netnice_kernel::locked_file::{Locked, lock, replace_locked};
use netnice_kernel::objects::pin_directory;
use nix::fcntl::FlockArg;
use serde::{Deserialize, Serialize};

/// File name of the record, in /run, where root alone writes.
const NAME: &str = "netnice-applied";
/// The most that is read of it, in bytes.
const LONGEST: u64 = 16 << 20;

/// An attached cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Path as in `/proc/PID/cgroup`.
    pub cgroup: String,
    /// Options of `netnice attach`, separated by spaces.
    pub options: String,
}

/// The record, held locked: no two calls apply at a time.
pub struct Record {
    path: PathBuf,
    lock: Locked,
    /// The cgroups on record.
    pub applied: Vec<Applied>,
}

impl Record {
    /// Waits for other calls to end, and reads the record.
    pub fn lock() -> Result<Self> {
        Self::lock_at(&place())
    }

    fn lock_at(path: &Path) -> Result<Self> {
        let opening = || format!("opening {}", path.display());
        loop {
            let file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW)
                .open(path)
                .with_context(opening)?;
            let lock = lock(file, FlockArg::LockExclusive).with_context(opening)?;
            // The call that had it locked has replaced or removed it.
            let inode = lock.metadata().with_context(opening)?.ino();
            if fs::metadata(path).is_ok_and(|there| there.ino() == inode) {
                let applied = read(path)?;
                let path = path.to_owned();
                return Ok(Self {
                    path,
                    lock,
                    applied,
                });
            }
        }
    }

    /// Replaces the record, whole at any time; removes it if nothing is left.
    pub fn replace(&mut self, applied: Vec<Applied>) -> Result<()> {
        let writing = || format!("writing {}", self.path.display());
        let hidden = self.path.with_extension("unfinished");
        let text = serde_json::to_string(&applied)?;
        self.lock = replace_locked(&self.path, &hidden, &text).with_context(writing)?;
        self.applied = applied;
        Ok(())
    }

    /// Ends the call: an empty record is removed.
    pub fn close(self) -> Result<()> {
        if self.applied.is_empty() {
            fs::remove_file(&self.path)
                .with_context(|| format!("removing {}", self.path.display()))?;
        }
        drop(self.lock);
        Ok(())
    }
}

/// Reads the record without waiting for other calls.
pub fn peek() -> Result<Vec<Applied>> {
    read(&place())
}

/// Forgets all that is on record, for a caller that has detached everything.
pub fn remove() -> Result<()> {
    let place = place();
    match fs::remove_file(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("removing {}", place.display())),
    }
}

/// Returns the place of the record: the host's, for a call within a container that may reach it.
fn place() -> PathBuf {
    pin_directory::home().with_file_name(NAME)
}

fn read(path: &Path) -> Result<Vec<Applied>> {
    let reading = || format!("reading {}", path.display());
    let text = match netnice_files::read(path, LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(reading)?,
    };
    match text.is_empty() {
        true => Ok(Vec::new()),
        false => serde_json::from_slice(&text).with_context(reading),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(cgroup: &str) -> Applied {
        Applied {
            cgroup: cgroup.to_owned(),
            options: String::new(),
        }
    }

    #[test]
    fn a_record_is_read_back_and_goes_when_empty() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("applied");
        let mut record = Record::lock_at(&path).unwrap();
        assert!(record.applied.is_empty());
        record.replace(vec![applied("/a"), applied("/b")]).unwrap();
        record.close().unwrap();
        let mut record = Record::lock_at(&path).unwrap();
        assert_eq!(record.applied, [applied("/a"), applied("/b")]);
        record.replace(Vec::new()).unwrap();
        record.close().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn whoever_waits_sees_what_the_other_wrote() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("applied");
        let mut record = Record::lock_at(&path).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Record::lock_at(&path).unwrap().applied);
            record.replace(vec![applied("/a")]).unwrap();
            record.replace(vec![applied("/b")]).unwrap();
            record.close().unwrap();
            assert_eq!(waiting.join().unwrap(), [applied("/b")]);
        });
    }
}
