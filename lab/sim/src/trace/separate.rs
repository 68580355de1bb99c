// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of one link each.

use std::io;
use std::mem;

use crate::labels::Labels;
use crate::trace::link_capture::Capture;
use crate::trace::noted::{Batch, Noted};

/// Traces of one link each, by number.
#[derive(Debug, Default)]
pub(crate) struct Separate {
    all: Vec<Capture>,
    by_trace: ByTrace,
}

impl Separate {
    /// Adds a trace, and returns its number.
    pub fn add(&mut self, capture: Capture) -> u32 {
        self.all.push(capture);
        self.all.len() as u32 - 1
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Writes the packets of a batch to their traces. Packets of one trace are written one after the other: of thousands of traces each is
    /// seldom in the cache.
    pub fn write(&mut self, batch: &Batch, labels: &[Labels]) {
        if self.all.is_empty() {
            return;
        }
        self.by_trace.sort(self.all.len(), &batch.packets);
        for &trace in &self.by_trace.used {
            let capture = &mut self.all[trace as usize];
            let mut next = self.by_trace.first[trace as usize];
            while let Some(noted) = batch.packets.get(next as usize) {
                next = self.by_trace.next[next as usize];
                let (packet, body) = noted.packet(batch.sack(noted));
                let labels = &labels[noted.flow as usize];
                capture.packet(noted.at, &packet, &body.segment, labels, noted.is_reverse());
            }
        }
        self.by_trace.clear();
    }

    /// Writes what is left of all traces; an error if anything could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.all.drain(..).try_for_each(Capture::finish)
    }
}

/// The packets of a batch by trace: lists of their places.
#[derive(Debug, Default)]
struct ByTrace {
    /// The traces that have packets, in the order of their first ones.
    used: Vec<u32>,
    /// The first and the last packet of each trace.
    first: Vec<u32>,
    last: Vec<u32>,
    /// The packet of the same trace that follows each.
    next: Vec<u32>,
}

/// No packet.
const NONE: u32 = u32::MAX;

impl ByTrace {
    fn sort(&mut self, traces: usize, packets: &[Noted]) {
        self.first.resize(traces, NONE);
        self.last.resize(traces, NONE);
        self.next.resize(packets.len(), NONE);
        for (place, noted) in packets.iter().enumerate() {
            let Some(number) = noted.trace.as_own() else {
                continue;
            };
            let trace = number as usize;
            let last = mem::replace(&mut self.last[trace], place as u32);
            match self.next.get_mut(last as usize) {
                Some(next) => *next = place as u32,
                None => {
                    self.first[trace] = place as u32;
                    self.used.push(number);
                }
            }
        }
    }

    fn clear(&mut self) {
        for trace in self.used.drain(..) {
            self.last[trace as usize] = NONE;
        }
        self.next.clear();
    }
}
