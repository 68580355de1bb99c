// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deserialisation of a quantity from its text form.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};

use super::UnitError;

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
