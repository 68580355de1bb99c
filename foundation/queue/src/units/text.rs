// SPDX-License-Identifier: MIT OR Apache-2.0
//! Serialisation of a quantity as its text form, and the way back.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};

use super::error::UnitError;

/// Reads a `T` from text, or from the digits of a bare number.
pub(super) struct Text<T> {
    expected: &'static str,
    quantity: PhantomData<T>,
}

impl<T> Text<T> {
    /// Creates a reader; its error asks for `expected` in place of another type.
    pub(super) fn new(expected: &'static str) -> Text<T> {
        Text {
            expected,
            quantity: PhantomData,
        }
    }
}

impl<T: FromStr<Err = UnitError>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match text.strip_prefix('-') {
            Some(_) => Err(E::custom(format!(
                "`{text}` is negative; write {}, zero at least",
                self.expected
            ))),
            None => text.parse().map_err(E::custom),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
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
