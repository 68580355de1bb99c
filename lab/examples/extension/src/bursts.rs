// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bursts: so many packets at once, and a pause until the next ones.

use std::time::Duration;

use netnice_queue::Time;
use netnice_sim::random::Stream;
use netnice_sim::traffic::{Source, Write};

/// Packets in bursts at even intervals.
#[derive(Debug, Clone, Copy)]
pub struct Bursts {
    /// Bytes of a packet, headers included.
    pub packet_bytes: u32,
    /// Packets of a burst.
    pub packets: u32,
    /// Time from one burst to the next.
    pub interval: Duration,
}

impl Source for Bursts {
    fn largest_packet(&self) -> u32 {
        self.packet_bytes
    }

    fn writes(&self, start: Time, _stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        let Bursts {
            packet_bytes: bytes,
            packets,
            interval,
        } = *self;
        Box::new((0..).flat_map(move |burst| {
            let at = start + interval * burst;
            (0..packets).map(move |_| Write { at, bytes })
        }))
    }
}
