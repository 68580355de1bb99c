// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link has seen.

use std::time::Duration;

use crate::{DropCause, Time};

/// What a link has seen so far. `offered = delivered + dropped() + inside` always holds.
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
    /// Early drops, [`DropCause::EarlyDrop`](crate::DropCause::EarlyDrop).
    pub early_drop: u64,
    /// Forced drops, [`DropCause::ForcedDrop`](crate::DropCause::ForcedDrop).
    pub forced_drop: u64,
    /// Waiting packets that made room for others, [`DropCause::PushedOut`](crate::DropCause::PushedOut).
    pub pushed_out: u64,
    /// Packets marked with congestion experienced.
    pub marked: u64,
    /// Packets waiting at most, the one in transmission not counted.
    pub max_queue_packets: usize,
    /// Bytes waiting at most.
    pub max_queue_bytes: u64,
    /// Longest time a packet waited between its arrival and the beginning of its transmission.
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
        } += 1;
    }

    /// Packets dropped, for whatever cause.
    pub fn dropped(&self) -> u64 {
        self.queue_full + self.random_loss + self.early_drop + self.forced_drop + self.pushed_out
    }
}

/// How much of a link and of its queue was in use from the beginning until a point in time. Two of them give the means
/// of the time between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkUsage {
    /// That point.
    pub until: Time,
    /// Time in which the link was sending.
    pub busy: Duration,
    /// The packets waiting, integrated over time in nanoseconds.
    pub queue_packet_ns: u128,
    /// The bytes waiting, integrated over time in nanoseconds.
    pub queue_byte_ns: u128,
}

impl LinkUsage {
    /// The fraction of the time since `earlier` in which the link was sending, 0 to 1.
    pub fn utilisation_since(&self, earlier: &LinkUsage) -> f64 {
        self.mean(earlier, (self.busy - earlier.busy).as_nanos())
    }

    /// Packets waiting, in the mean over the time since `earlier`.
    pub fn mean_packets_since(&self, earlier: &LinkUsage) -> f64 {
        self.mean(earlier, self.queue_packet_ns - earlier.queue_packet_ns)
    }

    /// Bytes waiting, in the mean over the time since `earlier`.
    pub fn mean_bytes_since(&self, earlier: &LinkUsage) -> f64 {
        self.mean(earlier, self.queue_byte_ns - earlier.queue_byte_ns)
    }

    /// Zero for no time.
    fn mean(&self, earlier: &LinkUsage, integral: u128) -> f64 {
        match (self.until - earlier.until).as_nanos() {
            0 => 0.0,
            time => integral as f64 / time as f64,
        }
    }
}
