// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links: a queue, its service, and what becomes of packets on the way.

mod conditions;
mod config;
mod counters;
mod delivery_trace;
mod description;
mod impairments;
mod jitter_config;
mod link;
mod setup;

pub use conditions::{LinkChange, LinkConditions, LossModel, Outage};
pub use config::LinkConfig;
pub use counters::{ColourCounters, DropCounters, LinkCounters, LinkUsage};
pub use delivery_trace::{DeliveryTrace, TraceError};
pub use description::LinkDescription;
pub use impairments::{InOrderJitter, Jitter, RandomLoss, ReorderingJitter};
pub use jitter_config::{JitterConfig, JitterDistribution};
pub use link::{Delivery, Link, Queued};
pub use setup::LinkSetup;
