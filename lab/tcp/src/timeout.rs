// SPDX-License-Identifier: MIT OR Apache-2.0
//! The retransmission timeout, RTO: RFC 6298, in the fixed-point arithmetic of BSD and ns-2.

use super::TimeoutConfig;
use super::config::nanos;

/// Estimates the round-trip time and computes the RTO. Fills one cache line.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct RetransmissionTimeout {
    /// Nanoseconds in which round-trip times are counted: a tick, or 1.
    unit_ns: u64,
    min_ns: u64,
    max_ns: u64,
    /// Smoothed round-trip time in eighths of the unit; 0 before the first sample.
    srtt_eighths: u64,
    /// Its mean deviation in quarters of the unit.
    rttvar_quarters: u64,
    /// SRTT + 4 RTTVAR in nanoseconds, without minimum or back-off.
    base_ns: u64,
    backoff_shift: u32,
    /// The RTO, with minimum, back-off and maximum applied.
    value_ns: u64,
}

impl RetransmissionTimeout {
    pub fn new(config: &TimeoutConfig) -> RetransmissionTimeout {
        let mut timeout = RetransmissionTimeout {
            unit_ns: nanos(config.rtt_tick).max(1),
            min_ns: nanos(config.min),
            max_ns: nanos(config.max),
            srtt_eighths: 0,
            rttvar_quarters: 0,
            base_ns: nanos(config.initial),
            backoff_shift: 0,
            value_ns: 0,
        };
        timeout.update();
        timeout
    }

    /// The current RTO in nanoseconds.
    pub fn value_ns(&self) -> u64 {
        self.value_ns
    }

    /// Updates the estimate by a round trip from `sent_ns` to `now_ns`, and ends back-off.
    pub fn sample(&mut self, sent_ns: u64, now_ns: u64) {
        let rtt = if self.unit_ns == 1 {
            now_ns - sent_ns
        } else {
            // Ticks of a clock between the two times.
            now_ns / self.unit_ns - sent_ns / self.unit_ns
        }
        .max(1);
        if self.srtt_eighths == 0 {
            self.srtt_eighths = rtt << 3;
            self.rttvar_quarters = rtt << 1;
        } else {
            let srtt = self.srtt_eighths >> 3;
            self.srtt_eighths = (self.srtt_eighths + rtt - srtt).max(1);
            let deviation = rtt.abs_diff(srtt);
            self.rttvar_quarters =
                (self.rttvar_quarters + deviation - (self.rttvar_quarters >> 2)).max(1);
        }
        self.base_ns = (self.rttvar_quarters + (self.srtt_eighths >> 3)) * self.unit_ns;
        self.backoff_shift = 0;
        self.update();
    }

    /// As [`sample`](Self::sample), with Linux's variance in place of RTTVAR: the RTO is at least SRTT and the minimum.
    pub fn sample_as_linux(&mut self, variance: &mut LinuxVariance, sent_ns: u64, now_ns: u64) {
        let before_ns = (self.srtt_eighths >> 3) * self.unit_ns;
        self.sample(sent_ns, now_ns);
        let rtt_ns = (now_ns - sent_ns).max(1);
        variance.update(rtt_ns, before_ns, self.min_ns, now_ns);
        self.base_ns = (self.srtt_eighths >> 3) * self.unit_ns + variance.rttvar_ns;
        self.update();
    }

    /// Doubles the RTO after the timer has expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        if self.value_ns < self.max_ns {
            self.backoff_shift += 1;
        }
        if self.backoff_shift > 3 && self.srtt_eighths != 0 {
            // The estimate is no longer valid; the next sample starts a new one (RFC 6298 section 5.7).
            self.srtt_eighths = 0;
        }
        self.update();
    }

    /// Raises the RTO to at least 3 s for data after a retransmitted SYN (RFC 6298 section 5.7).
    pub fn after_lost_syn(&mut self) {
        const AFTER_LOST_SYN_NS: u64 = 3_000_000_000;
        if self.base_ns < AFTER_LOST_SYN_NS {
            self.base_ns = AFTER_LOST_SYN_NS;
            self.backoff_shift = 0;
            self.update();
        }
    }

    fn update(&mut self) {
        // The minimum comes before the back-off, as in RFC 6298 section 2.4 and ns-2.
        let base = self.base_ns.max(self.min_ns).max(2 * self.unit_ns);
        let backed_off = u128::from(base) << self.backoff_shift.min(64);
        self.value_ns = u64::try_from(backed_off)
            .unwrap_or(u64::MAX)
            .min(self.max_ns);
    }
}

/// The variance of round-trip times in Linux (`tcp_rtt_estimator`): the largest mean deviation of the newest round trip, at least
/// the minimum RTO, which falls by a quarter of the difference each round trip. A sample below the smoothed time that would raise
/// the deviation does so by an eighth, so that falling times hardly raise the RTO.
#[derive(Debug, Clone, Default)]
pub(super) struct LinuxVariance {
    /// Four times the mean deviation.
    deviation_ns: u64,
    /// Its largest value in this round trip.
    largest_ns: u64,
    rttvar_ns: u64,
    /// When the round trip ends over which `largest_ns` counts.
    round_ends_ns: u64,
}

