// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of a run.

use std::time::{Duration, Instant};

use netnice_queue::Time;

/// Monotonic clock with its zero at the start of the scenario.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    origin: Instant,
}

impl RunClock {
    /// Creates the clock of a run that starts `lead` from now.
    pub fn beginning_in(lead: Duration) -> RunClock {
        RunClock {
            origin: Instant::now() + lead,
        }
    }

    /// Returns the time since the start; zero before the start.
    pub fn now(self) -> Time {
        Time::ZERO + Instant::now().saturating_duration_since(self.origin)
    }

    /// Sleeps until the start: what begins before it would meet a network whose time stands still.
    pub fn await_start(self) {
        std::thread::sleep(self.until(Time::ZERO));
    }

    /// Returns the time left until `time`; zero if `time` is past.
    pub fn until(self, time: Time) -> Duration {
        let then = self.origin + (time - Time::ZERO);
        then.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_awaited() {
        let clock = RunClock::beginning_in(Duration::from_millis(20));
        clock.await_start();
        assert!(Instant::now() >= clock.origin);
    }
}
