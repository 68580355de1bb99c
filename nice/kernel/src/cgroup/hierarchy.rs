// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroup2 hierarchy: finding it wherever it is mounted, or mounting it privately, and creating, entering and
//! removing cgroups in it.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, fstatfs};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::error::{Context, Error, Result};

/// Prefixes of the names of cgroups that netnice creates, and removes once they are empty.
pub(crate) const OURS: [&str; 2] = ["netnice-run-", "netnice-pid-"];

/// The cgroup2 file system, or the visible part of it.
#[derive(Debug)]
pub struct Hierarchy {
    root: OwnedFd,
    /// Path of `root` itself in the form of `/proc/PID/cgroup`; "/" for all of it.
    prefix: String,
    /// Mount point; `None` if mounted privately.
    mounted_at: Option<String>,
}

/// One directory of the hierarchy.
#[derive(Debug)]
pub struct Cgroup {
    directory: OwnedFd,
    path: String,
    id: u64,
}

impl Hierarchy {
    /// Finds the mount point of cgroup2; if it is not mounted, or not visible, mounts it detached while the value
    /// lives.
    pub fn find() -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let found = mounts
            .lines()
            .filter_map(mount_point)
            .find_map(|(root, at)| {
                let directory = open_directory(None, &at).ok()?;
                let magic = fstatfs(&directory).ok()?.filesystem_type();
                (magic == CGROUP2_SUPER_MAGIC).then_some(Self {
                    root: directory,
                    prefix: root,
                    mounted_at: Some(at),
                })
            });
        match found {
            Some(hierarchy) => Ok(hierarchy),
            None => Ok(Self {
                root: mount_detached().map_err(Error::NoCgroup2)?,
                prefix: "/".to_owned(),
                mounted_at: None,
            }),
        }
    }

    /// Returns the mount point of cgroup2; `None` if mounted privately.
    pub fn mounted_at(&self) -> Option<&str> {
        self.mounted_at.as_deref()
    }

    /// Opens a cgroup by its path as in `/proc/PID/cgroup`.
    pub fn open(&self, path: &str) -> Result<Cgroup> {
        let beneath = if self.prefix == "/" {
            Some(path)
        } else {
            path.strip_prefix(self.prefix.as_str())
                .filter(|beneath| beneath.is_empty() || beneath.starts_with('/'))
        };
        let beneath = beneath
            .filter(|path| !path.split('/').any(|part| matches!(part, "." | "..")))
            .ok_or_else(|| Error::UnknownCgroup {
                name: path.to_owned(),
            })?;
        let relative = match beneath.trim_matches('/') {
            "" => ".",
            path => path,
        };
        let directory = match open_directory(Some(self.root.as_fd()), relative) {
            Err(Errno::ENOENT | Errno::ENOTDIR) => {
                return Err(Error::UnknownCgroup {
                    name: path.to_owned(),
                });
            }
            other => other.doing(|| format!("opening the cgroup {path}"))?,
        };
        Cgroup::new(directory, path.to_owned())
    }

    /// Opens a cgroup by a path that a user gave: absolute, or relative to the top of the hierarchy.
    pub fn open_given(&self, path: &str) -> Result<Cgroup> {
        if path.is_empty() {
            // An empty path would mean the top.
            return Err(Error::UnknownCgroup {
                name: path.to_owned(),
            });
        }
        let mounted = self.mounted_at.as_deref().and_then(|at| {
            let absolute = fs::canonicalize(path).ok()?;
            let beneath = absolute.strip_prefix(at).ok()?;
            let prefix = self.prefix.trim_end_matches('/');
            Some(format!("{prefix}/{}", beneath.to_str()?))
        });
        match mounted {
            Some(path) if path.trim_matches('/').is_empty() => self.open("/"),
            Some(path) => self.open(path.trim_end_matches('/')),
            None => self.open(&format!("/{}", path.trim_matches('/'))),
        }
    }

    /// Returns the cgroup of a process, or of this one.
    pub fn of(&self, pid: Option<i32>) -> Result<Cgroup> {
        let process = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let path = path_of(&process)
            .doing(|| format!("reading /proc/{process}/cgroup"))?
            .ok_or_else(|| Error::NoCgroup2(io::ErrorKind::Unsupported.into()))?;
        self.open(&path)
    }
}

/// Returns the path of a process's cgroup in cgroup2 (man 7 cgroups); `None` if there is none.
pub(crate) fn path_of(process: impl Display) -> io::Result<Option<String>> {
    let lines = fs::read_to_string(format!("/proc/{process}/cgroup"))?;
    let path = lines.lines().find_map(|line| line.strip_prefix("0::"));
    Ok(path.map(str::to_owned))
}

impl Cgroup {
    fn new(directory: OwnedFd, path: String) -> Result<Self> {
        let id = fstat(&directory)
            .doing(|| format!("reading the cgroup {path}"))?
            .st_ino;
        Ok(Self {
            directory,
            path,
            id,
        })
    }

