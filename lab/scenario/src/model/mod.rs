// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario file, typed: pure data that knows neither simulator nor kernel.

mod application;
mod arrivals;
mod call;
mod congestion_control;
mod either;
mod figure;
mod flow;
mod kind_schema;
mod link;
mod link_trace;
mod node;
mod queue;
mod receiver;
mod traffic_class;
mod units_schema;
mod video;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

pub use application::{
    Application, Command, CommandEnd, Multiplexing, ObjectSize, PacketSizes, TraceEntry, Web,
};
pub use arrivals::{Arrivals, SizePoint, TransferSize};
pub use call::Call;
pub use congestion_control::{CongestionControl, Parameter};
pub use figure::{DerivedFigure, FlowQuantity, Reference};
pub use flow::{DelayedAck, Flow, Recovery, Tcp, Transport};
pub(crate) use link::default_queue;
pub use link::{Link, LinkChanges, LossModel, Outage, TimedChange};
pub use link_trace::LinkTrace;
pub use netnice_queue::{Dscp, JitterConfig as Jitter, JitterDistribution, TimeSpan};
pub use node::{Clock, Node, Route};
pub use receiver::ReceiverControl;
pub use traffic_class::TrafficClass;
pub use video::Video;

/// A whole scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, used for directories and titles.
    pub name: String,
    /// The purpose of the scenario, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// Length of a run.
    pub duration: TimeSpan,
    /// The time at the beginning of a run that all figures leave out.
    #[serde(default)]
    pub warm_up: TimeSpan,
    /// Seeds, one run each.
    #[serde(default)]
    pub seeds: Seeds,
    /// Time series to take down.
    #[serde(default)]
    pub sampling: Sampling,
    /// Parts of the run that are measured separately; the whole after the warm-up always is.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// Figures that are drawn from each run: parts, ratios, indices.
    #[serde(default)]
    pub figures: Vec<DerivedFigure>,
    /// Named values, used anywhere in the file as "$name".
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Values that a parameter, or a field given by its path, takes one after the other; several make a grid.
    #[serde(default)]
    pub sweep: Sweep,
    /// Fields that all links or flows have unless they say otherwise: `[defaults.links]`, `[defaults.flows]`.
    #[serde(default)]
    pub defaults: Defaults,
    /// Nodes that are more than a name in `links`: groups of hosts, and hosts with a clock of their own.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// A file with further links, relative to the scenario: a graph in GraphML, `.graphml`, or a table in CSV, `.csv`, with
    /// a column for each field of a link.
    pub topology: Option<String>,
    /// Links, each in both directions; at least one, unless `topology` has them.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Routes other than the shortest path.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Traffic.
    pub flows: Vec<Flow>,
}

/// The sweep as it is written; its points are in [`ScenarioFile::points`](crate::ScenarioFile::points).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sweep;

/// Defaults as they are written; they are in each link and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Defaults;

/// Seeds: a number n for the seeds 1 to n, or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

impl Default for Seeds {
    fn default() -> Seeds {
        Seeds(vec![1])
    }
}

/// Time series.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Time between two samples; without it there are no time series.
    pub interval: Option<TimeSpan>,
    /// Flows to sample, by name; all where it is not given.
    pub flows: Option<Vec<String>>,
    /// Directions of links to sample: the name of a link, or of its reverse path, such as "line (reverse)"; all that
    /// have a rate if it is not given.
    pub links: Option<Vec<String>>,
}

impl Sampling {
    /// Time series of this flow of this group are wanted, if of any.
    pub fn takes_flow(&self, name: &str, group: &str) -> bool {
        takes(self.flows.as_deref(), [name, group])
    }

    /// Time series of this direction of a link, of links of this group, are wanted, if of any.
    pub fn takes_link(&self, name: &str, group: &str) -> bool {
        takes(self.links.as_deref(), [name, group])
    }
}

fn takes(chosen: Option<&[String]>, names: [&str; 2]) -> bool {
    chosen.is_none_or(|chosen| chosen.iter().any(|one| names.contains(&one.as_str())))
}

/// Suffix of a link's name in the name of its reverse path.
pub const REVERSE: &str = " (reverse)";

impl Scenario {
    /// The times at which phases begin or end, in order and each once.
    pub fn phase_ends(&self) -> Vec<Duration> {
        let ends = |phase: &Phase| [phase.from.get(), phase.to.get()];
        let mut all: Vec<Duration> = self.phases.iter().flat_map(ends).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// A part of the run that is measured separately.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Name in the results.
    pub name: String,
    /// Begin.
    pub from: TimeSpan,
    /// End.
    pub to: TimeSpan,
}
