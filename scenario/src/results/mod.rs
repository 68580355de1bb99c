// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run has measured, alike for simulator and lab.

mod run;

pub use run::{
    ClassResult, Delays, Drops, FlowResult, PhaseResult, QueueResult, ResponseTimes, RunResults,
    Series, SizeBin,
};
