// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors in the description of a run.

use std::io;
use std::path::PathBuf;

use netnice_congestion::registry::ControlError;
use netnice_queue::DisciplineError;
use netnice_scenario::network::Problems;

/// Why a run can't be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A route whose links do not follow on one another, or are not in the network.
    #[error("flow {flow:?}: the links of its route do not follow on one another")]
    BrokenRoute {
        /// The flow.
        flow: String,
    },
    /// A flow with an impossible property.
    #[error("flow {flow:?}: {reason}")]
    Flow {
        /// The flow.
        flow: String,
        /// Reason for the refusal.
        reason: String,
    },
    /// A link with an impossible property.
    #[error("link {link:?}: {reason}")]
    Link {
        /// The link.
        link: String,
        /// Reason for the refusal.
        reason: String,
    },
}

/// Why a scenario can't be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is not sound.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// A queue that can't be built as described.
    #[error("link {link:?}: {error}")]
    Queue {
        /// The link.
        link: String,
        /// Error in the queue's parameters.
        error: DisciplineError,
    },
    /// A congestion control that can't be built as described.
    #[error("flow {flow:?}: {error}")]
    Control {
        /// The flow.
        flow: String,
        /// Error in the control's name or parameters.
        error: ControlError,
    },
    /// A congestion control in a file that failed during the run.
    #[error("{0}")]
    ControlFile(String),
    /// A flow that can't be built.
    #[error("flow {flow:?}: {reason}")]
    Flow {
        /// The flow.
        flow: String,
        /// Reason for the refusal.
        reason: String,
    },
    /// The simulator can't build it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A trace that can't be written.
    #[error("writing trace {path:?}: {error}")]
    Trace {
        /// The file, or the directory.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}
