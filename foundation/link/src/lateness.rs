// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lateness of packets, and how much of it a measurement tolerates.

use std::time::Duration;

use netnice_measure::{Delays, Histogram};

/// Default bound on the lateness that measurements tolerate.
pub const BOUND: Duration = Duration::from_millis(1);

/// Share of packets that may be later than the bound.
const TOLERATED: f64 = 0.01;

/// Number of packets from which on the share of late ones is compared with [`TOLERATED`] itself. With fewer, even no
/// late packet does not show that at most [`TOLERATED`] are late: `0.99 ^ 299 < SIGNIFICANCE`.
pub const ENOUGH_PACKETS: u64 = 299;

/// With fewer packets, too many are late if a link that is late with [`TOLERATED`] of its packets makes as many late
/// with at most this probability.
const SIGNIFICANCE: f64 = 0.05;

/// Lateness of packets.
#[derive(Debug)]
pub struct LatenessRecord {
    /// Lateness in nanoseconds.
    times: Histogram,
    /// Packets later than the bound.
    late: u64,
    bound: Duration,
}

impl Default for LatenessRecord {
    fn default() -> LatenessRecord {
        LatenessRecord::new(BOUND)
    }
}

impl LatenessRecord {
    /// Creates an empty record; packets later than `bound` count as late.
    pub fn new(bound: Duration) -> LatenessRecord {
        LatenessRecord {
            times: Histogram::default(),
            late: 0,
            bound,
        }
    }

    /// Records a packet handed over `lateness` after it was due.
    pub fn record(&mut self, lateness: Duration) {
        self.times.record(lateness.as_nanos() as u64);
        self.late += u64::from(lateness > self.bound);
    }

    /// Returns the bound above which packets count as late.
    pub fn bound(&self) -> Duration {
        self.bound
    }

    /// Returns the distribution.
    pub fn delays(&self) -> Delays {
        self.times.delays()
    }

    /// Returns the share of late packets, 0 to 1; 0 without packets.
    pub fn late_fraction(&self) -> f64 {
        self.late as f64 / self.times.count().max(1) as f64
    }

    /// Returns true if more packets were late than is tolerated, and not by chance.
    pub fn is_too_large(&self) -> bool {
        too_many_late(self.times.count(), self.late)
    }
}

/// Returns true if `late` of `packets` are more than a measurement tolerates, and not by chance.
pub fn too_many_late(packets: u64, late: u64) -> bool {
    if packets >= ENOUGH_PACKETS {
        return late as f64 / packets as f64 > TOLERATED;
    }
    late > 0 && chance_of_late(packets, late) < SIGNIFICANCE
}

/// Returns the probability that at least `late` of `packets` are late if each is late independently with probability
/// [`TOLERATED`]: the upper tail of a binomial distribution.
fn chance_of_late(packets: u64, late: u64) -> f64 {
    let odds = TOLERATED / (1.0 - TOLERATED);
    let mut term = (1.0 - TOLERATED).powf(packets as f64);
    let mut fewer = 0.0;
    for number in 0..late.min(packets) {
        fewer += term;
        term *= odds * (packets - number) as f64 / (number + 1) as f64;
    }
    1.0 - fewer
}
