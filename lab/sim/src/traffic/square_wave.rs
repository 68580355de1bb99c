// SPDX-License-Identifier: MIT OR Apache-2.0
//! The papers' square wave: constant rate and silence in turn.

use std::time::Duration;

use netnice_queue::Time;

use netnice_queue::random::Stream;

use super::{ConstantRate, Source, Write, constant_rate};

/// Constant rate for `on`, silence for `off`, and so on, beginning with `on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SquareWave {
    /// Traffic of the on period.
    pub high: ConstantRate,
    /// Length of the on period.
    pub on: Duration,
    /// Length of the off period.
    pub off: Duration,
}

impl SquareWave {
    pub(super) fn generator(&self, start: Time) -> Generator {
        Generator {
            period: self.on + self.off,
            on: self.on,
            begin: start,
            high: self.high.generator(start),
        }
    }
}

impl Source for SquareWave {
    fn largest_packet(&self) -> u32 {
        self.high.packet_bytes
    }

    fn writes(&self, start: Time, _stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        Box::new(self.generator(start))
    }
}

#[derive(Debug)]
pub(crate) struct Generator {
    period: Duration,
    on: Duration,
    /// When the present period began.
    begin: Time,
    high: constant_rate::Generator,
}

impl Iterator for Generator {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        if self.on.is_zero() {
            return None;
        }
        if self.high.due() >= self.begin + self.on {
            self.begin = self.begin + self.period;
            self.high.restart(self.begin);
        }
        self.high.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_period_begins_with_a_packet_and_holds_as_many() {
        // 1000 B at 8 Mb/s: one each millisecond, for 3 ms of each 10.
        let source = SquareWave {
            high: ConstantRate {
                rate: "8mbit".parse().unwrap(),
                packet_bytes: 1000,
            },
            on: Duration::from_millis(3),
            off: Duration::from_millis(7),
        };
        let times: Vec<u64> = source
            .generator(Time::from_millis(5))
            .take(7)
            .map(|write| write.at.as_nanos() / 1_000_000)
            .collect();
        assert_eq!(times, [5, 6, 7, 15, 16, 17, 25]);
    }
}
