// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a command that failed.

use std::process::ExitCode;

use clap::Command;

use crate::text::say;
use crate::usage;

/// Reports the error of a command and returns the exit code: 2 for wrong usage, 1 otherwise. `log` is the long form of the
/// reason, which is printed if `NETNICE_LOG` is set.
pub fn report(error: &anyhow::Error, netnice: &Command, log: Option<&str>) -> ExitCode {
    if let Some(usage) = error.downcast_ref() {
        return usage::report(usage, netnice);
    }
    // The line includes the causes of the error.
    say!("netnice: {error:#}");
    if let Some(log) = log.filter(|_| std::env::var_os("NETNICE_LOG").is_some()) {
        say!("{log}");
    }
    ExitCode::FAILURE
}
