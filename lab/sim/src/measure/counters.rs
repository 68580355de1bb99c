// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of a flow, and means over time.

use std::ops::{Add, Sub};

use netnice_queue::Time;

use crate::tcp::SenderStatistics;

/// Counters of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowCounters {
    /// Packets of data sent, retransmissions included.
    pub sent_packets: u64,
    /// Their bytes, headers included.
    pub sent_bytes: u64,
    /// Packets of data that have come to the receiver.
    pub received_packets: u64,
    /// Their bytes, headers included.
    pub received_bytes: u64,
    /// Bytes delivered to the receiver's program, in order and each once.
    pub goodput_bytes: u64,
    /// Packets of data dropped on the way.
    pub lost_packets: u64,
    /// Other packets sent in either direction: ACKs, and those that open and close connections.
    pub control_sent: u64,
    /// Those of them that were dropped.
    pub control_lost: u64,
    /// Packets retransmitted.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries begun.
    pub recoveries: u64,
    /// ECN echoes that the sender reacted to.
    pub ecn_reactions: u64,
    /// Early congestion indications that a low-priority control yielded to.
    pub early_indications: u64,
}

impl FlowCounters {
    /// Adds what a connection's sender and its control have counted.
    pub(crate) fn add_sender(&mut self, statistics: &SenderStatistics, yields: u64) {
        self.retransmissions += statistics.retransmitted_segments;
        self.timeouts += statistics.timeouts;
        self.recoveries += statistics.fast_recoveries;
        self.ecn_reactions += statistics.ecn_reactions;
        self.early_indications += yields;
    }

    fn zip(self, other: FlowCounters, f: impl Fn(u64, u64) -> u64) -> FlowCounters {
        FlowCounters {
            sent_packets: f(self.sent_packets, other.sent_packets),
            sent_bytes: f(self.sent_bytes, other.sent_bytes),
            received_packets: f(self.received_packets, other.received_packets),
            received_bytes: f(self.received_bytes, other.received_bytes),
            goodput_bytes: f(self.goodput_bytes, other.goodput_bytes),
            lost_packets: f(self.lost_packets, other.lost_packets),
            control_sent: f(self.control_sent, other.control_sent),
            control_lost: f(self.control_lost, other.control_lost),
            retransmissions: f(self.retransmissions, other.retransmissions),
            timeouts: f(self.timeouts, other.timeouts),
            recoveries: f(self.recoveries, other.recoveries),
            ecn_reactions: f(self.ecn_reactions, other.ecn_reactions),
            early_indications: f(self.early_indications, other.early_indications),
        }
    }
}

impl Add for FlowCounters {
    type Output = FlowCounters;

    fn add(self, other: FlowCounters) -> FlowCounters {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for FlowCounters {
    type Output = FlowCounters;

    /// The counts after `other`.
    fn sub(self, other: FlowCounters) -> FlowCounters {
        self.zip(other, |a, b| a.saturating_sub(b))
    }
}

/// The mean over time of a value that changes now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeWeighted {
    value: f64,
    since: Time,
    /// Value times nanoseconds.
    integral: f64,
    nanoseconds: f64,
}

impl TimeWeighted {
    /// A value from `now` on.
    pub fn new(now: Time, value: f64) -> TimeWeighted {
        TimeWeighted {
            value,
            since: now,
            integral: 0.0,
            nanoseconds: 0.0,
        }
    }

    /// The value may have changed at `now`.
    #[inline]
    pub fn set(&mut self, now: Time, value: f64) {
        if value != self.value {
            self.pass(now);
            self.value = value;
        }
    }

    /// Forgets what was before `now`.
    pub fn restart(&mut self, now: Time) {
        *self = TimeWeighted::new(now, self.value);
    }

    /// The mean up to `now`; the value itself where no time has gone by, as for a flow that would begin after the run.
    pub fn mean(mut self, now: Time) -> f64 {
        self.pass(now.max(self.since));
        if self.nanoseconds > 0.0 {
            self.integral / self.nanoseconds
        } else {
            self.value
        }
    }

    #[inline]
    fn pass(&mut self, now: Time) {
        let passed = (now.as_nanos() - self.since.as_nanos()) as f64;
        self.integral += self.value * passed;
        self.nanoseconds += passed;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_by_time() {
        let mut value = TimeWeighted::new(Time::from_millis(1), 2.0);
        value.set(Time::from_millis(2), 10.0);
        value.set(Time::from_millis(3), 10.0);
        // 1 ms at 2, 3 ms at 10.
        assert_eq!(value.mean(Time::from_millis(5)), 8.0);
        value.restart(Time::from_millis(5));
        assert_eq!(value.mean(Time::from_millis(5)), 10.0);
        assert_eq!(value.mean(Time::from_millis(9)), 10.0);
    }

    #[test]
    fn before_its_beginning_the_mean_is_the_value() {
        let value = TimeWeighted::new(Time::from_millis(5), 3.0);
        assert_eq!(value.mean(Time::from_millis(4)), 3.0);
    }
}
