// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Poisson process of packets.

use netnice_queue::{Rate, Time};

use super::{Source, Write};
use netnice_queue::random::Stream;

/// The distribution of packet lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PacketSize {
    /// One length for all packets, in bytes.
    Fixed(u32),
    /// Exponentially distributed, in bytes, rounded to the next whole byte and cut off at the longest IP packet.
    Exponential {
        /// Mean before rounding.
        mean_bytes: f64,
    },
}

/// Packets at exponentially distributed intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    /// Mean rate.
    pub rate: Rate,
    /// Size of the packets.
    pub size: PacketSize,
}

/// The longest IP packet, in bytes.
const LONGEST: f64 = 65_535.0;

impl Poisson {
    pub(super) fn generator(&self, start: Time, stream: Stream) -> Generator {
        let mean_bytes = match self.size {
            PacketSize::Fixed(bytes) => f64::from(bytes),
            PacketSize::Exponential { mean_bytes } => mean_bytes,
        };
        Generator {
            size: self.size,
            mean_interval: mean_bytes * 8.0 / self.rate.bits_per_second() as f64,
            last: start,
            fraction_ns: 0.0,
            stream,
        }
    }
}

impl Source for Poisson {
    fn largest_packet(&self) -> u32 {
        match self.size {
            PacketSize::Fixed(bytes) => bytes,
            PacketSize::Exponential { .. } => LONGEST as u32,
        }
    }

    fn writes(&self, start: Time, stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        Box::new(self.generator(start, stream))
    }
}

#[derive(Debug)]
pub(crate) struct Generator {
    size: PacketSize,
    /// Mean time between packets, in seconds.
    mean_interval: f64,
    last: Time,
    /// Fraction of a nanosecond by which the exact time exceeds `last`.
    fraction_ns: f64,
    stream: Stream,
}

impl Iterator for Generator {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        let interval_ns = self.stream.exponential(self.mean_interval) * 1e9 + self.fraction_ns;
        self.last = self.last.plus_nanos(interval_ns as u64);
        self.fraction_ns = interval_ns.fract();
        Some(Write {
            at: self.last,
            bytes: match self.size {
                PacketSize::Fixed(bytes) => bytes,
                PacketSize::Exponential { mean_bytes } => {
                    self.stream
                        .exponential(mean_bytes)
                        .round()
                        .clamp(1.0, LONGEST) as u32
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_nanoseconds_have_the_mean_that_was_asked_for() {
        // 64 B at 100 Gb/s: 5.12 ns.
        let source = Poisson {
            rate: "100gbit".parse().unwrap(),
            size: PacketSize::Fixed(64),
        };
        let mut writes = source.generator(Time::ZERO, Stream::new(5, "poisson"));
        let mean_ns = writes.nth(999_999).unwrap().at.as_nanos() as f64 / 1e6;
        assert!((mean_ns / 5.12 - 1.0).abs() < 0.005, "{mean_ns}");
    }

    #[test]
    fn counts_in_equal_intervals_have_a_variance_of_their_mean() {
        let source = Poisson {
            rate: "8mbit".parse().unwrap(),
            size: PacketSize::Exponential { mean_bytes: 1000.0 },
        };
        // 1000 packets a second, counted in 20,000 intervals of 10 ms.
        let mut counts = vec![0.0; 20_000];
        let mut bytes = 0.0;
        let mut packets = 0.0;
        for write in source.generator(Time::ZERO, Stream::new(5, "poisson")) {
            let Some(count) = counts.get_mut((write.at.as_nanos() / 10_000_000) as usize) else {
                break;
            };
            *count += 1.0;
            bytes += f64::from(write.bytes);
            packets += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts
            .iter()
            .map(|count| (count - mean) * (count - mean))
            .sum::<f64>()
            / counts.len() as f64;
        assert!((mean - 10.0).abs() < 0.1, "{mean}");
        assert!((variance - 10.0).abs() < 0.4, "{variance}");
        assert!((bytes / packets - 1000.0).abs() < 10.0);
    }
}
