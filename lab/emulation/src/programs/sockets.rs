// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets with the settings of a scenario.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;

use netnice_scenario::network::FlowGroup;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBufForce;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::state::{Entry, PORT, Programs};
use crate::error::LabError;
use crate::plan;
use netnice_link::Attempted;

/// Limit of connections waiting to be accepted.
const BACKLOG: i32 = 4096;
/// Bytes discarded in one call.
const DISCARD: usize = 1 << 20;
/// Receive buffer of a sink for datagrams that nobody reads.
const SINK_BUFFER: usize = 4096;

pub(super) fn socket_address(address: Ipv4Addr, port: u16) -> SockAddr {
    SocketAddr::from((address, port)).into()
}

/// Discards the received data. Returns true if more may come.
pub(super) fn discard(socket: &Socket) -> bool {
    loop {
        // SAFETY: with MSG_TRUNC a TCP socket discards the bytes and writes nothing (tcp(7)).
        let count = unsafe {
            libc::recv(
                socket.as_raw_fd(),
                std::ptr::null_mut(),
                DISCARD,
                libc::MSG_TRUNC | libc::MSG_DONTWAIT,
            )
        };
        match count {
            0 => return false,
            1.. => {}
            _ => {
                let error = std::io::Error::last_os_error();
                return matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                );
            }
        }
    }
}

/// Limits the window that the receiver advertises. The route sets the limit, too, but Linux drops it whenever it
/// re-estimates the memory per packet (`tcp_measure_rcv_mss`), so this is called after each read.
pub(super) fn clamp_window(socket: &Socket, group: &FlowGroup) {
    let Some(window) = group.tcp.receiver_window else {
        return;
    };
    let window = libc::c_int::try_from(window.get()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the value is an int that lives through the call. If the call fails, the limit set before stays.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            std::ptr::from_ref(&window).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

impl Programs<'_> {
    /// Creates a TCP socket in the namespace of `endpoint`, bound to its address. Servers of web traffic and senders of
    /// other flows get the flow's congestion control and code point.
    pub(super) fn tcp_socket(
        &mut self,
        endpoint: usize,
        port: u16,
        sends: bool,
    ) -> Result<Socket, LabError> {
        self.enter(endpoint)?;
        let group = self.group(self.plan.endpoints[endpoint].flow);
        let receiver = group.receiver.at_low_priority().filter(|_| !sends);
        let socket = self.controls.tcp_socket(receiver)?;
        socket.set_nonblocking(true).attempted("set up a socket")?;
        set_up(&socket, group)?;
        socket.set_tcp_nodelay(true).attempted("set TCP_NODELAY")?;
        if sends {
            if group.tcp.pacing {
                pace(&socket)?;
            }
            self.controls
                .put(&socket, &group.name, &group.congestion_control)?;
        } else if let Some(window) = group.tcp.receiver_window {
            // A fixed buffer keeps the kernel from growing the window.
            let buffer = usize::try_from(window.get().saturating_mul(4)).unwrap_or(usize::MAX);
            setsockopt(&socket, RcvBufForce, &buffer.max(1 << 16)).attempted("set SO_RCVBUF")?;
        }
        let address = plan::address(endpoint);
        socket
            .set_reuse_address(true)
            .attempted("set SO_REUSEADDR")?;
        socket
            .bind(&socket_address(address, port))
            .attempted(format!("bind to {address}"))?;
        Ok(socket)
    }

    /// Creates a listening TCP socket of `endpoint`.
    pub(super) fn listener(
        &mut self,
        endpoint: usize,
        port: u16,
        sends: bool,
    ) -> Result<Socket, LabError> {
        let socket = self.tcp_socket(endpoint, port, sends)?;
        socket.listen(BACKLOG).attempted("listen")?;
        Ok(socket)
    }

    /// Creates the listener of a TCP flow's receiver.
    pub(super) fn listen_for(&mut self, flow: usize) -> Result<(), LabError> {
        let (senders, receivers) = self.plan.ends[flow].clone();
        let socket = self.listener(receivers.start, PORT, false)?;
        self.add(Entry::Listener(flow, socket))?;
        // An unusable control is found now rather than in the middle of a run.
        self.tcp_socket(senders.start, 0, true).map(drop)
    }

    /// Creates the sockets of a UDP flow and returns the sender's; the receiver's is kept open.
    pub(super) fn datagram_sockets(&mut self, flow: usize) -> Result<Socket, LabError> {
        let (senders, receivers) = self.plan.ends[flow].clone();
        let group = self.group(flow);
        let mut bound = |endpoint: usize, port| {
            self.enter(endpoint)?;
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
            let socket = socket.attempted("create a UDP socket")?;
            socket.set_nonblocking(true).attempted("set up a socket")?;
            set_up(&socket, group)?;
            let address = plan::address(endpoint);
            let bound = socket.bind(&socket_address(address, port));
            bound.attempted(format!("bind to {address}"))?;
            Ok::<_, LabError>(socket)
        };
        let sink = bound(receivers.start, PORT)?;
        let sender = bound(senders.start, 0)?;
        sink.set_recv_buffer_size(SINK_BUFFER)
            .attempted("set SO_RCVBUF")?;
        let to = socket_address(plan::address(receivers.start), PORT);
        sender.connect(&to).attempted("connect a UDP socket")?;
        self.sinks.push(sink);
        Ok(sender)
    }
}

/// Has TCP pace the socket, and those that it accepts, by its own rate: any limit but the largest number says that pacing is
/// needed (`sk_setsockopt()` in net/core/sock.c), and this one is above every rate.
fn pace(socket: &Socket) -> Result<(), LabError> {
    let no_limit = libc::c_ulong::MAX / 2;
    // SAFETY: the value is an unsigned long that lives through the call.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            std::ptr::from_ref(&no_limit).cast(),
            size_of::<libc::c_ulong>() as libc::socklen_t,
        )
    };
    match answer {
        0 => Ok(()),
        _ => Ok(Err(std::io::Error::last_os_error()).attempted("set SO_MAX_PACING_RATE")?),
    }
}

/// Sets the code point of the packets that the socket sends.
fn set_up(socket: &Socket, group: &FlowGroup) -> Result<(), LabError> {
    let service = u32::from(group.dscp.get()) << 2;
    Ok(socket.set_tos_v4(service).attempted("set IP_TOS")?)
}
