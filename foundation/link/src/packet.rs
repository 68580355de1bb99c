// SPDX-License-Identifier: MIT OR Apache-2.0
//! IPv4 packets in the computed network.

use netnice_queue::{Colour, IpFields, Packet, Time};

/// The two bits of ECN (RFC 3168 section 5), in the second byte of the header.
const ECN_MASK: u8 = 0b11;
/// The bit that ECT(1) and CE have, and ECT(0) has not.
const ECT_1: u8 = 0b01;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// A packet's bytes in a reusable buffer, and its state in the network.
#[derive(Debug)]
pub struct Frame {
    /// Space for the largest packet.
    pub buffer: Box<[u8]>,
    /// Bytes of the packet in the buffer.
    pub length: usize,
    /// Number of its route, and of its next hop on it.
    pub route: u32,
    /// Links of the route that it has passed.
    pub hop: u16,
    /// Time at which it was read.
    pub entered: Time,
    /// Index of the flow.
    pub flow: u32,
    /// True from the flow's sender to its receiver.
    pub forward: bool,
    /// Class of traffic: 0 for best effort.
    pub class: u8,
    /// Colour that a marker gave it.
    pub colour: Colour,
    /// A marker has given it its colour.
    pub tagged: bool,
    /// Numbers of the hosts that it comes from and goes to, where addresses do not tell them apart.
    pub hosts: Option<(u32, u32)>,
    /// What its headers say.
    pub header: Header,
    /// A number that no other packet under way has.
    pub number: u32,
    /// Number of the first byte of data in its connection, or of the byte that an ACK asks for, from 0.
    pub sequence: Option<u64>,
}

/// The fields of a packet's headers that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// IPv4 address of the sender.
    pub source: u32,
    /// IPv4 address of the receiver.
    pub destination: u32,
    /// Port of the sender; 0 without ports.
    pub source_port: u16,
    /// Port of the receiver; 0 without ports.
    pub destination_port: u16,
    /// Bytes of transport payload.
    pub payload: u32,
    /// Of TCP only.
    pub tcp: Option<TcpHeader>,
}

/// Fields of the TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledged: u32,
    /// SYN flag.
    pub syn: bool,
    /// FIN flag.
    pub fin: bool,
    /// RST flag.
    pub rst: bool,
    /// ACK flag.
    pub ack: bool,
}

/// Blocks of the SACK option (RFC 2018 section 3): first byte, and the one after the last. The options have room for four.
pub type SackBlocks = [Option<(u32, u32)>; 4];

impl Frame {
    /// Creates an empty frame with room for packets of up to `largest` bytes.
    pub fn new(largest: usize) -> Frame {
        Frame {
            buffer: vec![0; largest].into_boxed_slice(),
            length: 0,
            route: 0,
            hop: 0,
            entered: Time::ZERO,
            flow: 0,
            forward: true,
            class: 0,
            colour: Colour::Green,
            tagged: false,
            hosts: None,
            header: Header::default(),
            number: 0,
            sequence: None,
        }
    }

    /// Puts a packet at the beginning of its path, where no marker has tagged it yet: the frame may have been another packet's.
    pub fn begin_path(&mut self) {
        self.hop = 0;
        self.colour = Colour::Green;
        self.tagged = false;
    }

    /// Returns true if the packet is marked CE (RFC 3168 section 5).
    pub fn congestion_experienced(&self) -> bool {
        self.buffer[1] & ECN_MASK == ECN_MASK
    }

    /// Returns the bytes of the packet.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Reads the SACK blocks of a TCP segment.
    pub fn sack_blocks(&self) -> SackBlocks {
        let packet = self.bytes();
        let ip_header = packet
            .first()
            .map_or(0, |first| usize::from(first & 0xf) * 4);
        let data_offset = packet.get(ip_header + 12);
        let tcp_header = data_offset.map_or(0, |offset| usize::from(offset >> 4) * 4);
        sack_blocks(packet, ip_header + 20, ip_header + tcp_header)
    }
}

