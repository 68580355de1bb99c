// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors, each one line that says what to do.

use std::io;

use netnice_link::LinkError;
use netnice_scenario::network::Problems;

/// An error of the lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Namespaces, devices or the computed links cannot be set up.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel does not know, or does not permit, a congestion control.
    #[error("congestion control `{name}` cannot be used ({answer}); available are: {available}")]
    CongestionControl {
        /// The control asked for.
        name: String,
        /// The controls the kernel lists, separated by spaces.
        available: String,
        /// The kernel's answer.
        answer: io::Error,
    },
    /// A scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// The kernel does not accept one of netnice's congestion controls.
    #[error(transparent)]
    Kernel(#[from] netnice_kernel::Error),
    /// The kernel has no AccECN.
    #[error(
        "`accurate_ecn = true` needs AccECN, which Linux has since 7.0: this kernel does not take 3 as \
         net.ipv4.tcp_ecn; leave accurate_ecn out, or simulate the scenario (netnice sim)"
    )]
    NoAccurateEcn,
    /// A parameter of a congestion control is invalid.
    #[error("{0}")]
    Parameter(String),
}
