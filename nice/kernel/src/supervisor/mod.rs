// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority without root, or without cgroup2: a seccomp filter passes each `socket` call of the program to a
//! supervisor process, which creates the socket itself, sets the congestion control and the DSCP, and returns it as the
//! result. This works for programs of any kind, including static ones and those in other languages, and needs no
//! privileges over the program.
//!
//! The supervisor is a background process that ends when the last program under the filter has ended. It does not
//! depend on the process that started it: if that is killed, the program keeps its low priority. If the supervisor
//! itself were killed, `socket` would fail with ENOSYS.

mod caller;
mod filter;
mod listener;
mod serve;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};

use crate::error::{Context, Error, Result};
use crate::runtime::background;
use crate::settings::Settings;
use crate::sockets::connections::Sums;
use crate::sockets::options;

/// A connection to the supervisor of this process.
pub struct Supervised {
    supervisor: OwnedFd,
}

/// Puts this thread, and all that it starts from now on, under a supervisor. Only one thread may be running.
pub(crate) fn enter(settings: &Settings) -> Result<Supervised> {
    if !settings.control.is_registered() {
        return Err(settings.control.not_registered());
    }
    let starting = || "starting a supervisor".to_owned();
    let (here, there) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )
    .doing(starting)?;
    let settings = *settings;
    background::spawn(background::SUPERVISOR, Some(there.as_fd()), || {
        serve::run(there.as_fd(), &settings)
    })?;
    drop(there);
    let mut program = filter::program(settings.mark);
    let installed = match listener::install(&mut program) {
        // Without root, installing a filter requires that no program gains privileges by exec.
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            nix::sys::prctl::set_no_new_privs().doing(starting)?;
            listener::install(&mut program)
        }
        other => other,
    };
    let listener = match installed {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Err(Error::Supervised);
        }
        other => other.doing(|| "installing a seccomp filter with a supervisor".into())?,
    };
    caller::send_descriptor(here.as_raw_fd(), &listener.as_fd()).doing(starting)?;
    wait_until_ready(here.as_raw_fd()).doing(starting)?;
    Ok(Supervised { supervisor: here })
}

/// Waits until the supervisor has its own share in the pins. The caller's may be the only other one: if it were
/// returned first, the control would be gone before the first socket is created.
fn wait_until_ready(supervisor: RawFd) -> io::Result<()> {
    let mut word = [0; serve::READY.len()];
    loop {
        match recv(supervisor, &mut word, MsgFlags::empty()) {
            Err(Errno::EINTR) => {}
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            other => return Ok(other.map(drop)?),
        }
    }
}

/// Returns true if a netnice supervisor governs this process already: if new sockets have the control.
pub(crate) fn is_supervised(settings: &Settings) -> bool {
    let socket = nix::sys::socket::socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    );
    socket.is_ok_and(|socket| {
        options::control(&socket).is_ok_and(|name| name == settings.control.name())
    })
}

impl Supervised {
    /// Returns the sums over the connections so far, including open ones; `None` if unknown. A supervisor without root
    /// does not know the connections that programs have accepted.
    pub fn sums(&self) -> Result<Option<Sums>> {
        let asking = || "asking the supervisor for its sums".to_owned();
        let mut answer = [0; size_of::<Sums>()];
        let supervisor = self.supervisor.as_raw_fd();
        send(supervisor, b"?", MsgFlags::MSG_NOSIGNAL).doing(asking)?;
        let length = recv(supervisor, &mut answer, MsgFlags::empty()).doing(asking)?;
        // An empty answer may also mean that the supervisor has ended; its sums are then unknown.
        Ok((length == answer.len()).then(|| bytemuck::cast(answer)))
    }
}
