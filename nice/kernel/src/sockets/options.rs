// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of TCP sockets of any process.

use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::sockopt::{Ipv4Tos, Ipv6TClass, Priority, TcpCongestion};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, getpeername, getsockname, getsockopt,
    setsockopt,
};

/// Returns true for a TCP socket, or a Multipath TCP one, which passes its options on to TCP.
pub(crate) fn is_tcp(socket: &impl AsFd) -> bool {
    let protocol = integer(socket, libc::SO_PROTOCOL);
    matches!(protocol, Ok(libc::IPPROTO_TCP | libc::IPPROTO_MPTCP))
}

/// Returns the name of the congestion control.
pub(crate) fn control(socket: &impl AsFd) -> io::Result<String> {
    let name = getsockopt(socket, TcpCongestion)?;
    Ok(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// Sets the congestion control of a socket.
pub(crate) fn set_control(socket: &impl AsFd, name: &str) -> io::Result<()> {
    Ok(setsockopt(socket, TcpCongestion, &OsString::from(name))?)
}

/// Returns the default control in the network namespace of this socket. If that cannot be entered, assumes the default
/// of this process's own.
pub(crate) fn usual_control(socket: &impl AsFd) -> io::Result<String> {
    let here = || {
        let new = nix::sys::socket::socket(
            AddressFamily::Inet,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        control(&new)
    };
    let Ok(namespace) = network_namespace(socket) else {
        return here();
    };
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            // On a thread of its own: the rest of the process stays in its namespace.
            setns(&namespace, CloneFlags::CLONE_NEWNET)?;
            here()
        });
        there
            .join()
            .expect("nothing here panics")
            .or_else(|_: io::Error| here())
    })
}

fn network_namespace(socket: &impl AsFd) -> io::Result<OwnedFd> {
    const SIOCGSKNS: libc::Ioctl = 0x894c;
    // SAFETY: the request takes no argument.
    let namespace = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCGSKNS) };
    if namespace < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created this descriptor for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(namespace) })
}

/// Sets the clamp to the largest window that the programs set, so that the socket's buffer decides again.
pub(crate) fn raise_window_clamp(socket: &impl AsFd) -> io::Result<()> {
    let largest: libc::c_int = (16 << 20) - 1;
    // SAFETY: the value is an integer that lives as long as the call.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const largest).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the DSCP of all future packets; the kernel preserves the ECN bits. It would derive the socket's priority from the
/// DSCP: a priority of the program's own stays.
pub(crate) fn set_dscp(socket: &impl AsFd, dscp: u8) -> io::Result<()> {
    let field = i32::from(dscp) << 2;
    let priority = getsockopt(socket, Priority)?;
    if integer(socket, libc::SO_DOMAIN)? == libc::AF_INET6 {
        setsockopt(socket, Ipv6TClass, &field)?;
    }
    // An IPv6 socket may be connected to an IPv4 address.
    setsockopt(socket, Ipv4Tos, &field)?;
    match priority {
        0 => Ok(()),
        // Above 6 it takes CAP_NET_ADMIN, which the caller may lack: then it stays as the kernel has set it.
        own => Ok(
            setsockopt(socket, Priority, &own).or_else(|errno| match errno {
                Errno::EPERM => Ok(()),
                other => Err(other),
            })?,
        ),
    }
}

/// Returns the DSCP of its packets.
pub(crate) fn dscp(socket: &impl AsFd) -> io::Result<u8> {
    let field = match integer(socket, libc::SO_DOMAIN)? {
        libc::AF_INET6 => getsockopt(socket, Ipv6TClass)?,
        _ => getsockopt(socket, Ipv4Tos)?,
    };
    Ok(u8::try_from(field >> 2).unwrap_or(0))
}

/// Returns true for a listening socket.
pub(crate) fn listens(socket: &impl AsFd) -> io::Result<bool> {
    Ok(integer(socket, libc::SO_ACCEPTCONN)? != 0)
}

/// Returns the address that a socket has here, if it has an IP address.
pub(crate) fn local_address(socket: &impl AsFd) -> Option<SocketAddr> {
    let found = getsockname::<SockaddrStorage>(socket.as_fd().as_raw_fd()).ok()?;
    let v4 = || {
        found
            .as_sockaddr_in()
            .map(|it| SocketAddrV4::from(*it).into())
    };
    let v6 = || {
        found
            .as_sockaddr_in6()
            .map(|it| SocketAddrV6::from(*it).into())
    };
    v4().or_else(v6)
}

/// Returns true if the socket has a connection.
pub(crate) fn is_connected(socket: &impl AsFd) -> bool {
    getpeername::<SockaddrStorage>(socket.as_fd().as_raw_fd()).is_ok()
}

/// Returns the cookie, which identifies a socket until the next boot.
pub(crate) fn cookie(socket: &impl AsFd) -> io::Result<u64> {
    option(socket, libc::SO_COOKIE)
}

fn integer(socket: &impl AsFd, name: libc::c_int) -> io::Result<libc::c_int> {
    option(socket, name)
}

fn option<T: bytemuck::Pod>(socket: &impl AsFd, name: libc::c_int) -> io::Result<T> {
    let mut value = T::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` has room for `length` bytes, and any bytes make a valid value.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            std::ptr::from_mut(&mut value).cast(),
            &mut length,
        )
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn options_are_set_on_sockets_of_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let socket = TcpListener::bind(address).unwrap();
            assert!(is_tcp(&socket));
            set_control(&socket, "reno").unwrap();
            assert_eq!(control(&socket).unwrap(), "reno");
            set_dscp(&socket, 1).unwrap();
            assert_eq!(getsockopt(&socket, Ipv4Tos).unwrap(), 4);
            assert_eq!(dscp(&socket).unwrap(), 1);
            assert_ne!(cookie(&socket).unwrap(), 0);
        }
        let socket = TcpListener::bind("[::1]:0").unwrap();
        set_dscp(&socket, 1).unwrap();
        assert_eq!(getsockopt(&socket, Ipv6TClass).unwrap(), 4);
    }

    #[test]
    fn udp_is_not_tcp() {
        assert!(!is_tcp(&UdpSocket::bind("127.0.0.1:0").unwrap()));
    }
}
