// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a description of a run.

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