/// Parses the headers; returns `None` unless `packet` is a whole IPv4 packet.
pub fn parse(packet: &[u8]) -> Option<Header> {
    let word = |at: usize| {
        let bytes = packet.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let half = |at: usize| {
        let bytes = packet.get(at..at + 2)?;
        Some(u16::from_be_bytes(bytes.try_into().ok()?))
    };
    let first = *packet.first()?;
    if first >> 4 != 4 {
        return None;
    }
    let ip_header = usize::from(first & 0xf) * 4;
    let total = usize::from(half(2)?).min(packet.len());
    let mut header = Header {
        source: word(12)?,
        destination: word(16)?,
        ..Header::default()
    };
    let protocol = packet[9];
    // Only the first fragment has the transport header.
    let first_fragment = half(6)? & 0x1fff == 0;
    let mut transport_header = 0;
    if first_fragment && matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP) {
        header.source_port = half(ip_header)?;
        header.destination_port = half(ip_header + 2)?;
        transport_header = 8;
        if protocol == PROTOCOL_TCP {
            transport_header = usize::from(*packet.get(ip_header + 12)? >> 4) * 4;
            let flags = *packet.get(ip_header + 13)?;
            header.tcp = Some(TcpHeader {
                sequence: word(ip_header + 4)?,
                acknowledged: word(ip_header + 8)?,
                fin: flags & 0x01 != 0,
                syn: flags & 0x02 != 0,
                rst: flags & 0x04 != 0,
                ack: flags & 0x10 != 0,
            });
        }
    }
    if !matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP) {
        return Some(header);
    }
    header.payload = total.saturating_sub(ip_header + transport_header) as u32;
    Some(header)
}

/// The blocks of the SACK option among the options of TCP from byte `at` to `end`.
fn sack_blocks(packet: &[u8], mut at: usize, end: usize) -> SackBlocks {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const SACK: u8 = 5;
    let mut blocks = SackBlocks::default();
    let options = packet.get(..end).unwrap_or_default();
    while let Some(&kind) = options.get(at).filter(|kind| **kind != END) {
        let length = match options.get(at + 1) {
            _ if kind == NO_OPERATION => 1,
            Some(&length) if length >= 2 => usize::from(length),
            _ => break,
        };
        if kind == SACK {
            let content = options.get(at + 2..at + length).unwrap_or_default();
            for (block, bytes) in blocks.iter_mut().zip(content.chunks_exact(8)) {
                let edges = bytes
                    .iter()
                    .fold(0, |edges, &byte| edges << 8 | u64::from(byte));
                *block = Some(((edges >> 32) as u32, edges as u32));
            }
        }
        at += length;
    }
    blocks
}

impl Packet for Frame {
    fn length(&self) -> usize {
        self.length
    }

    /// Returns a hash of the transport connection and direction (FNV-1a).
    fn flow(&self) -> u64 {
        let header = &self.header;
        let ports = u32::from(header.source_port) << 16 | u32::from(header.destination_port);
        [header.source, header.destination, ports]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash, &word| {
                (hash ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3)
            })
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn ecn_capable(&self) -> bool {
        self.buffer[1] & ECN_MASK != 0
    }

    fn scalable(&self) -> bool {
        // ECT(1) is 01, CE is 11 (RFC 3168 section 5).
        self.buffer[1] & ECT_1 != 0
    }

    fn mark_congestion_experienced(&mut self) {
        let before = u16::from_be_bytes([self.buffer[0], self.buffer[1]]);
        self.buffer[1] |= ECN_MASK;
        let after = u16::from_be_bytes([self.buffer[0], self.buffer[1]]);
        let checksum = u16::from_be_bytes([self.buffer[10], self.buffer[11]]);
        let checksum = updated_checksum(checksum, before, after);
        self.buffer[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    fn in_profile(&self) -> bool {
        self.colour == Colour::Green
    }

    fn set_in_profile(&mut self, in_profile: bool) {
        self.set_colour(match in_profile {
            true => Colour::Green,
            false => Colour::Yellow,
        });
    }

    fn colour(&self) -> Colour {
        self.colour
    }

    fn set_colour(&mut self, colour: Colour) {
        self.colour = colour;
        self.tagged = true;
    }

    fn is_tagged(&self) -> bool {
        self.tagged
    }

    fn ip_fields(&self) -> IpFields {
        let addresses = (self.header.source, self.header.destination);
        let (source, destination) = self.hosts.unwrap_or(addresses);
        IpFields {
            source,
            destination,
            dscp: self.buffer[1] >> 2,
        }
    }
}

/// Returns the checksum of a header in which a word has changed (RFC 1624, equation 3).
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the Internet checksum (RFC 1071) of a header whose checksum field is zero.
    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        !((folded & 0xffff) + (folded >> 16)) as u16
    }

    #[test]
    fn a_frame_keeps_nothing_of_the_packet_before() {
        let mut frame = Frame::new(100);
        frame.hop = 2;
        frame.set_colour(Colour::Red);
        assert!(frame.is_tagged());
        frame.begin_path();
        assert_eq!(
            (frame.hop, frame.colour(), frame.is_tagged()),
            (0, Colour::Green, false)
        );
    }

