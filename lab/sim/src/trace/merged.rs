// SPDX-License-Identifier: MIT OR Apache-2.0
//! One trace of several links, in the order of time.
//!
//! Packets come out of order, as the run fast-forwards some of them. What comes leaves its link at the run's present or later: so what is earlier
//! than the present can be written, and the rest, which is what is under way, is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use netnice_queue::Time;

use crate::labels::Labels;
use crate::packet::Packet;
use crate::tcp::Segment;
use crate::trace::pcapng::Pcapng;

/// A trace of several links, of which each is an interface.
///
/// Packets are in the order of the times at which they come out of their links; simultaneous ones in that of the interfaces' numbers.
#[derive(Debug)]
pub struct MergedCapture {
    file: Pcapng,
    /// Of the newest packet of each interface, the identification in its IPv4 header.
    identifications: Vec<u16>,
    kept: BinaryHeap<Reverse<Kept>>,
    /// Packets that were kept so far.
    count: u64,
}

/// Bytes kept before they are written.
const KEPT: usize = 1 << 18;

/// A packet that is later than the present was.
#[derive(Debug)]
struct Kept {
    /// Time, interface, and number in the order in which packets came.
    key: (Time, u32, u64),
    packet: Packet,
    segment: Segment,
    labels: Labels,
    reverse: bool,
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.key == other.key
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Kept) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Kept) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl MergedCapture {
    /// A trace of links with these names, which are interfaces 0, 1, 2 and so on, with at most `snap_length` bytes of each packet. It keeps
    /// 256 KiB before it writes.
    pub fn new<'a>(
        out: Box<dyn Write + Send>,
        links: impl Iterator<Item = &'a str>,
        snap_length: u32,
    ) -> MergedCapture {
        let mut file = Pcapng::new(out, snap_length, KEPT);
        let mut identifications = Vec::new();
        for link in links {
            file.add_interface(link);
            identifications.push(0);
        }
        MergedCapture {
            file,
            identifications,
            kept: BinaryHeap::new(),
            count: 0,
        }
    }

    /// Writes a packet that comes out of the link of an interface at `at`, once no later one can come before it; `reverse` means that it goes to
    /// the sender of the data.
    pub(crate) fn packet(
        &mut self,
        (interface, at, present): (u32, Time, Time),
        packet: &Packet,
        segment: &Segment,
        (labels, reverse): (&Labels, bool),
    ) {
        self.write_before(present);
        self.count += 1;
        self.kept.push(Reverse(Kept {
            key: (at, interface, self.count),
            packet: *packet,
            segment: *segment,
            labels: labels.clone(),
            reverse,
        }));
    }

    /// Writes the packets that are earlier than `until`.
    fn write_before(&mut self, until: Time) {
        while let Some(Reverse(first)) = self.kept.peek() {
            let (at, interface, _) = first.key;
            if at >= until {
                return;
            }
            let identification = &mut self.identifications[interface as usize];
            *identification = identification.wrapping_add(1);
            self.file.packet(
                (interface, at),
                &first.packet,
                &first.segment,
                (&first.labels, first.reverse),
                *identification,
            );
            self.kept.pop();
        }
    }

    /// Writes what is left; an error if anything could not be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_before(Time::NEVER);
        self.file.finish()
    }
}
