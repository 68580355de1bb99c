// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of the processes that govern UDP: a file in `/run/netnice/udp` for each cgroup. In its first line is the token of the
//! process that is to do it, in the second what there is to tell. Without the record, or with another token, that process ends.
//! Of an attached cgroup that has transferred nothing yet, the first line has the network namespace to do it in.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::locked_file::replace_locked;
use crate::objects::pin_directory;

/// The record of a process that governs.
pub(crate) struct Record {
    path: PathBuf,
    token: String,
}

/// Begins the first line before there is a process.
const WAITS: &str = "waits in ";

fn path_of(home: &Path, id: u64) -> PathBuf {
    home.join("udp").join(id.to_string())
}

fn write(home: &Path, id: u64, text: &str) -> io::Result<()> {
    let path = path_of(home, id);
    pin_directory::make_directory(&home.join("udp")).map_err(io::Error::other)?;
    let hidden = path.with_extension("unfinished");
    replace_locked(&path, &hidden, text).map(drop)
}

/// Notes that a process is to govern a cgroup once it transfers something, in the network namespace with this number.
pub(crate) fn wait(home: &Path, id: u64, namespace: u64) -> io::Result<()> {
    write(home, id, &format!("{WAITS}{namespace}\n"))
}

/// Returns the network namespace that [`wait`] has noted.
pub(crate) fn waits(home: &Path, id: u64) -> Option<u64> {
    let text = fs::read_to_string(path_of(home, id)).ok()?;
    text.trim_end().strip_prefix(WAITS)?.parse().ok()
}

impl Record {
    /// Makes the record of the cgroup with this id; a process with an older one ends.
    pub(crate) fn new(home: &Path, id: u64) -> io::Result<Self> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let record = Self {
            token: format!("{}-{}", std::process::id(), now.as_nanos()),
            path: path_of(home, id),
        };
        write(home, id, &format!("{}\n", record.token))?;
        Ok(record)
    }

    /// Returns true while the process is to govern.
    pub(crate) fn holds(&self) -> bool {
        let text = fs::read_to_string(&self.path);
        text.is_ok_and(|text| text.lines().next() == Some(&self.token))
    }

    /// Writes what there is to tell, in one line.
    pub(crate) fn tell(&self, text: &str) {
        if !self.holds() {
            return;
        }
        // Where it has gone meanwhile it must not come back, and a reader must not find it empty.
        let text = format!("{}\n{text}\n", self.token);
        let file = OpenOptions::new().write(true).open(&self.path);
        let _ = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        });
    }
}

/// Returns what the process that governs a cgroup tells; `None` if there is none.
pub(crate) fn told(home: &Path, id: u64) -> Option<String> {
    let text = fs::read_to_string(path_of(home, id)).ok()?;
    text.lines().nth(1).map(str::to_owned)
}

/// Ends the process that governs a cgroup, if there is one.
pub(crate) fn forget(home: &Path, id: u64) {
    // A missing record is no error, nor are others beside it.
    let _ = fs::remove_file(path_of(home, id));
    let _ = fs::remove_dir(home.join("udp"));
}
