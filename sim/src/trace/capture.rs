// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of a link that Wireshark reads: pcapng with IPv4, TCP and UDP headers and their checksums.
//!
//! Data are zeros. Hosts have addresses by flow: senders of data in 10.0.0.0/9, receivers in 10.128.0.0/9. Lengths are
//! those of the headers written here, which differ from the simulated ones where a scenario sets others.

use std::fmt;
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

use netnice_queue::Time;

use crate::labels::{Labels, TcpLabels};
use crate::packet::Packet;
use crate::prefetch::prefetch_address;
use crate::tcp::{Flags, Segment};

/// A trace being written: the packets that come out of a link, with the time at which they do.
pub struct Capture {
    /// Blocks that are not written yet: a trace of thousands needs no more memory than this.
    buffer: Vec<u8>,
    /// Bytes that are written at a time, whole pages.
    at_a_time: usize,
    snap_length: usize,
    identification: u16,
    out: Box<dyn Write + Send>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

/// Most bytes of headers: those of IPv4, and of TCP with all options that it has room for.
const MOST_HEADERS: usize = 20 + 60;

/// Bytes of a block's fields before the packet, and of its length behind it.
const FIELDS: usize = 28;
const TRAILER: usize = 4;
/// Bytes of a packet for which there is room in a block that is made in one piece: most headers, and what is kept of data mostly.
const ROOM: usize = 128;

const _: () = assert!(MOST_HEADERS <= ROOM);

/// The headers of a packet, being made in their place in a block of zeros.
struct Headers {
    block: [u8; FIELDS + ROOM + TRAILER],
    length: usize,
    /// The sum of the words of the header being made (RFC 1071).
    sum: u32,
}

impl Headers {
    /// Adds an even number of bytes.
    #[inline(always)]
    fn extend<const LENGTH: usize>(&mut self, bytes: [u8; LENGTH]) {
        const { assert!(LENGTH % 2 == 0) };
        let words = bytes.chunks_exact(2);
        self.sum += words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum::<u32>();
        let begin = FIELDS + self.length;
        self.block[begin..begin + LENGTH].copy_from_slice(&bytes);
        self.length += LENGTH;
    }
}

impl Deref for Headers {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.block[FIELDS..FIELDS + self.length]
    }
}

impl DerefMut for Headers {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.block[FIELDS..FIELDS + self.length]
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("snap_length", &self.snap_length)
            .finish_non_exhaustive()
    }
}

/// LINKTYPE_RAW: packets begin with the IP header.
const LINKTYPE_RAW: u16 = 101;
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Pages of the system, by which files grow: what is written ends at their bounds, so that none is written twice.
const PAGE: usize = 1 << 12;
/// Bytes kept before they are written.
const KEPT: usize = 1 << 16;
/// Room behind them for the block that completes them.
const LAST_BLOCK: usize = 1 << 8;

impl Capture {
    /// A trace of the link called `name`, of at most `snap_length` bytes of each packet. It keeps 64 KiB before it writes.
    pub fn new(out: Box<dyn Write + Send>, name: &str, snap_length: u32) -> io::Result<Capture> {
        Capture::keeping(KEPT, out, name, snap_length)
    }

    /// As [`Capture::new`], but it keeps so many bytes before it writes, rounded to whole pages of 4 KiB.
    pub(crate) fn keeping(
        bytes: usize,
        out: Box<dyn Write + Send>,
        name: &str,
        snap_length: u32,
    ) -> io::Result<Capture> {
        let at_a_time = bytes.next_multiple_of(PAGE);
        let mut buffer = Vec::with_capacity(at_a_time + LAST_BLOCK);
        let mut section = Vec::new();
        section.extend(0x1A2B_3C4Du32.to_le_bytes());
        section.extend(1u16.to_le_bytes());
        section.extend(0u16.to_le_bytes());
        section.extend(u64::MAX.to_le_bytes());
        option(
            &mut section,
            4,
            concat!("netnice ", env!("CARGO_PKG_VERSION")).as_bytes(),
        );
        option(&mut section, 0, &[]);
        write_block(&mut buffer, SECTION_HEADER, &section);
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend(0u16.to_le_bytes());
        interface.extend(snap_length.to_le_bytes());
        option(&mut interface, 2, name.as_bytes());
        // Times count nanoseconds.
        option(&mut interface, 9, &[9]);
        option(&mut interface, 0, &[]);
        write_block(&mut buffer, INTERFACE_DESCRIPTION, &interface);
        Ok(Capture {
            buffer,
            at_a_time,
            snap_length: snap_length as usize,
            identification: 0,
            out,
            failure: None,
        })
    }

