// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice attach`: low priority for a whole cgroup or systemd unit.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use netnice_kernel::attach;

use super::renice::tell;
use crate::low_priority::{LowPriority, standing};
use crate::text;

const EXAMPLES: &str = "\
Examples:
  A service of systemd, or a slice:
      sudo netnice attach backup.service
  A cgroup by its path:
      sudo netnice attach /sys/fs/cgroup/backups

How long it lasts:
  Until `netnice detach`, until the cgroup is removed (systemd removes that of a service when it
  stops), or until the system stops. To have it each time a service starts, add to the service:
      ExecStartPre=+/usr/local/bin/netnice attach %n";

/// Give low priority to everything in a cgroup, or in a unit of systemd.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Path of a cgroup, absolute or below the mount point of cgroup2, or the name of a unit
    #[arg(value_name = "CGROUP|UNIT", value_parser = NonEmptyStringValueParser::new())]
    cgroup: String,
    /// Tell what was done as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    low_priority: LowPriority,
}

/// Attaches, and says what was changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let settings = arguments.low_priority.settings()?;
    let cgroup = attach::find(&arguments.cgroup)?;
    let outcome = attach::attach(&cgroup, &settings)?;
    let words = format!(
        "{} has {} now, {} included",
        cgroup.path(),
        standing(settings.control),
        text::count(outcome.sockets as u64, "open TCP socket"),
    );
    tell(&outcome, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}
