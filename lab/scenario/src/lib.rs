// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario file, its checks, and the network laid out from it.
//!
//! - [`model`]: the file as it is written, typed: [`Scenario`].
//! - [`parse`]: reads and checks it: [`ScenarioFile`].
//! - [`network`]: the same laid out for a run, with groups expanded, routes found, and each link given the round trip and packet
//!   size that its queue's limit needs: [`Layout`].
//! - [`input`]: files, up to a length.

mod did_you_mean;
mod explain;
pub mod hexadecimal;
pub mod model;
pub mod network;
pub mod parse;
mod warnings;

pub use explain::explain;
pub use model::Scenario;
pub use netnice_files as input;
pub use network::Layout;
pub use parse::schema::json_schema;
pub use parse::{Check, ControlFiles, Point, ScenarioError, ScenarioFile};
pub use warnings::warnings;
