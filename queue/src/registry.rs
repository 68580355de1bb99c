// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disciplines by name: the description of a queue as plain data, and the queue built from it.
//!
//! A new discipline is one file that implements [`QueueDiscipline`], an entry in `disciplines!`, and its `mod` and `pub use` in
//! `lib.rs`.

use std::time::Duration;

use serde::de::value::{self, MapDeserializer};
use serde::de::{Error as _, VariantAccess};
use serde::{Deserialize, Serialize};

use crate::early_detection::Curve;
// Includes all disciplines and their configurations.
use crate::*;

/// A tagged table of a file: a name, and fields that depend on it. [`Described::read`] lets an error name its field,
/// which serde's derived code for tagged enums loses.
pub trait Described: Sized {
    /// Names that the tag may have.
    const NAMES: &[&str];

    /// Reads the fields that belong to `name`, one of [`Described::NAMES`].
    fn read<'de, A: VariantAccess<'de>>(name: &str, fields: A) -> Result<Self, A::Error>;
}

/// Declares the queue disciplines: name in files, type, configuration, and storage type. A configuration has a `limit`,
/// a discipline `from_config(&Config, &DisciplineContext, seed: u64)`.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $name:literal => $Queue:ident($Config:ty) in $Kept:ty,)+) => {
        /// Configuration of a queue. In a file: a table whose `discipline` is one of the names below, with the fields
        /// of that one.
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "discipline")]
        pub enum DisciplineConfig {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $Queue($Config),)+
        }

        impl DisciplineConfig {
            /// The name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(DisciplineConfig::$Queue(_) => $name,)+
                }
            }

            /// The limit of the queue, as configured.
            pub fn limit(&self) -> QueueLimit {
                match self {
                    $(DisciplineConfig::$Queue(config) => config.limit,)+
                }
            }
        }

        impl Described for DisciplineConfig {
            const NAMES: &[&str] = &[$($name),+];

            fn read<'de, A: VariantAccess<'de>>(name: &str, fields: A) -> Result<Self, A::Error> {
                match name {
                    $($name => fields.newtype_variant().map(DisciplineConfig::$Queue),)+
                    _ => Err(A::Error::unknown_variant(name, Self::NAMES)),
                }
            }
        }

        /// Any of the disciplines. The larger ones are boxed, to keep thousands of links with drop-tail queues small.
        #[derive(Debug)]
        pub enum Discipline<P> {
            $($(#[doc = $doc])+ $Queue($Kept),)+
            /// A discipline of another crate.
            Custom(Box<dyn QueueDiscipline<P> + Send>),
        }

        impl<P: Packet> Discipline<P> {
            /// Creates the empty queue that `config` describes; `seed` seeds its own random stream.
            pub fn new(
                config: &DisciplineConfig,
                context: &DisciplineContext,
                seed: u64,
            ) -> Result<Discipline<P>, DisciplineError> {
                Ok(match config {
                    $(DisciplineConfig::$Queue(config) => {
                        Discipline::$Queue($Queue::from_config(config, context, seed)?.into())
                    })+
                })
            }
        }

        /// Evaluates the same expression on whichever discipline it is.
        macro_rules! dispatch {
            ($self:ident, $queue:ident => $call:expr) => {
                match $self {
                    $(Discipline::$Queue($queue) => $call,)+
                    Discipline::Custom($queue) => $call,
                }
            };
        }
    };
}

// An entry for each discipline.
disciplines! {
    /// First in, first out; arrivals at a full queue are dropped.
    "drop_tail" => DropTail(DropTailConfig) in DropTail<P>,
    /// Random early detection.
    "red" => Red(RedConfig) in Box<Red<P>>,
    /// RED with IN and OUT.
    "rio" => Rio(RioConfig) in Box<Rio<P>>,
    /// Stochastic fairness queueing.
    "sfq" => Sfq(SfqConfig) in Box<Sfq<P>>,
    /// Strict priority, fair within each class.
    "priority" => Priority(PriorityConfig) in Box<Priority<P>>,
    /// Controlled delay (RFC 8289).
    "codel" => Codel(CodelConfig) in Box<Codel<P>>,
    /// Flow queues, each under CoDel (RFC 8290).
    "fq_codel" => FqCodel(FqCodelConfig) in Box<FqCodel<P>>,
    /// Proportional integral controller enhanced (RFC 8033).
    "pie" => Pie(PieConfig) in Box<Pie<P>>,
    /// Coupled queues for scalable and classic traffic (RFC 9332).
    "dual_pi2" => DualPi2(DualPi2Config) in Box<DualPi2<P>>,
}

