// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters and usage of a link.

use std::time::Duration;

use crate::queue_discipline::{Colour, DropCause, Packet};
use crate::time::Time;

/// Counters of a link since its start. `offered = delivered + dropped() + inside` always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Bytes offered.
    pub offered_bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Arrivals dropped by the discipline because the queue was at its limit.
    pub queue_full: u64,
    /// Packets lost at random before the queue.
    pub random_loss: u64,
    /// Early drops, [`DropCause::EarlyDrop`].
    pub early_drop: u64,
    /// Forced drops, [`DropCause::ForcedDrop`].
    pub forced_drop: u64,
    /// Waiting packets dropped in favour of others, [`DropCause::PushedOut`].
    pub pushed_out: u64,
    /// Packets dropped by the policer, [`DropCause::Policed`].
    pub policed: u64,
    /// Packets marked with congestion experienced.
    pub marked: u64,
    /// Largest number of packets waiting; the one in transmission is not counted.
    pub max_queue_packets: usize,
    /// Largest number of bytes waiting.
    pub max_queue_bytes: u64,
    /// Longest time between a packet's arrival and the start of its transmission.
    pub max_queue_wait: Duration,
}

impl LinkCounters {
    /// Counts a drop.
    pub fn count_drop(&mut self, cause: DropCause) {
        *match cause {
            DropCause::QueueFull => &mut self.queue_full,
            DropCause::RandomLoss => &mut self.random_loss,
            DropCause::EarlyDrop => &mut self.early_drop,
            DropCause::ForcedDrop => &mut self.forced_drop,
            DropCause::PushedOut => &mut self.pushed_out,
            DropCause::Policed => &mut self.policed,
        } += 1;
    }

    /// Packets dropped for any cause.
    pub fn dropped(&self) -> u64 {
        self.queue_full
            + self.random_loss
            + self.early_drop
            + self.forced_drop
            + self.pushed_out
            + self.policed
    }
}

/// Busy time and queue length of a link, integrated from the start until `until`. The difference of two gives the means
/// over the time between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkUsage {
    /// End of the interval.
    pub until: Time,
    /// Time the link spent transmitting.
    pub busy: Duration,
    /// Integral of the packets waiting over time, in packet-nanoseconds.
    pub queue_packet_ns: u128,
    /// Integral of the bytes waiting over time, in byte-nanoseconds.
    pub queue_byte_ns: u128,
}

impl LinkUsage {
    /// Fraction of the time since `earlier` that the link spent transmitting, 0 to 1.
    pub fn utilisation_since(&self, earlier: &LinkUsage) -> f64 {
        self.mean(earlier, (self.busy - earlier.busy).as_nanos())
    }

    /// Mean number of packets waiting since `earlier`.
    pub fn mean_packets_since(&self, earlier: &LinkUsage) -> f64 {
        self.mean(earlier, self.queue_packet_ns - earlier.queue_packet_ns)
    }

    /// Mean number of bytes waiting since `earlier`.
    pub fn mean_bytes_since(&self, earlier: &LinkUsage) -> f64 {
        self.mean(earlier, self.queue_byte_ns - earlier.queue_byte_ns)
    }

    /// `integral` divided by the time since `earlier`; zero if no time has passed.
    fn mean(&self, earlier: &LinkUsage, integral: u128) -> f64 {
        match (self.until - earlier.until).as_nanos() {
            0 => 0.0,
            time => integral as f64 / time as f64,
        }
    }
}

/// A link's dropped packets by cause and class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DropCounters(Vec<(DropCause, u8, u64)>);

impl DropCounters {
    /// Counts a dropped packet of this class (0 is best effort).
    pub fn count(&mut self, cause: DropCause, class: u8) {
        let mut drops = self.0.iter_mut();
        match drops.find(|known| (known.0, known.1) == (cause, class)) {
            Some(known) => known.2 += 1,
            None => self.0.push((cause, class, 1)),
        }
    }

    /// Cause, class and packets, sorted by cause as [`DropCause`] lists them, then by class.
    pub fn sorted(&self) -> Vec<(DropCause, u8, u64)> {
        let mut drops = self.0.clone();
        drops.sort_by_key(|&(cause, class, _)| (cause as usize, class));
        drops
    }
}

/// Colours, and packets that no marker has tagged.
const KINDS: usize = Colour::ALL.len() + 1;

/// A link's packets by colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColourCounters {
    arrived: [u64; KINDS],
    dropped: [u64; KINDS],
}

impl ColourCounters {
    /// Counts a packet that arrives, after the link's own marker has given it its colour.
    #[inline]
    pub fn count_arrival(&mut self, packet: &impl Packet) {
        self.arrived[kind(packet)] += 1;
    }

    /// Counts a packet that the link drops, of those that have arrived.
    #[inline]
    pub fn count_drop(&mut self, packet: &impl Packet) {
        self.dropped[kind(packet)] += 1;
    }

    /// Packets of each colour that have arrived, and how many of them were dropped; `None` are those that no marker has tagged. There
    /// are none at all if no packet is yellow or red.
    pub fn of_colours(&self) -> impl Iterator<Item = (Option<Colour>, u64, u64)> {
        let any = self.arrived[1..Colour::ALL.len()]
            .iter()
            .any(|&packets| packets > 0);
        let kinds = Colour::ALL.into_iter().map(Some).chain([None]);
        let counters = kinds.zip(self.arrived).zip(self.dropped);
        counters
            .map(|((colour, arrived), dropped)| (colour, arrived, dropped))
            .filter(move |&(_, arrived, dropped)| any && arrived + dropped > 0)
    }
}

fn kind(packet: &impl Packet) -> usize {
    match packet.is_tagged() {
        true => packet.colour() as usize,
        false => Colour::ALL.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_sorted_by_cause_and_class() {
        let mut drops = DropCounters::default();
        for (cause, class) in [
            (DropCause::Policed, 0),
            (DropCause::QueueFull, 1),
            (DropCause::Policed, 0),
            (DropCause::QueueFull, 0),
        ] {
            drops.count(cause, class);
        }
        assert_eq!(
            drops.sorted(),
            [
                (DropCause::QueueFull, 0, 1),
                (DropCause::QueueFull, 1, 1),
                (DropCause::Policed, 0, 2)
            ]
        );
    }
}
