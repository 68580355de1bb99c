// SPDX-License-Identifier: MIT OR Apache-2.0
//! Storage of the kernel objects between calls: a private BPF file system, and the locks by which the last user knows
//! to clear it.
//!
//! ```text
//! /run/netnice/lock       every user of the pins holds it shared; the last one clears them
//! /run/netnice/loading    held while objects are loaded
//! /run/netnice/bpf/       the BPF file system
//! /run/netnice/cgroups/   a record of each cgroup that has been given low priority
//! /run/netnice/installed  there if the controls are to stay without a user
//! ```
//!
//! All mount namespaces share this place: a process in another mount namespace than that of PID 1 (`ip netns exec`
//! creates one) uses the files of PID 1's.

use std::fs::{self, File, Permissions};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::FlockArg;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use nix::unistd::fchdir;

use crate::error::{Context, Result, need_root};
use crate::locked_file::Locked;
use crate::objects::control;
use crate::objects::pin_directory::{PinDirectory, lock, make_directory, namespace_of_init};
use crate::runtime::journal;

/// A share in the pinned maps, programs and links; returning the last share clears them.
#[derive(Debug)]
pub struct Pins {
    directory: PinDirectory,
    lock: Locked,
    given_back: bool,
}

impl Deref for Pins {
    type Target = PinDirectory;

    fn deref(&self) -> &PinDirectory {
        &self.directory
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        if !self.given_back {
            // The next call clears the rest.
            let _ = self.give_back();
        }
    }
}

impl Pins {
    /// Takes a share, creating and mounting what is missing. Needs root.
    pub fn open() -> Result<Self> {
        need_root("loading a congestion control into the kernel")?;
        let directory = PinDirectory::find();
        let lock = lock(directory.home(), "lock", FlockArg::LockShared)?;
        let pins = Self {
            directory,
            lock,
            given_back: false,
        };
        if !pins.mounted() {
            // Two concurrent calls would mount twice, the second over the first's pins.
            let _loading = pins.while_loading()?;
            if !pins.mounted() {
                pins.mount()?;
            }
        }
        Ok(pins)
    }

    /// Keeps the pins when the last share is returned, until a call with `false`.
    pub fn set_installed(&self, installed: bool) -> Result<()> {
        let marker = self.home().join("installed");
        let result = if installed {
            // The caller's umask may be loose or strict.
            let mode = Permissions::from_mode(0o644);
            fs::write(&marker, "").and_then(|()| fs::set_permissions(&marker, mode))
        } else {
            match fs::remove_file(&marker) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            }
        };
        result.doing(|| format!("writing {}", marker.display()))
    }

    /// Returns true if [`Self::set_installed`] was called with `true`.
    pub fn is_installed(&self) -> bool {
        self.home().join("installed").exists()
    }

    /// Clears what earlier calls have left, then gives the share back. If it was the last one and
    /// no cgroup needs the pins they all go, the file system is unmounted and the directory is
    /// removed; returns whether that was done. Dropping the value does the same and reports no error.
    pub fn close(mut self) -> Result<bool> {
        self.given_back = true;
        self.give_back()
    }

    fn give_back(&self) -> Result<bool> {
        let home = self.home();
        journal::clear(home)?;
        if self.is_installed() {
            return Ok(false);
        }
        match self.lock.relock(FlockArg::LockExclusiveNonblock) {
            // Another process uses the pins; the last user clears them.
            Err(Errno::EWOULDBLOCK) => return Ok(false),
            other => other.doing(|| format!("locking {}", home.display()))?,
        }
        // Only now is it sure that no new record is made, and that nobody installs.
        let left = journal::clear(home)?;
        if left.in_use || self.is_installed() {
            return Ok(false);
        }
        let bpf = self.bpf();
        control::unregister_all(&bpf)?;
        // Unmounting alone does not suffice: another mount namespace may hold a copy of the mount.
        clear(&bpf).doing(|| format!("unpinning from {}", bpf.display()))?;
        if self.mounted() {
            let how = MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW;
            in_namespace_of_init(home, |place| umount2(place, how))
                .doing(|| format!("unmounting {}", bpf.display()))?;
        }
        // A process that waits for the lock meanwhile finds the file gone and makes a new one.
        let removed = match left.lost {
            true => remove_all_but_journal(home),
            false => fs::remove_dir_all(home),
        };
        match removed {
            // Such a process has already created files: the directory is its own now.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            other => other.doing(|| format!("removing {}", home.display()))?,
        }
        Ok(true)
    }

    fn mounted(&self) -> bool {
        is_bpf(&self.bpf())
    }

    fn mount(&self) -> Result<()> {
        let bpf = self.bpf();
        make_directory(&bpf)?;
        in_namespace_of_init(self.home(), |place| {
            mount(
                Some("netnice"),
                place,
                Some("bpf"),
                MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
                Some("mode=0755"),
            )
        })
        .doing(|| format!("mounting a BPF file system at {}", bpf.display()))?;
        make_directory(&self.maps())
    }
}

/// `status` shows what is on record of attached cgroups that are gone.
fn remove_all_but_journal(home: &Path) -> io::Result<()> {
    fs::remove_dir(home.join("bpf"))?;
    match fs::remove_file(home.join("loading")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    // Last: until then nobody else may make the others anew.
    fs::remove_file(home.join("lock"))
}

fn is_bpf(path: &Path) -> bool {
    statfs(path).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
}

/// Removes everything in a directory of a BPF file system. The kernel frees the objects later.
fn clear(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        // The kernel's own files have a dot in their names and stay; netnice's must not have one.
        if entry.file_name().as_encoded_bytes().contains(&b'.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            clear(&entry.path())?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Runs `work` on the directory of netnice's BPF file system, on a thread of its own in the mount namespace of PID 1 if
/// that differs: mounts can be changed only from within.
fn in_namespace_of_init(
    home: &Path,
    work: impl FnOnce(&Path) -> nix::Result<()> + Send,
) -> io::Result<()> {
    let Some(namespace) = namespace_of_init() else {
        return Ok(work(&home.join("bpf"))?);
    };
    let home = File::open(home)?;
    let changed = std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            // A thread that shares its root and working directory may not change its mount namespace.
            unshare(CloneFlags::CLONE_FS)?;
            setns(&namespace, CloneFlags::CLONE_NEWNS)?;
            fchdir(&home)?;
            work(Path::new("bpf"))
        });
        there.join().unwrap_or(Err(Errno::EIO))
    });
    Ok(changed?)
}
