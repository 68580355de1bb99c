// SPDX-License-Identifier: MIT OR Apache-2.0
//! A token bucket, exact to the nanosecond: the base of the token-bucket marker, the policer and the shaper.

use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::units::{Bytes, Rate, positive_bytes};

/// Tokens are counted in billionths of a bit, so that each nanosecond adds a whole number.
const SCALE: u128 = 8 * 1_000_000_000;

/// A bucket that fills at a rate up to its capacity; it starts full.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    bits_per_second: u128,
    capacity: u128,
    tokens: u128,
    filled_at: Time,
}

impl Bucket {
    pub(crate) fn new(rate: Rate, burst: Bytes) -> Bucket {
        let capacity = u128::from(burst.get()) * SCALE;
        Bucket {
            bits_per_second: u128::from(rate.bits_per_second()),
            capacity,
            tokens: capacity,
            filled_at: Time::ZERO,
        }
    }

    /// Changes the rate at `now`.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        self.fill(now);
        self.bits_per_second = u128::from(rate.bits_per_second());
    }

    /// Adds the tokens that have come in by `now`.
    pub(crate) fn fill(&mut self, now: Time) {
        let came_in = (now - self.filled_at).as_nanos() * self.bits_per_second;
        self.tokens = (self.tokens + came_in).min(self.capacity);
        self.filled_at = self.filled_at.max(now);
    }

    /// As [`Bucket::fill`]; what this bucket has no room for goes to `next`, which does not fill by itself.
    pub(crate) fn fill_over_into(&mut self, now: Time, next: &mut Bucket) {
        let came_in = (now - self.filled_at).as_nanos() * self.bits_per_second;
        let over = (self.tokens + came_in).saturating_sub(self.capacity);
        next.tokens = (next.tokens + over).min(next.capacity);
        self.fill(now);
    }

    /// Takes tokens for `length` bytes if there are enough.
    pub(crate) fn take(&mut self, length: u64) -> bool {
        let needed = u128::from(length) * SCALE;
        let enough = needed <= self.tokens;
        if enough {
            self.tokens -= needed;
        }
        enough
    }

    /// Takes tokens for `length` bytes as soon as there are enough, and returns when: at `now` or later. A packet larger
    /// than the capacity takes all of a full bucket.
    pub(crate) fn take_when_enough(&mut self, now: Time, length: u64) -> Time {
        self.fill(now);
        let needed = (u128::from(length) * SCALE).min(self.capacity);
        let missing = needed.saturating_sub(self.tokens);
        let wait = missing.div_ceil(self.bits_per_second);
        let at = now.plus_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        self.fill(at);
        self.tokens -= needed;
        at
    }

    /// Tokens as of the last filling, in whole bytes.
    pub(crate) fn tokens(&self) -> Bytes {
        Bytes::new(u64::try_from(self.tokens / SCALE).unwrap_or(u64::MAX))
    }
}

/// A policer: arrivals for which the bucket has too few tokens are dropped before the queue, as by `tc police`.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// Rate at which the bucket fills.
    pub rate: Rate,
    /// Capacity of the bucket, which starts full. No packet larger than that passes.
    #[serde(deserialize_with = "positive_bytes")]
    pub burst: Bytes,
}

/// A token-bucket shaper at the head of the queue: a bucket fills at the link's rate, and a packet leaves as soon as there
/// are tokens for all of it, as by `tc tbf`.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShaperConfig {
    /// Capacity of the bucket, which starts full.
    #[serde(deserialize_with = "positive_bytes")]
    pub burst: Bytes,
    /// Rate at which a burst is sent; without it a burst takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<Rate>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_for_its_tokens() {
        // 8 Mb/s fill 1000 bytes each millisecond.
        let mut bucket = Bucket::new("8mbit".parse().unwrap(), Bytes::new(3000));
        let mut at = |ms, length| bucket.take_when_enough(Time::from_millis(ms), length);
        assert_eq!(at(0, 1500), Time::ZERO);
        assert_eq!(at(0, 1500), Time::ZERO);
        assert_eq!(at(0, 1500), Time::from_nanos(1_500_000));
        assert_eq!(at(3, 1500), Time::from_millis(3));
        // Longer than the capacity: it takes the whole bucket, empty at 3 ms.
        assert_eq!(at(3, 9000), Time::from_millis(6));
        assert_eq!(bucket.tokens(), Bytes::new(0));
    }
}
