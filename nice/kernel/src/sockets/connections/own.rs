// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving side of this process's own sockets.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use super::inet_diag::{TCPI_OPT_TIMESTAMPS, TcpInfo};
use super::{Reception, data_received, now};
use crate::abi::ReceptionRecord;
use crate::objects::shared_map::SharedMap;

/// Reads the records of sockets of this process. Once opened, it needs no privilege.
#[derive(Debug)]
pub struct OwnReceptions(SharedMap);

/// A socket of this process as a receiver.
#[derive(Clone, Debug)]
pub struct OwnReception {
    /// Smallest round-trip time that the kernel has measured in the latest minutes, if any.
    pub minimum_rtt: Option<Duration>,
    /// Bytes of data received since the connection began.
    pub bytes_received: u64,
    /// True if the peer sends timestamps (RFC 7323).
    pub peer_sends_timestamps: bool,
    /// State of the receiving side; `None` if received data is not governed.
    pub governed: Option<Reception>,
}

impl OwnReceptions {
    /// Opens the records; `None` if nothing governs received data on this machine.
    pub fn open() -> Option<Self> {
        SharedMap::open("receptions").map(Self)
    }

    /// Reads the state of a connected TCP socket.
    pub fn read(&self, socket: impl AsFd) -> io::Result<OwnReception> {
        let info = tcp_info(&socket)?;
        let key = socket.as_fd().as_raw_fd().to_ne_bytes();
        let record: Option<ReceptionRecord> = self.0.lookup(&key);
        let now = now()?;
        Ok(OwnReception {
            // The kernel's word for a minimum without a measurement has all bits set.
            minimum_rtt: (info.min_rtt != u32::MAX)
                .then(|| Duration::from_micros(info.min_rtt.into())),
            bytes_received: data_received(info.state, &info),
            peer_sends_timestamps: info.options & TCPI_OPT_TIMESTAMPS != 0,
            governed: record
                .filter(|record| record.group > 0)
                .map(|record| Reception::new(&record, now)),
        })
    }
}

/// The kernel's `struct tcp_info` of a socket (`linux/tcp.h`), zeros behind it, and its length, which grows with the kernel's version.
///
/// # Errors
/// As getsockopt(2): the socket is none of TCP.
pub fn tcp_info_bytes(socket: &impl AsFd) -> io::Result<([u8; 512], usize)> {
    let mut bytes = [0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: `bytes` has room for `length` bytes.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &mut length,
        )
    };
    match answer {
        0 => Ok((bytes, length as usize)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Members that an older kernel does not have are zero; what is not known of a newer one's is not parsed.
fn tcp_info(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let (bytes, _) = tcp_info_bytes(socket)?;
    Ok(bytemuck::pod_read_unaligned(&bytes[..size_of::<TcpInfo>()]))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn tcp_info_of_a_socket_counts_its_data() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(&[7; 12_345]).unwrap();
        drop(peer);
        let mut received = Vec::new();
        socket.read_to_end(&mut received).unwrap();
        let info = tcp_info(&socket).unwrap();
        assert_eq!(received.len(), 12_345);
        assert_eq!(data_received(info.state, &info), 12_345);
        assert!(info.min_rtt < 10_000_000);
        assert_ne!(info.options & TCPI_OPT_TIMESTAMPS, 0);
    }

    #[test]
    fn what_is_no_tcp_socket_is_an_error() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(tcp_info(&socket).is_err());
    }
}
