// SPDX-License-Identifier: MIT OR Apache-2.0
//! The token-bucket tagger: a bucket fills at the target rate; packets that find enough tokens are IN, all others OUT.

use serde::{Deserialize, Serialize};

use crate::units::positive_bytes;
use crate::{Bytes, Packet, Rate, Time};

const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

/// Configuration of a token-bucket tagger.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBucketConfig {
    /// Rate of the profile, at which the bucket fills.
    pub rate: Rate,
    /// Capacity of the bucket, above zero; the bucket starts full. Below the size of a packet, no such packet is IN.
    #[serde(deserialize_with = "positive_bytes")]
    pub burst: Bytes,
}

/// A token-bucket tagger, exact to the nanosecond.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    bits_per_second: u128,
    /// Capacity and tokens in billionths of a bit, so that each nanosecond adds a whole number.
    capacity: u128,
    tokens: u128,
    last_arrival: Time,
}

impl TokenBucket {
    /// Creates a full bucket. It is not random, so `seed` has no effect.
    pub fn new(config: &TokenBucketConfig, _seed: u64) -> TokenBucket {
        let capacity = u128::from(config.burst.get()) * 8 * NANOSECONDS_PER_SECOND;
        TokenBucket {
            bits_per_second: u128::from(config.rate.bits_per_second()),
            capacity,
            tokens: capacity,
            last_arrival: Time::ZERO,
        }
    }

    /// Tags a packet that arrives at `now`: IN if the tokens cover all of it, which it then consumes; otherwise OUT.
    pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
        let came_in = (now - self.last_arrival).as_nanos() * self.bits_per_second;
        self.tokens = (self.tokens + came_in).min(self.capacity);
        self.last_arrival = now;
        let needed = packet.length() as u128 * 8 * NANOSECONDS_PER_SECOND;
        let in_profile = needed <= self.tokens;
        if in_profile {
            self.tokens -= needed;
        }
        packet.set_in_profile(in_profile);
    }

    /// Tokens in the bucket as of the last arrival, in whole bytes.
    pub fn tokens(&self) -> Bytes {
        let bytes = self.tokens / (8 * NANOSECONDS_PER_SECOND);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
