// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers of a packet in a trace: IPv4, and TCP or UDP, with their checksums.
//!
//! Data are zeros. Hosts have addresses by flow: senders of data in 10.0.0.0/9, receivers in 10.128.0.0/9. Lengths are
//! those of the headers written here, which differ from the simulated ones where a scenario sets others.

use crate::labels::{Labels, TcpLabels};
use crate::packet::Packet;
use crate::tcp::{Flags, Segment};

/// Most bytes of headers: those of IPv4, and of TCP with all options that it has room for.
pub(crate) const MOST_HEADERS: usize = 20 + 60;

/// Writes the headers of a packet to the beginning of `room`, which is zero. `reverse` means that the packet goes to the sender of the data.
/// Returns the bytes of the headers, and those of the whole packet.
#[inline(always)]
pub(crate) fn write_headers(
    room: &mut [u8; MOST_HEADERS],
    packet: &Packet,
    segment: &Segment,
    (labels, reverse): (&Labels, bool),
    identification: u16,
) -> (usize, usize) {
    let mut headers = Headers {
        room,
        length: 0,
        sum: 0,
    };
    let addresses = ip_header(&mut headers, packet, labels, reverse, identification);
    // The pseudo-header of the transport has the addresses, too.
    let ip_sum = std::mem::replace(&mut headers.sum, addresses);
    let data = match &labels.tcp {
        Some(tcp) => {
            tcp_header(&mut headers, packet, segment, tcp, reverse);
            segment.length as usize
        }
        None => {
            let data = usize::from(packet.length).saturating_sub(usize::from(labels.header_bytes));
            udp_header(&mut headers, packet, data);
            data
        }
    };
    let length = headers.length + data;
    headers.set(2, (length as u16).to_be_bytes());
    headers.set(
        10,
        internet_checksum(ip_sum + u32::from(length as u16)).to_be_bytes(),
    );
    (headers.length, length)
}

/// The headers of a packet, being made in their place.
struct Headers<'a> {
    room: &'a mut [u8; MOST_HEADERS],
    length: usize,
    /// The sum of the words of the header being made (RFC 1071).
    sum: u32,
}

impl Headers<'_> {
    /// Adds an even number of bytes.
    #[inline(always)]
    fn extend<const LENGTH: usize>(&mut self, bytes: [u8; LENGTH]) {
        const { assert!(LENGTH % 2 == 0) };
        let words = bytes.chunks_exact(2);
        self.sum += words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum::<u32>();
        self.room[self.length..self.length + LENGTH].copy_from_slice(&bytes);
        self.length += LENGTH;
    }

    /// Fills in a field that was zero; the sum does not change.
    #[inline(always)]
    fn set<const LENGTH: usize>(&mut self, at: usize, bytes: [u8; LENGTH]) {
        self.room[at..at + LENGTH].copy_from_slice(&bytes);
    }
}

/// The length and the checksum are filled in when the rest is known. Returns the sum of the addresses.
#[inline(always)]
fn ip_header(
    header: &mut Headers<'_>,
    packet: &Packet,
    labels: &Labels,
    reverse: bool,
    identification: u16,
) -> u32 {
    const DO_NOT_FRAGMENT: u16 = 0x4000;
    const TIME_TO_LIVE: u8 = 64;
    let ecn = match (
        packet.marks.congestion_experienced(),
        packet.marks.ecn_capable(),
    ) {
        (true, _) => 3,
        (false, true) if packet.marks.identifies_as_scalable() => 1,
        (false, true) => 2,
        (false, false) => 0,
    };
    let host = labels.index & 0x007f_ffff;
    let (sender, receiver) = (0x0a00_0000 | host, 0x0a80_0000 | host);
    let (from, to) = if reverse {
        (receiver, sender)
    } else {
        (sender, receiver)
    };
    header.extend([0x45, labels.dscp << 2 | ecn, 0, 0]);
    header.extend(identification.to_be_bytes());
    header.extend(DO_NOT_FRAGMENT.to_be_bytes());
    header.extend([
        TIME_TO_LIVE,
        if labels.tcp.is_some() { 6 } else { 17 },
        0,
        0,
    ]);
    let before = header.sum;
    header.extend(from.to_be_bytes());
    header.extend(to.to_be_bytes());
    header.sum - before
}

/// The port of the data's sender.
const SENDER_PORT: u16 = 5001;

/// The port of the data's receiver: one for each connection under way.
fn receiver_port(packet: &Packet) -> u16 {
    1024 + ((packet.connection & 0x7fff_ffff) % 64_512) as u16
}

fn udp_header(headers: &mut Headers<'_>, packet: &Packet, data: usize) {
    let length = (8 + data) as u16;
    headers.extend(SENDER_PORT.to_be_bytes());
    headers.extend(receiver_port(packet).to_be_bytes());
    headers.extend(length.to_be_bytes());
    headers.extend([0, 0]);
    let checksum = transport_checksum(headers, 17, length);
    // A zero would mean that the sender computed no checksum (RFC 768).
    let checksum = if checksum == 0 { 0xffff } else { checksum };
    headers.set(26, checksum.to_be_bytes());
}

