// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice nri`: low priority for pods and containers that ask for it by an annotation, as a plugin of NRI.

mod frames;
mod messages;
mod plugin;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use netnice_kernel::attach;
use netnice_kernel::attachment::Attacher;
use netnice_kernel::pins::Pins;
use netnice_kernel::settings::Settings;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use crate::annotations::{self, annotations_help};
use crate::low_priority::{say_not_received, standing};
use netnice_terminal::signals::HeldSignals;
use netnice_terminal::text::say;
use plugin::{Event, Plugin, Subject};

const EXAMPLES: &str = concat!(
    "\
Use:
  A plugin of the Node Resource Interface (NRI), which containerd has since 1.7 and CRI-O since
  1.26; containerd 2.0 and CRI-O 1.30 have it enabled. Run it on each node as root and keep it
  running; in Kubernetes the DaemonSet in packaging/kubernetes does so. The runtime calls it
  before a container's first process starts. When the plugin connects, it attaches containers that run already. When the \
  runtime restarts, the plugin connects again. When the plugin ends, containers keep the priority that they have.

  netnice reads the pod's annotations; a container's annotation of the same name takes precedence. The runtime needs \
  no list of annotations to pass on.

",
    annotations_help!(),
    "\
Examples:
  sudo netnice nri
  A pod:
      metadata: {annotations: {netnice.dev/priority: low}}

Failure:
  A container with a wrong annotation does not start, and the runtime shows the message. If netnice
  cannot give low priority, the message goes to standard error and the container starts at ordinary
  priority; with --require it does not start. While no plugin is connected, containers start at
  ordinary priority.
  Containers with a network stack of their own (gVisor, Kata) cannot be governed."
);

/// Where runtimes listen for plugins (NRI, DefaultSocketPath).
const SOCKET: &str = "/var/run/nri/nri.sock";
/// Time between two attempts to reach a runtime.
const RETRY: Duration = Duration::from_secs(1);
/// A runtime that takes nothing for so long has stopped.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Give low priority to pods and containers with the annotation netnice.dev/priority, for containerd and CRI-O
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Socket on which the runtime waits for plugins
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Place in the order in which the runtime calls its plugins: 00 to 99
    #[arg(long, value_name = "INDEX", default_value = "50", value_parser = index)]
    index: String,
    /// Do not let a container with the annotation start if it cannot get low priority
    #[arg(long)]
    require: bool,
}

fn index(text: &str) -> Result<String, String> {
    match text.as_bytes() {
        [b'0'..=b'9', b'0'..=b'9'] => Ok(text.to_owned()),
        _ => Err("give two digits, 00 to 99".to_owned()),
    }
}

/// Serves runtimes, one after the other, until a signal ends it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let signals = HeldSignals::hold()?;
    // Loaded before a container waits for it, and kept: a runtime waits two seconds for an answer.
    let pins = Pins::open()?;
    Attacher::with(&Settings::default(), &pins)?;
    let signal = serve(arguments, &signals);
    pins.close()?;
    // A service manager ends the command by SIGTERM, and that is no failure.
    Ok(match signal? {
        Signal::SIGTERM => ExitCode::SUCCESS,
        other => ExitCode::from(128 + other as u8),
    })
}

/// Connects until a signal arrives, which it returns.
fn serve(arguments: &Arguments, signals: &HeldSignals) -> Result<Signal> {
    let mut said = String::new();
    loop {
        let complaint = match UnixStream::connect(&arguments.socket) {
            Err(error) => unreachable_runtime(&arguments.socket, &error),
            Ok(socket) => {
                // After a connection that worked the next complaint is news, even if it is the same.
                let mut connected = false;
                match converse(arguments, signals, socket, &mut connected) {
                    Ok(Ended::Signal(signal)) => return Ok(signal),
                    Ok(Ended::Closed) => {
                        said.clear();
                        "the runtime has closed the connection: waiting for it".to_owned()
                    }
                    Err(error) => {
                        if connected {
                            said.clear();
                        }
                        format!("{error:#}")
                    }
                }
            }
        };
        if complaint != said {
            say!("netnice: {complaint}");
            said = complaint;
        }
        if let Some(signal) = signals.ending_within(RETRY) {
            return Ok(signal);
        }
    }
}

fn unreachable_runtime(socket: &Path, error: &io::Error) -> String {
    let socket = socket.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => format!(
            "no runtime listens at {socket}: waiting for one (NRI must be enabled; --socket names another path)"
        ),
        _ => format!("connecting to {socket}: {error}"),
    }
}

/// Why a conversation is over.
enum Ended {
    Signal(Signal),
    Closed,
}

