// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disciplines by name: what a queue is to be, as pure data, and the queue made from that.
//!
//! A new discipline is one file that implements [`QueueDiscipline`], and one line in each `enum` here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::early_detection::Curve;
use crate::{
    Bytes, DropCause, DropTail, Dropped, Packet, Priority, PriorityConfig, QueueBound,
    QueueDiscipline, QueueLimit, Rate, Red, RedConfig, Rio, RioConfig, Sfq, SfqConfig, Time,
};

/// What a queue is to be. In a file: a table whose `discipline` is one of the names below, beside that one's fields.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "snake_case")]
pub enum DisciplineConfig {
    /// First in, first out; arrivals at a full queue are dropped.
    DropTail(DropTailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// RED with IN and OUT.
    Rio(RioConfig),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig),
    /// Strict priority, fair within each class.
    Priority(PriorityConfig),
}

/// What a drop-tail queue is to be.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropTailConfig {
    /// What arrives beyond this is dropped.
    pub limit: QueueLimit,
}

impl DisciplineConfig {
    /// A drop-tail queue of at most `limit`.
    pub fn drop_tail(limit: QueueLimit) -> DisciplineConfig {
        DisciplineConfig::DropTail(DropTailConfig { limit })
    }

    /// The name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            DisciplineConfig::DropTail(_) => "drop_tail",
            DisciplineConfig::Red(_) => "red",
            DisciplineConfig::Rio(_) => "rio",
            DisciplineConfig::Sfq(_) => "sfq",
            DisciplineConfig::Priority(_) => "priority",
        }
    }

    /// The limit of the queue, as it is written.
    pub fn limit(&self) -> QueueLimit {
        match self {
            DisciplineConfig::DropTail(config) => config.limit,
            DisciplineConfig::Red(config) => config.limit,
            DisciplineConfig::Rio(config) => config.limit,
            DisciplineConfig::Sfq(config) => config.limit,
            DisciplineConfig::Priority(config) => config.limit,
        }
    }
}

/// What a discipline must know of the link it stands before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisciplineContext {
    /// The link's rate; `None` where it takes no time to send.
    pub rate: Option<Rate>,
    /// The link's one-way propagation delay.
    pub delay: Duration,
    /// Propagation both ways between the hosts: what a limit in bandwidth-delay products is a multiple of.
    pub base_rtt: Duration,
    /// Mean length of a packet on the link, headers included: what RED's idle times and thresholds, and limits that
    /// are counted in packets, reckon with.
    pub mean_packet: Bytes,
}

impl DisciplineContext {
    pub(crate) fn rate(&self) -> Result<Rate, DisciplineError> {
        self.rate.ok_or(DisciplineError::NoRate)
    }

    /// `limit` in packets or bytes.
    pub fn bound(&self, limit: QueueLimit) -> Result<QueueBound, DisciplineError> {
        if self.mean_packet.get() == 0 {
            return Err(DisciplineError::NoMeanPacket);
        }
        match limit {
            QueueLimit::Packets(packets) => Ok(QueueBound::Packets(packets as usize)),
            QueueLimit::Bytes(bytes) => Ok(QueueBound::Bytes(bytes.get())),
            QueueLimit::Time(_) | QueueLimit::Bdp(_) => {
                let mean_packet = self.mean_packet.get() as usize;
                Ok(limit.resolve(self.rate()?, self.base_rtt, mean_packet))
            }
        }
    }

    /// `limit` in packets of mean length, at least one.
    pub fn bound_in_packets(&self, limit: QueueLimit) -> Result<usize, DisciplineError> {
        Ok(match self.bound(limit)? {
            QueueBound::Packets(packets) => packets,
            QueueBound::Bytes(bytes) => (bytes / self.mean_packet.get()) as usize,
        }
        .max(1))
    }

    /// Packets of mean length that the link sends in a second.
    pub(crate) fn packets_per_second(&self) -> Result<f64, DisciplineError> {
        Ok(self.rate()?.as_f64() / (8.0 * self.mean_packet.get() as f64))
    }

    /// w_q: the one given, or ns-2.35's automatic one (its `q_weight_ -1`).
    pub(crate) fn weight(&self, given: Option<f64>) -> Result<f64, DisciplineError> {
        match given {
            Some(weight) if weight > 0.0 && weight <= 1.0 => Ok(weight),
            Some(weight) => Err(DisciplineError::Weight { weight }),
            None => {
                let packets_per_second = self.packets_per_second()?;
                let round_trip = 3.0 * (self.delay.as_secs_f64() + 1.0 / packets_per_second);
                let packets = 10.0 * round_trip.max(0.1) * packets_per_second;
                Ok(-(-1.0 / packets).exp_m1())
            }
        }
    }
}

