// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of a run.

use std::time::{Duration, Instant};

use netnice_queue::Time;

/// The monotonic clock, counted from the scenario's time zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    origin: Instant,
}

impl RunClock {
    /// A run that begins `lead` from now.
    pub(crate) fn beginning_in(lead: Duration) -> RunClock {
        RunClock {
            origin: Instant::now() + lead,
        }
    }

    /// Time since the beginning; zero before.
    pub(crate) fn now(self) -> Time {
        Time::ZERO + Instant::now().saturating_duration_since(self.origin)
    }

    /// How long it is until `time`; zero where that is past.
    pub(crate) fn until(self, time: Time) -> Duration {
        let then = self.origin + (time - Time::ZERO);
        then.saturating_duration_since(Instant::now())
    }
}