impl LinuxVariance {
    fn update(&mut self, rtt_ns: u64, smoothed_ns: u64, min_ns: u64, now_ns: u64) {
        if self.rttvar_ns == 0 || smoothed_ns == 0 {
            self.deviation_ns = 2 * rtt_ns;
            self.rttvar_ns = self.deviation_ns.max(min_ns);
            self.largest_ns = self.rttvar_ns;
            self.round_ends_ns = now_ns + rtt_ns;
            return;
        }
        let deviation = rtt_ns.abs_diff(smoothed_ns) as i64;
        let mut change = deviation - (self.deviation_ns >> 2) as i64;
        if rtt_ns < smoothed_ns && change > 0 {
            change >>= 3;
        }
        self.deviation_ns = self.deviation_ns.saturating_add_signed(change);
        if self.deviation_ns > self.largest_ns {
            self.largest_ns = self.deviation_ns;
            self.rttvar_ns = self.rttvar_ns.max(self.largest_ns);
        }
        if now_ns >= self.round_ends_ns {
            self.rttvar_ns -= self.rttvar_ns.saturating_sub(self.largest_ns) >> 2;
            self.round_ends_ns = now_ns + smoothed_ns;
            self.largest_ns = min_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn exact() -> RetransmissionTimeout {
        RetransmissionTimeout::new(&TimeoutConfig::default())
    }

    #[test]
    fn first_sample_gives_three_round_trips() {
        let mut timeout = exact();
        assert_eq!(timeout.value_ns(), 1000 * MS);
        // SRTT = 100 ms, RTTVAR = 50 ms: RTO = 100 + 4 * 50.
        timeout.sample(0, 100 * MS);
        assert_eq!(timeout.value_ns(), 300 * MS);
        // SRTT = 7/8 * 100 + 1/8 * 180 = 110, RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5: 340 ms.
        timeout.sample(0, 180 * MS);
        assert_eq!(timeout.value_ns(), 340 * MS);
    }

    #[test]
    fn waits_double_to_the_maximum_and_a_sample_ends_that() {
        let mut timeout = exact();
        timeout.sample(0, 20 * MS);
        let mut seen = vec![];
        for _ in 0..11 {
            seen.push(timeout.value_ns() / MS);
            timeout.back_off();
        }
        // 20 + 4 * 10 = 60 ms, below the minimum of 200 ms, which is doubled.
        assert_eq!(
            seen,
            [
                200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400, 120_000
            ]
        );
        timeout.sample(0, 200 * MS);
        assert_eq!(timeout.value_ns(), 600 * MS, "a first sample again");
    }

    #[test]
    fn ticks_of_ns2() {
        let mut timeout = RetransmissionTimeout::new(&TimeoutConfig {
            initial: Duration::from_secs(3),
            min: Duration::ZERO,
            max: Duration::from_secs(60),
            rtt_tick: Duration::from_millis(100),
        });
        assert_eq!(timeout.value_ns(), 3000 * MS);
        // From 0.95 s to 1.05 s one tick is seen: SRTT 1 tick, RTTVAR half a tick, 1 + 2 = 3 ticks.
        timeout.sample(950 * MS, 1050 * MS);
        assert_eq!(timeout.value_ns(), 300 * MS);
        // None seen counts as one; SRTT stays 8/8, RTTVAR is 2/4 + 0 - 0 (2 >> 2 is 0): 2 + 1 = 3 ticks.
        timeout.sample(1001 * MS, 1099 * MS);
        assert_eq!(timeout.value_ns(), 300 * MS);
        // Three ticks: delta 2, SRTT 10/8, RTTVAR (2 + 2)/4: 4 + 1 ticks.
        timeout.sample(1000 * MS, 1300 * MS);
        assert_eq!(timeout.value_ns(), 500 * MS);
    }

    #[test]
    fn linux_adds_the_minimum_to_the_round_trip() {
        let mut timeout = exact();
        let mut variance = LinuxVariance::default();
        let mut now = 0;
        let mut sample = |rtt: u64| {
            now += 1000 * MS;
            timeout.sample_as_linux(&mut variance, now - rtt * MS, now);
            timeout.value_ns() / MS
        };
        // RTTVAR is 2 * 20 ms at first, below the minimum of 200 ms.
        assert_eq!(sample(20), 220);
        // Four mean deviations: 40 + 80 - 10 = 110 ms, below the minimum, too; SRTT is 30 ms.
        assert_eq!(sample(100), 230);
        // Deviation 110 + 570 - 27.5 = 652.5 ms; SRTT 30 + 570 / 8 = 101.25.
        assert_eq!(sample(600), 753);
        // 652.5 + 81.25 - 163.1 = 570.6 is the largest of the next round trip, and a quarter of the difference goes: RTTVAR is
        // 652.5 - 81.9 / 4 = 632.0. SRTT is 91.1.
        assert_eq!(sample(20), 723);
        // 570.6 + 71.1 - 142.6 = 499.0; 632.0 - 133.0 / 4 = 598.8; SRTT 82.2.
        assert_eq!(sample(20), 680);
    }

    #[test]
    fn three_seconds_after_a_lost_syn() {
        let mut timeout = exact();
        timeout.back_off();
        assert_eq!(timeout.value_ns(), 2000 * MS);
        timeout.after_lost_syn();
        assert_eq!(timeout.value_ns(), 3000 * MS);
    }
}
