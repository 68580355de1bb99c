// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much later than due packets are handed over, and how much of that a measurement can bear.

use std::time::Duration;

use netnice_scenario::results::Delays;
use netnice_sim::measure::Histogram;

/// Lateness that measurements can bear where nothing else is said.
pub(crate) const BOUND: Duration = Duration::from_millis(1);

/// Share of packets that may be later than the bound.
const TOLERATED: f64 = 0.01;

/// From so many packets on their share of late ones is taken as it is. Of fewer, none late does not yet say that no more
/// than [`TOLERATED`] would be: `0.99 ^ 299 < SIGNIFICANCE`.
pub(crate) const ENOUGH_PACKETS: u64 = 299;

/// Of few packets so many have to be late that a link which is late with [`TOLERATED`] of them makes as many with this
/// probability at most.
const SIGNIFICANCE: f64 = 0.05;

/// The lateness of packets.
#[derive(Debug)]
pub(crate) struct LatenessRecord {
    /// In nanoseconds.
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
    /// Of no packets yet; those later than `bound` are late.
    pub(crate) fn new(bound: Duration) -> LatenessRecord {
        LatenessRecord {
            times: Histogram::default(),
            late: 0,
            bound,
        }
    }

    /// A packet was handed over so late.
    pub(crate) fn record(&mut self, lateness: Duration) {
        self.times.record(lateness.as_nanos() as u64);
        self.late += u64::from(lateness > self.bound);
    }

    /// Later packets are late.
    pub(crate) fn bound(&self) -> Duration {
        self.bound
    }

    /// The distribution.
    pub(crate) fn delays(&self) -> Delays {
        self.times.delays()
    }

    /// Share of late packets, 0 to 1; 0 of none.
    pub(crate) fn late_fraction(&self) -> f64 {
        self.late as f64 / self.times.count().max(1) as f64
    }

    /// More packets were late than is tolerated, and not by chance.
    pub(crate) fn is_too_large(&self) -> bool {
        too_many_late(self.times.count(), self.late)
    }
}

/// Of `packets` so many were `late` that a measurement cannot bear it, and not by chance.
pub(crate) fn too_many_late(packets: u64, late: u64) -> bool {
    if packets >= ENOUGH_PACKETS {
        return late as f64 / packets as f64 > TOLERATED;
    }
    late > 0 && chance_of_late(packets, late) < SIGNIFICANCE
}

/// The probability that of `packets` at least `late` are late, if each is with [`TOLERATED`] by itself: the upper tail of
/// a binomial distribution.
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
