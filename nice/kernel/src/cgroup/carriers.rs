// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that carry the traffic of other network namespaces over sockets of their own, as containers without root have them:
//! behind such a program the connections of a container end, and it opens others to the network.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use crate::cgroup::hierarchy::{self, Cgroup};
use crate::error::Result;
use crate::sockets::process::{self, Handle};

/// Names of the programs (`/proc/PID/comm`).
const NAMES: [&str; 4] = ["slirp4netns", "pasta", "pasta.avx2", "rootlesskit"];

/// A process that carries what processes of a cgroup send and receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// Number of the process.
    pub pid: i32,
    /// Name of its program.
    pub name: String,
    /// Path of its cgroup.
    pub cgroup: String,
}

/// Returns the processes outside of a cgroup that carry the traffic of those in it.
pub fn of(cgroup: &Cgroup) -> Result<Vec<Carrier>> {
    let ours: HashSet<i32> = cgroup.processes_beneath()?.into_iter().collect();
    let namespaces: HashSet<u64> = (ours.iter())
        .filter_map(|pid| Some(fs::metadata(format!("/proc/{pid}/ns/net")).ok()?.ino()))
        .collect();
    let carrier = |pid: i32| {
        let name = process::name(pid)?;
        let carries = NAMES.contains(&name.as_str())
            && (is_called_with(pid, &namespaces) || holds_device(pid, &namespaces));
        let cgroup = hierarchy::path_of(pid).ok()??;
        carries.then_some(Carrier { pid, name, cgroup })
    };
    let others = process::all().filter(|pid| !ours.contains(pid));
    Ok(others.filter_map(carrier).collect())
}

/// Returns true if the command line of a process names one of these network namespaces, by a process in it or by a path.
fn is_called_with(pid: i32, namespaces: &HashSet<u64>) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).skip(1);
    words
        .filter_map(|word| std::str::from_utf8(word).ok())
        .any(|word| {
            let value = word.split_once('=').map_or(word, |(_, value)| value);
            let path = match value.parse::<u32>() {
                Ok(number) => format!("/proc/{number}/ns/net"),
                // As the process sees it: podman keeps namespaces in a mount namespace of its own.
                Err(_) if value.starts_with('/') => format!("/proc/{pid}/root{value}"),
                Err(_) => return false,
            };
            fs::metadata(path).is_ok_and(|found| namespaces.contains(&found.ino()))
        })
}

/// Returns true if a process has a TUN device in one of these network namespaces open. The path in the command line of pasta does
/// not tell: it hides all files from itself.
fn holds_device(pid: i32, namespaces: &HashSet<u64>) -> bool {
    /// `_IO('T', 227)` of linux/if_tun.h.
    const TUNGETDEVNETNS: libc::Ioctl = 0x54e3;
    let Ok(handle) = Handle::open(pid) else {
        return false;
    };
    let entries = fs::read_dir(format!("/proc/{pid}/fdinfo"));
    let descriptors = entries.into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        let text = fs::read_to_string(entry.path()).ok()?;
        let is_device = text.lines().any(|line| line.starts_with("iff:"));
        is_device.then(|| entry.file_name().to_str()?.parse::<RawFd>().ok())?
    });
    descriptors
        .filter_map(|descriptor| handle.copy_descriptor(descriptor).ok())
        .any(|device| {
            // SAFETY: the request takes no argument.
            let namespace = unsafe { libc::ioctl(device.as_raw_fd(), TUNGETDEVNETNS) };
            if namespace < 0 {
                return false;
            }
            // SAFETY: the kernel has just created this descriptor for the caller.
            let namespace = File::from(unsafe { OwnedFd::from_raw_fd(namespace) });
            let found = namespace.metadata();
            found.is_ok_and(|found| namespaces.contains(&found.ino()))
        })
}
