// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities: the class of a flow.

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
