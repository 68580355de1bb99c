// SPDX-License-Identifier: MIT OR Apache-2.0
//! ICMP echoes to a peer, through the device that its packets leave by.

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrStorage, recvmsg, sendto, setsockopt, socket, sockopt,
};

/// Bytes behind the header: some paths treat tiny packets otherwise.
const PADDING: usize = 24;
const HEADER: usize = 8;

/// A socket for echoes to one peer.
pub(super) struct Echoes {
    socket: OwnedFd,
    peer: IpAddr,
    identity: u16,
}

/// A reply.
pub(super) struct Reply {
    pub(super) number: u16,
    /// When the kernel received it.
    pub(super) at: Instant,
}

impl Echoes {
    /// Opens a socket, bound to the device called `device`.
    pub(super) fn open(peer: IpAddr, device: &str, identity: u16) -> io::Result<Self> {
        let (family, protocol) = match peer {
            IpAddr::V4(_) => (AddressFamily::Inet, SockProtocol::Icmp),
            IpAddr::V6(_) => (AddressFamily::Inet6, SockProtocol::IcmpV6),
        };
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(family, SockType::Raw, flags, protocol)?;
        setsockopt(&socket, sockopt::BindToDevice, &OsString::from(device))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        Ok(Self {
            socket,
            peer,
            identity,
        })
    }

    /// Sends the echo of this number.
    pub(super) fn send(&self, number: u16) -> io::Result<()> {
        let mut packet = [0; HEADER + PADDING];
        packet[0] = match self.peer {
            IpAddr::V4(_) => 8,
            IpAddr::V6(_) => 128,
        };
        packet[4..6].copy_from_slice(&self.identity.to_be_bytes());
        packet[6..8].copy_from_slice(&number.to_be_bytes());
        // Of ICMPv6 the kernel computes it.
        let sum = checksum(&packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
        let to = SockaddrStorage::from(SocketAddr::new(self.peer, 0));
        sendto(self.socket.as_raw_fd(), &packet, &to, MsgFlags::empty())?;
        Ok(())
    }

    /// Returns the next reply to an echo of ours that has come.
    pub(super) fn receive(&self) -> Option<Reply> {
        loop {
            let mut buffer = [0; 256];
            let mut control = nix::cmsg_space!(libc::timespec);
            let mut into = [IoSliceMut::new(&mut buffer)];
            let received = recvmsg::<()>(
                self.socket.as_raw_fd(),
                &mut into,
                Some(&mut control),
                MsgFlags::MSG_DONTWAIT,
            );
            let received = match received {
                Err(Errno::EINTR) => continue,
                other => other.ok()?,
            };
            let stamp = received.cmsgs().ok()?.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
                _ => None,
            });
            let length = received.bytes;
            if let Some(number) = self.number_of_reply(&buffer[..length]) {
                return Some(Reply {
                    number,
                    at: Instant::now() - age(stamp),
                });
            }
        }
    }

    fn number_of_reply(&self, packet: &[u8]) -> Option<u16> {
        // A raw socket of IPv4 has the header of IP, too.
        let (start, kind) = match self.peer {
            IpAddr::V4(_) => (usize::from(packet.first()? & 15) * 4, 0),
            IpAddr::V6(_) => (0, 129),
        };
        let reply = packet.get(start..start + HEADER)?;
        let of = |at: usize| u16::from_be_bytes([reply[at], reply[at + 1]]);
        (reply[0] == kind && of(4) == self.identity).then(|| of(6))
    }
}

impl AsFd for Echoes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns how long ago the kernel's clock showed `stamp`; the clock may have been set since.
fn age(stamp: Option<Duration>) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let age = now
        .ok()
        .zip(stamp)
        .and_then(|(now, stamp)| now.checked_sub(stamp));
    age.filter(|age| *age < Duration::from_secs(1))
        .unwrap_or_default()
}

/// The checksum of the Internet (RFC 1071).
fn checksum(packet: &[u8]) -> u16 {
    let sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn a_packet_with_its_checksum_sums_up_to_nothing() {
        let mut packet = [8, 0, 0, 0, 0x12, 0x34, 0xff, 0xff, 0xab];
        let sum = checksum(&packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&packet), 0);
    }
}
