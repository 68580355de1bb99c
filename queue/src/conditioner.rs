// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic conditioners at the edge: they tag packets as within their profile (IN) or beyond (OUT), for RIO inside.

use serde::{Deserialize, Serialize};

use crate::{Packet, Time, TokenBucket, TokenBucketConfig, Tsw, TswConfig};

/// What a conditioner is to be. In a file: a table whose `kind` is one of the names below, beside that one's
/// fields.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConditionerConfig {
    /// The time sliding window tagger.
    Tsw(TswConfig),
    /// The token-bucket tagger.
    TokenBucket(TokenBucketConfig),
}

/// Any of the conditioners. It has a state for what it meters: one flow, or an aggregate of flows.
#[derive(Debug, Clone)]
pub enum Conditioner {
    /// The time sliding window tagger.
    Tsw(Tsw),
    /// The token-bucket tagger.
    TokenBucket(TokenBucket),
}

impl Conditioner {
    /// The conditioner that `config` describes; `seed` is of its own random stream.
    pub fn new(config: &ConditionerConfig, seed: u64) -> Conditioner {
        match config {
            ConditionerConfig::Tsw(config) => Conditioner::Tsw(Tsw::new(config, seed)),
            ConditionerConfig::TokenBucket(config) => {
                Conditioner::TokenBucket(TokenBucket::new(config))
            }
        }
    }

    /// Meters and tags a packet arriving at `now`, which must not be earlier than in any call before.
    pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
        match self {
            Conditioner::Tsw(tagger) => tagger.tag(now, packet),
            Conditioner::TokenBucket(tagger) => tagger.tag(now, packet),
        }
    }
}
