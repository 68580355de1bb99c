// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constant bit rate (CBR).

use std::time::Duration;

use netnice_queue::{Rate, Time};

use netnice_queue::random::Stream;

use super::{Source, Write};

/// Packets of one size, evenly spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstantRate {
    /// Rate over any long time.
    pub rate: Rate,
    /// Bytes of each packet.
    pub packet_bytes: u32,
}

impl ConstantRate {
    pub(super) fn generator(&self, start: Time) -> Generator {
        Generator {
            source: *self,
            next: start,
            remainder: 0,
        }
    }
}

impl Source for ConstantRate {
    fn largest_packet(&self) -> u32 {
        self.packet_bytes
    }

    fn writes(&self, start: Time, _stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        Box::new(self.generator(start))
    }
}

/// The times of the packets. The remainder of the division is carried, so that the rate is exact.
#[derive(Debug)]
pub(crate) struct Generator {
    source: ConstantRate,
    next: Time,
    remainder: u64,
}

impl Generator {
    /// Begins anew at `start`.
    pub(super) fn restart(&mut self, start: Time) {
        self.next = start;
        self.remainder = 0;
    }

    /// When the next packet is due.
    pub(super) fn due(&self) -> Time {
        self.next
    }
}

impl Iterator for Generator {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        let write = Write {
            at: self.next,
            bytes: self.source.packet_bytes,
        };
        let bits_per_second = self.source.rate.bits_per_second();
        let scaled = u64::from(self.source.packet_bytes) * 8_000_000_000 + self.remainder;
        self.next = self.next + Duration::from_nanos(scaled / bits_per_second);
        self.remainder = scaled % bits_per_second;
        Some(write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_of_a_millisecond_do_not_drift() {
        // 1000 B at 24 Mb/s: 333,333.3 ns each.
        let source = ConstantRate {
            rate: "24mbit".parse().unwrap(),
            packet_bytes: 1000,
        };
        let times: Vec<u64> = source
            .generator(Time::from_millis(1))
            .take(3001)
            .map(|write| write.at.as_nanos())
            .collect();
        assert_eq!(times[..3], [1_000_000, 1_333_333, 1_666_666]);
        assert_eq!(times[3000], 1_001_000_000);
    }
}
