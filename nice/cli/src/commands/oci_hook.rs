// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice oci-hook`: low priority for a container that asks for it by an annotation.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use netnice_kernel::attach;
use netnice_kernel::cgroup::hierarchy::Hierarchy;
use netnice_kernel::settings::Settings;
use serde::Deserialize;

use crate::annotations::{self, annotations_help};
use crate::low_priority::say_not_received;
use netnice_terminal::text::say;

const EXAMPLES: &str = concat!(
    "\
Use:
  A container runtime runs this command as a hook of its stage createRuntime, as root, with the
  container's state on standard input (OCI runtime specification, \"POSIX-platform Hooks\"). podman
  and CRI-O do so for each container with the annotation, by the file
  /usr/share/containers/oci/hooks.d/50-netnice.json of the packages; so does containerd with NRI's
  plugin hook-injector, which reads the same files. In a container's config.json:
      \"hooks\": {\"createRuntime\": [{\"path\": \"/usr/bin/netnice\", \"args\": [\"netnice\", \"oci-hook\"]}]}

",
    annotations_help!(),
    "\
Examples:
  A container of podman:
      sudo podman run --annotation netnice.dev/priority=low IMAGE
  A pod:
      metadata: {annotations: {netnice.dev/priority: low}}

Failure:
  A container with a wrong annotation does not start, and the runtime shows the message. If netnice
  cannot give low priority, the message goes to standard error and the container starts at ordinary
  priority; with --require it does not start."
);

/// The largest state that is read, in bytes.
const STATE_LIMIT: u64 = 1 << 20;

/// Give low priority to a container with the annotation netnice.dev/priority; container runtimes call this
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Fail if the container cannot get low priority, so that it does not start
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
    let Some(settings) = annotations::settings(&state.annotations)? else {
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
