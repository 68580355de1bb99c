// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cell of the grid.

use std::collections::BTreeMap;

use netnice_results::Estimate;
use serde::Serialize;

/// A control on a path beside a rival.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// Name of the path.
    pub path: String,
    /// Name of the rival; `none` if the control is alone.
    pub rival: String,
    /// The control.
    pub control: String,
    /// Figures by name: mean over the seeds with its 95 % confidence interval.
    pub figures: BTreeMap<&'static str, Estimate>,
    /// The command that makes the runs again.
    pub run: String,
    /// Why the figures cannot be trusted, if so.
    pub distrust: Option<String>,
    /// Goodput of the first seed over time, in bit/s, at equal distances.
    pub own_series: Vec<f64>,
    /// Goodput of the rival.
    pub rival_series: Vec<f64>,
    /// Length of a run in seconds.
    pub end_s: f64,
}
