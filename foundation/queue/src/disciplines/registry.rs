// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disciplines by name: the description of a queue as plain data, and the queue built from it.
//!
//! A new discipline has its entry in `disciplines!`, and its `mod` and `pub use` in `mod.rs`.

use serde::de::value::{self, MapDeserializer};
use serde::de::{Error as _, VariantAccess};
use serde::{Deserialize, Serialize};

use crate::described::Described;
use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::queue_discipline::{Dropped, Packet, QueueDiscipline};
// Includes all disciplines and their configurations.
use crate::disciplines::*;
use crate::time::Time;
use crate::units::QueueLimit;

/// Declares the queue disciplines: name in files, type, configuration, and storage type. A configuration has a `limit`
/// and `marks()`, a discipline `from_config(&Config, &DisciplineContext, seed: u64)`.
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

            /// Returns true if the discipline marks ECN-capable packets (RFC 3168), of one class at least.
            pub fn marks(&self) -> bool {
                match self {
                    $(DisciplineConfig::$Queue(config) => config.marks(),)+
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
    /// Common Applications Kept Enhanced: flow queues under COBALT, fair among hosts, in tins by DSCP.
    "cake" => Cake(CakeConfig) in Box<Cake<P>>,
    /// Classes by DSCP that share the link by weight, each with a discipline of its own.
    "weighted_drr" => WeightedDrr(WeightedDrrConfig) in Box<WeightedDrr<P>>,
}

impl DisciplineConfig {
    /// Name of the type for deserializers that read it by [`DescribedVisitor`].
    pub const TYPE: &str = "DisciplineConfig";

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
    fn lets_through(&self) -> bool {
        dispatch!(self, queue => queue.lets_through())
    }

    #[inline]
    fn reads_ip_fields(&self) -> bool {
        dispatch!(self, queue => queue.reads_ip_fields())
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
