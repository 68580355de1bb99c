// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links, their queues and markers.

use netnice_queue::{DisciplineConfig, LossFraction, MarkerConfig, QueueLimit, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{TimeSpan, queue};

/// A link between two nodes, alike in both directions except for the changes in `reverse`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name in results and sweeps; `from-to` where it is not given.
    pub name: Option<String>,
    /// One end.
    pub from: String,
    /// The other end.
    pub to: String,
    /// Rate; without it packets take no time to send, and never queue.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default)]
    pub delay: TimeSpan,
    /// Added for each further member of a group, so that their round-trip times differ.
    #[serde(default)]
    pub delay_step: TimeSpan,
    /// Queue before the link; drop-tail of 1000 packets where it is not given.
    ///
    /// A text such as "2.5bdp" is a drop-tail queue of that limit. A bandwidth-delay product is that of the link's rate
    /// and the longest propagation round trip among the flows over the link.
    #[serde(default = "default_queue", deserialize_with = "queue::discipline")]
    #[schemars(schema_with = "queue::discipline_schema")]
    pub queue: DisciplineConfig,
    /// Packets lost at random, before the queue.
    #[serde(default)]
    pub loss: LossFraction,
    /// Random delay after the propagation.
    #[serde(default)]
    #[schemars(schema_with = "queue::jitter_schema")]
    pub jitter: Option<Jitter>,
    /// Tags packets before the queue; never of the way back, unless `reverse` says so.
    #[serde(default, deserialize_with = "queue::marker")]
    pub marker: Option<MarkerConfig>,
    /// The settings that differ from `to` to `from`.
    #[serde(default)]
    pub reverse: LinkChanges,
}

fn default_queue() -> DisciplineConfig {
    DisciplineConfig::drop_tail(QueueLimit::Packets(1000))
}

impl Link {
    /// The name, or `from-to`.
    pub fn label(&self) -> String {
        let ends = || format!("{}-{}", self.from, self.to);
        self.name.clone().unwrap_or_else(ends)
    }
}

/// The settings of the reverse direction that differ.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkChanges {
    /// Rate.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Option<TimeSpan>,
    /// Queue before the link.
    #[serde(default, deserialize_with = "queue::optional_discipline")]
    #[schemars(schema_with = "queue::discipline_schema")]
    pub queue: Option<DisciplineConfig>,
    /// Packets lost at random, before the queue.
    pub loss: Option<LossFraction>,
    /// Random delay after the propagation.
    #[serde(default)]
    #[schemars(schema_with = "queue::jitter_schema")]
    pub jitter: Option<Jitter>,
    /// Tags packets before the queue.
    #[serde(default, deserialize_with = "queue::marker")]
    pub marker: Option<MarkerConfig>,
}

/// Random delay of each packet after the propagation; a text such as "5ms" is uniform from 0 to that.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The largest delay of `uniform`, the mean of `exponential`.
    pub size: TimeSpan,
    /// How the delay is distributed.
    #[serde(default)]
    pub distribution: JitterDistribution,
    /// Packets may overtake each other; otherwise each waits for the one before.
    #[serde(default)]
    pub reordering: bool,
}

/// How a random delay is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JitterDistribution {
    /// Uniform from 0 to the size.
    #[default]
    Uniform,
    /// Exponential with the size as mean.
    Exponential,
}