    /// Writes a packet that has come out of the link; `reverse` means that it goes to the sender of the data.
    pub(crate) fn packet(
        &mut self,
        now: Time,
        packet: &Packet,
        segment: &Segment,
        labels: &Labels,
        reverse: bool,
    ) {
        if self.failure.is_some() {
            return;
        }
        self.identification = self.identification.wrapping_add(1);
        let mut headers = Headers {
            block: [0; FIELDS + ROOM + TRAILER],
            length: 0,
            sum: 0,
        };
        let addresses = ip_header(&mut headers, packet, labels, reverse, self.identification);
        // The pseudo-header of the transport has the addresses, too.
        let ip_sum = std::mem::replace(&mut headers.sum, addresses);
        let data = match &labels.tcp {
            Some(tcp) => {
                tcp_header(&mut headers, packet, segment, tcp, reverse);
                segment.length as usize
            }
            None => {
                let data =
                    usize::from(packet.length).saturating_sub(usize::from(labels.header_bytes));
                udp_header(&mut headers, packet, data);
                data
            }
        };
        let length = headers.len() + data;
        headers[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        let checksum = internet_checksum(ip_sum + u32::from(length as u16));
        headers[10..12].copy_from_slice(&checksum.to_be_bytes());
        let kept = length.min(self.snap_length);
        let padded = kept.next_multiple_of(4);
        let block_length = (FIELDS + padded + TRAILER) as u32;
        let Headers {
            mut block,
            length: of_headers,
            ..
        } = headers;
        for (place, field) in block[..FIELDS].chunks_exact_mut(4).zip([
            ENHANCED_PACKET,
            block_length,
            0,
            (now.as_nanos() >> 32) as u32,
            now.as_nanos() as u32,
            kept as u32,
            length as u32,
        ]) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        if kept < of_headers {
            // Padding is zeros.
            block[FIELDS + kept..FIELDS + of_headers].fill(0);
        }
        let behind = block_length.to_le_bytes();
        let end = FIELDS + padded;
        if padded <= ROOM {
            block[end..end + TRAILER].copy_from_slice(&behind);
            self.buffer.extend_from_slice(&block[..end + TRAILER]);
        } else {
            let end = self.buffer.len() + end;
            self.buffer.extend_from_slice(&block[..FIELDS + ROOM]);
            self.buffer.resize(end, 0);
            self.buffer.extend_from_slice(&behind);
        }
        if self.buffer.len() >= self.at_a_time {
            self.write_pages();
        }
    }

    /// Begins to fetch where the next packet goes.
    pub(crate) fn prefetch_end(&self) {
        let end = self.buffer.as_ptr().wrapping_add(self.buffer.len());
        prefetch_address(end);
        prefetch_address(end.wrapping_add(64));
    }

    /// Writes the whole pages of what is kept.
    #[cold]
    fn write_pages(&mut self) {
        let whole = self.buffer.len() / PAGE * PAGE;
        self.failure = self.out.write_all(&self.buffer[..whole]).err();
        self.buffer.drain(..whole);
    }

    /// Writes what is left; an error if anything could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rest()
    }

    fn write_rest(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            self.buffer.clear();
            return Err(failure);
        }
        let kept = std::mem::take(&mut self.buffer);
        self.out.write_all(&kept)?;
        self.out.flush()
    }
}

/// A run that ends early leaves the packets so far.
impl Drop for Capture {
    fn drop(&mut self) {
        // Nobody is left to learn of a failure.
        let _ = self.write_rest();
    }
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

fn write_block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.extend(kind.to_le_bytes());
    out.extend(length);
    out.extend(body);
    out.extend(length);
}

