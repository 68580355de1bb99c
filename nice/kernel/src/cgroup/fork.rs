// SPDX-License-Identifier: MIT OR Apache-2.0
//! New processes that start in a cgroup, and sockets that such a process makes for its parent.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid};

use crate::cgroup::hierarchy::Cgroup;

/// From linux/sched.h, since 5.7.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks; the child starts in the cgroup. Moving it there later takes the kernel ten times as long. `flags` are further
/// ones of clone3, and the parent gets `exit_signal` when the child ends.
///
/// # Safety
/// As of `fork`, whose handlers do not run: unless the caller has only one thread, the child may call nothing but what is
/// safe in a signal handler. CLONE_VM must not be set.
pub(crate) unsafe fn fork_into(
    cgroup: &Cgroup,
    flags: libc::c_int,
    exit_signal: libc::c_int,
) -> nix::Result<ForkResult> {
    // SAFETY: all members are numbers, and zero means that a feature is not used.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = CLONE_INTO_CGROUP | flags as u64;
    arguments.exit_signal = exit_signal as u64;
    arguments.cgroup = cgroup.as_fd().as_raw_fd() as u64;
    // SAFETY: without CLONE_VM this is a fork. The kernel reads `arguments`, which outlive the call.
    let child = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of::<libc::clone_args>(),
        )
    };
    Ok(match Errno::result(child)? {
        0 => ForkResult::Child,
        child => ForkResult::Parent {
            child: Pid::from_raw(child as libc::pid_t),
        },
    })
}

/// Makes a TCP socket of IPv4 that belongs to the cgroup, in the network namespace of the calling thread. A socket
/// belongs to the cgroup of the process that makes it, and what a listening socket accepts belongs to the same.
pub(crate) fn tcp_socket_in(cgroup: &Cgroup) -> io::Result<OwnedFd> {
    let (result, report) = nix::unistd::pipe()?;
    // SAFETY: the child calls nothing but socket, write and _exit.
    match unsafe { fork_into(cgroup, libc::CLONE_FILES, 0) }? {
        ForkResult::Child => {
            // SAFETY: all arguments are numbers, or point to a value that lives through the call. With CLONE_FILES the
            // socket is the parent's, too.
            unsafe {
                let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
                let made = libc::socket(libc::AF_INET, kind, libc::IPPROTO_TCP);
                let outcome = if made < 0 {
                    -*libc::__errno_location()
                } else {
                    made
                };
                let outcome = &raw const outcome;
                libc::write(report.as_raw_fd(), outcome.cast(), size_of::<i32>());
                libc::_exit(0)
            }
        }
        ForkResult::Parent { child } => {
            // A child without an exit signal is waited for by __WALL alone.
            let waited = loop {
                match waitpid(child, Some(WaitPidFlag::__WALL)) {
                    Err(Errno::EINTR) => {}
                    other => break other,
                }
            };
            match waited? {
                WaitStatus::Exited(_, 0) => {}
                _ => return Err(io::Error::other("the process that was to make it died")),
            }
            let mut outcome = [0; size_of::<i32>()];
            let read = nix::unistd::read(&result, &mut outcome)?;
            if read != outcome.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match i32::from_ne_bytes(outcome) {
                // SAFETY: the child has just made this descriptor in the table that both share.
                made @ 0.. => Ok(unsafe { OwnedFd::from_raw_fd(made) }),
                error => Err(io::Error::from_raw_os_error(-error)),
            }
        }
    }
}
