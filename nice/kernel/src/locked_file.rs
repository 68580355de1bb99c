// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a process holds locked while it works on what they record; the kernel releases the lock however the
//! process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Locks an open file or directory. A signal does not end the wait. With a non-blocking `how`, a file that another process
/// holds is an error of the kind [`io::ErrorKind::WouldBlock`].
pub fn lock(mut file: File, how: FlockArg) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, how) {
            Ok(lock) => return Ok(lock),
            Err((unlocked, Errno::EINTR)) => file = unlocked,
            Err((_, error)) => return Err(error.into()),
        }
    }
}

/// Writes `text` to a file at `path`, which root alone may read, and keeps it locked. Others open it only under this name, and
/// by then it is whole and locked: until then it is at `hidden`, in the same directory. A file at `path` is replaced.
pub fn replace_locked(path: &Path, hidden: &Path, text: &str) -> io::Result<Flock<File>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(hidden)?;
    let mut file = lock(file, FlockArg::LockExclusive)?;
    file.write_all(text.as_bytes())?;
    fs::rename(hidden, path)?;
    Ok(file)
}
