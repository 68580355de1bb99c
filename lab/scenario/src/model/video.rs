// SPDX-License-Identifier: MIT OR Apache-2.0
//! Video by chunks, whose bit rate the player chooses.

use std::time::Duration;

use netnice_queue::{Bytes, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::TimeSpan;
use super::arrivals::request_size;

/// The part of a buffer that is r, and cu, in the paper: 90 s and 126 s of 240 s.
const RESERVOIR: f64 = 0.375;
const CUSHION: f64 = 0.525;

/// A video by chunks over one TCP connection, from the server in `from` to the player in `to`.
///
/// The player asks for one chunk after the other and chooses its bit rate by the video in its buffer: BBA-0 of Huang et al.,
/// SIGCOMM 2014.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Video {
    /// Bit rates to choose from, ascending.
    pub ladder: Vec<Rate>,
    /// Video in a chunk.
    pub chunk: TimeSpan,
    /// The player begins, and goes on after a stall, with so much video in its buffer.
    pub start_up: TimeSpan,
    /// The player asks for no chunk for which its buffer has no room.
    pub max_buffer: TimeSpan,
    /// r: with no more video in the buffer the lowest rate is chosen; where it is not given 37.5 % of what the buffer holds
    /// at most as a chunk is asked for.
    pub reservoir: Option<TimeSpan>,
    /// cu: from the reservoir on the rate rises over so much video to the highest; where it is not given 52.5 % likewise.
    pub cushion: Option<TimeSpan>,
    /// Size of a request.
    pub request_size: Bytes,
}

impl Default for Video {
    fn default() -> Video {
        let ladder = [400_000, 800_000, 1_500_000, 3_000_000, 5_000_000, 8_000_000];
        Video {
            ladder: ladder.map(kept).to_vec(),
            chunk: TimeSpan::from_secs(4),
            start_up: TimeSpan::from_secs(4),
            max_buffer: TimeSpan::from_secs(30),
            reservoir: None,
            cushion: None,
            request_size: request_size(),
        }
    }
}

/// A rate that is not zero.
fn kept(bits_per_second: u64) -> Rate {
    Rate::from_bits_per_second(bits_per_second).expect("not zero")
}

impl Video {
    /// The most video in the buffer as a chunk is asked for.
    pub fn most_when_asking(&self) -> Duration {
        self.max_buffer.get().saturating_sub(self.chunk.get())
    }

    /// r, as given or by the buffer.
    pub fn reservoir(&self) -> Duration {
        let of_buffer = self.most_when_asking().mul_f64(RESERVOIR);
        self.reservoir.map_or(of_buffer, TimeSpan::get)
    }

    /// cu, as given or by the buffer.
    pub fn cushion(&self) -> Duration {
        let of_buffer = self.most_when_asking().mul_f64(CUSHION);
        self.cushion.map_or(of_buffer, TimeSpan::get)
    }
}
