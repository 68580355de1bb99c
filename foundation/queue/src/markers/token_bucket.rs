// SPDX-License-Identifier: MIT OR Apache-2.0
//! The token-bucket tagger: a bucket fills at the target rate; packets that find enough tokens are IN, all others OUT.

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::queue_discipline::Packet;
use crate::time::Time;
use crate::units::{Bytes, Rate, positive_bytes};

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
    bucket: Bucket,
}

impl TokenBucket {
    /// Creates a full bucket. It is not random, so `seed` has no effect.
    pub fn new(config: &TokenBucketConfig, _seed: u64) -> TokenBucket {
        TokenBucket {
            bucket: Bucket::new(config.rate, config.burst),
        }
    }

    /// Tags a packet that arrives at `now`: IN if the tokens cover all of it, which it then consumes; otherwise OUT.
    pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
        self.bucket.fill(now);
        packet.set_in_profile(self.bucket.take(packet.length() as u64));
    }

    /// Tokens in the bucket as of the last arrival, in whole bytes.
    pub fn tokens(&self) -> Bytes {
        self.bucket.tokens()
    }
}
