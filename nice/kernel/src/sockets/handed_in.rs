// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets that this process had open when it was started. They belong to the cgroup of their maker, so that the
//! programs of the command's own cgroup never see them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{SockaddrStorage, getpeername};

use crate::objects::control::is_ours;
use crate::settings::Settings;
use crate::sockets::storage::SocketStorage;
use crate::sockets::{governance, options, process};

/// The TCP sockets that were handed in, without those that have low priority already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandedIn {
    /// Sockets without a connection, which have been given the control.
    pub governed: usize,
    /// Sockets that were left as they are: connections, which others may use as well, and listening sockets, which outlive
    /// the command.
    pub left: usize,
}

/// Gives low priority to the sockets that have no connection yet.
pub(crate) fn govern(settings: &Settings, storage: Option<&SocketStorage>) -> HandedIn {
    let mut found = HandedIn::default();
    if !settings.direction.sends() {
        return found;
    }
    let mut met = Vec::new();
    for (number, inode) in process::sockets(nix::unistd::getpid().as_raw()).unwrap_or_default() {
        // SAFETY: the descriptor is open, and neither this function nor another thread closes any.
        let socket = unsafe { BorrowedFd::borrow_raw(number) };
        let ours = |name: String| is_ours(&name);
        if met.contains(&inode)
            || !options::is_tcp(&socket)
            || options::control(&socket).is_ok_and(ours)
        {
            continue;
        }
        met.push(inode);
        let governed = is_unused(&socket)
            && governance::govern(&socket, settings, storage).is_ok_and(|governed| governed);
        match governed {
            true => found.governed += 1,
            false => found.left += 1,
        }
    }
    found
}

/// Returns true if the socket neither listens nor has a connection.
fn is_unused(socket: &impl AsFd) -> bool {
    let peer = getpeername::<SockaddrStorage>(socket.as_fd().as_raw_fd());
    peer == Err(Errno::ENOTCONN) && !options::listens(socket).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

    use super::*;

    #[test]
    fn only_a_socket_without_a_connection_is_unused() {
        let flags = SockFlag::SOCK_CLOEXEC;
        let new = socket(AddressFamily::Inet, SockType::Stream, flags, None).unwrap();
        assert!(is_unused(&new));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!is_unused(&listener));
        let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!is_unused(&connection));
    }
}
