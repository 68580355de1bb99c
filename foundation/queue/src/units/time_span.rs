// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of time, as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{UnitError, format_delay, parse_delay};

/// A length of time, or a time since the beginning of the run. Written `20ms`, `200us`, `1.5s`; never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeSpan(pub Duration);

impl TimeSpan {
    /// That many milliseconds.
    pub const fn from_millis(milliseconds: u64) -> TimeSpan {
        TimeSpan(Duration::from_millis(milliseconds))
    }

    /// That many seconds.
    pub const fn from_secs(seconds: u64) -> TimeSpan {
        TimeSpan(Duration::from_secs(seconds))
    }

    /// Converts to the standard library's type.
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Nanoseconds, at most 2^64 - 1 (584 years).
    pub fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for TimeSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<TimeSpan, UnitError> {
        parse_delay(text).map(TimeSpan)
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_delay(self.0))
    }
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TimeSpan, D::Error> {
        struct TimeVisitor;
        impl de::Visitor<'_> for TimeVisitor {
            type Value = TimeSpan;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"20ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TimeSpan, E> {
                if let Some(positive) = text.strip_prefix('-') {
                    return Err(E::custom(format!(
                        "time `{text}` is negative; write {positive}, or leave it out"
                    )));
                }
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(TimeVisitor)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for TimeSpan {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        super::DelayText::json_schema(generator)
    }
}
