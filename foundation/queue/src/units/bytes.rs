// SPDX-License-Identifier: MIT OR Apache-2.0
//! Amounts of data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::{UnitError, decimal, serde_as_text};

const DECIMAL_UNITS: [(&str, u64); 4] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const BINARY_UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A number of bytes. Written `1500B`, `64kB` (64,000), `1MB`, `1GB`, `64KiB` (65,536), `1MiB`, `1GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Creates an amount of `bytes`.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Bytes in the unit called `name`, or `None` if there is no such unit.
pub(super) fn unit(name: &str) -> Option<u64> {
    DECIMAL_UNITS
        .iter()
        .chain(&BINARY_UNITS)
        .find(|(unit, _)| *unit == name)
        .map(|&(_, bytes)| bytes)
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let advice = "write it as 1500B, 64kB or 1MiB (units: B, kB, MB, GB, KiB, MiB, GiB)";
        let (number, name) = decimal::split_unit(text);
        let Some(unit) = unit(name) else {
            let problem = decimal::wrong_unit(name);
            return Err(UnitError::new("size", text, problem, advice));
        };
        decimal::scale(number, unit).map(Bytes).ok_or_else(|| {
            UnitError::new(
                "size",
                text,
                "has no number that can be read before its unit",
                advice,
            )
        })
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::write(f, self.0, &DECIMAL_UNITS)
    }
}

serde_as_text!(
    Bytes,
    "a size such as \"1500B\"",
    r"^(\$\w+|\d+(\.\d+)?(B|kB|MB|GB|KiB|MiB|GiB))$",
    "string"
);

/// Reads a size that must not be zero: `#[serde(deserialize_with = "positive_bytes")]`.
pub(crate) fn positive_bytes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Bytes, D::Error> {
    match Bytes::deserialize(deserializer)? {
        Bytes(0) => Err(serde::de::Error::custom(
            "size `0B` is zero; it must be at least 1B",
        )),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_decimal_and_binary_units() {
        for (text, bytes) in [
            ("64kB", 64_000),
            ("1500B", 1500),
            ("1MiB", 1_048_576),
            ("1.5KiB", 1536),
            ("0B", 0),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes::new(bytes), "{text}");
        }
    }

    #[test]
    fn a_size_without_a_clear_unit_is_refused() {
        for text in ["1500", "64k", "64KB", "64kb", "kB", ".5kB", "5.kB", ""] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains("write it as 1500B"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_size(bytes in any::<u64>()) {
            prop_assert_eq!(Bytes::new(bytes).to_string().parse::<Bytes>().unwrap(), Bytes::new(bytes));
        }
    }
}
