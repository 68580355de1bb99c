// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows whose ends are the user's programs.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use netnice_queue::Time;
use netnice_scenario::model::{Application, CommandEnd};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, pthread_sigmask};
use nix::unistd::Pid;

use super::netns::LiveNetns;
use super::plan::{self, Plan};
use crate::error::LabError;
use netnice_link::Attempted;
use netnice_link::clock::RunClock;
use netnice_link::namespace::Namespace;

/// Longest wait for a server to open its port; then its command starts in any case.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time programs have to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(5);

/// A command, the namespace it runs in, and its peer.
struct Program<'run> {
    text: &'run str,
    namespace: &'run Namespace,
    near: Ipv4Addr,
    far: Ipv4Addr,
}

/// A started program; dropping the value ends it.
struct Running {
    child: Child,
}

/// The end of a flow's command.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Ended {
    /// Time at which it finished.
    pub(super) completed: Option<Time>,
    /// Reason it failed.
    pub(super) failure: Option<String>,
}

/// Runs the programs of one flow: starts its server, signals through `ready` that the server listens, waits for the
/// start of the run, and runs the command until it or the flow ends. Programs die with the calling thread.
pub(super) fn run(
    plan: &Plan,
    namespaces: &[LiveNetns],
    flow: usize,
    start: Time,
    ready: &Sender<()>,
    begun: &Receiver<RunClock>,
    stop: &AtomicBool,
) -> Result<Ended, LabError> {
    let group = &plan.network.flows[flow].group;
    let Application::Command(command) = &group.application else {
        return Ok(Ended::default());
    };
    let (senders, receivers) = &plan.ends[flow];
    let (here, there) = match command.at {
        CommandEnd::Sender => (senders.start, receivers.start),
        CommandEnd::Receiver => (receivers.start, senders.start),
    };
    let program = |text, near: usize, far: usize| Program {
        text,
        namespace: &namespaces[plan.endpoints[near].netns].namespace,
        near: plan::address(near),
        far: plan::address(far),
    };
    let server = command.server.as_deref();
    let server = server
        .map(|text| program(text, there, here).serve())
        .transpose()?;
    let _ = ready.send(());
    let Ok(clock) = begun.recv() else {
        return Ok(Ended::default());
    };
    clock.await_start();
    let end = Time::ZERO + group.stop;
    let over = || stop.load(Ordering::Relaxed) || clock.now() >= end;
    while clock.now() < start && !over() {
        thread::sleep(clock.until(start).min(TICK));
    }
    if over() {
        return Ok(Ended::default());
    }
    let mut running = program(&command.command, here, there).start()?;
    let mut ended = Ended::default();
    while !over() {
        if let Some(status) = running.has_ended() {
            ended.completed = status.success().then(|| clock.now());
            ended.failure = failure(&command.command, status);
            break;
        }
        thread::sleep(TICK);
    }
    drop(running);
    let served =
        server.and_then(|mut server| Some((server.has_ended()?, command.server.as_ref()?)));
    if let Some((status, text)) = served {
        ended.failure = ended.failure.or(failure(text, status));
    }
    Ok(ended)
}

impl Program<'_> {
    fn start(&self) -> Result<Running, LabError> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", self.text])
            .env("NETNICE_NEAR", self.near.to_string())
            .env("NETNICE_FAR", self.far.to_string())
            .process_group(0)
            .stdin(Stdio::null())
            // Standard output of this process is for results.
            .stdout(
                io::stderr()
                    .as_fd()
                    .try_clone_to_owned()
                    .attempted("copy stderr")?,
            );
        let release = || {
            pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
            Ok(())
        };
        // SAFETY: pthread_sigmask may be called between fork and exec.
        unsafe { shell.pre_exec(release) };
        let child = self.namespace.spawn(&mut shell)?;
        Ok(Running { child })
    }

    /// Starts the program, and waits until one more socket listens or the program has ended.
    fn serve(&self) -> Result<Running, LabError> {
        let listening = || self.namespace.run(netnice_link::namespace::count_listening);
        let before = listening()?;
        let mut running = self.start()?;
        let deadline = Instant::now() + PATIENCE;
        while listening()? <= before && running.has_ended().is_none() && Instant::now() < deadline {
            thread::sleep(TICK);
        }
        Ok(running)
    }
}

impl Running {
    fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Running {
    /// Sends SIGTERM to the process group, then kills what is left of it.
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32);
        let _ = killpg(group, Signal::SIGTERM);
        let deadline = Instant::now() + GRACE;
        while self.has_ended().is_none() && Instant::now() < deadline {
            thread::sleep(TICK);
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn failure(text: &str, status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("`{text}` failed with exit code {code}")),
        (None, signal) => Some(format!(
            "`{text}` was killed by signal {}",
            signal.unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_explained_in_words() {
        assert_eq!(failure("true", ExitStatus::from_raw(0)), None);
        let failed = failure("false", ExitStatus::from_raw(1 << 8)).unwrap();
        assert_eq!(failed, "`false` failed with exit code 1");
        let killed = failure("x", ExitStatus::from_raw(9)).unwrap();
        assert_eq!(killed, "`x` was killed by signal 9");
    }
}
