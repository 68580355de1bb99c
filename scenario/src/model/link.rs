// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links, their queues and conditioners.

use netnice_queue::{Bytes, LossFraction, QueueLimit, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::TimeSpan;
use super::units_schema as text;

/// A link between two nodes, in both directions alike but for what `reverse` changes.
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
    #[schemars(with = "Option<text::RateText>")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default)]
    pub delay: TimeSpan,
    /// Added for each further member of a group, so that their round-trip times differ.
    #[serde(default)]
    pub delay_step: TimeSpan,
    /// Queue before the link; drop-tail of 1000 packets where it is not given.
    #[serde(default)]
    pub queue: Queue,
    /// Packets lost at random, before the queue.
    #[serde(default)]
    #[schemars(with = "text::LossText")]
    pub loss: LossFraction,
    /// Random delay after the propagation.
    pub jitter: Option<Jitter>,
    /// Tags packets before the queue; never of the way back, unless `reverse` says so.
    pub conditioner: Option<Conditioner>,
    /// What differs on the way from `to` to `from`.
    #[serde(default)]
    pub reverse: LinkChanges,
}

impl Link {
    /// The name, or `from-to`.
    pub fn label(&self) -> String {
        let ends = || format!("{}-{}", self.from, self.to);
        self.name.clone().unwrap_or_else(ends)
    }
}

/// What differs on the way back.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkChanges {
    /// Rate.
    #[schemars(with = "Option<text::RateText>")]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Option<TimeSpan>,
    /// Queue before the link.
    pub queue: Option<Queue>,
    /// Packets lost at random, before the queue.
    #[schemars(with = "Option<text::LossText>")]
    pub loss: Option<LossFraction>,
    /// Random delay after the propagation.
    pub jitter: Option<Jitter>,
    /// Tags packets before the queue.
    pub conditioner: Option<Conditioner>,
}

/// A queue discipline, told apart by `discipline`; a text such as "2.5bdp" is a drop-tail queue of that limit.
///
/// A limit or threshold in bandwidth-delay products refers to the link's rate and the longest propagation round trip
/// among the flows over it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(tag = "discipline")]
pub enum Queue {
    /// First in, first out; what arrives at a full queue is dropped.
    DropTail {
        /// Largest length.
        #[schemars(with = "text::QueueLimitText")]
        limit: QueueLimit,
    },
    /// Random early detection (Floyd and Jacobson 1993).
    Red {
        /// Largest length.
        #[schemars(with = "text::QueueLimitText")]
        limit: QueueLimit,
        /// Average length above which packets are dropped or marked at random.
        #[schemars(with = "text::QueueLimitText")]
        min_threshold: QueueLimit,
        /// Average length above which all are.
        #[schemars(with = "text::QueueLimitText")]
        max_threshold: QueueLimit,
        /// Probability at `max_threshold`.
        #[serde(default = "red_max_probability")]
        #[schemars(range(min = 0.0, max = 1.0))]
        max_probability: f64,
        /// Weight of a new length in the average.
        #[serde(default = "red_weight")]
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: f64,
        /// Above `max_threshold` the probability rises on to 1 at twice that.
        #[serde(default)]
        gentle: bool,
        /// Marks packets that can be marked, instead of dropping them (RFC 3168).
        #[serde(default)]
        ecn: bool,
        /// What the average counts.
        #[serde(default)]
        count: QueueCount,
    },
    /// RED with IN and OUT, coupled: OUT goes by the average of the whole queue, IN by that of IN packets (Clark and
    /// Fang 1998).
    RioC {
        /// Largest length.
        #[schemars(with = "text::QueueLimitText")]
        limit: QueueLimit,
        /// Thresholds for packets tagged IN.
        r#in: RioClass,
        /// Thresholds for packets tagged OUT.
        out: RioClass,
        /// Weight of a new length in the averages.
        #[serde(default = "red_weight")]
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: f64,
        /// Marks packets that can be marked, instead of dropping them (RFC 3168).
        #[serde(default)]
        ecn: bool,
    },
    /// RED with IN and OUT, decoupled: each goes by the average of its own packets.
    RioD {
        /// Largest length.
        #[schemars(with = "text::QueueLimitText")]
        limit: QueueLimit,
        /// Thresholds for packets tagged IN.
        r#in: RioClass,
        /// Thresholds for packets tagged OUT.
        out: RioClass,
        /// Weight of a new length in the averages.
        #[serde(default = "red_weight")]
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: f64,
        /// Marks packets that can be marked, instead of dropping them (RFC 3168).
        #[serde(default)]
        ecn: bool,
    },
    /// Stochastic fair queueing (McKenney 1990).
    Sfq {
        /// Largest length of all sub-queues together.
        #[schemars(with = "text::QueueLimitText")]
        limit: QueueLimit,
        /// Sub-queues.
        #[serde(default = "sfq_buckets")]
        #[schemars(range(min = 1, max = 65_536))]
        buckets: u32,
        /// Time after which flows are spread anew over the sub-queues; never where it is not given.
        perturbation: Option<TimeSpan>,
    },
    /// The papers' reference model: low priority waits for best effort; deficit round robin among the flows of a class.
    Priority {
        /// Largest length of each class.
        #[schemars(with = "text::QueueLimitText")]
        limit: QueueLimit,
    },
}

impl Default for Queue {
    fn default() -> Queue {
        Queue::DropTail {
            limit: QueueLimit::Packets(1000),
        }
    }
}

fn red_max_probability() -> f64 {
    0.1
}

fn red_weight() -> f64 {
    0.002
}

fn sfq_buckets() -> u32 {
    1024
}

/// What a queue counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueCount {
    /// Packets, whatever their size.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

/// RED's parameters for one of RIO's two classes.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RioClass {
    /// Average length above which packets are dropped or marked at random.
    #[schemars(with = "text::QueueLimitText")]
    pub min_threshold: QueueLimit,
    /// Average length above which all are.
    #[schemars(with = "text::QueueLimitText")]
    pub max_threshold: QueueLimit,
    /// Probability at `max_threshold`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_probability: f64,
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

/// Tags packets as within or beyond a profile, at the edge of a network with RIO; told apart by `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(tag = "kind")]
pub enum Conditioner {
    /// Time sliding window: above the target, packets are OUT with probability (rate - target) / rate (Clark and Fang
    /// 1998).
    TimeSlidingWindow {
        /// Rate up to which all is IN.
        #[schemars(with = "text::RateText")]
        target: Rate,
        /// Length of the window over which the rate is estimated.
        #[serde(default = "tsw_window")]
        window: TimeSpan,
    },
    /// What finds tokens is IN.
    TokenBucket {
        /// Rate at which tokens come.
        #[schemars(with = "text::RateText")]
        rate: Rate,
        /// Tokens the bucket holds.
        #[schemars(with = "text::BytesText")]
        burst: Bytes,
    },
}

fn tsw_window() -> TimeSpan {
    TimeSpan::from_secs(1)
}
