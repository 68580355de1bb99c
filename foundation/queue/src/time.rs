// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points in time on the clock of a link's driver.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Nanoseconds since an origin chosen by the driver: the start of a simulation, or of the monotonic clock.
///
/// Only differences are meaningful. The range is 584 years; arithmetic saturates there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0);
    /// A point that never comes.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the point `nanoseconds` after the origin.
    pub const fn from_nanos(nanoseconds: u64) -> Time {
        Time(nanoseconds)
    }

    /// Returns the point `milliseconds` after the origin.
    pub const fn from_millis(milliseconds: u64) -> Time {
        Time(milliseconds.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the point `nanoseconds` later.
    pub const fn plus_nanos(self, nanoseconds: u64) -> Time {
        Time(self.0.saturating_add(nanoseconds))
    }

    /// Returns the time from `earlier` to this point; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanoseconds))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;

    /// Equals [`Time::saturating_since`].
    fn sub(self, earlier: Time) -> Duration {
        self.saturating_since(earlier)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
