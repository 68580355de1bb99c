// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts, routers and routes.

use schemars::JsonSchema;
use serde::Deserialize;

use super::TimeSpan;

/// A node that is more than a name in `links`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name, referred to by links, routes and flows.
    pub name: String,
    /// A group of so many hosts: a link of the group is a link of each host, and a flow of the group goes over its hosts
    /// in turn.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// The clock from which TCP timestamps are taken.
    #[serde(default)]
    pub clock: Clock,
}

fn one() -> u32 {
    1
}

/// A host's clock for TCP timestamps (RFC 7323 section 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Clock {
    /// Time between two ticks; a stamp counts whole ticks.
    pub tick: TimeSpan,
    /// The reading of the clock at the beginning of the run.
    pub offset: TimeSpan,
    /// Seconds that the clock gains in a million; negative where it is slow.
    #[schemars(range(min = -100_000.0, max = 100_000.0))]
    pub drift_ppm: f64,
}

impl Default for Clock {
    /// 1 ms, as Linux has it.
    fn default() -> Clock {
        Clock {
            tick: TimeSpan::from_millis(1),
            offset: TimeSpan::default(),
            drift_ppm: 0.0,
        }
    }
}

/// A given path for packets from one node to another.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Where the packets come from.
    pub from: String,
    /// Where they go.
    pub to: String,
    /// The nodes between, in order.
    pub via: Vec<String>,
    /// The reverse path takes the same nodes.
    #[serde(default = "yes")]
    pub both_ways: bool,
}

fn yes() -> bool {
    true
}
