// SPDX-License-Identifier: MIT OR Apache-2.0
//! A journal of the cgroups that netnice has changed, so that the next call clears what a crash or
//! `kill -9` has left.
//!
//! There is one file in `/run/netnice/cgroups` for each cgroup. A process that works on the cgroup holds the file
//! locked, and the kernel releases the lock when that process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::fcntl::FlockArg;

use crate::cgroup::attachment;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::{Context, Error, Result};
use crate::locked_file::{Locked, lock, replace_locked};
use crate::objects::pin_directory::{self, PinDirectory};
use crate::runtime::keepers;
use crate::sockets::{decisions, storage};

/// Between looks for the first process of a cgroup.
const BEGINNING: Duration = Duration::from_millis(20);

/// Largest record, in bytes: a path and two words.
const LONGEST: u64 = 8192;

/// Origin of a cgroup's low priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Created by netnice for processes; removed when the last of them ends.
    Made,
    /// Existed before, and has netnice's programs attached until they are detached.
    Attached,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Attached => "attached",
        }
    }
}

/// The record of a cgroup, held locked.
#[derive(Debug)]
pub struct Record {
    _lock: Locked,
    path: PathBuf,
}

/// A record found by another call.
enum Found {
    /// Not in use, and now held by this call. The content is missing if its writer was interrupted.
    Free(Record, Option<Content>),
    Busy,
    /// Gone by now, or not written by netnice.
    NoRecord,
}

/// The entries that [`clear`] has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// Cgroups that have our programs attached, or processes in them.
    pub(crate) in_use: bool,
    /// Records of attached cgroups that are gone.
    pub(crate) lost: bool,
}

/// The state of a cgroup on record.
enum Fate {
    Gone,
    InUse,
    /// It was attached, and its service has stopped or has another cgroup now.
    Lost,
}

/// The contents of a record.
struct Content {
    kind: Kind,
    id: u64,
    path: String,
}

impl Record {
    /// Records a cgroup. The value keeps others from clearing it until dropped.
    pub fn new(pins: &PinDirectory, kind: Kind, cgroup: &Cgroup) -> Result<Self> {
        let directory = directory(pins.home());
        pin_directory::make_directory(&directory)?;
        let path = directory.join(cgroup.id().to_string());
        let writing = || format!("writing {}", path.display());
        let hidden = directory.join(format!(".{}", std::process::id()));
        let text = format!("{} {} {}\n", kind.name(), cgroup.id(), cgroup.path());
        let file = replace_locked(&path, &hidden, &text).doing(writing)?;
        Ok(Self { _lock: file, path })
    }

    /// Removes the record: netnice is done with the cgroup.
    pub fn remove(self) -> Result<()> {
        match fs::remove_file(&self.path) {
            // A call that held the file which this one replaced has cleared it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.doing(|| format!("removing {}", self.path.display())),
        }
    }
}

/// Waits until no process holds the record of a cgroup, or it is gone.
pub(crate) fn wait_until_released(home: &Path, id: u64) {
    if let Ok(file) = File::open(directory(home).join(id.to_string())) {
        // An error means that there is nothing to wait for.
        let _ = lock(file, FlockArg::LockShared);
    }
}

/// Waits until a process is in a cgroup on record, or nobody holds the record.
pub(crate) fn wait_until_begun(home: &Path, cgroup: &Cgroup) {
    let released = || {
        let file = File::open(directory(home).join(cgroup.id().to_string()));
        file.map_or(true, |file| {
            lock(file, FlockArg::LockSharedNonblock).is_ok()
        })
    };
    while !cgroup.is_populated().unwrap_or(true) && !released() {
        thread::sleep(BEGINNING);
    }
}

/// Returns the ids and paths of all recorded cgroups of this `kind`.
pub fn cgroups(home: &Path, kind: Kind) -> Vec<(u64, String)> {
    let entries = fs::read_dir(directory(home))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| read(&entry.path()))
        .filter(|content| content.kind == kind)
        .map(|content| (content.id, content.path))
        .collect()
}

/// Forgets what is on record of attached cgroups that were at `path`, but for the one with the id
/// `except`; returns whether there was something.
pub(crate) fn forget_lost(home: &Path, path: &str, except: Option<u64>) -> bool {
    let lost = cgroups(home, Kind::Attached).into_iter();
    let lost = lost.filter(|(id, was_at)| was_at == path && Some(*id) != except);
    lost.map(|(id, _)| remove(home, id)).count() > 0
}

/// Removes the record of a cgroup.
pub(crate) fn remove(home: &Path, id: u64) {
    // Neither is an error if it is missing.
    let _ = fs::remove_file(directory(home).join(id.to_string()));
    keepers::forget(home, id);
    storage::forget_group(&home.join("bpf"), id);
    decisions::forget(&home.join("bpf"), id);
}

/// Clears all that is on record and no longer in use; returns what is left. What is no record (a
/// directory, a pipe, a link, a huge file) is left alone.
pub(crate) fn clear(home: &Path) -> Result<Left> {
    let directory = directory(home);
    let Ok(entries) = fs::read_dir(&directory) else {
        return Ok(Left::default());
    };
    let mut left = Left::default();
    let mut hierarchy = None;
    for entry in entries {
        let entry = entry.doing(|| format!("reading {}", directory.display()))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let (record, content) = match take(&entry.path()) {
            Ok(Found::Free(record, content)) => (record, content),
            // An unreadable record must not keep the others from being cleared.
            Ok(Found::NoRecord) | Err(_) => continue,
            Ok(Found::Busy) => {
                left.in_use = true;
                continue;
            }
        };
        if hierarchy.is_none() {
            hierarchy = Some(Hierarchy::find()?);
        }
        let fate = match (&content, &hierarchy) {
            (Some(content), Some(hierarchy)) => clear_one(home, hierarchy, content)?,
            // Whoever wrote it was killed before it had done anything.
            _ => Fate::Gone,
        };
        match fate {
            Fate::Gone => record.remove()?,
            Fate::InUse => left.in_use = true,
            Fate::Lost => left.lost = true,
        }
    }
    Ok(left)
}

