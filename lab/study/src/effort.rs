// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of an experiment is run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The share of each study that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Every verdict within minutes.
    Quick,
    /// The papers' effort: 50 runs of 1000 s where they say nothing else.
    Full,
}

impl Effort {
    /// As an argument of `netnice reproduce`.
    pub fn argument(self) -> &'static str {
        match self {
            Effort::Quick => "--quick",
            Effort::Full => "--full",
        }
    }
}

/// Runs of each point of a study, and how long each is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Seeds, from 1 on.
    pub seeds: u32,
    /// Simulated time of a run.
    pub duration: Duration,
}

impl Scale {
    /// So many runs of so many seconds.
    pub const fn new(seeds: u32, seconds: u64) -> Scale {
        Scale {
            seeds,
            duration: Duration::from_secs(seconds),
        }
    }

    /// LP03 IV-B: 50 simulation runs of 1000 s for each data point.
    pub const LP03: Scale = Scale::new(50, 1000);
}
