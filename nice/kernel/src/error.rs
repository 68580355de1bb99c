// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors, each in one line that says what to do.

use std::io;

use crate::features::Feature;

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Error whose `Display` is one line for the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller lacks a privilege.
    #[error("{action} needs root: use sudo")]
    NeedsRoot {
        /// The action that was refused.
        action: &'static str,
    },
    /// The kernel lacks a feature.
    #[error(
        "this kernel lacks {0}: boot 6.1 or later, as in Debian 12 or Ubuntu 24.04 (in 22.04: apt \
         install linux-generic-hwe-22.04)"
    )]
    Lacks(Feature),
    /// The kernel has no BTF description of its types.
    #[error(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing): boot one that is built with \
         CONFIG_DEBUG_INFO_BTF=y, as Debian 11, Ubuntu 20.10, Fedora 32 and later are"
    )]
    NoBtf,
    /// A congestion control in a file cannot be used.
    #[error("{file}: {reason}")]
    ControlFile {
        /// The file as the user wrote it.
        file: String,
        /// Reason, which may have several lines.
        reason: String,
    },
    /// netnice has no congestion control of that name.
    #[error("there is no control `{name}`: choose one of {known}")]
    UnknownControl {
        /// The name or number that was given.
        name: String,
        /// The known names, separated by commas.
        known: String,
    },
    /// No cgroup2 hierarchy is usable.
    #[error(
        "no cgroup2 hierarchy can be used ({0}): boot with cgroup2, or `mount -t cgroup2 none \
         /sys/fs/cgroup/unified`"
    )]
    NoCgroup2(io::Error),
    /// The cgroup is threaded.
    #[error(
        "the cgroup {path} is threaded, and below it no cgroup can take processes: start it from \
         another one"
    )]
    ThreadedCgroup {
        /// Path as in `/proc/PID/cgroup`.
        path: String,
    },
    /// There is no such cgroup.
    #[error(
        "there is no cgroup `{name}`: give its path, absolute or below the mount point of cgroup2 \
         (`findmnt -t cgroup2` shows this, `cat /proc/PID/cgroup` the cgroup of a process)"
    )]
    UnknownCgroup {
        /// The name or number that was given.
        name: String,
    },
    /// No such cgroup, and without systemd no unit of that name either.
    #[error(
        "there is no cgroup `{name}`, and no systemd runs here that could know a unit of that \
         name: give the path of a cgroup (`cat /proc/PID/cgroup` shows that of a process)"
    )]
    NoSystemd {
        /// The name or number that was given.
        name: String,
    },
    /// systemd has no such unit, or the unit does not run.
    #[error("systemd has no cgroup for `{name}`: `systemctl status {name}` shows whether it runs")]
    UnknownUnit {
        /// The name or number that was given.
        name: String,
    },
    /// Nobody starts services.
    #[error(
        "no systemd runs here, so that nothing would attach a service when it starts: leave \
         --persist out, and have `netnice attach` run after each start"
    )]
    NoServiceManager,
    /// Only services run commands when they start.
    #[error(
        "`{name}` is not a service that systemd knows by a unit file, so that its low priority \
         cannot persist: give the name of one (`systemctl list-unit-files --type=service`), or \
         leave --persist out"
    )]
    NotAService {
        /// The name or number that was given.
        name: String,
    },
    /// The cgroup has no low priority to detach.
    #[error("the cgroup {path} has not been given low priority: {others}")]
    NotAttached {
        /// The name or number that was given.
        path: String,
        /// Cgroups that have low priority, in words.
        others: String,
    },
    /// There is no such process.
    #[error("there is no process {pid}: `ps` or `pgrep NAME` shows the numbers of those there are")]
    UnknownProcess {
        /// The name or number that was given.
        pid: i32,
    },
    /// The registered control does not read this netnice's parameters.
    #[error(
        "the control `{control}` has been registered by a netnice out of sight, as in another \
         container, so that no parameters can be set: run it there, or leave the parameters out"
    )]
    Foreign {
        /// Its name.
        control: &'static str,
    },
    /// The registered control records nothing for this netnice.
    #[error(
        "the control `{control}` has been registered by a netnice out of sight, as in another \
         container, so that its decisions cannot be read: run it there, or leave --decisions out"
    )]
    NoDecisions {
        /// Its name.
        control: &'static str,
    },
    /// uTP was to be governed in any case.
    #[error("uTP cannot be governed here: {reason}; without --udp yes the rest is governed")]
    NoUtp {
        /// What is missing.
        reason: String,
    },
    /// UDP other than uTP was to be governed in any case.
    #[error("UDP cannot be governed here: {reason}; without --udp yes the rest is governed")]
    NoUdp {
        /// What is missing.
        reason: String,
    },
    /// The process belongs to another user.
    #[error("process {pid} belongs to another user, or hides its files: use sudo")]
    NotOurs {
        /// The name or number that was given.
        pid: i32,
    },
    /// The control is not registered, and registering it needs root.
    #[error(
        "the control `{control}` is not registered, and registering it needs root: use sudo, or \
         have `sudo netnice install` run once"
    )]
    NotRegistered {
        /// Its name.
        control: &'static str,
    },
    /// An outer netnice supervisor sets its own parameters.
    #[error(
        "an outer `netnice run` supervises this one, so that only it can set parameters: give them \
         there, or leave them out"
    )]
    OuterSupervisor,
    /// Another program supervises this process, and the kernel allows only one supervisor.
    #[error(
        "another program supervises this one by seccomp, and the kernel allows one only: use sudo"
    )]
    Supervised,
    /// The kernel rejects a BPF object.
    #[error(
        "this kernel refuses the BPF object `{object}`: {reason} (`netnice check` says which \
         commands work, NETNICE_LOG=1 prints the whole log)"
    )]
    Refused {
        /// Name of the object.
        object: String,
        /// The error number and its usual meaning, or the verifier's objection.
        reason: String,
        /// Complete output of libbpf, with the verifier's log.
        log: String,
    },
    /// The kernel does not list connections.
    #[error(
        "connections cannot be listed: sock_diag answers `{0}` (the kernel needs \
         CONFIG_INET_TCP_DIAG, perhaps `modprobe tcp_diag`; a sandbox may refuse it, too)"
    )]
    NoList(#[source] io::Error),
    /// A system call failed.
    #[error("{doing}: {answer}")]
    System {
        /// The action that failed, and its object.
        doing: String,
        /// Error the kernel returned.
        answer: io::Error,
    },
}

