// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units for the description of links, in text form: `10mbit`, `20ms`, `64kB`, `1%`, `2.5bdp`.
//!
//! Each type's text form reads back as the same value.

mod bytes;
mod decimal;
mod delay;
mod error;
mod loss;
mod queue_limit;
mod rate;
mod text;
mod threshold;
mod time_span;

pub use bytes::Bytes;
pub(crate) use bytes::positive_bytes;
#[cfg(feature = "schemars")]
pub(crate) use delay::DelayText;
pub(crate) use delay::{delay_text, optional_delay, positive_delay};
pub use delay::{format_delay, parse_delay};
pub use error::UnitError;
pub use loss::LossFraction;
pub use queue_limit::{QueueBound, QueueLimit};
pub use rate::Rate;
pub(crate) use text::serde_as_text;
pub use threshold::Threshold;
pub use time_span::TimeSpan;