/// Age from which a cgroup without a record is abandoned.
const UNRECORDED: Duration = Duration::from_secs(60);

/// Removes cgroups directly below `above` whose creators were killed before they recorded them.
pub(crate) fn clear_unrecorded(home: &Path, above: &Cgroup) -> Result<()> {
    for cgroup in above.children()? {
        let recorded = directory(home).join(cgroup.id().to_string()).exists();
        if cgroup.is_ours()
            && !recorded
            && cgroup.unchanged_for()? >= UNRECORDED
            && !cgroup.is_populated()?
        {
            cgroup.remove()?;
        }
    }
    Ok(())
}

/// Removes a cgroup that has served; returns what has become of it.
fn clear_one(home: &Path, hierarchy: &Hierarchy, content: &Content) -> Result<Fate> {
    let in_use = |in_use| match in_use {
        true => Fate::InUse,
        false => Fate::Gone,
    };
    let fate = match (hierarchy.open(&content.path), content.kind) {
        (Err(Error::UnknownCgroup { .. }), Kind::Attached) if may_return(&content.path) => {
            Fate::Lost
        }
        (Err(Error::UnknownCgroup { .. }), _) => Fate::Gone,
        (Err(error), _) => return Err(error),
        (Ok(cgroup), kind) if cgroup.id() != content.id => match kind {
            Kind::Attached => Fate::Lost,
            Kind::Made => Fate::Gone,
        },
        (Ok(cgroup), Kind::Attached) => in_use(attachment::is_attached(&cgroup)?),
        (Ok(cgroup), Kind::Made) if cgroup.is_populated()? => Fate::InUse,
        // If a process has come in between this fails, and the next call tries again.
        (Ok(cgroup), Kind::Made) => in_use(cgroup.remove().is_err()),
    };
    if !matches!(fate, Fate::InUse) {
        keepers::forget(home, content.id);
        storage::forget_group(&home.join("bpf"), content.id);
    }
    Ok(fate)
}

/// True if a cgroup that has been removed will be made again: systemd does so for services, at the
/// same path.
pub(crate) fn may_return(path: &str) -> bool {
    path.ends_with(".service")
}

/// Locks a record and reads it, unless another process holds it.
fn take(path: &Path) -> Result<Found> {
    let reading = || format!("reading {}", path.display());
    let file = match OpenOptions::new()
        .read(true)
        .write(true)
        // Opening a pipe would block.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::NoRecord),
        other => other.doing(reading)?,
    };
    let metadata = file.metadata().doing(reading)?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Ok(Found::NoRecord);
    }
    let mut file = match lock(file, FlockArg::LockExclusiveNonblock) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Found::Busy),
        other => other.doing(reading)?,
    };
    // Another call may have cleared it, and the name may be in use again.
    if !fs::metadata(path).is_ok_and(|there| there.ino() == metadata.ino()) {
        return Ok(Found::Busy);
    }
    let mut text = String::new();
    file.read_to_string(&mut text).doing(reading)?;
    let path = path.to_owned();
    Ok(Found::Free(Record { _lock: file, path }, parse(&text)))
}

/// Reads a record without locking it.
fn read(path: &Path) -> Option<Content> {
    let known = fs::symlink_metadata(path).ok()?;
    let is_record = known.is_file() && known.len() <= LONGEST;
    is_record
        .then(|| fs::read_to_string(path).ok())?
        .as_deref()
        .and_then(parse)
}

fn parse(text: &str) -> Option<Content> {
    let mut fields = text.strip_suffix('\n')?.splitn(3, ' ');
    let kind = match fields.next()? {
        "made" => Kind::Made,
        "attached" => Kind::Attached,
        _ => return None,
    };
    Some(Content {
        kind,
        id: fields.next()?.parse().ok()?,
        path: fields.next()?.to_owned(),
    })
}

/// Returns the directory of the records.
pub(crate) fn directory(home: &Path) -> PathBuf {
    home.join("cgroups")
}

#[cfg(test)]
mod tests {
    use super::{Kind, Record, parse};
    use crate::locked_file::replace_locked;

    #[test]
    fn a_record_that_another_call_cleared_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("77");
        let hidden = directory.path().join(".1");
        let record = || Record {
            _lock: replace_locked(&path, &hidden, "attached 77 /x\n").unwrap(),
            path: path.clone(),
        };
        let (first, second) = (record(), record());
        first.remove().unwrap();
        assert!(!path.exists());
        second.remove().unwrap();
    }

    #[test]
    fn a_record_that_was_cut_short_says_nothing() {
        let whole = parse("attached 77 /system.slice/a b.service\n").unwrap();
        assert_eq!(whole.kind, Kind::Attached);
        assert_eq!(
            (whole.id, whole.path.as_str()),
            (77, "/system.slice/a b.service")
        );
        for cut in ["", "made 7", "made 77 /netnice-run-1", "other 7 /x\n"] {
            assert!(parse(cut).is_none(), "{cut:?}");
        }
    }
}
