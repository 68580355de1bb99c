// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors, each in one line that says what to do.

use std::io;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done. Its `Display` is one line for the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller lacks a privilege.
    #[error("{action} needs root: use sudo")]
    NeedsRoot {
        /// The action that was refused.
        action: &'static str,
    },
    /// The kernel lacks what is needed.
    #[error(
        "Linux {major}.{minor} is too old: 6.1 or later is needed, as in Debian 12 or Ubuntu 24.04 \
         (in 22.04: apt install linux-generic-hwe-22.04)"
    )]
    TooOld {
        /// Major number of its release.
        major: u32,
        /// Minor number.
        minor: u32,
    },
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing): boot one that is built with \
         CONFIG_DEBUG_INFO_BTF=y, as Debian 11, Ubuntu 20.10, Fedora 32 and later are"
    )]
    NoBtf,
    /// There is no congestion control of that name among ours.
    #[error("there is no control `{name}`: choose one of {known}")]
    UnknownControl {
        /// The name or number that was given.
        name: String,
        /// The known names, separated by commas.
        known: String,
    },
    /// There is no cgroup2 that we can use.
    #[error(
        "no cgroup2 hierarchy can be used ({0}): boot with cgroup2, or `mount -t cgroup2 none \
         /sys/fs/cgroup/unified`"
    )]
    NoCgroup2(io::Error),
    /// There are only threads below it.
    #[error(
        "the cgroup {path} is threaded, and below it no cgroup can take processes: start it from \
         another one"
    )]
    ThreadedCgroup {
        /// The path as `/proc/PID/cgroup` has it.
        path: String,
    },
    /// There is no such cgroup.
    #[error(
        "there is no cgroup `{name}`: give its path, absolute or below the mount point of cgroup2 \
         (`cat /proc/PID/cgroup` shows that of a process)"
    )]
    UnknownCgroup {
        /// The name or number that was given.
        name: String,
    },
    /// It may be the name of a unit, but nobody can be asked.
    #[error(
        "there is no cgroup `{name}`, and no systemd runs here that could know a unit of that \
         name: give the path of a cgroup (`cat /proc/PID/cgroup` shows that of a process)"
    )]
    NoSystemd {
        /// The name or number that was given.
        name: String,
    },
    /// systemd knows no such unit, or it does not run.
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
    /// There is nothing to detach.
    #[error("the cgroup {path} has not been given low priority: {others}")]
    NotAttached {
        /// The name or number that was given.
        path: String,
        /// Which ones have.
        others: String,
    },
    /// There is no such process.
    #[error("there is no process {pid}: `ps` or `pgrep NAME` shows the numbers of those there are")]
    UnknownProcess {
        /// The name or number that was given.
        pid: i32,
    },
    /// The control in the kernel does not take parameters from us.
    #[error(
        "the control `{control}` has been registered by a netnice out of sight, as in another \
         container, so that no parameters can be set: run it there, or leave the parameters out"
    )]
    Foreign {
        /// Its name.
        control: &'static str,
    },
    /// A process of another user.
    #[error("process {pid} belongs to another user, or hides its files: use sudo")]
    NotOurs {
        /// The name or number that was given.
        pid: i32,
    },
    /// Without root, the control has to be there already.
    #[error(
        "the control `{control}` is not registered, and registering it needs root: use sudo, or \
         have `sudo netnice install` run once"
    )]
    NotRegistered {
        /// Its name.
        control: &'static str,
    },
    /// A supervisor of ours that is there before us sets its own parameters.
    #[error(
        "an outer `netnice run` supervises this one, so that only it can set parameters: give them \
         there, or leave them out"
    )]
    OuterSupervisor,
    /// A supervisor that is not ours is there before us, and the kernel allows one only.
    #[error(
        "another program supervises this one by seccomp, and the kernel allows one only: use sudo"
    )]
    Supervised,
    /// The kernel would not take a BPF object.
    #[error(
        "this kernel refuses the BPF object `{object}`: {reason} (`netnice check` says which \
         commands work, NETNICE_LOG=1 prints the whole log)"
    )]
    Refused {
        /// Name of the object.
        object: String,
        /// The error number and its usual meaning, or the verifier's objection.
        reason: String,
        /// All that libbpf had to say, with the verifier's log.
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
        /// The kernel's answer.
        answer: io::Error,
    },
}

impl Error {
    /// The long form of the reason, where there is one: the log of libbpf and of the verifier.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Refused { log, .. } => Some(log),
            _ => None,
        }
    }

    /// Whether what was to be done takes more rights.
    pub fn is_denied(&self) -> bool {
        let denied = [libc::EPERM, libc::EACCES, libc::EROFS];
        matches!(self, Self::NeedsRoot { .. })
            || self.errno().is_some_and(|errno| denied.contains(&errno))
    }

    /// The error number of the system call that failed, where one did.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { answer, .. } => answer.raw_os_error(),
            _ => None,
        }
    }
}

/// Names what was being done when an operating system call failed.
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

/// libbpf-rs hides the error number; its text has what there is to know.
pub(crate) fn libbpf(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(format!("{error:#}"))
}

/// An error for other users than root: `action`, the subject of a sentence, needs root.
pub fn need_root(action: &'static str) -> Result<()> {
    match nix::unistd::geteuid().is_root() {
        true => Ok(()),
        false => Err(Error::NeedsRoot { action }),
    }
}
