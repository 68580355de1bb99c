// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of a plan.

use std::io;
use std::path::{Path, PathBuf};

use netnice_scenario::ScenarioError;
use netnice_study::RunError;

/// Why a plan cannot be made or ended early.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No path or rival has this name.
    #[error("there is no {kind} {name:?}; there are {allowed}")]
    Unknown {
        /// `path` or `rival`.
        kind: &'static str,
        /// The name given.
        name: String,
        /// Names that exist.
        allowed: String,
    },
    /// A C file's name cannot be part of names of scenarios.
    #[error(
        "{0}: the file's name becomes part of scenarios' names: call it by letters, digits, `-`, `_` and `.`, such as mine.h"
    )]
    ControlName(String),
    /// Two C files would have the same scenarios.
    #[error("two of the controls are called {0}: call one otherwise")]
    SameName(String),
    /// There is no such control.
    #[error("{0}")]
    Control(String),
    /// The environments of a search are refused.
    #[error("{0}")]
    Space(String),
    /// The directory has figures of other environments, or by another version.
    #[error("{} holds a search of other environments, or by another version; give another directory", .0.display())]
    OtherSearch(PathBuf),
    /// A scenario of the plan is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The directory has runs.
    #[error("{} holds runs already; reuse them by --resume, or give another directory", .0.display())]
    Occupied(PathBuf),
    /// A file could not be written or read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        error: io::Error,
    },
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> PlanError + '_ {
    move |error| PlanError::Io {
        path: path.to_owned(),
        error,
    }
}