/// A queue that cannot be as it was described.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DisciplineError {
    /// The link has no rate.
    #[error(
        "the link has no rate, so neither a time nor a bandwidth-delay product is a queue's length; give the link a rate"
    )]
    NoRate,
    /// The context has no packet size.
    #[error("the mean packet length is zero; give one of at least 1B")]
    NoMeanPacket,
    /// Thresholds the wrong way round.
    #[error("min_threshold ({min}) is above max_threshold ({max}), counted alike; it must not be")]
    Thresholds {
        /// The lower one, in the unit counted.
        min: f64,
        /// The upper one.
        max: f64,
    },
    /// A threshold that the queue cannot reach.
    #[error(
        "min_threshold ({min}) is above the limit ({limit}), counted alike, so that nothing would be dropped early; it must not be"
    )]
    BeyondLimit {
        /// The lower threshold, in the unit counted.
        min: f64,
        /// The limit likewise.
        limit: f64,
    },
    /// A weight that weighs nothing, or more than everything.
    #[error("weight {weight} is out of range; it must be above 0 and at most 1")]
    Weight {
        /// As given.
        weight: f64,
    },
    /// Marking by class where the profile decides.
    #[error("ecn `mark_low_class` is for red only; write mark or mark_always")]
    LowClassInRio,
    /// Nowhere to put a packet.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// The field of the description.
        field: &'static str,
    },
    /// More than memory should be spent on.
    #[error("{field} is more than {most}, the most allowed")]
    TooMany {
        /// The field of the description.
        field: &'static str,
        /// The largest value allowed.
        most: u32,
    },
}

impl DisciplineError {
    pub(crate) fn check_thresholds(curve: &Curve) -> Result<(), DisciplineError> {
        let (min, max) = (curve.min, curve.max);
        match min <= max {
            true => Ok(()),
            false => Err(DisciplineError::Thresholds { min, max }),
        }
    }
}

/// Any of the disciplines. The larger ones are boxed, so that thousands of links with drop-tail queues stay small.
#[derive(Debug, Clone)]
pub enum Discipline<P> {
    /// First in, first out.
    DropTail(DropTail<P>),
    /// Random early detection.
    Red(Box<Red<P>>),
    /// RED with IN and OUT.
    Rio(Box<Rio<P>>),
    /// Stochastic fairness queueing.
    Sfq(Box<Sfq<P>>),
    /// Strict priority, fair within each class.
    Priority(Box<Priority<P>>),
}

impl<P: Packet> Discipline<P> {
    /// The queue that `config` describes, empty; `seed` is of this queue's own random stream.
    pub fn new(
        config: &DisciplineConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<Discipline<P>, DisciplineError> {
        Ok(match config {
            DisciplineConfig::DropTail(config) => {
                Discipline::DropTail(DropTail::new(context.bound(config.limit)?))
            }
            DisciplineConfig::Red(config) => {
                Discipline::Red(Box::new(Red::new(config, context, seed)?))
            }
            DisciplineConfig::Rio(config) => {
                Discipline::Rio(Box::new(Rio::new(config, context, seed)?))
            }
            DisciplineConfig::Sfq(config) => {
                Discipline::Sfq(Box::new(Sfq::new(config, context, seed)?))
            }
            DisciplineConfig::Priority(config) => {
                Discipline::Priority(Box::new(Priority::new(config, context)?))
            }
        })
    }
}

/// Calls the same method of whichever discipline it is.
macro_rules! dispatch {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Discipline::DropTail($queue) => $call,
            Discipline::Red($queue) => $call,
            Discipline::Rio($queue) => $call,
            Discipline::Sfq($queue) => $call,
            Discipline::Priority($queue) => $call,
        }
    };
}

impl<P: Packet> QueueDiscipline<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        dispatch!(self, queue => queue.enqueue(now, packet))
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<P> {
        dispatch!(self, queue => queue.dequeue(now))
    }

    #[inline]
    fn pass(&mut self, now: Time, packet: &mut P) -> Result<(), DropCause> {
        dispatch!(self, queue => queue.pass(now, packet))
    }

    fn passes_unseen(&self) -> u32 {
        dispatch!(self, queue => queue.passes_unseen())
    }

    fn tail_bound(&self) -> Option<QueueBound> {
        dispatch!(self, queue => queue.tail_bound())
    }

    #[inline]
    fn marks(&self) -> u64 {
        dispatch!(self, queue => queue.marks())
    }

    #[inline]
    fn packets(&self) -> usize {
        dispatch!(self, queue => queue.packets())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        dispatch!(self, queue => queue.bytes())
    }
}
