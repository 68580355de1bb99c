// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a process holds locked while it works on what they record; the kernel releases the lock however the
//! process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// An open file that is locked until the value is dropped. Unlike [`Flock`] it does not panic where the kernel cannot unlock it
/// (ENOLCK on a network file system): closing it unlocks it as well.
#[derive(Debug)]
pub struct Locked(ManuallyDrop<Flock<File>>);

impl Locked {
    /// Changes the kind of lock, with a non-blocking `how`.
    pub fn relock(&self, how: FlockArg) -> nix::Result<()> {
        self.0.relock(how)
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: the value is not used afterwards.
        let lock = unsafe { ManuallyDrop::take(&mut self.0) };
        if let Err((still, _)) = lock.unlock() {
            let descriptor = still.as_raw_fd();
            std::mem::forget(still);
            // SAFETY: the value that owned the descriptor was forgotten.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
}

/// Locks an open file or directory. A signal does not end the wait. With a non-blocking `how`, a file that another process
/// holds is an error of the kind [`io::ErrorKind::WouldBlock`].
pub fn lock(mut file: File, how: FlockArg) -> io::Result<Locked> {
    loop {
        match Flock::lock(file, how) {
            Ok(lock) => return Ok(Locked(ManuallyDrop::new(lock))),
            Err((unlocked, Errno::EINTR)) => file = unlocked,
            Err((_, error)) => return Err(error.into()),
        }
    }
}

/// Writes `text` to a file at `path`, which root alone may read, and keeps it locked. Others open it only under this name, and
/// by then it is whole and locked: until then it is at `hidden`, in the same directory. A file at `path` is replaced.
pub fn replace_locked(path: &Path, hidden: &Path, text: &str) -> io::Result<Locked> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_unlocked_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let locked = replace_locked(&path, &directory.path().join(".new"), "x").unwrap();
        // Of such a descriptor the kernel unlocks nothing (EBADF).
        let other = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(&path)
            .unwrap();
        // SAFETY: both descriptors are open, and the first one's file is this test's own.
        unsafe { libc::dup2(other.as_raw_fd(), locked.as_raw_fd()) };
        drop(locked);
        let again = lock(File::open(&path).unwrap(), FlockArg::LockExclusiveNonblock);
        again.unwrap();
    }
}
