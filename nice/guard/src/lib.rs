// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cleans up after a link: ends processes that still run in its namespaces, and removes files created for it, even when
//! netnice itself is killed. If its guard is killed, too, the next call cleans up.

mod records;

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use netnice_kernel::background;
use netnice_kernel::objects::pin_directory;
use netnice_kernel::pins::Pins;
use netnice_link::Namespace;
use netnice_link::namespace::{end_processes, inode_of};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, killpg};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use nix::unistd::Pid;

use records::Record;

/// Time processes have to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// Types of messages to the guard, in the first byte.
const NAMESPACE: u8 = b'n';
const DIRECTORY: u8 = b'd';
const FORGET_NAMESPACES: u8 = b'f';
const FORGET_ONE: u8 = b'g';
const PINS: u8 = b'p';

/// A background process that cleans up when this one ends, however it dies.
pub struct Guard {
    messages: OwnedFd,
    /// Held, as by the guard itself: the kernel reuses the inode number of a namespace that is gone.
    namespaces: Vec<Namespace>,
    /// Record for the next call, in case the guard is killed, too.
    record: Option<Record>,
}

/// Cleans up after processes that were killed together with their guards.
pub fn clear() {
    records::clear();
}

impl Guard {
    /// Starts the guard, and cleans up after other processes. Only one thread may be running.
    pub fn post() -> Result<Guard> {
        records::clear();
        let record = Record::new().ok();
        let written = record.as_ref().map(|record| record.path().to_owned());
        let (ours, theirs) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_CLOEXEC,
        )
        .context("making a pair of sockets")?;
        background::spawn(background::GUARD, Some(theirs.as_fd()), || {
            // Leaves the namespace netnice was started in: behind a link, the cleanup of that link must not end this
            // guard before its own cleanup.
            let _ = unshare(CloneFlags::CLONE_NEWNET);
            watch(&theirs);
            if let Some(written) = written {
                records::remove(&written);
            }
        })?;
        Ok(Guard {
            messages: ours,
            namespaces: Vec::new(),
            record,
        })
    }

    /// Writes to the record. If that fails, as on a kernel before 5.14, only the guard cleans up.
    fn write_down(&mut self, write: impl FnOnce(&mut Record) -> std::io::Result<()>) {
        let _ = self.record.as_mut().map(write);
    }

    /// Makes the guard end all processes in `namespace`, but never those in the caller's own.
    pub fn cover(&mut self, namespace: &Namespace) -> Result<()> {
        if inode_of(namespace) != inode("/proc/self/ns/net") {
            self.send(&[NAMESPACE], Some(namespace))?;
            self.write_down(|record| record.add_namespace(namespace));
            self.namespaces.push(namespace.clone());
        }
        Ok(())
    }

    /// Makes the guard remove the directory with its contents, if it still exists then.
    pub fn cover_directory(&mut self, directory: &Path) -> Result<()> {
        self.write_down(|record| record.add_directory(directory));
        let path = directory.as_os_str().as_bytes();
        self.send(&[&[DIRECTORY], path].concat(), None)
    }

    /// Makes the guard ignore the namespace from now on.
    pub fn forget(&mut self, namespace: &Namespace) -> Result<()> {
        self.send(&[FORGET_ONE], Some(namespace))?;
        self.write_down(|record| record.forget_namespace(namespace));
        self.namespaces
            .retain(|held| inode_of(held) != inode_of(namespace));
        Ok(())
    }

    /// Makes the guard return this process's share in the registered controls.
    pub fn cover_pins(&self) -> Result<()> {
        self.send(&[PINS], None)
    }

    /// Ends the processes in one of the namespaces; returns how many there were.
    pub fn clear_one(&self, namespace: &Namespace) -> usize {
        let covered = |held: &&Namespace| inode_of(held) == inode_of(namespace);
        end_processes(self.namespaces.iter().find(covered).as_slice())
    }

    /// Ends the processes in all namespaces, which the guard ignores from then on.
    pub fn clear(&mut self) -> Result<()> {
        end_processes(&self.namespaces);
        for namespace in std::mem::take(&mut self.namespaces) {
            self.write_down(|record| record.forget_namespace(&namespace));
        }
        self.send(&[FORGET_NAMESPACES], None)
    }

    fn send(&self, message: &[u8], namespace: Option<&Namespace>) -> Result<()> {
        let files = namespace.map(|namespace| [namespace.as_fd().as_raw_fd()]);
        let rights = files.as_ref().map(|files| ControlMessage::ScmRights(files));
        sendmsg::<()>(
            self.messages.as_raw_fd(),
            &[IoSlice::new(message)],
            rights.as_slice(),
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .map(drop)
        .context("talking to the process that clears up")
    }
}

/// Ends a program that leads its own process group, and the processes in that group: sends SIGTERM, and kills what is
/// left.
pub fn end(program: &mut Child) {
    let group = Pid::from_raw(program.id() as i32);
    let _ = killpg(group, Signal::SIGTERM);
    let deadline = Instant::now() + GRACE;
    while matches!(program.try_wait(), Ok(None)) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    let _ = killpg(group, Signal::SIGKILL);
    let _ = program.wait();
}

/// Runs the guard: waits for the end of the process it guards, then cleans up after it.
fn watch(messages: &OwnedFd) {
    let mut namespaces = Vec::new();
    let mut directories = Vec::new();
    let mut pins = false;
    while let Ok(Some((message, file))) = receive(messages) {
        match (message.split_first(), file) {
            (Some((&NAMESPACE, _)), Some(file)) => namespaces.push(file),
            (Some((&DIRECTORY, path)), _) => {
                directories.push(PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())));
            }
            (Some((&FORGET_NAMESPACES, _)), _) => namespaces.clear(),
            (Some((&FORGET_ONE, _)), Some(file)) => {
                namespaces.retain(|held| inode_of(held) != inode_of(&file));
            }
            (Some((&PINS, _)), _) => pins = true,
            _ => {}
        }
    }
    end_processes(&namespaces);
    for directory in directories {
        let _ = fs::remove_dir_all(directory);
    }
    if pins {
        clear_pins();
    }
}

/// Clears the pins, unless others use them. The guarded process may still be exiting when its socket closes, so this
/// retries.
fn clear_pins() {
    let deadline = Instant::now() + GRACE;
    while pin_directory::home().exists() && Instant::now() < deadline {
        if matches!(Pins::open().and_then(Pins::close), Ok(true)) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Receives the next message, with the file sent along; `None` when the other side is gone.
fn receive(messages: &OwnedFd) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let mut buffer = vec![0; libc::PATH_MAX as usize + 1];
    let mut control = nix::cmsg_space!(libc::c_int);
    let mut into = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let received = loop {
        match recvmsg::<()>(messages.as_raw_fd(), &mut into, Some(&mut control), flags) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    let file = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmRights(files) => files.first().copied(),
        _ => None,
    });
    // SAFETY: the kernel has just created this descriptor for the caller.
    let file = file.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
    let length = received.bytes;
    buffer.truncate(length);
    Ok((length > 0).then_some((buffer, file)))
}

fn inode(path: impl AsRef<Path>) -> Option<u64> {
    Some(fs::metadata(path).ok()?.ino())
}
