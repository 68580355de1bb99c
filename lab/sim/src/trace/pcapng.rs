// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pcapng file being written: its interfaces, and packets that came in at them.

use std::fmt;
use std::io::{self, Write};

use netnice_queue::Time;

use crate::labels::Labels;
use crate::packet::Packet;
use crate::tcp::Segment;
use crate::trace::headers::{MOST_HEADERS, write_headers};

/// A pcapng file being written.
pub(crate) struct Pcapng {
    /// Blocks that are not written yet.
    buffer: Vec<u8>,
    /// Bytes that are written at a time, whole pages.
    at_a_time: usize,
    /// Bytes kept of each packet.
    snap_length: u32,
    out: Box<dyn Write + Send>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

/// LINKTYPE_RAW: packets begin with the IP header.
const LINKTYPE_RAW: u16 = 101;
pub(crate) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
pub(crate) const ENHANCED_PACKET: u32 = 6;

/// Bytes of a packet's block before the packet, and of its length behind it.
const FIELDS: usize = 28;
const TRAILER: usize = 4;
/// Bytes of a packet for which there is room in a block that is made in one piece: most headers, and what is kept of data mostly.
const ROOM: usize = 128;
const BLOCK: usize = FIELDS + ROOM + TRAILER;

const _: () = assert!(MOST_HEADERS <= ROOM);

/// Pages of the system, by which files grow: what is written ends at their bounds, so that none is written twice.
const PAGE: usize = 1 << 12;

impl fmt::Debug for Pcapng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pcapng")
            .field("snap_length", &self.snap_length)
            .finish_non_exhaustive()
    }
}

impl Pcapng {
    /// A file without interfaces, with at most `snap_length` bytes of each packet; `at_a_time` bytes, whole pages of 4 KiB, are kept before they are
    /// written.
    pub fn new(out: Box<dyn Write + Send>, snap_length: u32, at_a_time: usize) -> Pcapng {
        debug_assert!(at_a_time % PAGE == 0);
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
        let mut buffer = Vec::with_capacity(at_a_time + BLOCK);
        write_block(&mut buffer, SECTION_HEADER, &section);
        Pcapng {
            buffer,
            at_a_time,
            snap_length,
            out,
            failure: None,
        }
    }

    /// Adds an interface called `name`. Interfaces have numbers from 0 on, in order.
    pub fn add_interface(&mut self, name: &str) {
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend(0u16.to_le_bytes());
        interface.extend(self.snap_length.to_le_bytes());
        option(&mut interface, 2, name.as_bytes());
        // Times count nanoseconds.
        option(&mut interface, 9, &[9]);
        option(&mut interface, 0, &[]);
        write_block(&mut self.buffer, INTERFACE_DESCRIPTION, &interface);
        self.write_pages_if_full();
    }

    /// Writes a packet of the interface with this number, `identification` in its IPv4 header; `reverse` means that it goes to the sender of
    /// the data.
    #[inline(always)]
    pub fn packet(
        &mut self,
        (interface, at): (u32, Time),
        packet: &Packet,
        segment: &Segment,
        (labels, reverse): (&Labels, bool),
        identification: u16,
    ) {
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&[0; BLOCK]);
        let Some(block) = self.buffer.last_chunk_mut::<BLOCK>() else {
            return;
        };
        let Some(room) = block[FIELDS..].first_chunk_mut::<MOST_HEADERS>() else {
            return;
        };
        let (headers, length) =
            write_headers(room, packet, segment, (labels, reverse), identification);
        let kept = length.min(self.snap_length as usize);
        if kept < headers {
            // Padding is zeros.
            room[kept..headers].fill(0);
        }
        let padded = kept.next_multiple_of(4);
        let block_length = (FIELDS + padded + TRAILER) as u32;
        for (place, field) in block[..FIELDS].chunks_exact_mut(4).zip([
            ENHANCED_PACKET,
            block_length,
            interface,
            (at.as_nanos() >> 32) as u32,
            at.as_nanos() as u32,
            kept as u32,
            length as u32,
        ]) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let end = FIELDS + padded;
        let behind = block_length.to_le_bytes();
        if padded <= ROOM {
            block[end..end + TRAILER].copy_from_slice(&behind);
            self.buffer.truncate(begin + end + TRAILER);
        } else {
            self.buffer.resize(begin + end, 0);
            self.buffer.extend_from_slice(&behind);
        }
        self.write_pages_if_full();
    }

    #[inline(always)]
    fn write_pages_if_full(&mut self) {
        if self.buffer.len() >= self.at_a_time {
            self.write_pages();
        }
    }

    /// Writes the whole pages of what is kept.
    #[cold]
    fn write_pages(&mut self) {
        let whole = self.buffer.len() / PAGE * PAGE;
        if self.failure.is_none() {
            self.failure = self.out.write_all(&self.buffer[..whole]).err();
        }
        self.buffer.drain(..whole);
    }

    /// Writes what is left; an error if anything could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rest()
    }

    fn write_rest(&mut self) -> io::Result<()> {
        let kept = std::mem::take(&mut self.buffer);
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.out.write_all(&kept)?;
        self.out.flush()
    }
}

/// A run that ends early leaves the packets so far.
impl Drop for Pcapng {
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
