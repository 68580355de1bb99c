// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice attach`: low priority for a whole cgroup or systemd unit.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use netnice_kernel::cgroup::carriers;
use netnice_kernel::cgroup::hierarchy::Cgroup;
use netnice_kernel::renice::Outcome;
use netnice_kernel::settings::Settings;
use netnice_kernel::{Error, attach, need_root, systemd};

use super::renice::print_outcome;
use crate::low_priority::{LowPriority, standing};
use crate::parameter_options::HEADING;
use crate::presets::{NameOrOther, Preset};
use netnice_terminal::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  A service of systemd, or a slice:
      sudo netnice attach backup.service
  The same, and again each time it starts, also after a reboot:
      sudo netnice attach --persist backup.service
  A program that downloads images, models or packages in the background, by one of the names below:
      sudo netnice attach ollama
  A cgroup by its path:
      sudo netnice attach /sys/fs/cgroup/backups

Names:
  docker, containerd, crio, k3s, rke2, k0s, podman, ollama, snapd, packagekit, flatpak, steam, transmission, \
  qbittorrent, deluge and apt stand for the services and cgroups in which these programs transfer. netnice attaches \
  those that exist, and prints the cgroups that it attached and the transfers that it does not cover. For a cgroup at \
  the top level with such a name, write /NAME.

Duration:
  An attachment lasts until `netnice detach`, until the cgroup is removed (systemd removes a service's cgroup when the \
  service stops), or until the system stops. With --persist a systemd drop-in (50-netnice.conf) attaches the service \
  each time it starts: ExecStartPre= runs this program at its present path. If attaching fails, the service still \
  starts. `netnice detach` removes the drop-in.";

/// Give low priority to everything in a cgroup, or in a systemd unit.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Path of a cgroup (absolute, or below the mount point of cgroup2), name of a unit, or one of the names below
    #[arg(value_name = "CGROUP|UNIT|NAME", value_parser = NameOrOther, hide_possible_values = true)]
    cgroup: String,
    /// Also attach it each time it starts; for systemd services only
    #[arg(long)]
    persist: bool,
    /// Refuse UDP to port 443 (EPERM), so that programs use TCP, which is governed, instead of QUIC (HTTP/3). As root
    /// only
    #[arg(long, help_heading = HEADING)]
    no_quic: bool,
    /// Allow CGROUP to be the root, which is the whole machine
    #[arg(long)]
    yes: bool,
    /// Report the changes as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    low_priority: LowPriority,
}

/// Attaches, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let settings = arguments.low_priority.settings()?;
    let settings = settings.with_no_quic(arguments.no_quic);
    let name = &arguments.cgroup;
    if let Some(preset) = Preset::find(name) {
        return attach_preset(arguments, preset, &settings);
    }
    if arguments.persist {
        persist(name, name)?;
    }
    let cgroup = match attach::find(name) {
        Err(Error::UnknownUnit { .. }) if arguments.persist => {
            // systemd listens for some services before they run.
            attach::change_listening(&systemd::service(name)?, Some(&settings))?;
            text::print_line(&format!(
                "netnice: {name} will have {} each time it starts; it does not run now",
                standing(settings.control)
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        other => other?,
    };
    if cgroup.path() == "/" && !arguments.yes {
        need_root("attach")?;
        say!(
            "netnice: / is the root: all programs of this machine would get low priority, with {} now; choose another \
             cgroup, or give --yes if that is meant",
            text::count(
                netnice_kernel::connections::list()?.len() as u64,
                "open TCP connection"
            )
        );
        return Ok(ExitCode::from(2));
    }
    let outcome = attach::attach(&cgroup, &settings)?;
    let words = in_words(arguments, &settings, cgroup.path(), &outcome);
    say_carriers(&cgroup)?;
    print_outcome(&outcome, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}

/// Names what carries the traffic of the cgroup's processes over sockets of its own, and has no low priority.
fn say_carriers(cgroup: &Cgroup) -> Result<()> {
    let attached = attach::attached();
    for carrier in carriers::of(cgroup)? {
        if attached.contains(&carrier.cgroup) {
            continue;
        }
        say!(
            "netnice: process {} ({}) carries what is in {} to the network by connections of its own, which have no low \
             priority: `netnice renice {}` or `netnice attach {}` governs them",
            carrier.pid,
            carrier.name,
            cgroup.path(),
            carrier.pid,
            carrier.cgroup,
        );
    }
    Ok(())
}

/// Attaches all cgroups of a preset that exist, and with `--persist` its services each time they start.
fn attach_preset(arguments: &Arguments, preset: &Preset, settings: &Settings) -> Result<ExitCode> {
    need_root("attach")?;
    let mut persisted = Vec::new();
    if arguments.persist {
        for service in preset.services {
            match persist(preset.name, service) {
                Ok(()) => persisted.push(*service),
                Err(error) if is_not_a_service(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let mut paths = Vec::new();
    let mut sum = Outcome::default();
    for path in preset.cgroups()? {
        sum.add(attach::attach(&attach::find(&path)?, settings)?);
        paths.push(path);
    }
    if paths.is_empty() && persisted.is_empty() {
        bail!(
            "no cgroup of {} is here: looked for {}; start it, or give the path of a cgroup or the name of a unit",
            preset.name,
            preset.names(),
        );
    }
    let mut words = match paths.is_empty() {
        true => format!("nothing of {} runs now", preset.name),
        false => in_words(arguments, settings, &paths.join(", "), &sum),
    };
    if arguments.persist {
        words += &match persisted.is_empty() {
            true => {
                "; --persist has no effect: it is for services of systemd, and none is known here"
                    .to_owned()
            }
            false => format!("; attached at each start: {}", persisted.join(", ")),
        };
    }
    if let Some(limit) = preset.limit {
        words += &format!("; {limit}");
    }
    print_outcome(&sum, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}

fn is_not_a_service(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::NotAService { .. }))
}

/// Has systemd attach a unit, given on this command line as `name`, each time it starts.
fn persist(name: &str, unit: &str) -> Result<()> {
    need_root("attach --persist")?;
    let program = std::env::current_exe().context("finding this program")?;
    let program = program.to_str().context("this program's path is no text")?;
    let unit = systemd::service(unit)?;
    let command = again(program, std::env::args().skip(1), name, &unit);
    systemd::persist(&unit, systemd::Author::Attach, &command)?;
    Ok(systemd::reload()?)
}

fn in_words(arguments: &Arguments, settings: &Settings, paths: &str, outcome: &Outcome) -> String {
    let preset = Preset::find(&arguments.cgroup).is_some();
    format!(
        "{paths} {} {} now{}{}, {} included{}",
        match paths.contains(", ") {
            true => "have",
            false => "has",
        },
        standing(settings.control),
        match arguments.persist && !preset {
            true => " and each time it starts",
            false => "",
        },
        match settings.no_quic {
            true => ", QUIC is refused",
            false => "",
        },
        text::count(outcome.sockets as u64, "open TCP socket"),
        match outcome.listening {
            0 => String::new(),
            many => format!(
                "; of connections that systemd accepts by {} of the service what is sent has it, not what is received",
                text::count(many as u64, "socket")
            ),
        },
    )
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
