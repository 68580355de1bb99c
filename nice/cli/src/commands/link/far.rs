// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command on the far side: it starts first, COMMAND waits until it listens, and it ends last.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use netnice_link::EmulatedLink;
use netnice_link::namespace::count_listening;
use nix::sys::signal::Signal;

use netnice_terminal::signals::{Arrived, HeldSignals};
use netnice_terminal::text::say;

/// Longest wait for a server to open its port; then COMMAND starts in any case.
const PATIENCE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(5);

pub struct FarCommand {
    text: String,
    child: Child,
    environment: Vec<(&'static str, String)>,
    interrupted: Option<Signal>,
}

impl FarCommand {
    /// Starts it, and waits until one more socket listens, it has ended, or a signal arrives.
    pub fn start(
        command: &OsStr,
        link: &EmulatedLink,
        signals: &HeldSignals,
    ) -> Result<FarCommand> {
        let mut environment = vec![("NETNICE_FAR", link.far_ipv4().to_string())];
        environment.extend(link.far_ipv6().map(|far| ("NETNICE_FAR6", far.to_string())));
        let listening = || link.far().run(count_listening);
        let before = listening()?;
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(command)
            .envs(link.environment())
            .envs(environment.clone())
            // COMMAND has the terminal, its Ctrl-C and stdout; the server's output goes to stderr.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(io::stderr().as_fd().try_clone_to_owned()?);
        let child = link.far().spawn(signals.release_for(&mut shell))?;
        let mut far = FarCommand {
            text: OsString::from(command).to_string_lossy().into_owned(),
            child,
            environment,
            interrupted: None,
        };
        let deadline = Instant::now() + PATIENCE;
        while listening()? <= before && !far.has_ended() {
            if Instant::now() > deadline {
                say!(
                    "netnice: `{}` does not listen anywhere yet; going on",
                    far.text
                );
                break;
            }
            match signals.wait(Some(TICK)) {
                Some(Arrived::FromTerminal(signal) | Arrived::FromProcess(signal)) => {
                    far.interrupted = Some(signal);
                    break;
                }
                Some(Arrived::Child) | None => {}
            }
        }
        Ok(far)
    }

    /// Returns the signal that arrived instead of a listening socket.
    pub fn interrupted(&self) -> Option<Signal> {
        self.interrupted
    }

    /// Returns its address as variables for commands on the other side.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        self.environment.clone()
    }

    /// Ends it; reports if it had failed before.
    pub fn stop(mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            if !status.success() {
                say!(
                    "netnice: on the far side `{}` failed: {}",
                    self.text,
                    in_words(status)
                );
            }
            return;
        }
        netnice_guard::end(&mut self.child);
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }
}

fn in_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("killed by signal {}", signal.unwrap_or_default()),
    }
}
