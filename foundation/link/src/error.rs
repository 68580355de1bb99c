// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors, each one line that says what to do.

use std::io;

use netnice_queue::UnitError;

/// An error of the emulated link.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The caller lacks a privilege.
    #[error("{action} needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN); run it with sudo")]
    Privilege {
        /// The action that failed.
        action: &'static str,
    },
    /// The TUN driver is missing.
    #[error(
        "/dev/net/tun is missing; load it with `modprobe tun`, or give the container the device (--device /dev/net/tun)"
    )]
    NoTun,
    /// A quantity could not be read.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// The specification of a link is invalid.
    #[error("link: {0}")]
    Spec(String),
    /// Links are nested deeper than the address plan allows.
    #[error("links nest at most {limit} deep; leave a shell behind a link first")]
    TooDeep {
        /// The deepest nesting allowed.
        limit: usize,
    },
    /// More links start in one namespace than the address plan allows.
    #[error("at most {limit} links can start behind one link at a time; stop another one first")]
    TooMany {
        /// The most links allowed.
        limit: usize,
    },
    /// A system call failed.
    #[error("cannot {action}: {answer}")]
    Os {
        /// The action that failed.
        action: String,
        /// The kernel's answer.
        answer: io::Error,
    },
    /// A thread of the link panicked.
    #[error("the {0} thread panicked; this is a bug, please report it")]
    Panicked(String),
}

/// Adds the attempted action to an error of the operating system.
pub trait Attempted<T> {
    /// Returns the result with `action` in its error ("cannot {action}: …").
    fn attempted(self, action: impl Into<String>) -> Result<T, LinkError>;
}

impl<T, E: Into<io::Error>> Attempted<T> for Result<T, E> {
    fn attempted(self, action: impl Into<String>) -> Result<T, LinkError> {
        self.map_err(|answer| LinkError::Os {
            action: action.into(),
            answer: answer.into(),
        })
    }
}
