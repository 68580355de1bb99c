// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities: the class of a flow and its code point.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow's class for a queue with priorities, and in the results.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Deserialize,
    Serialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TrafficClass {
    /// Goes first.
    #[default]
    BestEffort,
    /// Takes the bandwidth that is left.
    Low,
}

impl TrafficClass {
    /// The class as queues count it: 0 goes first.
    pub fn number(self) -> u8 {
        match self {
            TrafficClass::BestEffort => 0,
            TrafficClass::Low => 1,
        }
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            TrafficClass::BestEffort => "best_effort",
            TrafficClass::Low => "low",
        }
    }
}

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
