// SPDX-License-Identifier: MIT OR Apache-2.0
//! TSW: the time sliding window tagger.
//!
//! Clark and Fang, "Explicit Allocation of Best-Effort Packet Delivery Service" (1998): the tagger estimates the rate,
//! with a decay over a window of time, and above the target rate tags OUT at random, in proportion to the excess. This
//! spreads OUT tags over a TCP window instead of placing them at its end.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::queue_discipline::Packet;
use crate::random::uniform;
use crate::time::Time;
use crate::units::{Rate, positive_delay};

/// Configuration of a TSW tagger.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TswConfig {
    /// Rate of the profile.
    pub target: Rate,
    /// Win_length: past time that the estimate covers, above zero. Clark and Fang use about a second.
    #[serde(default = "default_window", with = "positive_delay")]
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    pub window: Duration,
}

fn default_window() -> Duration {
    Duration::from_secs(1)
}

/// A TSW tagger.
#[derive(Debug, Clone)]
pub struct Tsw {
    /// Target rate in bits per second.
    target: f64,
    /// Window in seconds.
    window: f64,
    /// Avg_rate in bits per second; starts at the target.
    average: f64,
    /// T_front: the last arrival.
    last_arrival: Time,
    random: Xoshiro256PlusPlus,
}

impl Tsw {
    /// Creates a tagger; `seed` determines its random draws.
    pub fn new(config: &TswConfig, seed: u64) -> Tsw {
        let target = config.target.as_f64();
        Tsw {
            target,
            // With a window of zero, two packets at the same time would make the rate infinite.
            window: config.window.max(Duration::from_nanos(1)).as_secs_f64(),
            average: target,
            last_arrival: Time::ZERO,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Updates the average with a packet that arrives at `now` and tags it: OUT with probability (average - target) /
    /// average if the average is above the target, otherwise IN.
    pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
        let bits = packet.length() as f64 * 8.0;
        let since = (now - self.last_arrival).as_secs_f64();
        self.average = (self.average * self.window + bits) / (self.window + since);
        self.last_arrival = now;
        // With the average at or below the target the probability is at most zero, so every draw gives IN.
        let probability_out = (self.average - self.target) / self.average;
        packet.set_in_profile(uniform(&mut self.random) >= probability_out);
    }

    /// The estimated rate in bits per second as of the last arrival.
    pub fn average_bits_per_second(&self) -> f64 {
        self.average
    }
}