    /// Returns the path as in `/proc/PID/cgroup`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the cgroup's id, which the kernel does not reuse while the system runs.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns true if netnice created it, for a run or for `renice`.
    pub fn is_ours(&self) -> bool {
        OURS.iter().any(|prefix| self.name().starts_with(prefix))
    }

    /// Creates a child `name` for processes, with `-2` and so on appended if that name exists.
    pub fn create_child(&self, name: &str) -> Result<Self> {
        let mode = Mode::from_bits_truncate(0o755);
        let mut attempt = 1;
        let mut chosen = name.to_owned();
        while let Err(error) = mkdirat(&self.directory, chosen.as_str(), mode) {
            if error != Errno::EEXIST || attempt == 100 {
                return Err(error).doing(|| format!("making a cgroup in {}", self.path));
            }
            attempt += 1;
            chosen = format!("{name}-{attempt}");
        }
        let child = self.open_child(&chosen)?;
        // The caller's umask may be strict.
        fchmod(&child.directory, mode).doing(|| format!("making the cgroup {}", child.path))?;
        if child.read("cgroup.type")?.contains("invalid") {
            child.remove()?;
            return Err(Error::ThreadedCgroup {
                path: self.path.clone(),
            });
        }
        Ok(child)
    }

    /// Returns the time since it was created, or since a direct child was created or removed.
    pub fn unchanged_for(&self) -> Result<Duration> {
        let status =
            fstat(&self.directory).doing(|| format!("reading the cgroup {}", self.path))?;
        let changed = UNIX_EPOCH + Duration::from_secs(status.st_mtime.max(0) as u64);
        Ok(changed.elapsed().unwrap_or_default())
    }

    fn open_child(&self, name: &str) -> Result<Self> {
        let path = format!("{}/{name}", self.path.trim_end_matches('/'));
        let directory = open_directory(Some(self.directory.as_fd()), name)
            .doing(|| format!("opening the cgroup {path}"))?;
        Self::new(directory, path)
    }

    /// Returns the direct children of this cgroup.
    pub fn children(&self) -> Result<Vec<Self>> {
        let reading = || format!("reading the cgroup {}", self.path);
        let mut directory =
            Dir::openat(&self.directory, ".", directory_flags(), Mode::empty()).doing(reading)?;
        let mut children = Vec::new();
        for entry in directory.iter() {
            let entry = entry.doing(reading)?;
            let name = entry.file_name().to_string_lossy();
            let is_directory = entry.file_type() == Some(nix::dir::Type::Directory);
            if is_directory && name != "." && name != ".." {
                // The child may be gone since it was listed.
                children.extend(self.open_child(&name).ok());
            }
        }
        Ok(children)
    }

    /// Returns the processes in it, without those of its children.
    pub fn processes(&self) -> Result<Vec<i32>> {
        let listed = self.read("cgroup.procs")?;
        // Processes outside this PID namespace are listed as 0.
        let pids = listed.lines().filter_map(|line| line.parse().ok());
        Ok(pids.filter(|pid| *pid != 0).collect())
    }

    /// Returns the processes in it and in all cgroups below.
    pub fn processes_beneath(&self) -> Result<Vec<i32>> {
        let mut processes = self.processes()?;
        for child in self.children()? {
            processes.extend(child.processes_beneath()?);
        }
        Ok(processes)
    }

    /// Moves a process into it, with all its threads; 0 means the caller.
    pub fn enter(&self, pid: i32) -> Result<()> {
        self.open_file("cgroup.procs", OFlag::O_WRONLY)
            .and_then(|mut file| file.write_all(pid.to_string().as_bytes()))
            .doing(|| format!("moving process {pid} into the cgroup {}", self.path))
    }

    /// Returns true if a process is in it or below.
    pub fn is_populated(&self) -> Result<bool> {
        Ok(!self.read("cgroup.events")?.contains("populated 0"))
    }

