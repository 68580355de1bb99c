// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated link: two TUN devices in two namespaces, and a real-time thread that carries packets between them.

mod addresses;
mod emulated_link;
mod report;
mod settings;
mod spec;
mod two_way;

pub use emulated_link::EmulatedLink;
pub use report::{DirectionReport, Lateness, LinkReport, Verdict};
pub use settings::{Aqm, LinkJitter, LossBurst, Policer, TimedChange, TraceFile};
pub use spec::{Direction, DirectionChanges, DirectionSpec, EmulatedLinkSpec, MTU};
