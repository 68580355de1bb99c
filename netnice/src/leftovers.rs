// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing stays behind a link: processes that still run in its namespaces, and files made for it,
//! go with it, even when netnice itself is killed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use netnice_lab::Namespace;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, pipe2};

/// Time that processes have to end by themselves when they are asked to.
const GRACE: Duration = Duration::from_secs(1);

/// A process in the background that clears up when this one ends, by whatever death.
pub struct Guard {
    messages: fs::File,
    namespaces: Vec<u64>,
}

impl Guard {
    /// Posts the guard. Only one thread may be running.
    pub fn post() -> Result<Guard> {
        let (theirs, ours) = pipe2(OFlag::O_CLOEXEC).context("making a pipe")?;
        let theirs = fs::File::from(theirs);
        netnice_kernel::background::spawn(Some(theirs.as_fd()), || {
            // Out of the namespace we were started in: behind a link, the clearing up of that link
            // must not end us before we have done ours.
            let _ = unshare(CloneFlags::CLONE_NEWNET);
            watch(&theirs);
        })?;
        Ok(Guard {
            messages: ours.into(),
            namespaces: Vec::new(),
        })
    }

    /// Whatever runs in `namespace` at the end is to go. The caller's own namespace never is.
    pub fn cover(&mut self, namespace: &Namespace) -> Result<()> {
        if let Some(inode) = inode_of(namespace)?.filter(|inode| Some(*inode) != inode_of_ours()) {
            self.namespaces.push(inode);
            self.tell(format!("namespace {inode}").as_bytes())?;
        }
        Ok(())
    }

    /// The directory is to be removed with all that is in it, if that has not been done by then.
    pub fn cover_directory(&mut self, directory: &Path) -> Result<()> {
        let mut message = b"directory ".to_vec();
        message.extend_from_slice(directory.as_os_str().as_bytes());
        self.tell(&message)
    }

    /// Ends what still runs in one of the namespaces; how many processes that were.
    pub fn clear_one(&self, namespace: &Namespace) -> Result<usize> {
        let covered = inode_of(namespace)?.filter(|inode| self.namespaces.contains(inode));
        Ok(end_all(covered.as_slice()))
    }

    /// Ends what still runs in any of the namespaces.
    pub fn clear(&self) {
        end_all(&self.namespaces);
    }

    fn tell(&mut self, message: &[u8]) -> Result<()> {
        let line = [message, b"\n"].concat();
        self.messages
            .write_all(&line)
            .context("talking to the process that clears up")
    }
}

/// Ends a program that leads its own process group, and what it has started in that group: asks it
/// to, and kills what is left.
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

/// The guard's own part: waits for the end of the process it guards, then clears up after it.
fn watch(messages: &fs::File) {
    let mut namespaces = Vec::new();
    let mut directories = Vec::new();
    for message in BufReader::new(messages).split(b'\n').map_while(Result::ok) {
        if let Some(inode) = message.strip_prefix(b"namespace ") {
            let inode = std::str::from_utf8(inode).ok();
            namespaces.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
        } else if let Some(path) = message.strip_prefix(b"directory ") {
            directories.push(PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())));
        }
    }
    end_all(&namespaces);
    for directory in directories {
        let _ = fs::remove_dir_all(directory);
    }
}

/// Asks all to end, and kills who does not; how many there were. Asking comes first even when
/// nobody is left to care: among them may be some that clear up after others.
fn end_all(namespaces: &[u64]) -> usize {
    let there = processes(namespaces);
    for signal in [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGCONT] {
        for process in &there {
            let _ = kill(*process, signal);
        }
    }
    let deadline = Instant::now() + GRACE;
    let mut left = there.clone();
    // Processes that are just being made show up only later.
    while !left.is_empty() && Instant::now() < deadline + GRACE {
        thread::sleep(Duration::from_millis(10));
        left = processes(namespaces);
        if Instant::now() >= deadline {
            for process in &left {
                let _ = kill(*process, Signal::SIGKILL);
            }
        }
    }
    there.len()
}

/// The processes in any of these network namespaces, dead ones that await their parents excepted.
fn processes(namespaces: &[u64]) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            // A dead process has no namespaces any more.
            inode(format!("/proc/{pid}/ns/net")).is_some_and(|inode| namespaces.contains(&inode))
        })
        .map(Pid::from_raw)
        .collect()
}

fn inode_of(namespace: &Namespace) -> Result<Option<u64>> {
    Ok(namespace.run(|| inode("/proc/thread-self/ns/net"))?)
}

fn inode_of_ours() -> Option<u64> {
    inode("/proc/self/ns/net")
}

fn inode(path: impl AsRef<Path>) -> Option<u64> {
    Some(fs::metadata(path).ok()?.ino())
}
