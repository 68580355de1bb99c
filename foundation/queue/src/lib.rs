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
//! network. A new discipline is one file in `disciplines/`, registered there.

mod bucket;
mod described;
mod discipline_context;
mod disciplines;
mod dscp;
mod links;
mod markers;
mod queue_discipline;
pub mod random;
mod time;
pub mod units;

pub use bucket::{PolicerConfig, ShaperConfig};
pub use described::{Described, DescribedVisitor};
pub use discipline_context::{DisciplineContext, DisciplineError};
pub use disciplines::*;
pub use dscp::Dscp;
pub use links::*;
pub use markers::*;
pub use queue_discipline::{Colour, DropCause, Dropped, IpFields, Packet, QueueDiscipline};
pub use time::Time;
pub use units::{
    Bytes, LossFraction, QueueBound, QueueLimit, Rate, Threshold, TimeSpan, UnitError,
    format_delay, parse_delay,
};