/// Talks to a runtime until it closes the connection, or a signal arrives.
fn converse(
    arguments: &Arguments,
    signals: &HeldSignals,
    mut socket: UnixStream,
    connected: &mut bool,
) -> Result<Ended> {
    socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let arriving = signals.descriptor()?;
    let mut plugin = Plugin::new(&arguments.index);
    // Containers that run already: those that start, which wait for the answer, come first.
    let mut running = VecDeque::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        socket
            .write_all(&plugin.take_outgoing())
            .context("writing to the runtime")?;
        let timeout = match running.is_empty() {
            true => PollTimeout::NONE,
            false => PollTimeout::ZERO,
        };
        let mut ready = [&socket.as_fd(), &arriving.as_fd()]
            .map(|descriptor| PollFd::new(*descriptor, PollFlags::POLLIN));
        match poll(&mut ready, timeout) {
            Err(Errno::EINTR) => continue,
            other => other.context("waiting for the runtime")?,
        };
        let [is_readable, has_signal] = ready.map(|entry| entry.any().unwrap_or_default());
        if has_signal {
            if let Some(signal) = signals.ending() {
                return Ok(Ended::Signal(signal));
            }
        }
        if !is_readable {
            if let Some(subject) = running.pop_front() {
                attach_running(&subject);
            }
            continue;
        }
        let length = match socket.read(&mut buffer) {
            Ok(0) => return Ok(Ended::Closed),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(Ended::Closed),
            other => other.context("reading from the runtime")?,
        };
        for event in plugin.read(&buffer[..length])? {
            match event {
                Event::Connected { runtime } => {
                    *connected = true;
                    say!("netnice: connected to {runtime}");
                }
                Event::Runs(subject) => running.push_back(subject),
                Event::Starts(call, subject) => {
                    let outcome = attach_starting(&subject, arguments.require);
                    plugin.answer(call, outcome.map_err(|error| format!("netnice: {error:#}")));
                }
            }
        }
    }
}

/// Attaches a container whose first process waits.
///
/// # Errors
/// If the container must not start.
fn attach_starting(subject: &Subject, require: bool) -> Result<()> {
    let Some(settings) = annotations::settings(&subject.annotations)? else {
        return Ok(());
    };
    match attach_container(subject, &settings) {
        Err(error) if require => Err(error),
        Err(error) => {
            let name = &subject.name;
            say!("netnice: container {name} starts without low priority: {error:#}");
            Ok(())
        }
        attached => attached,
    }
}

/// Attaches a container that runs; nobody waits for the outcome.
fn attach_running(subject: &Subject) {
    let attached = match annotations::settings(&subject.annotations) {
        Ok(None) => return,
        Ok(Some(settings)) => attach_container(subject, &settings),
        Err(error) => Err(error),
    };
    if let Err(error) = attached {
        let name = &subject.name;
        say!("netnice: container {name} runs without low priority: {error:#}");
    }
}

/// Attaches the cgroup that a runtime has made for a container, unless it is attached so already.
fn attach_container(subject: &Subject, settings: &Settings) -> Result<()> {
    let id = subject.id.as_str();
    ensure!(!id.is_empty(), "the runtime gives no id of the container");
    let paths = attach::search(|name| is_of(name, id))?;
    ensure!(
        !paths.is_empty(),
        "no cgroup of cgroup2 is named by the container's id, {id}"
    );
    for path in paths {
        let cgroup = attach::find(&path)?;
        if attach::has(&cgroup, settings)? {
            continue;
        }
        let outcome = attach::attach(&cgroup, settings)?;
        if let Some(reason) = &outcome.receive_refused {
            say_not_received(reason);
        }
        let name = &subject.name;
        say!("netnice: {name} has {}: {path}", standing(settings.control));
    }
    Ok(())
}

/// Returns true for a name that runtimes give the cgroup of container `id`: the id, `cri-containerd-ID.scope`, `crio-ID`
/// and the like; CRI-O's monitor of the container has a cgroup `crio-conmon-ID` beside it.
fn is_of(name: &str, id: &str) -> bool {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    match name.strip_suffix(id) {
        Some(prefix) => prefix.is_empty() || prefix.ends_with('-') && !prefix.ends_with("-conmon-"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_are_known_by_the_id_of_the_container() {
        for name in [
            "0f3c",
            "cri-containerd-0f3c.scope",
            "crio-0f3c",
            "crio-0f3c.scope",
        ] {
            assert!(is_of(name, "0f3c"), "{name}");
        }
        for name in [
            "crio-conmon-0f3c.scope",
            "crio-conmon-0f3c",
            "a0f3c",
            "0f3c0",
            "0f3c.slice",
            "cri-containerd-0f3c.scope.d",
        ] {
            assert!(!is_of(name, "0f3c"), "{name}");
        }
    }

    #[test]
    fn an_index_has_two_digits() {
        assert_eq!(index("07"), Ok("07".to_owned()));
        for wrong in ["", "7", "100", "-1", "a0", "٠١"] {
            assert!(index(wrong).is_err(), "{wrong}");
        }
    }
}
