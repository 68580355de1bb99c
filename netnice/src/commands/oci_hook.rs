// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice oci-hook`: low priority for a container that asks for it by an annotation.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use netnice_kernel::attach;
use netnice_kernel::cgroup::hierarchy::Hierarchy;
use netnice_kernel::settings::Settings;
use serde::Deserialize;

use crate::low_priority::{say_not_received, settings_of};
use crate::text::say;

const EXAMPLES: &str = "\
Use:
  A container runtime runs this command as a hook of its stage createRuntime, as root, with the
  container's state on standard input (OCI runtime specification, \"POSIX-platform Hooks\"). podman
  and CRI-O do so for each container with the annotation, by the file
  /usr/share/containers/oci/hooks.d/50-netnice.json of the packages; so does containerd with NRI's
  plugin hook-injector, which reads the same files. In a container's config.json:
      \"hooks\": {\"createRuntime\": [{\"path\": \"/usr/bin/netnice\", \"args\": [\"netnice\", \"oci-hook\"]}]}

Annotations:
  netnice.dev/priority   low: the container has low priority; the others need it
  netnice.dev/control    congestion control of low priority, as --control of netnice attach
  netnice.dev/direction  both, send or receive, as --direction of netnice attach
  netnice.dev/quic       refuse: UDP to port 443 is refused, as by --no-quic of netnice attach

Examples:
  A container of podman:
      sudo podman run --annotation netnice.dev/priority=low IMAGE
  A pod:
      metadata: {annotations: {netnice.dev/priority: low}}

Failure:
  A container with a wrong annotation does not start, and the runtime shows the message. Where low
  priority cannot be given, the message goes to standard error and the container starts without it;
  with --require it does not start.";

/// The largest state that is read, in bytes.
const STATE_LIMIT: u64 = 1 << 20;
const PREFIX: &str = "netnice.dev/";

/// Give low priority to a container that has the annotation netnice.dev/priority: for runtimes
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Fail, so that the container does not start, where low priority cannot be given
    #[arg(long)]
    require: bool,
}

/// The state of a container that a runtime passes to hooks, as far as it is needed.
#[derive(Debug, Deserialize)]
struct State {
    id: String,
    /// The container's first process, which waits for the hooks.
    pid: i32,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Attaches the container's cgroup if its annotations say so.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut text = String::new();
    io::stdin()
        .take(STATE_LIMIT)
        .read_to_string(&mut text)
        .context("reading the container's state from standard input")?;
    let state: State = serde_json::from_str(&text)
        .context("standard input is not the state of an OCI container")?;
    let Some(settings) = settings(&state.annotations)? else {
        return Ok(ExitCode::SUCCESS);
    };
    match attach_container(&state, &settings) {
        Ok(()) => {}
        Err(error) if arguments.require => return Err(error),
        Err(error) => say!(
            "netnice: container {} starts without low priority: {error:#}",
            state.id
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the settings that the annotations ask for; `None` without a priority.
///
/// # Errors
/// If an annotation of netnice is unknown, or has a value that is not allowed.
fn settings(annotations: &BTreeMap<String, String>) -> Result<Option<Settings>> {
    let mut options = Vec::new();
    let mut is_low = false;
    let mut no_quic = false;
    let ours = annotations
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)));
    for (name, value) in ours {
        match (name, value.as_str()) {
            ("priority", "low") => is_low = true,
            ("quic", "refuse") => no_quic = true,
            ("priority", _) => bail!("annotation {PREFIX}{name}: {value:?} is not \"low\""),
            ("quic", _) => bail!("annotation {PREFIX}{name}: {value:?} is not \"refuse\""),
            ("control" | "direction", _) => options.push(format!("--{name}={value}")),
            _ => bail!(
                "annotation {PREFIX}{name} is unknown: there are priority, control, direction and quic"
            ),
        }
    }
    if !is_low {
        ensure!(
            options.is_empty() && !no_quic,
            "annotations of netnice have no effect without {PREFIX}priority: low"
        );
        return Ok(None);
    }
    let settings = settings_of(&options).context("annotations of netnice")?;
    // An author of annotations may not take more than others.
    ensure!(
        settings.control.is_low_priority(),
        "annotation {PREFIX}control: {} is not of low priority",
        settings.control.name()
    );
    Ok(Some(Settings {
        no_quic,
        ..settings
    }))
}

/// Attaches the cgroup that the runtime has made for the container.
fn attach_container(state: &State, settings: &Settings) -> Result<()> {
    let hierarchy = Hierarchy::find()?;
    let cgroup = hierarchy.of(Some(state.pid))?;
    // A runtime without a cgroup2 hierarchy of its own leaves the container where it runs itself.
    ensure!(
        cgroup.path() != "/" && cgroup.id() != hierarchy.of(None)?.id(),
        "the runtime has made no cgroup of cgroup2 for it: it shares {} with others",
        cgroup.path()
    );
    let outcome = attach::attach(&cgroup, settings)?;
    if let Some(reason) = &outcome.receive_refused {
        say_not_received(reason);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use netnice_kernel::settings::Direction;

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<Settings>> {
        settings(
            &pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn annotations_are_the_options_of_attach() {
        assert!(of(&[("io.kubernetes.pod.name", "x")]).unwrap().is_none());
        let low = of(&[("netnice.dev/priority", "low")]).unwrap().unwrap();
        assert_eq!(low.control.name(), "netnice");
        assert!(!low.no_quic && low.mark && low.direction == Direction::Both);
        let other = of(&[
            ("netnice.dev/priority", "low"),
            ("netnice.dev/control", "ledbat"),
            ("netnice.dev/direction", "send"),
            ("netnice.dev/quic", "refuse"),
        ]);
        let other = other.unwrap().unwrap();
        assert_eq!(other.control.name(), "ledbat");
        assert!(other.no_quic && other.direction == Direction::Send);
    }

    #[test]
    fn errors_name_the_annotation_and_what_is_allowed() {
        let said = |pairs: &[(&str, &str)]| format!("{:#}", of(pairs).map(|_| ()).unwrap_err());
        let low = ("netnice.dev/priority", "low");
        assert_eq!(
            said(&[("netnice.dev/priority", "high")]),
            "annotation netnice.dev/priority: \"high\" is not \"low\""
        );
        assert_eq!(
            said(&[("netnice.dev/prio", "low")]),
            "annotation netnice.dev/prio is unknown: there are priority, control, direction and quic"
        );
        assert_eq!(
            said(&[("netnice.dev/control", "ledbat")]),
            "annotations of netnice have no effect without netnice.dev/priority: low"
        );
        let control = said(&[low, ("netnice.dev/control", "cubic")]);
        assert!(
            control
                .contains("invalid value 'cubic' for '--control <NAME>' [possible values: dstcp,"),
            "{control}"
        );
        assert!(!control.contains('\n'), "{control}");
        assert_eq!(
            said(&[low, ("netnice.dev/control", "dstcp")]),
            "annotation netnice.dev/control: dstcp is not of low priority"
        );
        // No value becomes an option of its own.
        let smuggled = said(&[low, ("netnice.dev/direction", "send --control=dstcp")]);
        assert!(
            smuggled.contains("invalid value 'send --control=dstcp'"),
            "{smuggled}"
        );
    }
}
