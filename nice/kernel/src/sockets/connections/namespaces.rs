// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces of the machine: those that a process is in, and those that are mounted (`ip netns add`), but not
//! those that only a file descriptor holds open.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::sched::{CloneFlags, setns};

use crate::sockets::process;

/// Returns the inode number of the calling thread's network namespace.
pub(super) fn own() -> io::Result<u32> {
    inode(&File::open("/proc/thread-self/ns/net")?)
}

fn inode(namespace: &File) -> io::Result<u32> {
    u32::try_from(namespace.metadata()?.ino()).map_err(io::Error::other)
}

/// Opens all namespaces that this process may open, by inode number.
pub(super) fn all() -> HashMap<u32, File> {
    let of_processes = process::all().map(|pid| PathBuf::from(format!("/proc/{pid}/ns/net")));
    let mut namespaces = HashMap::new();
    for path in of_processes.chain(mounted()) {
        // A process may have ended, or belong to another user.
        let Ok(known) = fs::metadata(&path) else {
            continue;
        };
        let number = known.ino() as u32;
        if let Entry::Vacant(place) = namespaces.entry(number) {
            if let Ok(file) = File::open(&path) {
                place.insert(file);
            }
        }
    }
    namespaces
}

/// Returns the mount points of network namespaces.
fn mounted() -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    table.lines().filter_map(mount_point).collect()
}

/// Returns the mount point if a line of `mountinfo` is of a network namespace (man 5 proc): its fourth field is
/// `net:[NUMBER]`, the fifth the mount point, with octal escapes.
fn mount_point(line: &str) -> Option<PathBuf> {
    let mut fields = line.split(' ').skip(3);
    fields.next().filter(|root| root.starts_with("net:["))?;
    let escaped = fields.next()?;
    let unescaped = ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(escaped.to_owned(), |path, (code, character)| {
            path.replace(code, character)
        });
    Some(PathBuf::from(unescaped))
}

/// Runs `work` in each namespace in turn, on one thread of its own; skips those that it may not enter. That needs
/// CAP_SYS_ADMIN (man 2 setns), which the own namespace must not depend on.
pub(super) fn visit<T: Send>(
    namespaces: &HashMap<u32, File>,
    work: impl Fn(u32) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    std::thread::scope(|scope| {
        let visiting = scope.spawn(|| {
            let own = own()?;
            let mut results = vec![work(own)?];
            for (number, file) in namespaces.iter().filter(|(number, _)| **number != own) {
                if setns(file.as_fd(), CloneFlags::CLONE_NEWNET).is_ok() {
                    results.push(work(*number)?);
                }
            }
            Ok(results)
        });
        visiting.join().expect("a visit does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_namespace_is_among_all() {
        assert!(all().contains_key(&own().unwrap()));
    }

    #[test]
    fn mounted_namespaces_differ_from_other_mounts() {
        let namespace = "615 27 0:4 net:[4026532211] /run/netns/a\\040b rw shared:1 - nsfs nsfs rw";
        assert_eq!(
            mount_point(namespace),
            Some(PathBuf::from("/run/netns/a b"))
        );
        for other in [
            "28 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
            "616 27 0:4 mnt:[4026532212] /run/mnt rw - nsfs nsfs rw",
            "",
        ] {
            assert_eq!(mount_point(other), None);
        }
    }
}
