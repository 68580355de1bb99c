// SPDX-License-Identifier: MIT OR Apache-2.0
//! A marker that tags every nth packet OUT, all others IN.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::queue_discipline::Packet;
use crate::time::Time;

/// Configuration of the marker.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EveryNthConfig {
    /// Packets of which one is OUT.
    pub n: NonZeroU32,
}

/// Counts packets.
#[derive(Debug, Clone)]
pub struct EveryNth {
    n: NonZeroU32,
    packets: u32,
}

impl EveryNth {
    /// Creates the marker. It is not random, so `seed` has no effect.
    pub fn new(config: &EveryNthConfig, _seed: u64) -> EveryNth {
        EveryNth {
            n: config.n,
            packets: 0,
        }
    }

    /// Tags a packet that arrives at `now`.
    pub fn tag(&mut self, _now: Time, packet: &mut impl Packet) {
        self.packets = (self.packets + 1) % self.n;
        packet.set_in_profile(self.packets != 0);
    }
}
