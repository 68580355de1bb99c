// SPDX-License-Identifier: MIT OR Apache-2.0
//! The units links are described in, as people write them: `10mbit`, `20ms`, `64kB`, `1%`, `2.5bdp`.
//!
//! Each type's text form reads back as the same value.

mod bytes;
mod decimal;
mod delay;
mod loss;
mod queue_limit;
mod rate;
mod threshold;

pub use bytes::Bytes;
pub use delay::{format_delay, parse_delay};
pub(crate) use delay::{optional_delay, required_delay};
pub use loss::LossFraction;
pub use queue_limit::{QueueBound, QueueLimit};
pub use rate::Rate;
pub use threshold::Threshold;

/// A quantity that could not be read: one line that names what was given, what is allowed, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{quantity} `{given}` {problem}; {advice}")]
pub struct UnitError {
    quantity: &'static str,
    given: String,
    problem: String,
    advice: String,
}

impl UnitError {
    pub(crate) fn new(
        quantity: &'static str,
        given: &str,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) -> UnitError {
        UnitError {
            quantity,
            given: given.to_owned(),
            problem: problem.into(),
            advice: advice.into(),
        }
    }
}

/// Serialises a type by the text form it is also read from.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text =
                    <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;
