// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links and queue disciplines without I/O, and the units they are described in.
//!
//! Nothing in this crate reads a clock or touches a socket: the caller passes the time, so the simulator drives a
//! [`Link`] with virtual time and the emulated link drives the same code with the real clock.
//!
//! ```
//! use netnice_queue::{DropTail, Link, LinkConfig, Time};
//! use std::time::Duration;
//!
//! // 12 Mb/s, 10 ms: a packet of 1500 bytes takes 1 ms to send and 10 ms to travel.
//! let config = LinkConfig { rate: Some("12mbit".parse()?), delay: Duration::from_millis(10), ..LinkConfig::default() };
//! let mut link = Link::new(config, DropTail::packets(83));
//! link.offer(Time::ZERO, vec![0u8; 1500]).unwrap();
//! assert_eq!(link.next_event(), Some(Time::from_millis(11)));
//! let delivery = link.deliver(Time::from_millis(11)).unwrap();
//! assert_eq!(delivery.due, Time::from_millis(11));
//! # Ok::<(), netnice_queue::UnitError>(())
//! ```
//!
//! [`DisciplineConfig`] lists the disciplines and their descriptions; a [`Marker`] tags packets at the edge of a
//! network. A new discipline is one file that implements [`QueueDiscipline`], an entry in `disciplines!` of `registry.rs`, and
//! its `mod` and `pub use` here.

mod bucket;
mod cake;
mod cobalt;
mod codel;
mod conditions;
mod counters;
mod delivery_trace;
mod discipline;
mod discipline_context;
mod drop_tail;
mod drr;
mod dscp;
mod dual_pi2;
mod early_detection;
mod fair_queue;
mod fq_codel;
mod impairments;
mod link;
mod link_config;
mod marker;
mod pie;
mod priority;
pub mod random;
mod red;
mod registry;
mod rio;
mod set_associative;
mod setup;
mod sfq;
mod three_colour;
mod time;
mod token_bucket;
mod tsw;
pub mod units;
mod update_clock;
mod weighted_drr;

pub use bucket::{PolicerConfig, ShaperConfig};
pub use cake::{Cake, CakeConfig, CakeIsolation, CakeTins};
pub use codel::{Codel, CodelConfig};
pub use conditions::{LinkChange, LinkConditions, LossModel, Outage};
pub use counters::{LinkCounters, LinkUsage};
pub use delivery_trace::{DeliveryTrace, TraceError};
pub use discipline::{Colour, DropCause, Dropped, IpFields, Packet, QueueDiscipline};
pub use discipline_context::{DisciplineContext, DisciplineError};
pub use drop_tail::{DropTail, DropTailConfig};
pub use dscp::Dscp;
pub use dual_pi2::{DualPi2, DualPi2Config};
pub use early_detection::CountIn;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use impairments::{InOrderJitter, Jitter, RandomLoss, ReorderingJitter};
pub use link::{Delivery, Link, Queued};
pub use link_config::LinkConfig;
pub use marker::{Marker, MarkerConfig};
pub use pie::{Pie, PieConfig};
pub use priority::{Priority, PriorityConfig};
pub use red::{EcnMode, Red, RedAdmission, RedConfig};
pub use registry::{Described, DescribedVisitor, Discipline, DisciplineConfig};
pub use rio::{Rio, RioConfig, RioCoupling, RioThresholds};
pub use setup::{LinkParts, LinkSetup};
pub use sfq::{Sfq, SfqConfig, SfqDrop};
pub use three_colour::{SrTcm, SrTcmConfig, TrTcm, TrTcmConfig};
pub use time::Time;
pub use token_bucket::{TokenBucket, TokenBucketConfig};
pub use tsw::{Tsw, TswConfig};
pub use units::{
    Bytes, LossFraction, QueueBound, QueueLimit, Rate, Threshold, UnitError, format_delay,
    parse_delay,
};
pub use weighted_drr::{DrrClass, WeightedDrr, WeightedDrrConfig};