impl DisciplineConfig {
    /// Creates the configuration of the discipline called `name`, one of [`Described::NAMES`], with defaults for all fields but
    /// the limit. Without a `limit` it has the discipline's own default. `None` if no discipline has the name, or if a field has
    /// no default.
    pub fn with_defaults(name: &str, limit: Option<QueueLimit>) -> Option<DisciplineConfig> {
        let limit = limit.map(|limit| ("limit", limit.to_string()));
        let fields = [("discipline", name.to_owned())].into_iter().chain(limit);
        DisciplineConfig::deserialize(MapDeserializer::<_, value::Error>::new(fields)).ok()
    }

    /// Creates the configuration of a drop-tail queue of at most `limit`.
    pub fn drop_tail(limit: QueueLimit) -> DisciplineConfig {
        DisciplineConfig::DropTail(DropTailConfig { limit })
    }
}

/// Properties of the link that a discipline depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisciplineContext {
    /// The link's rate; `None` if a transmission takes no time.
    pub rate: Option<Rate>,
    /// The link's one-way propagation delay.
    pub delay: Duration,
    /// Propagation delay both ways between the hosts, which limits in bandwidth-delay products multiply.
    pub base_rtt: Duration,
    /// Length of a full packet, headers included: scenarios give the largest packet of the flows over the link. It converts
    /// between packets and bytes; RED and PIE take it for the mean packet size of their papers, CoDel for the largest.
    pub packet_size: Bytes,
}

impl DisciplineContext {
    pub(crate) fn rate(&self) -> Result<Rate, DisciplineError> {
        self.rate.ok_or(DisciplineError::NoRate)
    }

    /// Converts `limit` to packets or bytes.
    pub fn bound(&self, limit: QueueLimit) -> Result<QueueBound, DisciplineError> {
        if self.packet_size.get() == 0 {
            return Err(DisciplineError::NoPacketSize);
        }
        match limit {
            QueueLimit::Packets(packets) => Ok(QueueBound::Packets(packets as usize)),
            QueueLimit::Bytes(bytes) => Ok(QueueBound::Bytes(bytes.get())),
            QueueLimit::Time(_) | QueueLimit::Bdp(_) => {
                let packet_size = self.packet_size.get() as usize;
                Ok(limit.resolve(self.rate()?, self.base_rtt, packet_size))
            }
        }
    }

    /// Converts `limit` to full packets, at least one.
    pub fn bound_in_packets(&self, limit: QueueLimit) -> Result<usize, DisciplineError> {
        Ok(match self.bound(limit)? {
            QueueBound::Packets(packets) => packets,
            QueueBound::Bytes(bytes) => (bytes / self.packet_size.get()) as usize,
        }
        .max(1))
    }

    /// Full packets that the link sends per second.
    pub(crate) fn packets_per_second(&self) -> Result<f64, DisciplineError> {
        Ok(self.rate()?.as_f64() / (8.0 * self.packet_size.get() as f64))
    }

    /// w_q: the one configured, or ns-2.35's automatic one (its `q_weight_ -1`).
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

/// An invalid description of a queue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DisciplineError {
    /// The link has no rate.
    #[error(
        "the link has no rate, so neither a time nor a bandwidth-delay product is a queue's length; give the link a rate"
    )]
    NoRate,
    /// The context has no packet size.
    #[error("the packet size is zero; give one of at least 1B")]
    NoPacketSize,
    /// The minimum threshold is above the maximum threshold.
    #[error("min_threshold ({min}) is above max_threshold ({max}), counted alike; it must not be")]
    Thresholds {
        /// The minimum threshold, in the unit counted.
        min: f64,
        /// The maximum threshold, in the unit counted.
        max: f64,
    },
    /// The queue cannot reach the threshold.
    #[error(
        "min_threshold ({min}) is above the limit ({limit}), counted alike, so that nothing would be dropped early; it must not be"
    )]
    BeyondLimit {
        /// The minimum threshold, in the unit counted.
        min: f64,
        /// The limit, in the unit counted.
        limit: f64,
    },
    /// The weight is not above 0, or exceeds 1.
    #[error("weight {weight} is out of range; it must be above 0 and at most 1")]
    Weight {
        /// The weight as configured.
        weight: f64,
    },
    /// CoDel's target is not below its interval.
    #[error(
        "target ({}) is not below interval ({}); it must be, and 5 to 10 % of it is usual",
        format_delay(*.target),
        format_delay(*.interval)
    )]
    TargetAboveInterval {
        /// The target as configured.
        target: Duration,
        /// The interval as configured.
        interval: Duration,
    },
    /// A number is not above 0.
    #[error("{field} is {value}; it must be above 0")]
    NotPositive {
        /// The field of the description.
        field: &'static str,
        /// The number as configured.
        value: f64,
    },
    /// RIO does not support marking by class.
    #[error("ecn `mark_low_class` is for red only; write mark or mark_always")]
    LowClassInRio,
    /// A field that must be at least 1 is 0.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// The field of the description.
        field: &'static str,
    },
    /// A field exceeds the largest value allowed, which bounds memory.
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
    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        dispatch!(self, queue => queue.take_dropped())
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
