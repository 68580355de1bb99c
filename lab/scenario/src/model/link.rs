// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links, their queues and markers.

use netnice_queue::{
    DisciplineConfig, LossFraction, MarkerConfig, PolicerConfig, QueueLimit, Rate, ShaperConfig,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::link_trace::{self, LinkTrace};
use super::{Jitter, TimeSpan, queue};

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
    /// Times at which the link delivers, in place of a rate: the file of a trace, relative to the scenario.
    #[serde(default)]
    #[schemars(schema_with = "link_trace::or_file")]
    pub trace: Option<LinkTrace>,
    /// A token bucket that fills at the rate, and lets bursts pass.
    pub shaper: Option<ShaperConfig>,
    /// Drops packets beyond a rate before the queue; on the reverse path only if `reverse` says so.
    pub policer: Option<PolicerConfig>,
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
    /// Packets lost in bursts or periodically, before the queue, in place of `loss`.
    pub loss_model: Option<LossModel>,
    /// Random delay after the propagation.
    #[serde(default)]
    #[schemars(schema_with = "jitter_or_size")]
    pub jitter: Option<Jitter>,
    /// Packets come out only at multiples of this time; on the reverse path only if `reverse` says so.
    pub batch_interval: Option<TimeSpan>,
    /// Times at which no transmission begins.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// Changes of rate, delay and loss at given times, such as those of a route change.
    #[serde(default)]
    pub changes: Vec<TimedChange>,
    /// Tags packets before the queue; on the reverse path only if `reverse` says so.
    #[serde(default, deserialize_with = "queue::marker")]
    pub marker: Option<MarkerConfig>,
    /// The settings that differ from `to` to `from`.
    #[serde(default)]
    pub reverse: LinkChanges,
}

/// The queue of a link that says nothing about it.
pub(crate) fn default_queue() -> DisciplineConfig {
    DisciplineConfig::drop_tail(QueueLimit::Packets(1000))
}

impl Link {
    /// The name, or `from-to`.
    pub fn label(&self) -> String {
        let ends = || format!("{}-{}", self.from, self.to);
        self.name.clone().unwrap_or_else(ends)
    }

    /// Returns true if packets may wait for the link: those that come faster than it sends, or in an outage.
    pub(crate) fn queues(&self) -> bool {
        self.rate.is_some() || self.trace.is_some() || !self.outages.is_empty()
    }

    /// The settings from `to` to `from`. A rate in `reverse` takes the place of a trace, a loss that of a loss model, and
    /// the other way round.
    pub(crate) fn reversed(&self) -> Link {
        let changes = self.reverse.clone();
        let (rate, trace, shaper) = match (changes.rate, changes.trace) {
            (None, None) => (self.rate, self.trace.clone(), self.shaper),
            (rate, Some(trace)) => (rate, Some(trace), None),
            (rate, None) => (rate, None, self.shaper),
        };
        let (loss, loss_model) = match (changes.loss, changes.loss_model) {
            (None, None) => (self.loss, self.loss_model.clone()),
            (loss, model) => (loss.unwrap_or_default(), model),
        };
        Link {
            from: self.to.clone(),
            to: self.from.clone(),
            rate,
            trace,
            shaper: changes.shaper.or(shaper),
            policer: changes.policer,
            delay: changes.delay.unwrap_or(self.delay),
            queue: changes.queue.unwrap_or_else(|| self.queue.clone()),
            loss,
            loss_model,
            jitter: changes.jitter.or(self.jitter),
            batch_interval: changes.batch_interval,
            outages: changes.outages.unwrap_or_else(|| self.outages.clone()),
            changes: changes.changes.unwrap_or_else(|| self.changes.clone()),
            marker: changes.marker,
            reverse: LinkChanges::default(),
            ..self.clone()
        }
    }
}

/// A time at which a link transmits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Its beginning.
    pub at: TimeSpan,
    /// Its length.
    pub duration: TimeSpan,
    /// Time from one beginning to the next; a single outage without it.
    pub every: Option<TimeSpan>,
}

/// A change of a link at a time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimedChange {
    /// Time of the change. A packet whose transmission has begun keeps its rate and delay.
    pub at: TimeSpan,
    /// The rate from then on.
    pub rate: Option<Rate>,
    /// The one-way propagation delay from then on. Packets stay in order.
    pub delay: Option<TimeSpan>,
    /// The random loss from then on.
    pub loss: Option<LossFraction>,
}

/// Loss that depends on the packets before, chosen by `kind`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(tag = "kind")]
pub enum LossModel {
    /// The model of Gilbert and Elliott: a good and a bad state with a loss probability each.
    GilbertElliott {
        /// Probability that the bad state follows a packet in the good state.
        to_bad: LossFraction,
        /// Probability that the good state follows a packet in the bad state; its inverse is the mean length of a burst
        /// in packets.
        to_good: LossFraction,
        /// Probability of loss in the bad state.
        #[serde(default = "all")]
        loss_in_bad: LossFraction,
        /// Probability of loss in the good state.
        #[serde(default)]
        loss_in_good: LossFraction,
    },
    /// Each n-th packet is lost.
    Periodic {
        /// n.
        #[schemars(range(min = 1))]
        every: u32,
    },
    /// Packets with certain numbers are lost.
    Listed {
        /// Numbers in the order of arrival at the link, from 1, ascending.
        #[schemars(length(min = 1))]
        packets: Vec<u64>,
    },
}

fn all() -> LossFraction {
    "100%".parse().expect("100% is within range")
}

/// The settings of the reverse direction that differ.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkChanges {
    /// Rate.
    pub rate: Option<Rate>,
    /// Times at which the link delivers, in place of a rate.
    #[serde(default)]
    #[schemars(schema_with = "link_trace::or_file")]
    pub trace: Option<LinkTrace>,
    /// A token bucket that fills at the rate, and lets bursts pass.
    pub shaper: Option<ShaperConfig>,
    /// Drops packets beyond a rate before the queue.
    pub policer: Option<PolicerConfig>,
    /// One-way propagation delay.
    pub delay: Option<TimeSpan>,
    /// Queue before the link.
    #[serde(default, deserialize_with = "queue::optional_discipline")]
    #[schemars(schema_with = "queue::discipline_schema")]
    pub queue: Option<DisciplineConfig>,
    /// Packets lost at random, before the queue.
    pub loss: Option<LossFraction>,
    /// Packets lost in bursts or periodically, in place of `loss`.
    pub loss_model: Option<LossModel>,
    /// Random delay after the propagation; none with a size of "0ms".
    #[serde(default)]
    #[schemars(schema_with = "jitter_or_size")]
    pub jitter: Option<Jitter>,
    /// Packets come out at multiples of this time only.
    pub batch_interval: Option<TimeSpan>,
    /// Times at which no transmission begins.
    pub outages: Option<Vec<Outage>>,
    /// Changes of rate, delay and loss at given times.
    pub changes: Option<Vec<TimedChange>>,
    /// Tags packets before the queue.
    #[serde(default, deserialize_with = "queue::marker")]
    pub marker: Option<MarkerConfig>,
}

/// A jitter, or the size of a uniform one as a text.
fn jitter_or_size(generator: &mut SchemaGenerator) -> Schema {
    let size = generator.subschema_for::<TimeSpan>();
    let table = generator.subschema_for::<Jitter>();
    json_schema!({"anyOf": [size, table]})
}
