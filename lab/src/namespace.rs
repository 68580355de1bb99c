// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces without a name: they live as long as somebody holds them, and leave nothing behind.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::LabError;
use crate::error::Attempted;

/// A network namespace, held open by a file descriptor. It has no name and no mount: when its last holder and the last
/// process in it are gone, by whatever death, the kernel removes it with everything in it.
#[derive(Debug, Clone)]
pub struct Namespace {
    file: Arc<File>,
}

impl Namespace {
    /// A new, empty namespace. The caller's own is not changed.
    pub fn create() -> Result<Namespace, LabError> {
        thread::scope(|scope| {
            // Namespaces belong to threads: this one changes its own and ends.
            let made = thread::Builder::new()
                .name("namespace".into())
                .spawn_scoped(scope, || {
                    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
                        nix::Error::EPERM => LabError::Privilege {
                            action: "an emulated link",
                        },
                        errno => LabError::Os {
                            action: "create a network namespace".into(),
                            answer: errno.into(),
                        },
                    })?;
                    Namespace::current()
                });
            let thread = made.attempted("start a thread")?;
            thread
                .join()
                .unwrap_or_else(|_| Err(LabError::Panicked("namespace".into())))
        })
    }

    /// The namespace of the calling thread.
    pub fn current() -> Result<Namespace, LabError> {
        let file = File::open("/proc/thread-self/ns/net")
            .attempted("open the current network namespace")?;
        Ok(Namespace {
            file: Arc::new(file),
        })
    }

    /// Moves the calling thread into this namespace, for good. Sockets stay in the namespace they were created in.
    pub fn enter(&self) -> Result<(), LabError> {
        setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET).attempted("enter a network namespace")
    }

    /// Runs `work` inside, on a thread of its own, and waits for it. Sockets it creates keep working outside.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
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

    /// Starts a command inside, with the standard streams that `command` has (inherited unless set).
    ///
    /// It is killed when the *thread* that called this ends, so that nothing is left behind a killed run; call it from
    /// a thread that waits for it. Its own children are not covered: they keep the namespace until they end. `/sys`
    /// still shows the devices of the namespace it was mounted in, because cgroup2 and bpffs below it are needed.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, LabError> {
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
    pub fn status(&self, command: &mut Command) -> Result<ExitStatus, LabError> {
        let name = command.get_program().to_string_lossy().into_owned();
        self.spawn(command)?
            .wait()
            .attempted(format!("wait for `{name}`"))
    }
}

/// The file by which it is held open, as `setns` takes it.
impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
