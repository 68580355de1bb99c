// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario file, its checks, and the results that simulator and lab fill in alike.
//!
//! - [`model`]: the file as it is written, typed: [`Scenario`].
//! - [`parse`]: reads and checks it: [`ScenarioFile`].
//! - [`network`]: the same laid out for a run, with groups expanded, routes found, and each link given the round trip and packet
//!   size that its queue's limit needs: [`Layout`].
//! - [`input`]: files, up to a length.
//! - [`pool`]: jobs on several threads, such as the runs of a sweep.
//! - [`results`]: the measurements of a run, and summaries of many runs.
//! - `plot` (with the feature of that name): plots of results, to be drawn by `netnice-chart`.

mod did_you_mean;
mod explain;
mod hexadecimal;
pub mod model;
pub mod network;
pub mod output;
pub mod parse;
#[cfg(feature = "plot")]
pub mod plot;
pub mod pool;
pub mod results;

mod warnings;

pub use explain::explain;
pub use model::Scenario;
pub use netnice_files as input;
pub use network::Layout;
pub use parse::schema::json_schema;
pub use parse::{ControlFiles, Point, ScenarioError, ScenarioFile};
pub use warnings::warnings;
