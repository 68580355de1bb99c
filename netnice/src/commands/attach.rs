// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice attach`: low priority for a whole cgroup or systemd unit.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use netnice_kernel::{Error, attach, need_root, systemd};

use super::renice::tell;
use crate::low_priority::{LowPriority, standing};
use crate::text;

const EXAMPLES: &str = "\
Examples:
  A service of systemd, or a slice:
      sudo netnice attach backup.service
  The same, and again each time it starts, after a reboot too:
      sudo netnice attach --persist backup.service
  A cgroup by its path:
      sudo netnice attach /sys/fs/cgroup/backups

Duration:
  Until `netnice detach`, until the cgroup is removed (systemd removes that of a service when it
  stops), or until the system stops. With --persist a service is attached each time it starts, by
  this program where it is now: a drop-in of systemd (50-netnice.conf) runs it as ExecStartPre=. If
  attaching fails the service starts all the same. `netnice detach` removes the drop-in.";

/// Give low priority to everything in a cgroup, or in a unit of systemd.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Path of a cgroup, absolute or below the mount point of cgroup2, or the name of a unit
    #[arg(value_name = "CGROUP|UNIT", value_parser = NonEmptyStringValueParser::new())]
    cgroup: String,
    /// Attach it each time it starts, too: of systemd, and for a service only
    #[arg(long)]
    persist: bool,
    /// Report the changes as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    low_priority: LowPriority,
}

/// Attaches, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let settings = arguments.low_priority.settings()?;
    let name = &arguments.cgroup;
    if arguments.persist {
        need_root("attach --persist")?;
        let program = std::env::current_exe().context("finding this program")?;
        let program = program.to_str().context("this program's path is no text")?;
        systemd::persist(name, |unit| {
            again(program, std::env::args().skip(1), name, unit)
        })?;
    }
    let cgroup = match attach::find(name) {
        Err(Error::UnknownUnit { .. }) if arguments.persist => {
            text::print_line(&format!(
                "netnice: {name} will have {} each time it starts; it does not run now",
                standing(settings.control)
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        other => other?,
    };
    let outcome = attach::attach(&cgroup, &settings)?;
    let words = format!(
        "{} has {} now{}, {} included",
        cgroup.path(),
        standing(settings.control),
        match arguments.persist {
            true => " and each time it starts",
            false => "",
        },
        text::count(outcome.sockets as u64, "open TCP socket"),
    );
    tell(&outcome, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}

/// The command line that attaches a unit as this one does: the same options, but for `--persist`
/// and `--json`.
fn again(
    program: &str,
    arguments: impl Iterator<Item = String>,
    name: &str,
    unit: &str,
) -> Vec<String> {
    let kept = arguments.filter(|word| !matches!(word.as_str(), "--persist" | "--json"));
    let named = kept.map(|word| match word == name {
        true => unit.to_owned(),
        false => word,
    });
    std::iter::once(program.to_owned()).chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::again;

    #[test]
    fn a_unit_is_attached_again_with_the_same_options() {
        let line = "attach --control tcplp --persist backup --threshold 5ms --json";
        let words = line.split(' ').map(str::to_owned);
        let again = again("/opt/netnice", words, "backup", "backup.service");
        let expected = "/opt/netnice attach --control tcplp backup.service --threshold 5ms";
        assert_eq!(again.join(" "), expected);
    }
}
