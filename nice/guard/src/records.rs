// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of the guards' tasks: when a guard is killed together with the process that it guards, the next call of
//! netnice cleans up.
//!
//! There is one file in `/run/netnice-guards` for each guarded process, which holds it locked; the kernel releases the
//! lock however the process ends. A namespace is identified by its cookie, which is not reused until the next boot, and
//! `/run` does not survive a boot either; a directory is identified by device and inode.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use netnice_kernel::locked_file::{Locked, lock};
use netnice_link::Namespace;
use netnice_link::namespace::{end_processes, inode_of};
use nix::fcntl::FlockArg;

/// Directory of the records, for root only.
const PLACE: &str = "/run/netnice-guards";

/// Record of this process.
pub(super) struct Record {
    file: Locked,
    path: PathBuf,
}

impl Record {
    /// Creates an empty record. Fails if `/run` is not writable: then only the guard cleans up.
    pub(super) fn new() -> io::Result<Record> {
        Record::new_in(Path::new(PLACE))
    }

    fn new_in(place: &Path) -> io::Result<Record> {
        // Another call may be removing the directory, which it found empty.
        let mut tries = 0;
        loop {
            tries += 1;
            match Record::try_new_in(place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 10 => {}
                other => return other,
            }
        }
    }

    fn try_new_in(place: &Path) -> io::Result<Record> {
        match DirBuilder::new().mode(0o700).create(place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let own = std::process::id().to_string();
        // Others open it only under its final name, and by then it is locked.
        let hidden = place.join(format!(".{own}"));
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&hidden)?;
        let file = lock(file, FlockArg::LockExclusiveNonblock)?;
        file.set_len(0)?;
        let path = place.join(own);
        fs::rename(&hidden, &path)?;
        Ok(Record { file, path })
    }

    /// Returns the path of the record.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Records that the processes in a namespace must end.
    pub(super) fn add_namespace(&mut self, namespace: &Namespace) -> io::Result<()> {
        self.of_namespace("namespace", namespace)
    }

    /// Records that the namespace needs no cleanup any more.
    pub(super) fn forget_namespace(&mut self, namespace: &Namespace) -> io::Result<()> {
        self.of_namespace("forget", namespace)
    }

    fn of_namespace(&mut self, what: &str, namespace: &Namespace) -> io::Result<()> {
        let cookie = namespace.cookie().map_err(io::Error::other)?;
        let inode = inode_of(namespace).ok_or(io::ErrorKind::NotFound)?;
        self.write(format!("{what} {inode} {cookie}").as_bytes())
    }

    /// Records that a directory must be removed.
    pub(super) fn add_directory(&mut self, path: &Path) -> io::Result<()> {
        let state = fs::symlink_metadata(path)?;
        let path = fs::canonicalize(path)?;
        if path.as_os_str().as_bytes().contains(&b'\n') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let head = format!("directory {} {} ", state.dev(), state.ino());
        self.write(&[head.as_bytes(), path.as_os_str().as_bytes()].concat())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(&[line, b"\n"].concat())
    }
}

/// Removes the record of a process whose guard has cleaned up.
pub(super) fn remove(path: &Path) {
    // A missing record is no error, nor are other records beside it.
    let _ = fs::remove_file(path);
    let _ = path.parent().map(fs::remove_dir);
}

/// Cleans up after processes that were killed together with their guards.
pub(super) fn clear() {
    clear_in(Path::new(PLACE));
}

fn clear_in(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if entry.file_name().as_bytes().starts_with(b".") || !is_file {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        // Not while its process lives.
        let Ok(file) = lock(file, FlockArg::LockExclusiveNonblock) else {
            continue;
        };
        let mut content = Vec::new();
        // A record has a few lines; netnice writes none as long as this.
        let limit = 1 << 20;
        let read = (&*file).take(limit).read_to_end(&mut content);
        if read.is_err() || clear_content(&content) {
            remove(&path);
        }
    }
}

/// Clears what a record names and returns true; returns false without clearing if this process itself, and so perhaps
/// the shell that called it, runs in one of the namespaces.
fn clear_content(content: &[u8]) -> bool {
    let mut namespaces: Vec<(u64, u64)> = Vec::new();
    let mut directories = Vec::new();
    for line in content.split_inclusive(|&byte| byte == b'\n') {
        // A line without its end is incomplete.
        let Some(line) = line.strip_suffix(b"\n") else {
            continue;
        };
        let mut words = line.splitn(4, |&byte| byte == b' ');
        let kind = words.next().unwrap_or_default();
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
        let (Some(first), Some(second)) = (number(), number()) else {
            continue;
        };
        let key = (first, second);
        match (kind, words.next()) {
            (b"namespace", None) => namespaces.push(key),
            (b"forget", None) => namespaces.retain(|known| *known != key),
            (b"directory", Some(path)) => {
                directories.push((key, Path::new(OsStr::from_bytes(path))))
            }
            _ => {}
        }
    }
    let own = Namespace::current().ok().as_ref().and_then(inode_of);
    if namespaces.iter().any(|&(inode, _)| Some(inode) == own) {
        return false;
    }
    let namespaces = namespaces.into_iter();
    let there: Vec<Namespace> = namespaces
        .filter_map(|(inode, cookie)| Namespace::find(inode, cookie))
        .collect();
    end_processes(&there);
    for (key, path) in directories {
        if fs::symlink_metadata(path).is_ok_and(|state| (state.dev(), state.ino()) == key) {
            let _ = fs::remove_dir_all(path);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_the_dead_are_removed_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let records = place.path().join("records");
        let work = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.join("below")).unwrap();
            path
        };
        let (left, replaced) = (work("left"), work("replaced"));
        let mut record = Record::new_in(&records).unwrap();
        record.add_directory(&left).unwrap();
        record.add_directory(&replaced).unwrap();
        fs::rename(&replaced, place.path().join("moved")).unwrap();
        work("replaced");

        // Its process lives.
        clear_in(&records);
        assert!(left.exists() && record.path().exists());
        // An incomplete record is ignored.
        record.file.write_all(b"directory 1 1 /tmp").unwrap();
        drop(record);
        clear_in(&records);
        assert!(!left.exists());
        assert!(replaced.exists() && place.path().join("moved/below").exists());
        assert!(!records.exists());
    }

    #[test]
    fn odd_entries_stop_nothing() {
        let place = tempfile::tempdir().unwrap();
        let records = place.path().join("records");
        let left = place.path().join("left");
        fs::create_dir(&left).unwrap();
        let mut record = Record::new_in(&records).unwrap();
        record.add_directory(&left).unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        std::os::unix::fs::symlink(&elsewhere, records.join("0")).unwrap();
        fs::create_dir(records.join("1")).unwrap();
        nix::unistd::mkfifo(&records.join("2"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(
            records.join("3"),
            b"\xff\nnamespace\nforget x y\ndirectory 1 2\nnamespace 1 2 3 4\n",
        )
        .unwrap();
        drop(record);
        clear_in(&records);
        assert!(!left.exists());
        assert!(elsewhere.exists());
        assert!(!records.join("3").exists());
    }
}
