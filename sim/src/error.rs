// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a description of a run.

use std::io;
use std::path::PathBuf;

use netnice_congestion::registry::ControlError;
use netnice_queue::DisciplineError;
use netnice_scenario::network::Problem;

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
    /// Something about a flow that can't be.
    #[error("flow {flow:?}: {reason}")]
    Flow {
        /// The flow.
        flow: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something about a link that can't be.
    #[error("link {link:?}: {reason}")]
    Link {
        /// The link.
        link: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Why a scenario can't be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is not sound.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Scenario(Vec<Problem>),
    /// A queue that can't be as it was described.
    #[error("link {link:?}: {error}")]
    Queue {
        /// The link.
        link: String,
        /// What is wrong with its queue.
        error: DisciplineError,
    },
    /// A congestion control that can't be as it was described.
    #[error("flow {flow:?}: {error}")]
    Control {
        /// The flow.
        flow: String,
        /// What is wrong with its control.
        error: ControlError,
    },
    /// A flow that can't be.
    #[error("flow {flow:?}: {reason}")]
    Flow {
        /// The flow.
        flow: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The engine can't build it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A trace that can't be written.
    #[error("writing trace {path:?}: {error}")]
    Trace {
        /// The file, or the directory.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}
