// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of scenario files: from the description to the results.

mod build;
mod report;
mod run;
mod trace_files;
mod write_behind;

pub use build::OutsideControls;
pub use run::{
    run, run_laid_out, run_laid_out_with_traces, run_on, run_with_controls, run_with_traces,
    simulation,
};
pub use trace_files::{DECISIONS_FILE, Selection, Traces};