impl Error {
    /// Returns the long form of the reason, if there is one: the log of libbpf and of the verifier.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Refused { log, .. } => Some(log),
            _ => None,
        }
    }

    /// Returns true if the caller has asked for something, by name or by an option, that cannot be had here or at all; false
    /// if kernel, cgroups or privileges do not permit low priority itself.
    pub fn is_of_request(&self) -> bool {
        matches!(
            self,
            Self::NeedsRoot { .. }
                | Self::ControlFile { .. }
                | Self::UnknownControl { .. }
                | Self::OuterSupervisor
                | Self::Foreign { .. }
                | Self::NoUtp { .. }
                | Self::NoUdp { .. }
        )
    }

    /// Returns the error of a second way, which was tried after this one, if it is of what the caller has asked for.
    pub(crate) fn unless_of_request(self, second: Error) -> Error {
        match second.is_of_request() {
            true => second,
            false => self,
        }
    }

    /// Returns true if the action needs more privileges.
    pub fn is_denied(&self) -> bool {
        let denied = [libc::EPERM, libc::EACCES, libc::EROFS];
        matches!(self, Self::NeedsRoot { .. })
            || self.errno().is_some_and(|errno| denied.contains(&errno))
    }

    /// Returns the error number of the failed system call, if one failed.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { answer, .. } => answer.raw_os_error(),
            _ => None,
        }
    }
}

/// Adds the attempted action to an error of a system call.
pub(crate) trait Context<T> {
    /// Turns the error into [`Error::System`].
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Context<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::System {
            doing: what(),
            answer: error.into(),
        })
    }
}

/// Converts an error of libbpf-rs, which hides the error number but has it in its text.
pub(crate) fn libbpf(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(format!("{error:#}"))
}

/// Returns an error unless the caller is root: `action`, the subject of a sentence, needs root.
pub fn need_root(action: &'static str) -> Result<()> {
    match nix::unistd::geteuid().is_root() {
        true => Ok(()),
        false => Err(Error::NeedsRoot { action }),
    }
}
