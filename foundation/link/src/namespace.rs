// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces without a name: they exist while a process holds them, and leave nothing behind.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::{Attempted, LinkError};

/// Time processes have to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// Network namespace, held open by a file descriptor. It has no name and no mount: when its last holder and the last
/// process in it are gone, however they died, the kernel removes it with everything in it.
#[derive(Debug, Clone)]
pub struct Namespace {
    file: Arc<File>,
}

impl Namespace {
    /// Creates an empty namespace. The caller's own does not change.
    pub fn create() -> Result<Namespace, LinkError> {
        thread::scope(|scope| {
            // Namespaces belong to threads: this thread changes its own and ends.
            let made = thread::Builder::new()
                .name("namespace".into())
                .spawn_scoped(scope, || {
                    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
                        nix::Error::EPERM => LinkError::Privilege {
                            action: "making a network namespace",
                        },
                        errno => LinkError::Os {
                            action: "create a network namespace".into(),
                            answer: errno.into(),
                        },
                    })?;
                    Namespace::current()
                });
            let thread = made.attempted("start a thread")?;
            thread
                .join()
                .unwrap_or_else(|_| Err(LinkError::Panicked("namespace".into())))
        })
    }

    /// Returns the namespace of the calling thread.
    pub fn current() -> Result<Namespace, LinkError> {
        let file = File::open("/proc/thread-self/ns/net")
            .attempted("open the current network namespace")?;
        Ok(Namespace {
            file: Arc::new(file),
        })
    }

    /// Finds the namespace with this inode and this [cookie](Namespace::cookie), if a visible process is in it.
    pub fn find(inode: u64, cookie: u64) -> Option<Namespace> {
        let pid = processes(&[inode]).into_iter().next()?;
        let file = File::open(format!("/proc/{pid}/ns/net")).ok()?;
        let namespace = Namespace {
            file: Arc::new(file),
        };
        (namespace.cookie().ok()? == cookie).then_some(namespace)
    }

    /// Returns a number that no other namespace has until the next boot (`SO_NETNS_COOKIE`, since Linux 5.14); the
    /// kernel reuses the inode number when a namespace is gone.
    pub fn cookie(&self) -> Result<u64, LinkError> {
        let cookie = self.run(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            let mut cookie = 0_u64;
            let mut length = size_of_val(&cookie) as libc::socklen_t;
            // SAFETY: both pointers are to values that live through the call, and `length` is the size of `cookie`.
            let answer = unsafe {
                libc::getsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_NETNS_COOKIE,
                    (&raw mut cookie).cast(),
                    &raw mut length,
                )
            };
            match answer {
                0 => Ok(cookie),
                _ => Err(io::Error::last_os_error()),
            }
        })?;
        cookie.attempted("tell a network namespace from others")
    }

    /// Moves the calling thread into this namespace permanently. Sockets stay in the namespace they were created in.
    pub fn enter(&self) -> Result<(), LinkError> {
        setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET).attempted("enter a network namespace")
    }

    /// Runs `work` inside, on a thread of its own, and waits for it. Sockets that `work` creates keep working outside.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LinkError> {
        thread::scope(|scope| {
            let inside = thread::Builder::new()
                .name("in-namespace".into())
                .spawn_scoped(scope, || {
                    self.enter()?;
                    Ok(work())
                })
                .attempted("start a thread")?;
            inside
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts a command inside, with the standard streams that `command` sets (inherited by default).
    ///
    /// The kernel kills it when the calling *thread* ends, so that a killed run leaves nothing behind; call this from a
    /// thread that waits for it. This does not cover its own children: they keep the namespace until they end. `/sys`
    /// still shows the devices of the namespace it was mounted in, because commands need cgroup2 and bpffs below it.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, LinkError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let file = Arc::clone(&self.file);
        let parent = nix::unistd::getpid();
        let prepare = move || -> io::Result<()> {
            setns(file.as_fd(), CloneFlags::CLONE_NEWNET)?;
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            // The parent may have died before the line above took effect.
            if nix::unistd::getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        };
        // SAFETY: setns, prctl and getppid are plain system calls, which are allowed between fork and exec.
        unsafe { command.pre_exec(prepare) };
        command.spawn().attempted(format!("run `{name}`"))
    }

    /// Runs a command inside and waits for it; standard streams as in [`Namespace::spawn`].
    pub fn status(&self, command: &mut Command) -> Result<ExitStatus, LinkError> {
        let name = command.get_program().to_string_lossy().into_owned();
        self.spawn(command)?
            .wait()
            .attempted(format!("wait for `{name}`"))
    }
}

/// Counts the sockets in the calling thread's network namespace that a client can talk to.
pub fn count_listening() -> usize {
    const TCP_LISTEN: &str = "0A";
    let count = |name: &str, wanted: fn(&str) -> bool| {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        // "sl local_address rem_address st ..."
        let states = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(3));
        states.filter(|state| wanted(state)).count()
    };
    let tcp = ["tcp", "tcp6"].map(|name| count(name, |state| state == TCP_LISTEN));
    let udp = ["udp", "udp6"].map(|name| count(name, |_| true));
    tcp.iter().chain(&udp).sum()
}

/// Sends SIGTERM to all processes in these namespaces, kills those that do not end, and returns how many there were.
/// SIGTERM comes first even if no one waits for the processes, since some may clean up after others. Needs root, to see
/// all processes of the machine.
pub fn end_processes(namespaces: &[impl AsFd]) -> usize {
    let namespaces: Vec<u64> = namespaces.iter().filter_map(inode_of).collect();
    let namespaces = &namespaces[..];
    let there = processes(namespaces);
    for signal in [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGCONT] {
        for process in &there {
            let _ = kill(*process, signal);
        }
    }
    let deadline = Instant::now() + GRACE;
    let mut left = there.clone();
    // Processes still being forked appear only later.
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

/// Returns the processes in any of these network namespaces, except the caller and zombies.
fn processes(namespaces: &[u64]) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            // A zombie has no namespaces.
            let inode = fs::metadata(format!("/proc/{pid}/ns/net")).ok();
            inode.is_some_and(|file| namespaces.contains(&file.ino()))
        })
        .map(Pid::from_raw)
        .filter(|&pid| pid != nix::unistd::getpid())
        .collect()
}

/// Returns the inode number that identifies a namespace while it exists.
pub fn inode_of(namespace: &impl AsFd) -> Option<u64> {
    let state = nix::sys::stat::fstat(namespace.as_fd()).ok()?;
    Some(state.st_ino)
}

/// The file that holds the namespace open, as `setns` takes it.
impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