/// The length and the checksum are filled in when the rest is known. Returns the sum of the addresses.
fn ip_header(
    header: &mut Headers,
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

fn udp_header(headers: &mut Headers, packet: &Packet, data: usize) {
    let length = (8 + data) as u16;
    headers.extend(SENDER_PORT.to_be_bytes());
    headers.extend(receiver_port(packet).to_be_bytes());
    headers.extend(length.to_be_bytes());
    headers.extend([0, 0]);
    let checksum = transport_checksum(headers, 17, length);
    // A zero would mean that the sender computed no checksum (RFC 768).
    let checksum = if checksum == 0 { 0xffff } else { checksum };
    headers[26..28].copy_from_slice(&checksum.to_be_bytes());
}

/// Both ends begin with the sequence number 0, which their SYN takes.
fn tcp_header(
    headers: &mut Headers,
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
    let length = headers.len() - 20;
    // Where data go the bit says that they are retransmitted, which is on no wire.
    let accurate = (reverse || syn) && flags.contains(Flags::AE);
    let offset = ((length / 4) as u8) << 4 | u8::from(accurate);
    headers[32] = offset;
    headers.sum += u32::from(offset) << 8;
    let checksum = transport_checksum(headers, 6, length as u16 + segment.length as u16);
    headers[36..38].copy_from_slice(&checksum.to_be_bytes());
}

fn tcp_options(headers: &mut Headers, segment: &Segment, tcp: &TcpLabels, reverse: bool) {
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
fn transport_checksum(headers: &Headers, protocol: u8, length: u16) -> u16 {
    internet_checksum(headers.sum + u32::from(protocol) + u32::from(length))
}

/// The Internet checksum (RFC 1071) of words with this sum.
fn internet_checksum(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Marks, Route};
    use crate::trace::memory::Memory;

    /// The sum of an even number of bytes, two by two.
    fn sum_of(bytes: &[u8]) -> u32 {
        bytes
            .chunks_exact(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
            .sum()
    }

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // The example of its section 3: the sum is ddf2.
        assert_eq!(
            internet_checksum(sum_of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])),
            !0xddf2
        );
    }

    /// The packets of a trace: time, original length and bytes.
    fn packets(trace: &[u8]) -> Vec<(u64, u32, Vec<u8>)> {
        let word = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap());
        let mut found = Vec::new();
        let mut at = 0;
        while at < trace.len() {
            let length = word(at + 4) as usize;
            assert_eq!(
                word(at + length - 4) as usize,
                length,
                "both lengths of a block are alike"
            );
            if word(at) == ENHANCED_PACKET {
                let captured = word(at + 20) as usize;
                let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                found.push((
                    time,
                    word(at + 24),
                    trace[at + 28..at + 28 + captured].to_vec(),
                ));
            }
            at += length;
        }
        found
    }

    #[test]
    fn headers_are_whole_and_their_checksums_right() {
        let memory = Memory::default();
        let mut capture = Capture::new(Box::new(memory.clone()), "left-right", 60).unwrap();
        let labels = Labels {
            index: 3,
            dscp: 1,
            header_bytes: 52,
            tcp: Some(TcpLabels {
                mss: 1448,
                timestamps: true,
                sack: true,
                window_scale: 7,
                request_bytes: 0,
            }),
        };
        let mut packet = Packet {
            route: Route::default(),
            connection: 9,
            body: 0,
            length: 1500,
            class: 0,
            marks: Marks::new(true),
        };
        let data = Segment {
            sequence: 2896,
            length: 1448,
            tsval: 77,
            tsecr: 66,
            ..Segment::default()
        };
        capture.packet(
            Time::from_nanos(5_000_000_123),
            &packet,
            &data,
            &labels,
            false,
        );
        packet.marks = Marks::default();
        let ack = Segment {
            acknowledgement: 1448,
            window: 65_536,
            flags: Flags::ACK,
            sack: [
                crate::tcp::SackBlock {
                    start: 1448,
                    end: 2896,
                },
                Default::default(),
                Default::default(),
            ],
            ..Segment::default()
        };
        capture.packet(
            Time::from_nanos(6_000_000_000),
            &packet,
            &ack,
            &labels,
            true,
        );
        let udp = Labels {
            tcp: None,
            header_bytes: 28,
            ..labels
        };
        packet.length = 128;
        capture.packet(
            Time::from_nanos(6_000_000_001),
            &packet,
            &Segment::default(),
            &udp,
            false,
        );
        capture.finish().unwrap();

        let found = packets(&memory.0.lock().unwrap());
        let summary: Vec<(u64, u32, usize)> = found
            .iter()
            .map(|(time, length, bytes)| (*time, *length, bytes.len()))
            .collect();
        assert_eq!(
            summary,
            [
                (5_000_000_123, 1500, 60),
                (6_000_000_000, 64, 60),
                (6_000_000_001, 128, 60)
            ]
        );
        for (_, _, bytes) in &found {
            assert_eq!(
                internet_checksum(sum_of(&bytes[..20])),
                0,
                "a right checksum makes the sum zero"
            );
        }
        let first = &found[0].2;
        assert_eq!(first[1], 1 << 2 | 2, "LE and ECT(0)");
        assert_eq!(first[12..20], [10, 0, 0, 3, 10, 128, 0, 3]);
        assert_eq!(first[24..28], 2897u32.to_be_bytes());
        let mut pseudo = first[12..20].to_vec();
        pseudo.extend([0, 6, (1480u16 >> 8) as u8, 1480u16 as u8]);
        pseudo.extend(&first[20..52]);
        assert_eq!(internet_checksum(sum_of(&pseudo)), 0);
        let second = &found[1].2;
        assert_eq!(second[28..32], 1449u32.to_be_bytes());
        assert_eq!(
            second[34..36],
            512u16.to_be_bytes(),
            "65536 bytes, shifted by 7"
        );
        assert_eq!(second[52..56], [1, 1, 5, 10]);
        assert_eq!(second[56..60], 2897u32.to_be_bytes());
    }
}
