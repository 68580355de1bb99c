// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel interface of supervision: installs the filter, receives the calls that it passes on, and answers them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `SECCOMP_IOCTL_NOTIF_SET_FLAGS` of linux/seccomp.h: `_IOW('!', 4, __u64)`.
const NOTIF_SET_FLAGS: libc::Ioctl = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: caller and supervisor take turns on one processor.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// Source of supervised system calls.
pub(super) struct Listener(OwnedFd);

/// System call that waits for an answer.
pub(super) struct Call {
    pub(super) id: u64,
    /// Calling thread.
    pub(super) thread: u32,
    pub(super) architecture: u32,
    pub(super) number: u32,
    pub(super) arguments: [u64; 6],
}

/// Installs the filter for this thread and all that it starts from now on.
pub(super) fn install(program: &mut [libc::sock_filter]) -> io::Result<Listener> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_mut_ptr(),
    };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the kernel reads `program`, which outlives the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created this descriptor for the caller.
        Ok(unsafe { OwnedFd::from_raw_fd(answer as RawFd) })
    };
    // Once the supervisor has received a call, only a fatal signal may interrupt its caller. Without this flag (before
    // 5.19) any signal may, and the call is repeated or fails with EINTR.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    match install(flags | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(flags),
        other => other,
    }
    .map(Listener)
}

impl From<OwnedFd> for Listener {
    /// Requests that the kernel runs the supervisor on the caller's processor (6.6). The caller waits anyway, and the
    /// sooner the supervisor receives its call, the less often a signal interrupts it before that.
    fn from(descriptor: OwnedFd) -> Self {
        // An older kernel returns EINVAL, and wakes the supervisor on any processor.
        // SAFETY: this request takes a number, not a pointer.
        unsafe { libc::ioctl(descriptor.as_raw_fd(), NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
        Self(descriptor)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Listener {
    /// Receives the next call; `None` if its caller has gone meanwhile.
    pub(super) fn receive(&self) -> io::Result<Option<Call>> {
        // SAFETY: all members are numbers. The kernel requires zeroes.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        match self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut call) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {
                return Ok(None);
            }
            other => other?,
        };
        Ok(Some(Call {
            id: call.id,
            thread: call.pid,
            architecture: call.data.arch,
            number: call.data.nr as u32,
            arguments: call.data.args,
        }))
    }

    /// Returns true if the caller still waits; only then does its thread number refer to that thread.
    pub(super) fn still_waits(&self, call: &Call) -> bool {
        let mut id = call.id;
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id)
            .is_ok()
    }

    /// Lets the kernel execute the call.
    pub(super) fn proceed(&self, call: &Call) {
        self.respond(call, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32);
    }

    /// Makes the call return `value`.
    pub(super) fn succeed(&self, call: &Call, value: i64) {
        self.respond(call, value, 0, 0);
    }

    /// Makes the call fail with `error`.
    pub(super) fn fail(&self, call: &Call, error: &io::Error) {
        let number = error.raw_os_error().unwrap_or(libc::ENOMEM);
        self.respond(call, 0, -number, 0);
    }

    /// Gives the caller a copy of `descriptor` as the result of its call. Fails if the caller has gone, or cannot open
    /// more files.
    pub(super) fn hand_over(
        &self,
        call: &Call,
        descriptor: BorrowedFd<'_>,
        close_on_exec: bool,
    ) -> io::Result<()> {
        let mut order = libc::seccomp_notif_addfd {
            id: call.id,
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: descriptor.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: if close_on_exec {
                libc::O_CLOEXEC as u32
            } else {
                0
            },
        };
        match self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut order) {
            // Before 5.14, adding the descriptor and answering are two steps.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                order.flags = 0;
                let number = self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut order)?;
                self.succeed(call, number.into());
                Ok(())
            }
            other => other.map(drop),
        }
    }

    fn respond(&self, call: &Call, val: i64, error: i32, flags: u32) {
        let id = call.id;
        let mut answer = libc::seccomp_notif_resp {
            id,
            val,
            error,
            flags,
        };
        // If it fails the caller has gone.
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer);
    }

    fn control<T>(&self, request: libc::Ioctl, argument: &mut T) -> io::Result<libc::c_int> {
        // SAFETY: each of the requests above reads or writes just the type it is called with,
        // whose size is part of the request's number.
        let answer =
            unsafe { libc::ioctl(self.0.as_raw_fd(), request, std::ptr::from_mut(argument)) };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(answer)
    }
}
