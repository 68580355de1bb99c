// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of a controller that computes its probability at a fixed interval (RFC 8033, RFC 9332).

use std::time::Duration;

use crate::time::Time;

/// The times of the updates: multiples of the interval. Nothing runs at these times; arrivals and departures make the updates
/// that are due.
#[derive(Debug, Clone)]
pub(crate) struct UpdateClock {
    interval: Duration,
    next: Time,
}

impl UpdateClock {
    /// Creates a clock whose first update is an interval after the origin. The interval is above zero.
    pub(crate) fn new(interval: Duration) -> UpdateClock {
        UpdateClock {
            interval,
            next: Time::ZERO + interval,
        }
    }

    /// The time between two updates.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Takes the next update that is due at or before `now`; returns its time.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Time> {
        let due = self.next;
        (due <= now).then(|| {
            self.next = due + self.interval;
            due
        })
    }

    /// Skips the updates that are due at or before `now`, for a controller that they would not change: so a long idle time
    /// costs no more than a short one.
    pub(crate) fn skip_due(&mut self, now: Time) {
        if self.next <= now {
            let interval = self.interval.as_nanos();
            let passed = ((now - self.next).as_nanos() / interval + 1) * interval;
            self.next = self
                .next
                .plus_nanos(u64::try_from(passed).unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_updates_leave_the_later_ones_in_place() {
        for now in [0, 14, 15, 16, 29, 30, 1_000_000] {
            let now = Time::from_millis(now);
            let mut stepwise = UpdateClock::new(Duration::from_millis(15));
            let mut at_once = stepwise.clone();
            let taken = std::iter::from_fn(|| stepwise.take_due(now)).count();
            assert_eq!(taken as u64, now.as_nanos() / 15_000_000);
            at_once.skip_due(now);
            assert_eq!(at_once.next, stepwise.next);
            assert_eq!(at_once.take_due(now), None);
        }
    }
}
