// SPDX-License-Identifier: MIT OR Apache-2.0
//! The size of a judgement.

/// The number of cases and seeds to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Some paths and rivals, short runs, one seed unless more are wanted.
    Quick,
    /// All.
    Full,
}
