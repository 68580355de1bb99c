// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differentiated services code points.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A differentiated services code point (RFC 2474), 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dscp(u8);

/// The names of RFC 2474, 2597, 3246, 5865 and 8622.
const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Dscp {
    /// Lower effort (RFC 8622).
    pub const LE: Dscp = Dscp(1);

    /// The code point of this number, or `None` above 63.
    pub fn new(number: u8) -> Option<Dscp> {
        (number < 64).then_some(Dscp(number))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Dscp, String> {
        let named = NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|&(_, number)| Dscp(number)).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|&(name, _)| name).collect();
            format!(
                "DSCP `{text}` is unknown; allowed are 0 to 63 and {}",
                names.join(", ")
            )
        })
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|&&(_, number)| number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0)
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dscp, D::Error> {
        struct DscpVisitor;
        impl Visitor<'_> for DscpVisitor {
            type Value = Dscp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 63, or a name such as LE, AF11 or EF")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Dscp, E> {
                u8::try_from(number)
                    .ok()
                    .and_then(Dscp::new)
                    .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Dscp, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Dscp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(DscpVisitor)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Dscp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A differentiated services code point: 0 to 63, or a name such as LE, AF11, EF",
            "oneOf": [{"type": "integer", "minimum": 0, "maximum": 63}, {"type": "string"}]
        })
    }
}
