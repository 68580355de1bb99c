// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls judged on a grid of paths and rivals.
//!
//! - [`path`]: the paths, a line each.
//! - [`rival`]: the rivals, a line each.
//! - [`figure`]: the figures of a cell, a line each.
//! - [`question`]: RFC 9743's questions, answered from the figures, a line each.
//! - [`control`]: a control under test, by name or in a C file.
//! - [`case`]: a run as a scenario, and what is measured of its results.
//! - [`plan`]: all runs of a judgement; reuses finished ones.
//! - [`cell`]: the figures of a control on a path beside a rival.
//! - [`judgement`]: all cells, and the answers to the questions.
//! - [`search`]: looks for the environments in which a control is worst.
//! - [`page`], [`markdown`]: what people read.
//!
//! Nothing here runs a scenario: the caller gives a function that does, on the simulator or on a kernel.

pub mod case;
pub mod cell;
pub mod control;
pub mod error;
pub mod figure;
pub mod judgement;
pub mod markdown;
pub mod page;
pub mod path;
pub mod plan;
pub mod question;
pub mod rival;
pub mod search;

pub use cell::Cell;
pub use error::PlanError;
pub use judgement::Judgement;
pub use netnice_study::{Effort, Keep};
pub use plan::{Kept, Plan};
