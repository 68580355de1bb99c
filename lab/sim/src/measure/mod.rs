// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measurements of a run.

mod counters;
mod phases;
mod response;
mod series;
mod waits;

pub use counters::{FlowCounters, TimeWeighted};
pub use netnice_measure::Histogram;
pub use phases::{Measured, bits_per_second};
pub use response::{ResponseBin, ResponseTimes};
pub(crate) use series::{OF_LINKS, Received, SENDERS_QUANTITIES, Sampler};
pub use series::{Quantity, Series};
pub(crate) use waits::LinkWaits;
