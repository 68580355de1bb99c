// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock by which a host stamps its segments.

use std::time::Duration;

use netnice_queue::Time;

/// A host's timestamp clock (RFC 7323 section 5.4): ticks since an offset of its own, with a rate error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    tick_ns: u64,
    /// 2^64 / `tick_ns`, rounded down: a multiplication instead of a division for each segment.
    reciprocal: u64,
    offset: u32,
    drift_parts_per_billion: i64,
}

impl Clock {
    /// A clock that shows `offset` ticks at the origin of time and then counts one for each `tick`; it runs fast by
    /// `drift_ppm` parts per million, or slow where that is negative. A tick is at least one nanosecond.
    pub fn new(tick: Duration, offset: u32, drift_ppm: f64) -> Clock {
        let tick_ns = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX).max(1);
        Clock {
            tick_ns,
            reciprocal: u64::try_from((1u128 << 64) / u128::from(tick_ns)).unwrap_or(u64::MAX),
            offset,
            drift_parts_per_billion: (drift_ppm * 1000.0).round() as i64,
        }
    }

    /// Returns the clock's reading at `now`, in ticks modulo 2^32.
    #[inline]
    pub fn ticks(&self, now: Time) -> u32 {
        let local_ns = self.local_ns(now);
        let mut ticks = ((u128::from(local_ns) * u128::from(self.reciprocal)) >> 64) as u64;
        // The reciprocal is rounded down by less than 1, so the product is at most one too small.
        if local_ns - ticks * self.tick_ns >= self.tick_ns {
            ticks += 1;
        }
        self.offset.wrapping_add(ticks as u32)
    }

    /// Returns the nanoseconds that the host counts from the origin of time to `now`, drift included.
    #[inline]
    pub(super) fn local_ns(&self, now: Time) -> u64 {
        let now_ns = now.as_nanos();
        if self.drift_parts_per_billion == 0 {
            return now_ns;
        }
        let drift_ns =
            i128::from(now_ns) * i128::from(self.drift_parts_per_billion) / 1_000_000_000;
        (i128::from(now_ns) + drift_ns).max(0) as u64
    }

    /// Returns `now` less a stamp of this clock that the peer has echoed, in nanoseconds, as precise as the stamp; 0 for the stamp
    /// of the origin of time, which may be no echo.
    pub(super) fn round_trip_ns(&self, now: Time, echo: u32) -> u64 {
        if echo == self.ticks(Time::ZERO) {
            return 0;
        }
        let ticks = self.ticks(now).wrapping_sub(echo);
        u64::from(ticks) * self.tick_ns + self.local_ns(now) % self.tick_ns
    }

    /// Length of a tick in nanoseconds.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }
}

impl Default for Clock {
    /// Ticks of a millisecond, as in Linux, from 0, without drift.
    fn default() -> Clock {
        Clock::new(Duration::from_millis(1), 0, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_whole_and_wrap() {
        let clock = Clock::new(Duration::from_millis(10), u32::MAX, 0.0);
        assert_eq!(clock.ticks(Time::from_nanos(9_999_999)), u32::MAX);
        assert_eq!(clock.ticks(Time::from_millis(10)), 0);
        assert_eq!(clock.ticks(Time::from_millis(25)), 1);
    }

    #[test]
    fn a_drifting_clock_gains_or_loses() {
        let day = Time::from_millis(86_400_000);
        // 100 ppm of a day are 8.64 s.
        let tick = Duration::from_millis(1);
        assert_eq!(Clock::new(tick, 0, 100.0).ticks(day), 86_400_000 + 8_640);
        assert_eq!(Clock::new(tick, 0, -100.0).ticks(day), 86_400_000 - 8_640);
        assert_eq!(Clock::new(tick, 7, -0.5).ticks(day), 7 + 86_400_000 - 44);
    }

    proptest! {
        #[test]
        fn multiplying_is_dividing(now in any::<u64>(), tick in 1u64..u64::MAX) {
            let clock = Clock::new(Duration::from_nanos(tick), 0, 0.0);
            prop_assert_eq!(clock.ticks(Time::from_nanos(now)), (now / tick) as u32);
        }

        #[test]
        fn small_ticks_too(now in any::<u64>(), tick in 1u64..2_000_000) {
            let clock = Clock::new(Duration::from_nanos(tick), 0, 0.0);
            prop_assert_eq!(clock.ticks(Time::from_nanos(now)), (now / tick) as u32);
        }
    }
}
