// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice detach`: undoes `netnice attach`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use netnice_kernel::renice::Outcome;
use netnice_kernel::{Error, attach, need_root, systemd};

use super::renice::print_outcome;
use crate::presets::{NameOrOther, Preset};
use netnice_terminal::text;

const EXAMPLES: &str = "\
Examples:
  sudo netnice detach backup.service
  sudo netnice detach /sys/fs/cgroup/backups";

/// Give best effort back to a cgroup, or to a systemd unit.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Path of a cgroup (absolute, or below the mount point of cgroup2), name of a unit, or a name that `attach` takes
    #[arg(value_name = "CGROUP|UNIT|NAME", value_parser = NameOrOther, hide_possible_values = true)]
    cgroup: String,
    /// Report the changes as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Detaches, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("detach")?;
    let name = &arguments.cgroup;
    let (outcome, words) = match Preset::find(name) {
        Some(preset) => detach_preset(preset)?,
        None => detach(name)?,
    };
    print_outcome(&outcome, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}

/// Detaches all that `attach` has attached under a preset's name.
fn detach_preset(preset: &Preset) -> Result<(Outcome, String)> {
    let mut sum = Outcome::default();
    let mut all = Vec::new();
    let services = preset.services.iter().map(|name| (*name).to_owned());
    for name in preset.cgroups()?.into_iter().chain(services) {
        match detach(&name) {
            Ok((outcome, words)) => {
                sum.add(outcome);
                all.push(words);
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if all.is_empty() {
        bail!(
            "nothing of {} is attached: looked for {}",
            preset.name,
            preset.names(),
        );
    }
    Ok((sum, all.join("; ")))
}

/// Returns true if there was nothing to detach.
fn is_absent(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            Error::NotAttached { .. }
                | Error::UnknownUnit { .. }
                | Error::UnknownCgroup { .. }
                | Error::NoSystemd { .. }
        )
    )
}

/// Detaches the sockets by which systemd listens for a service; returns how many had low priority.
fn release_listening(name: &str) -> Result<usize> {
    let name = match name.ends_with(".service") {
        true => name.to_owned(),
        false => format!("{name}.service"),
    };
    Ok(attach::change_listening(&name, None)?)
}

/// Detaches a cgroup or a unit.
fn detach(name: &str) -> Result<(Outcome, String)> {
    // First, so that a service which starts meanwhile is not attached again.
    let persisted = systemd::forget(name)?;
    Ok(match attach::find(name) {
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
        // A service that does not run has no cgroup, but perhaps a record or a drop-in, or systemd listens for it.
        Err(error) => match attach::forget(name)? {
            _ if release_listening(name)? > 0 => {
                let words = format!("what systemd accepts for {name} has best effort again");
                (Outcome::default(), words)
            }
            Some(path) => (Outcome::default(), format!("{path} is no longer on record")),
            None if persisted => {
                let words = format!("{name} is no longer attached when it starts");
                (Outcome::default(), words)
            }
            None => return Err(error.into()),
        },
    })
}
