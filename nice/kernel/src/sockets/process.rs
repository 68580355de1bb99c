// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running processes: their descendants, and the files they have open.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::{Error, Result};

/// Handle of a running process; it never refers to a later process of the same number.
#[derive(Debug)]
pub(crate) struct Handle(OwnedFd);

impl Handle {
    pub(crate) fn open(pid: i32) -> io::Result<Self> {
        // SAFETY: both arguments are numbers.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        Self::descriptor(handle).map(Self)
    }

    /// Opens any thread, not only the first one of a process; since 6.9.
    pub(crate) fn open_thread(thread: i32) -> io::Result<Self> {
        const PIDFD_THREAD: libc::c_int = libc::O_EXCL;
        // SAFETY: both arguments are numbers.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, thread, PIDFD_THREAD) };
        Self::descriptor(handle).map(Self)
    }

    /// Returns the id of its cgroup in cgroup2; since 6.13. This takes a third of the time of reading
    /// `/proc/PID/cgroup`.
    pub(crate) fn cgroup_id(&self) -> io::Result<u64> {
        /// First version of `struct pidfd_info` of linux/pidfd.h.
        #[repr(C)]
        struct Information {
            mask: u64,
            cgroup_id: u64,
            rest: [u32; 12],
        }
        const PIDFD_INFO_CGROUPID: u64 = 1 << 2;
        /// `_IOWR(0xFF, 11, struct pidfd_info)`.
        const PIDFD_GET_INFO: libc::Ioctl =
            (0xc000_ff0b | (size_of::<Information>() << 16)) as libc::Ioctl;
        let mut information = Information {
            mask: PIDFD_INFO_CGROUPID,
            cgroup_id: 0,
            rest: [0; 12],
        };
        // SAFETY: the kernel writes as many bytes as the request's number encodes, the struct's size.
        let answer =
            unsafe { libc::ioctl(self.0.as_raw_fd(), PIDFD_GET_INFO, &raw mut information) };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        match information.mask & PIDFD_INFO_CGROUPID {
            0 => Err(io::ErrorKind::Unsupported.into()),
            _ => Ok(information.cgroup_id),
        }
    }

    /// Copies one of the process's file descriptors.
    pub(crate) fn copy_descriptor(&self, descriptor: RawFd) -> io::Result<OwnedFd> {
        // SAFETY: all arguments are numbers.
        let copy =
            unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.0.as_raw_fd(), descriptor, 0) };
        Self::descriptor(copy)
    }

    fn descriptor(answer: libc::c_long) -> io::Result<OwnedFd> {
        let number = RawFd::try_from(answer).map_err(io::Error::other)?;
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created this descriptor for the caller.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

/// Returns the numbers and inodes of the sockets that a process has open.
pub(crate) fn sockets(pid: i32) -> io::Result<Vec<(RawFd, u64)>> {
    let mut sockets = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let Ok(entry) = entry else { continue };
        let Ok(link) = fs::read_link(entry.path()) else {
            continue;
        };
        let inode = (link.to_str()).and_then(|link| {
            link.strip_prefix("socket:[")?
                .strip_suffix(']')?
                .parse()
                .ok()
        });
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        sockets.extend(number.zip(inode));
    }
    Ok(sockets)
}

/// Returns, for each of these sockets, by inode, the first process found to have it open.
pub fn owners(inodes: &HashSet<u64>) -> HashMap<u64, i32> {
    let holders = holders(inodes).into_iter();
    holders.map(|(inode, (pid, _))| (inode, pid)).collect()
}

/// Returns, for each of these sockets, by inode, the first process found to have it open, and its descriptor there.
pub(crate) fn holders(inodes: &HashSet<u64>) -> HashMap<u64, (i32, RawFd)> {
    let mut holders = HashMap::new();
    for pid in all() {
        // Only root can inspect those of other users.
        for (descriptor, inode) in sockets(pid).unwrap_or_default() {
            if inodes.contains(&inode) {
                holders.entry(inode).or_insert((pid, descriptor));
            }
        }
    }
    holders
}

/// Returns the process and all its descendants.
pub fn with_descendants(pid: i32) -> Result<Vec<i32>> {
    if !fs::exists(format!("/proc/{pid}")).unwrap_or(false) || pid <= 0 {
        return Err(Error::UnknownProcess { pid });
    }
    let parents: Vec<(i32, i32)> = all()
        .filter_map(|pid| {
            Some((
                pid,
                parent_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?,
            ))
        })
        .collect();
    let mut family = vec![pid];
    let mut known = HashSet::from([pid]);
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        at += 1;
        let children = parents.iter().filter(|(_, of)| *of == parent);
        for (child, _) in children {
            if known.insert(*child) {
                family.push(*child);
            }
        }
    }
    Ok(family)
}

/// Returns all visible processes.
pub(crate) fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the parent from `/proc/PID/stat`. The name before it is in parentheses and may contain parentheses.
fn parent_of(stat: &str) -> Option<i32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the name of a process.
pub fn name(pid: i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("77 (a b) c) S 42 77 77 0 -1"), Some(42));
        assert_eq!(parent_of("77"), None);
    }

    #[test]
    fn a_child_descends_from_this_process_and_an_unknown_one_is_named() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let family = with_descendants(std::process::id() as i32).unwrap();
        let found = family.contains(&(child.id() as i32));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
        let error = with_descendants(i32::MAX).unwrap_err().to_string();
        assert!(error.contains(&i32::MAX.to_string()), "{error}");
    }
}