/// Both ends begin with the sequence number 0, which their SYN takes.
#[inline(always)]
fn tcp_header(
    headers: &mut Headers<'_>,
    packet: &Packet,
    segment: &Segment,
    tcp: &TcpLabels,
    reverse: bool,
) {
    let flags = segment.flags;
    let syn = flags.contains(Flags::SYN);
    let request = flags.contains(Flags::REQUEST);
    let (ports, sequence, acknowledgement) = if reverse {
        let sequence = if syn {
            0
        } else if request {
            1
        } else {
            1 + tcp.request_bytes
        };
        (
            (receiver_port(packet), SENDER_PORT),
            sequence,
            segment.acknowledgement as u32 + 1,
        )
    } else {
        let sequence = if syn {
            0
        } else {
            (segment.sequence as u32).wrapping_add(1)
        };
        (
            (SENDER_PORT, receiver_port(packet)),
            sequence,
            1 + if syn { 0 } else { tcp.request_bytes },
        )
    };
    headers.extend(ports.0.to_be_bytes());
    headers.extend(ports.1.to_be_bytes());
    headers.extend(sequence.to_be_bytes());
    let acknowledges = flags.contains(Flags::ACK) || (!reverse && !syn);
    headers.extend(if acknowledges { acknowledgement } else { 0 }.to_be_bytes());
    let bit = |of: Flags, bit: u8| if flags.contains(of) { bit } else { 0 };
    let wire_flags = bit(Flags::FIN, 0x01)
        | bit(Flags::SYN, 0x02)
        | if segment.length > 0 { 0x08 } else { 0 }
        | if acknowledges { 0x10 } else { 0 }
        | bit(Flags::ECE, 0x40)
        | bit(Flags::CWR, 0x80);
    headers.extend([0, wire_flags]);
    let window = if !reverse {
        u32::from(u16::MAX)
    } else if syn {
        segment.window
    } else {
        segment.window >> tcp.window_scale.min(14)
    };
    headers.extend((window.min(u32::from(u16::MAX)) as u16).to_be_bytes());
    headers.extend([0; 4]);
    tcp_options(headers, segment, tcp, reverse);
    let length = headers.length - 20;
    // Where data go the bit says that they are retransmitted, which is on no wire.
    let accurate = (reverse || syn) && flags.contains(Flags::AE);
    let offset = ((length / 4) as u8) << 4 | u8::from(accurate);
    headers.set(32, [offset]);
    headers.sum += u32::from(offset) << 8;
    let checksum = transport_checksum(headers, 6, length as u16 + segment.length as u16);
    headers.set(36, checksum.to_be_bytes());
}

fn tcp_options(headers: &mut Headers<'_>, segment: &Segment, tcp: &TcpLabels, reverse: bool) {
    const NO_OPERATION: u8 = 1;
    if segment.flags.contains(Flags::SYN) {
        headers.extend([2, 4]);
        headers.extend((tcp.mss.min(u32::from(u16::MAX)) as u16).to_be_bytes());
        headers.extend([
            NO_OPERATION,
            3,
            3,
            if reverse { tcp.window_scale.min(14) } else { 0 },
        ]);
        if tcp.sack {
            headers.extend([NO_OPERATION, NO_OPERATION, 4, 2]);
        }
    }
    if tcp.timestamps {
        headers.extend([NO_OPERATION, NO_OPERATION, 8, 10]);
        headers.extend(segment.tsval.to_be_bytes());
        headers.extend(segment.tsecr.to_be_bytes());
    }
    let used = segment.sack.iter().filter(|block| block.is_used());
    let blocks = used.clone().count();
    if reverse && blocks > 0 {
        headers.extend([NO_OPERATION, NO_OPERATION, 5, 2 + 8 * blocks as u8]);
        let first = (segment.acknowledgement as u32).wrapping_add(1);
        for block in used {
            headers.extend(first.wrapping_add(block.start).to_be_bytes());
            headers.extend(first.wrapping_add(block.end).to_be_bytes());
        }
    }
}

/// Over the pseudo-header and the transport's header, of which the headers have the sum but for protocol and length; the data are zeros
/// and add nothing.
fn transport_checksum(headers: &Headers<'_>, protocol: u8, length: u16) -> u16 {
    internet_checksum(headers.sum + u32::from(protocol) + u32::from(length))
}

/// The Internet checksum (RFC 1071) of words with this sum.
pub(crate) fn internet_checksum(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::internet_checksum;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // The example of its section 3: the sum is ddf2.
        let words = [0x0001, 0xf203, 0xf4f5, 0xf6f7];
        assert_eq!(internet_checksum(words.iter().sum()), !0xddf2);
    }
}
