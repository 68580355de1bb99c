// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pareto and exponential on/off sources.

use std::time::Duration;

use netnice_queue::Time;

use super::{ConstantRate, Source, Write, constant_rate};
use netnice_queue::random::{Stream, seconds};

/// Distribution of the periods of an on/off source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PeriodLength {
    /// Exponentially distributed.
    Exponential,
    /// Pareto distributed; long-range dependent in sum for shapes between 1 and 2.
    Pareto {
        /// Larger than 1.
        shape: f64,
    },
}

/// Bursts at a constant rate, with silence between them, both of random length.
///
/// A burst is a whole number of packets, at least one; packets are spaced as at the constant rate, and the silence
/// begins one spacing after the last packet of a burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOff {
    /// Traffic of the on period.
    pub high: ConstantRate,
    /// Distribution of both periods.
    pub length: PeriodLength,
    /// Mean of the on period.
    pub mean_on: Duration,
    /// Mean of the off period.
    pub mean_off: Duration,
}

impl OnOff {
    pub(super) fn generator(&self, start: Time, stream: Stream) -> Generator {
        Generator {
            source: *self,
            burst: self.high.generator(start),
            left: 0,
            begun: false,
            stream,
        }
    }
}

impl Source for OnOff {
    fn largest_packet(&self) -> u32 {
        self.high.packet_bytes
    }

    fn writes(&self, start: Time, stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        Box::new(self.generator(start, stream))
    }
}

#[derive(Debug)]
pub(crate) struct Generator {
    source: OnOff,
    /// The packets of the present burst; when the next one would come, it is over.
    burst: constant_rate::Generator,
    /// Packets left of the present burst.
    left: u64,
    begun: bool,
    stream: Stream,
}

impl Generator {
    fn draw(&mut self, mean: Duration) -> f64 {
        match self.source.length {
            PeriodLength::Exponential => self.stream.exponential(mean.as_secs_f64()),
            PeriodLength::Pareto { shape } => self.stream.pareto(mean.as_secs_f64(), shape),
        }
    }
}

impl Iterator for Generator {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        if self.left == 0 {
            if self.begun {
                let off = self.draw(self.source.mean_off);
                self.burst.restart(self.burst.due() + seconds(off));
            }
            self.begun = true;
            let on = self.draw(self.source.mean_on);
            let high = &self.source.high;
            let packets = on * high.rate.as_f64() / (f64::from(high.packet_bytes) * 8.0);
            self.left = (packets.round() as u64).max(1);
        }
        self.left -= 1;
        self.burst.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean rate in packets per second over `count` packets.
    fn mean_rate(length: PeriodLength, count: usize) -> f64 {
        let source = OnOff {
            high: ConstantRate {
                rate: "800kbit".parse().unwrap(),
                packet_bytes: 100,
            },
            length,
            mean_on: Duration::from_millis(500),
            mean_off: Duration::from_millis(300),
        };
        let mut writes = source.generator(Time::ZERO, Stream::new(3, "on off"));
        let last = writes.nth(count - 1).unwrap().at;
        count as f64 / (last.as_nanos() as f64 * 1e-9)
    }

    #[test]
    fn packets_that_take_no_whole_nanoseconds_come_at_their_rate() {
        // 1.07 ns each while on, all but a thousandth of the time.
        let source = OnOff {
            high: ConstantRate {
                rate: "748gbit".parse().unwrap(),
                packet_bytes: 100,
            },
            length: PeriodLength::Exponential,
            mean_on: Duration::from_micros(100),
            mean_off: Duration::from_nanos(100),
        };
        let mut writes = source.generator(Time::ZERO, Stream::new(3, "on off"));
        let last = writes.nth(9_999_999).unwrap().at;
        let rate = 1e7 * 800.0 / last.as_nanos() as f64;
        assert!((rate / 747.25 - 1.0).abs() < 0.001, "{rate}");
    }

    #[test]
    fn the_mean_rate_is_the_peak_times_the_share_of_on_periods() {
        // 1000 packets a second while on, 5 of 8 parts of the time.
        let rate = mean_rate(PeriodLength::Exponential, 2_000_000);
        assert!((rate / 625.0 - 1.0).abs() < 0.02, "{rate}");
        let rate = mean_rate(PeriodLength::Pareto { shape: 2.5 }, 2_000_000);
        assert!((rate / 625.0 - 1.0).abs() < 0.03, "{rate}");
    }
}
