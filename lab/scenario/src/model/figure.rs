// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures that a scenario wants drawn from its results: one value for each run.

use netnice_queue::Rate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A figure: a quantity of some flows, on its own or as a part of another.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DerivedFigure {
    /// Name in results.
    pub name: String,
    /// The quantity.
    #[serde(default)]
    pub quantity: FlowQuantity,
    /// The flows, by their names in the scenario.
    pub flows: Vec<String>,
    /// The phase in which it is measured; all that is measured where it is not given.
    pub phase: Option<String>,
    /// The divisor: the figure is the quantity divided by this; a text is a rate. Left out, the quantity itself.
    #[serde(default)]
    #[schemars(schema_with = "reference_or_rate")]
    pub over: Option<Reference>,
}

/// The divisor of a figure.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reference {
    /// The quantity of these flows.
    pub flows: Vec<String>,
    /// Measured in this phase; in the figure's own where it is not given.
    pub phase: Option<String>,
    /// A rate, instead of flows.
    pub rate: Option<Rate>,
}

/// The divisor of a figure, or a rate as a text.
fn reference_or_rate(generator: &mut SchemaGenerator) -> Schema {
    let rate = generator.subschema_for::<Rate>();
    let table = generator.subschema_for::<Reference>();
    json_schema!({"anyOf": [rate, table]})
}

/// A quantity of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowQuantity {
    /// Sum of their goodputs.
    #[default]
    Goodput,
    /// Sum of their throughputs.
    Throughput,
    /// Packets lost on the way, of those sent; over the whole run.
    Loss,
    /// Mean one-way delay of their packets of data, over TCP or UDP; over the whole run.
    OneWayDelay,
    /// 95 % of the packets of data took no longer from host to host; over the whole run. The largest of several flows'.
    P95OneWayDelay,
    /// 99 % of the packets of data took no longer from host to host; over the whole run. The largest of several flows'.
    P99OneWayDelay,
    /// Jain's index of their goodputs.
    JainIndex,
    /// Mean time from the start of flows with `bytes` until their receivers have them; over the whole run. Nothing where one was not completed.
    CompletionTime,
    /// Mean response time of web objects and of transfers that arrived; over the whole run.
    ResponseTime,
    /// 95 % of the web objects or transfers took no longer; over the whole run, and of web objects where all are alike.
    P95ResponseTime,
    /// 99 % of the transfers that arrived took no longer; over the whole run. The largest of several flows'.
    P99ResponseTime,
    /// Mean load time of web pages; over the whole run.
    PageTime,
    /// 95 % of the web pages took no longer; over the whole run. The largest of several flows'.
    P95PageTime,
    /// Mean slowdown of the transfers that arrived: the time taken, divided by the time on an empty path; over the whole
    /// run.
    Slowdown,
    /// 99 % of the transfers that arrived had no more; over the whole run. The largest of several flows'.
    P99Slowdown,
    /// Mean opinion score of calls, the mean of several; over the whole run.
    Mos,
    /// Mean bit rate of videos, the mean of several; over the whole run.
    BitRate,
    /// Time in which videos stalled, the sum of several; over the whole run.
    StallTime,
    /// From the beginning of the phase until their goodput over one second is 90 % of the reference; the length of the
    /// phase where that does not come. Needs `sampling`.
    #[serde(rename = "time_to_90_percent")]
    TimeTo90Percent,
}

impl FlowQuantity {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            FlowQuantity::Goodput => "goodput",
            FlowQuantity::Throughput => "throughput",
            FlowQuantity::Loss => "loss",
            FlowQuantity::OneWayDelay => "one_way_delay",
            FlowQuantity::P95OneWayDelay => "p95_one_way_delay",
            FlowQuantity::P99OneWayDelay => "p99_one_way_delay",
            FlowQuantity::JainIndex => "jain_index",
            FlowQuantity::CompletionTime => "completion_time",
            FlowQuantity::ResponseTime => "response_time",
            FlowQuantity::P95ResponseTime => "p95_response_time",
            FlowQuantity::P99ResponseTime => "p99_response_time",
            FlowQuantity::PageTime => "page_time",
            FlowQuantity::P95PageTime => "p95_page_time",
            FlowQuantity::Slowdown => "slowdown",
            FlowQuantity::P99Slowdown => "p99_slowdown",
            FlowQuantity::Mos => "mos",
            FlowQuantity::BitRate => "bit_rate",
            FlowQuantity::StallTime => "stall_time",
            FlowQuantity::TimeTo90Percent => "time_to_90_percent",
        }
    }

    /// Can the quantity be measured in a phase?
    pub fn has_phases(self) -> bool {
        matches!(
            self,
            FlowQuantity::Goodput
                | FlowQuantity::Throughput
                | FlowQuantity::JainIndex
                | FlowQuantity::TimeTo90Percent
        )
    }
}