    /// Returns a segment from 10.0.0.1:1000 to 10.0.0.2:2000 with this DSCP and ECN field.
    fn segment(sequence: u32, payload: usize, flags: u8, service: u8) -> Vec<u8> {
        let mut packet = vec![0u8; 40 + payload];
        packet[0] = 0x45;
        packet[1] = service;
        packet[2..4].copy_from_slice(&((40 + payload) as u16).to_be_bytes());
        packet[8] = 64;
        packet[9] = PROTOCOL_TCP;
        packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
        packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet[20..22].copy_from_slice(&1000u16.to_be_bytes());
        packet[22..24].copy_from_slice(&2000u16.to_be_bytes());
        packet[24..28].copy_from_slice(&sequence.to_be_bytes());
        packet[32] = 5 << 4;
        packet[33] = flags;
        packet
    }

    #[test]
    fn headers_are_read() {
        let header = parse(&segment(77, 100, 0x11, 0)).unwrap();
        assert_eq!((header.source_port, header.destination_port), (1000, 2000));
        assert_eq!(header.payload, 100);
        let tcp = header.tcp.unwrap();
        assert_eq!(
            (tcp.sequence, tcp.fin, tcp.syn, tcp.ack),
            (77, true, false, true)
        );
        assert_eq!(header.source, 0x0a00_0001);
        assert_eq!(header.destination, 0x0a00_0002);
        assert_eq!(parse(&[0x60; 40]), None);
        assert_eq!(parse(&segment(77, 0, 0, 0)[..30]), None);
    }

    #[test]
    fn sack_blocks_are_read_behind_other_options() {
        let mut packet = segment(77, 0, 0x10, 0);
        // NOP, NOP, timestamps of 10 bytes; NOP, NOP, two blocks.
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18];
        for edge in [1000u32, 1100, 300, 500] {
            options.extend(edge.to_be_bytes());
        }
        let blocks = |packet: &[u8]| {
            let mut frame = Frame::new(packet.len());
            frame.length = packet.len();
            frame.buffer.copy_from_slice(packet);
            frame.sack_blocks()
        };
        assert_eq!(blocks(&packet), [None; 4]);
        packet.extend(&options);
        packet[32] = ((20 + options.len()) as u8 / 4) << 4;
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        let expected = [Some((1000, 1100)), Some((300, 500)), None, None];
        assert_eq!(blocks(&packet), expected);
        // An option that is longer than the header has no blocks, and one of no length ends them.
        for (at, length) in [(55, 26), (43, 0)] {
            packet[at] = length;
            assert_eq!(blocks(&packet), [None; 4]);
        }
    }

    #[test]
    fn hosts_are_addresses_unless_they_are_known() {
        let packet = segment(1, 10, 0x10, 46 << 2 | 1);
        let mut frame = Frame::new(1500);
        frame.length = packet.len();
        frame.buffer[..packet.len()].copy_from_slice(&packet);
        frame.header = parse(&packet).unwrap();
        let ip = frame.ip_fields();
        assert_eq!(
            (ip.source, ip.destination, ip.dscp),
            (0x0a00_0001, 0x0a00_0002, 46)
        );
        frame.hosts = Some((7, 8));
        let ip = frame.ip_fields();
        assert_eq!((ip.source, ip.destination, ip.dscp), (7, 8, 46));
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for service in [0x01, 0x02, 0x06, 0xb9] {
            let packet = segment(1, 10, 0x10, service);
            let mut frame = Frame::new(1500);
            frame.length = packet.len();
            frame.buffer[..packet.len()].copy_from_slice(&packet);
            assert!(frame.ecn_capable());
            frame.mark_congestion_experienced();
            let mut header = frame.buffer[..20].to_vec();
            assert_eq!(header[1], service | 3);
            header[10..12].fill(0);
            assert_eq!(checksum(&header).to_be_bytes(), frame.buffer[10..12]);
        }
        let mut frame = Frame::new(1500);
        frame.buffer[..50].copy_from_slice(&segment(1, 10, 0x10, 0x04));
        assert!(!frame.ecn_capable());
    }

    #[test]
    fn connections_have_different_numbers() {
        let of = |port: u16| {
            let mut frame = Frame::new(64);
            frame.header.source_port = port;
            Packet::flow(&frame)
        };
        assert_ne!(of(1), of(2));
        assert_eq!(of(7), of(7));
    }
}
