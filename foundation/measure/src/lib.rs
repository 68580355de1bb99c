// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measurements as numbers: histograms, the distributions of delays that results have, means with confidence intervals.
//! No clock and no I/O: the simulator, the emulated link and `netnice probe` count alike.

mod delays;
mod histogram;
mod statistics;

pub use delays::{Delays, Distribution};
pub use histogram::Histogram;
pub use statistics::{Estimate, jain_index, quantile, student_t_975};
