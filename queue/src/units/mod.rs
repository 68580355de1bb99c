// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units for the description of links, in text form: `10mbit`, `20ms`, `64kB`, `1%`, `2.5bdp`.
//!
//! Each type's text form reads back as the same value.

mod bytes;
mod decimal;
mod delay;
mod loss;
mod queue_limit;
mod rate;
mod text;
mod threshold;

pub use bytes::Bytes;
pub(crate) use bytes::positive_bytes;
#[cfg(feature = "schemars")]
pub(crate) use delay::DelayText;
pub(crate) use delay::{delay_text, optional_delay, positive_delay};
pub use delay::{format_delay, parse_delay};
pub use loss::LossFraction;
pub use queue_limit::{QueueBound, QueueLimit};
pub use rate::Rate;
pub use threshold::Threshold;

/// A quantity that could not be read: one line that names the text given, the problem, and the form to write.
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

/// Serialises a type as the text form that it is read from. A bare number is read as its digits, so that the type's
/// error lists its units. `$example` and the regular expression serve error messages and the JSON Schema; `$json` is
/// the type there.
macro_rules! serde_as_text {
    ($type:ty, $example:literal, $pattern:literal, $json:tt) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::units::text::Text::new($example))
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": $json, "pattern": $pattern, "description": $example})
            }
        }
    };
}
pub(crate) use serde_as_text;