    /// Waits until no process is in it or below, or until it is removed. Meanwhile it calls `look`, which returns after how long it
    /// is to be called again; `None` for no need.
    pub fn wait_until_empty(&self, mut look: impl FnMut() -> Option<Duration>) -> Result<()> {
        let waiting = || format!("watching the cgroup {}", self.path);
        let mut file = match self.open_file("cgroup.events", OFlag::O_RDONLY) {
            Err(error) if gone(&error) => return Ok(()),
            other => other.doing(waiting)?,
        };
        // The kernel does not signal the removal of the directory, and may signal late that the cgroup is empty, so
        // another process's removal is noticed by polling.
        let mut patience = Duration::from_millis(250);
        loop {
            let mut events = String::new();
            match io::Seek::rewind(&mut file).and_then(|()| file.read_to_string(&mut events)) {
                Err(error) if gone(&error) => return Ok(()),
                other => other.doing(waiting)?,
            };
            if events.contains("populated 0") {
                return Ok(());
            }
            let wanted = look().unwrap_or(patience).min(patience);
            let timeout = PollTimeout::try_from(wanted).unwrap_or(PollTimeout::MAX);
            let mut wait = [PollFd::new(file.as_fd(), PollFlags::POLLPRI)];
            match poll(&mut wait, timeout) {
                Ok(0) => patience = (patience * 2).min(Duration::from_secs(16)),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error).doing(waiting),
            }
        }
    }

    /// Opens it again.
    pub(crate) fn again(&self) -> Result<Self> {
        let directory = self.directory.try_clone();
        Self::new(
            directory.doing(|| format!("opening the cgroup {}", self.path))?,
            self.path.clone(),
        )
    }

    /// Returns the parent of this cgroup.
    pub fn parent(&self) -> Result<Self> {
        let path = match self.path.trim_end_matches('/').rsplit_once('/') {
            None | Some(("", _)) => "/",
            Some((above, _)) => above,
        };
        let directory = open_directory(Some(self.directory.as_fd()), "..")
            .doing(|| format!("opening the cgroup {path}"))?;
        Self::new(directory, path.to_owned())
    }

    /// Removes it and all cgroups below; none of them may contain a process.
    pub fn remove(self) -> Result<()> {
        for child in self.children()? {
            child.remove()?;
        }
        let above = self.parent()?;
        match unlinkat(&above.directory, self.name(), UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(error).doing(|| format!("removing the cgroup {}", self.path)),
        }
    }

    fn read(&self, name: &str) -> Result<String> {
        let mut text = String::new();
        self.open_file(name, OFlag::O_RDONLY)
            .and_then(|mut file| file.read_to_string(&mut text))
            .doing(|| format!("reading {name} of the cgroup {}", self.path))?;
        Ok(text)
    }

    fn open_file(&self, name: &str, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        Ok(openat(&self.directory, name, flags, Mode::empty())?.into())
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

fn gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV))
}

fn directory_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW
}

fn open_directory(at: Option<BorrowedFd<'_>>, path: &str) -> nix::Result<OwnedFd> {
    match at {
        Some(at) => openat(at, path, directory_flags(), Mode::empty()),
        None => nix::fcntl::open(Path::new(path), directory_flags(), Mode::empty()),
    }
}

/// Returns the root within the file system and the mount point from a line of mountinfo that is about cgroup2.
fn mount_point(line: &str) -> Option<(String, String)> {
    let (mount, file_system) = line.split_once(" - ")?;
    if file_system.split(' ').next() != Some("cgroup2") {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    let (root, at) = (unescape(fields.next()?), unescape(fields.next()?));
    // A mount from outside this cgroup namespace does not contain the paths visible here.
    (!root.starts_with("/..")).then_some((root, at))
}

/// Resolves the octal escapes of mountinfo for blanks and the like.
fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Mounts cgroup2 without a mount point: the mount lives as long as the file descriptor.
fn mount_detached() -> io::Result<OwnedFd> {
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    let descriptor = |answer: libc::c_long| -> io::Result<OwnedFd> {
        let number = libc::c_int::try_from(answer).map_err(io::Error::other)?;
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created this descriptor for the caller.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    };
    // SAFETY: the name is a NUL-terminated string; close-on-exec is the only flag (1).
    let context = descriptor(unsafe { libc::syscall(libc::SYS_fsopen, c"cgroup2".as_ptr(), 1) })?;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: this command takes no key, value or number.
    let created = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            FSCONFIG_CMD_CREATE,
            none,
            none,
            0,
        )
    };
    if created < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: close-on-exec (1) and nosuid, nodev, noexec (14) are numbers, not pointers.
    let mounted =
        descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, 14) })?;
    // fsmount returns an O_PATH descriptor, which BPF does not accept.
    Ok(open_directory(Some(mounted.as_fd()), ".")?)
}

#[cfg(test)]
mod tests {
    use super::{mount_point, unescape};

    #[test]
    fn cgroup2_is_found_at_either_usual_place_and_nothing_else_is() {
        let at = |line| mount_point(line).map(|(root, at)| format!("{root} {at}"));
        assert_eq!(
            at("35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"),
            Some("/ /sys/fs/cgroup".into())
        );
        assert_eq!(
            at("41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"),
            Some("/ /sys/fs/cgroup/unified".into())
        );
        assert_eq!(
            at("36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices"),
            None
        );
        assert_eq!(at("41 31 0:38 /../.. /mnt rw - cgroup2 cgroup2 rw"), None);
    }

    #[test]
    fn escapes_of_mountinfo_are_resolved() {
        assert_eq!(unescape(r"/a\040b\134c"), r"/a b\c");
        assert_eq!(unescape(r"/ends\04"), r"/ends\04");
    }
}
