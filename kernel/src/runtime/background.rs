// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process of our own that outlives this one: it has no terminal, no open files, and no parent
//! that would have to wait for it.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, chdir, fork, setsid};

use crate::error::{Context, Result};

/// Name of a process that clears up. `killall netnice` and `pkill netnice` end the commands, and not also what
/// clears up after them.
pub const GUARD: &CStr = c"nn-guard";

/// Name of a supervisor, for the same reason.
pub(crate) const SUPERVISOR: &CStr = c"nn-supervisor";

/// Runs `work` in a new process in the background, which is called `name` (of 15 bytes at most), with no file open but
/// `kept`. Only one thread may be running.
pub fn spawn(name: &CStr, kept: Option<BorrowedFd<'_>>, work: impl FnOnce()) -> Result<()> {
    let starting = || "starting a process in the background".to_owned();
    let kept = kept.map(|kept| kept.as_raw_fd());
    // SAFETY: as the caller has only this thread, the child's memory is in a consistent state.
    match unsafe { fork() }.doing(starting)? {
        ForkResult::Parent { child } => {
            // It ends at once: the work is done by a child of its own, which thus has no parent.
            match waitpid(child, None) {
                // Where SIGCHLD is ignored, as a caller may have left it, nothing is to be awaited.
                Ok(_) | Err(Errno::ECHILD) => Ok(()),
                Err(error) => Err(error).doing(starting),
            }
        }
        ForkResult::Child => {
            // SAFETY: as above.
            if setsid().is_ok() && matches!(unsafe { fork() }, Ok(ForkResult::Child)) {
                detach(name, kept);
                work();
            }
            // SAFETY: ends the process without running what the parent is to run at its end.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Lets go of the terminal, the working directory and all files; a signal that is meant for the
/// command does not end us.
fn detach(name: &CStr, kept: Option<RawFd>) {
    for number in [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGPIPE,
    ] {
        // SAFETY: ignoring a signal runs no code of ours.
        let _ = unsafe { signal(number, SigHandler::SigIgn) };
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    let _ = chdir("/");
    let _ = nix::sys::prctl::set_name(name);
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let null = null.as_fd();
        let _ = nix::unistd::dup2_stdin(null);
        let _ = nix::unistd::dup2_stdout(null);
        let _ = nix::unistd::dup2_stderr(null);
    }
    close_from(3, kept.as_slice());
}

/// Closes all files from `first` on, but for `kept`. Values that own them must not be used.
pub(crate) fn close_from(first: RawFd, kept: &[RawFd]) {
    let close = |from: RawFd, to: libc::c_uint| {
        // SAFETY: the callers run nothing that relies on the files closed here.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
    };
    let mut kept: Vec<_> = kept.iter().filter(|kept| **kept >= first).collect();
    kept.sort_unstable();
    let mut from = first;
    for &kept in kept {
        if kept > from {
            close(from, (kept - 1) as libc::c_uint);
        }
        from = kept + 1;
    }
    close(from, libc::c_uint::MAX);
}
