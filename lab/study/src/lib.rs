// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all experiments with scenarios have in common: points × seeds → runs → means with intervals → tables.
//!
//! - [`Effort`], [`Scale`]: how much is run.
//! - [`Campaign`]: scenarios with their points and seeds; finds runs that are finished, and has the others made.
//! - [`Keep`]: where finished runs are kept, and what stays in memory of one; [`Directories`] of results, for one.
//! - [`Make`]: makes one [`Run`], on a simulator, on a kernel or elsewhere.
//! - [`Table`], [`written`]: means with their intervals, as text and as Markdown.

mod budget;
mod campaign;
mod effort;
mod estimate;
mod keep;
mod lab_load;
pub mod pool;
mod table;

pub use campaign::{Campaign, Made, Make, Run, RunError, Runs, Tick};
pub use effort::{Effort, Scale};
pub use estimate::{is_wide, says_less_than_range, written, written_or_dash, written_with};
pub use keep::{Directories, Keep, Key};
pub use lab_load::{LAB_BPS, slowest_bps};
pub use table::{Table, markdown_rows};
