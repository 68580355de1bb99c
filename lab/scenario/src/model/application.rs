// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applications: the sources of traffic over a transport.

use netnice_queue::{Bytes, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::TimeSpan;
use super::arrivals::{Arrivals, mean_of_cut_pareto, request_size};
use super::call::Call;
use super::kind_schema::or_name;
use super::video::Video;

/// The source of traffic, chosen by `kind`; a text such as "ftp" is the kind alone.
///
/// Rates are those of whole packets on the link, headers included.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(tag = "kind", transform = or_name)]
pub enum Application {
    /// Always has data to send.
    #[default]
    Ftp,
    /// A constant bit rate.
    Cbr {
        /// Rate.
        rate: Rate,
    },
    /// A constant bit rate for a part of each period, and nothing for the rest.
    SquareWave {
        /// Rate while on.
        rate: Rate,
        /// Time from one beginning to the next.
        period: TimeSpan,
        /// Part of the period that is on.
        #[serde(default = "half")]
        #[schemars(range(min = 0.0, max = 1.0))]
        duty: f64,
    },
    /// Bursts and pauses with times from a Pareto distribution.
    ParetoOnOff {
        /// Rate while on.
        rate: Rate,
        /// Mean length of a burst.
        mean_on: TimeSpan,
        /// Mean length of a pause.
        mean_off: TimeSpan,
        /// Shape of the distribution, more than 1.
        #[serde(default = "pareto_shape")]
        #[schemars(range(min = 1.0))]
        shape: f64,
    },
    /// Bursts and pauses with exponential times.
    ExponentialOnOff {
        /// Rate while on.
        rate: Rate,
        /// Mean length of a burst.
        mean_on: TimeSpan,
        /// Mean length of a pause.
        mean_off: TimeSpan,
    },
    /// Packets with exponential times between them.
    Poisson {
        /// Mean rate.
        rate: Rate,
        /// How packet sizes are distributed.
        #[serde(default)]
        size: PacketSizes,
    },
    /// Clients that fetch pages from servers.
    Web(Web),
    /// Transfers that begin at random times and end by themselves, each over a connection of its own.
    Arrivals(Arrivals),
    /// Speech over UDP, with the quality that its listener has.
    Call(Call),
    /// Video by chunks, at bit rates that its player chooses.
    Video(Video),
    /// Times and sizes from a list.
    Trace {
        /// A text file with a time in seconds and a size in bytes on each line, named relative to the scenario.
        file: Option<String>,
        /// The list, in the scenario itself.
        #[serde(default)]
        entries: Vec<TraceEntry>,
    },
    /// Programs of one's own. Only `netnice lab` runs them.
    Command(Command),
}

/// Programs of one's own at the ends of a flow.
///
/// Each finds its own address in `NETNICE_NEAR` and that of the other end in `NETNICE_FAR`. What is sent between the two
/// addresses is the flow.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Run by `sh -c` when the flow begins.
    pub command: String,
    /// Run by `sh -c` at the other end before that; `command` begins once it listens.
    pub server: Option<String>,
    /// Where `command` runs.
    #[serde(default)]
    pub at: CommandEnd,
}

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// Where data comes from.
    #[default]
    Sender,
    /// Where data goes, as for a download.
    Receiver,
}

/// How packet sizes are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketSizes {
    /// All of the flow's packet size (as M/D/1 has it).
    #[default]
    Constant,
    /// Exponential with the flow's packet size as mean (as M/M/1 has it).
    Exponential,
}

fn half() -> f64 {
    0.5
}

fn pareto_shape() -> f64 {
    1.5
}

/// Web traffic: that of the papers (HTTP/1.0: a connection for each object), or today's.
///
/// A flow with this application is from the servers to the clients; it covers all hosts of both groups. Each session
/// belongs to one client, and takes each page from a server picked at random.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Sessions, each fetching one page after the other until the end.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sessions: u32,
    /// Mean time from the end of a page to the request of the next one; exponential.
    #[serde(default = "between_pages")]
    pub between_pages: TimeSpan,
    /// `between_pages` counts from the request of a page: a session does not wait for one page before it asks for the next.
    #[serde(default)]
    pub open_loop: bool,
    /// Mean time between the requests of two objects of a page; exponential.
    #[serde(default = "between_objects")]
    pub between_objects: TimeSpan,
    /// Objects of a page.
    #[serde(default = "objects_per_page")]
    #[schemars(range(min = 1, max = 10_000))]
    pub objects_per_page: u32,
    /// Sizes of objects.
    pub object_size: ObjectSize,
    /// Size of a request.
    #[serde(default = "request_size")]
    pub request_size: Bytes,
    /// The connections of objects. Where it is given, as `none` too, results have the load times of pages.
    pub multiplexing: Option<Multiplexing>,
}

/// The connections of web objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Multiplexing {
    /// Each object has a connection of its own (HTTP/1.0).
    #[default]
    None,
    /// All objects from a server to a client of a session share a TCP connection, and an object waits for all bytes before it (HTTP/2).
    Http2,
    /// They share a connection, and an object waits for its own bytes only (HTTP/3 over QUIC).
    Quic,
}

fn between_pages() -> TimeSpan {
    TimeSpan::from_secs(1)
}

fn between_objects() -> TimeSpan {
    TimeSpan::from_millis(1)
}

fn objects_per_page() -> u32 {
    10
}

/// Sizes of objects: Pareto with this mean and shape, or all alike without a shape.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectSize {
    /// Mean size, before the cut.
    pub mean: Bytes,
    /// Shape of the Pareto distribution, more than 1 (the papers: 1.2).
    #[schemars(range(min = 1.0))]
    pub shape: Option<f64>,
    /// Larger draws are cut to this.
    pub max: Option<Bytes>,
}

impl ObjectSize {
    /// The mean in bytes, after the cut.
    pub fn mean_bytes(&self) -> f64 {
        match (self.shape, self.max) {
            (Some(shape), Some(max)) => mean_of_cut_pareto(self.mean, shape, max),
            _ => self.mean.get() as f64,
        }
    }
}

/// So many bytes are handed to the transport at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceEntry {
    /// Time since the flow's start.
    pub at: TimeSpan,
    /// Bytes.
    pub bytes: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_from_the_mean_of_objects() {
        let size = |shape, max: Option<u64>| ObjectSize {
            mean: Bytes::new(12_000),
            shape,
            max: max.map(Bytes::new),
        };
        // x_m = 4000; 4000 + 4000 / 0.5 * (1 - sqrt(1/4)) = 8000.
        assert!((size(Some(1.5), Some(16_000)).mean_bytes() - 8000.0).abs() < 1e-9);
        for uncut in [size(Some(1.5), None), size(None, Some(16_000))] {
            assert_eq!(uncut.mean_bytes(), 12_000.0);
        }
    }
}
