// SPDX-License-Identifier: MIT OR Apache-2.0
//! The directory of a running netnice, `/run/netnice`, and the BPF file system in it. [`crate::runtime::pins`] holds
//! the shares in it and clears it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use libbpf_rs::MapHandle;
use nix::fcntl::FlockArg;

use crate::error::{Context, Result, libbpf};
use crate::locked_file::{self, Locked};

const HOME: &str = "/run/netnice";

/// Returns the directory for all files of a running netnice, as seen from this process.
pub fn home() -> PathBuf {
    match namespace_of_init() {
        Some(_) => Path::new("/proc/1/root").join(&HOME[1..]),
        None => PathBuf::from(HOME),
    }
}

/// Opens the mount namespace of PID 1, if it differs from this process's and may be entered.
pub(crate) fn namespace_of_init() -> Option<File> {
    let ours = fs::metadata("/proc/self/ns/mnt").ok()?;
    let init = fs::metadata("/proc/1/ns/mnt").ok()?;
    // A PID 1 with another root has no place that others would find.
    if ours.ino() == init.ino() || !Path::new("/proc/1/root/run").is_dir() {
        return None;
    }
    File::open("/proc/1/ns/mnt").ok()
}

/// The directory, which exists while its user holds a share in it.
#[derive(Debug)]
pub struct PinDirectory {
    home: PathBuf,
}

/// Lock for loading and pinning, which one process holds at a time.
#[derive(Debug)]
pub(crate) struct Loading {
    _lock: Locked,
}

impl PinDirectory {
    /// Returns the directory as this process sees it, whether or not it exists.
    pub(crate) fn find() -> Self {
        Self { home: home() }
    }

    /// Returns the directory for all files of a running netnice.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the mount point of netnice's BPF file system.
    pub fn bpf(&self) -> PathBuf {
        self.home.join("bpf")
    }

    /// Returns the directory where the maps that all objects share are pinned by name.
    pub(crate) fn maps(&self) -> PathBuf {
        self.bpf().join("maps")
    }

    /// Opens a map that all objects share.
    pub(crate) fn open_map(&self, name: &str) -> Result<MapHandle> {
        MapHandle::from_pinned_path(self.maps().join(name))
            .map_err(libbpf)
            .doing(|| format!("opening the pinned map {name}"))
    }

    /// Keeps others from loading until the value is dropped.
    pub(crate) fn while_loading(&self) -> Result<Loading> {
        let lock = lock(&self.home, "loading", FlockArg::LockExclusive)?;
        Ok(Loading { _lock: lock })
    }
}

/// Creates a directory that others may enter but not change. Succeeds if it exists.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    let making = || format!("making {}", path.display());
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path) {
                Ok(there) if !there.is_dir() => Err(io::Error::from(io::ErrorKind::NotADirectory))
                    .doing(|| format!("using {0} (remove what is there: rm {0})", path.display())),
                // Another call may have removed it meanwhile; its next use reports that.
                _ => Ok(()),
            }
        }
        // The caller's umask may be strict.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o755)).doing(making),
        other => other.doing(making),
    }
}

/// Returns true if the directory was removed, but is still mounted at its path: nobody can make it anew.
fn is_removed(home: &Path) -> bool {
    fs::metadata(home).is_ok_and(|there| there.nlink() == 0)
}

/// Opens and locks a file in `home`, and ensures that the path still names it.
pub(crate) fn lock(home: &Path, name: &str, how: FlockArg) -> Result<Locked> {
    let path = home.join(name);
    loop {
        make_directory(home)?;
        let file = match OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
        {
            // The last user removed the directory meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_removed(home) => continue,
            other => other.doing(|| format!("opening {}", path.display()))?,
        };
        let opened = file
            .metadata()
            .doing(|| format!("reading {}", path.display()))?;
        let lock = locked_file::lock(file, how).doing(|| format!("locking {}", path.display()))?;
        if fs::metadata(&path).is_ok_and(|there| there.ino() == opened.ino()) {
            return Ok(lock);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_removed_directory_is_an_error_and_no_endless_loop() {
        let home = std::env::temp_dir().join(format!("netnice-removed-{}", std::process::id()));
        fs::create_dir(&home).expect("a directory");
        let kept = fs::File::open(&home).expect("opened");
        fs::remove_dir(&home).expect("removed");
        // As where it is the source of a bind mount, the path leads to what was removed.
        let mounted = format!("/proc/self/fd/{}/.", kept.as_raw_fd());
        let error = lock(Path::new(&mounted), "lock", FlockArg::LockShared).expect_err("removed");
        assert!(error.to_string().contains("lock"), "{error}");
    }
}
