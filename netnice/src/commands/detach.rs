// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice detach`: undoes `netnice attach`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use netnice_kernel::renice::Outcome;
use netnice_kernel::{attach, need_root, systemd};

use super::renice::tell;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  sudo netnice detach backup.service
  sudo netnice detach /sys/fs/cgroup/backups";

/// Give best effort back to a cgroup, or to a unit of systemd.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Path of a cgroup, absolute or below the mount point of cgroup2, or the name of a unit
    #[arg(value_name = "CGROUP|UNIT", value_parser = NonEmptyStringValueParser::new())]
    cgroup: String,
    /// Report the changes as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Detaches, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("detach")?;
    let name = &arguments.cgroup;
    // First, so that a service which starts meanwhile is not attached again.
    let persisted = systemd::forget(name)?;
    let (outcome, words) = match attach::find(name) {
        Ok(cgroup) if persisted && !attach::attached().iter().any(|path| path == cgroup.path()) => {
            attach::forget(cgroup.path())?;
            let words = format!("{name} is no longer attached when it starts");
            (Outcome::default(), words)
        }
        Ok(cgroup) => {
            let outcome = attach::detach(&cgroup)?;
            let words = format!(
                "{} has best effort again, {} included",
                cgroup.path(),
                text::count(outcome.sockets as u64, "open TCP socket"),
            );
            (outcome, words)
        }
        // A service that does not run has no cgroup, but perhaps a record or a drop-in.
        Err(error) => match attach::forget(name)? {
            Some(path) => (Outcome::default(), format!("{path} is no longer on record")),
            None if persisted => {
                let words = format!("{name} is no longer attached when it starts");
                (Outcome::default(), words)
            }
            None => return Err(error.into()),
        },
    };
    tell(&outcome, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}
