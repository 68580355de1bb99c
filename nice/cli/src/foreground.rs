// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command in the foreground: it has the terminal, gets the signals, and netnice waits.
//!
//! The command stays in netnice's process group, so that the terminal's Ctrl-C and Ctrl-Z reach both; netnice ignores
//! Ctrl-C. A shell creates its own group and takes the terminal, and netnice takes it back afterwards.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpgid, getpgrp, getpid, tcgetpgrp, tcsetpgrp};

use netnice_terminal::signals::{Arrived, HeldSignals};

/// End of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Exited with this code.
    Exited(u8),
    /// Killed by this signal.
    Killed(Signal),
}

/// Converts as a shell does: the exit code, or 128 plus the number of the signal.
impl From<Ended> for ExitCode {
    fn from(ended: Ended) -> ExitCode {
        match ended {
            Ended::Exited(code) => code.into(),
            Ended::Killed(signal) => (128 + signal as u8).into(),
        }
    }
}

/// Waits for the command, started from this thread, and forwards signals.
pub fn wait(child: &Child, signals: &HeldSignals) -> Result<Ended> {
    wait_and(child, signals, || None)
}

/// Waits as [`wait`] does, and calls `work` meanwhile, which returns the time until it wants to be called again; `None`
/// for never.
pub fn wait_and(
    child: &Child,
    signals: &HeldSignals,
    mut work: impl FnMut() -> Option<Duration>,
) -> Result<Ended> {
    let mut next = Some(Instant::now());
    let child = Pid::from_raw(child.id() as i32);
    let ended = loop {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        match waitpid(child, Some(flags)) {
            Ok(WaitStatus::Exited(_, code)) => break Ended::Exited(code as u8),
            Ok(WaitStatus::Signaled(_, signal, _)) => break Ended::Killed(signal),
            Ok(WaitStatus::Stopped(..)) => stop_too(child),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("waiting for the command"),
        }
        if next.is_some_and(|next| next <= Instant::now()) {
            next = work().map(|time| Instant::now() + time);
        }
        let timeout = next.map(|next| next.saturating_duration_since(Instant::now()));
        if let Some(Arrived::FromProcess(signal)) = signals.wait(timeout) {
            let _ = kill(child, signal);
        }
    };
    take_terminal_back();
    Ok(ended)
}

/// Suspends netnice with a shell that suspends itself, so that the parent gets the terminal.
fn stop_too(child: Pid) {
    let group = getpgid(Some(child)).unwrap_or(child);
    if group == getpgrp() {
        stop_alone(child);
        return;
    }
    hand_terminal(group, getpgrp());
    let _ = kill(getpid(), Signal::SIGSTOP);
    hand_terminal(getpgrp(), group);
    let _ = killpg(group, Signal::SIGCONT);
}

/// Ctrl-Z has stopped netnice together with the command, and both have continued; but a command may stop only itself.
fn stop_alone(child: Pid) {
    // The signal that continues netnice may reach the command a moment later.
    thread::sleep(Duration::from_millis(20));
    let ways_out = WaitPidFlag::WCONTINUED | WaitPidFlag::WEXITED;
    let flags = ways_out | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    if let Ok(WaitStatus::StillAlive) = waitid(Id::Pid(child), flags) {
        let _ = kill(getpid(), Signal::SIGSTOP);
        let _ = kill(child, Signal::SIGCONT);
    }
}

fn hand_terminal(from: Pid, to: Pid) {
    let terminal = io::stdin();
    if tcgetpgrp(terminal.as_fd()) == Ok(from) {
        let _ = tcsetpgrp(terminal.as_fd(), to);
    }
}

/// Takes the terminal back from a killed shell, unless a live process has it.
fn take_terminal_back() {
    let terminal = io::stdin();
    let Ok(foreground) = tcgetpgrp(terminal.as_fd()) else {
        return;
    };
    if killpg(foreground, None) == Err(Errno::ESRCH) {
        let _ = tcsetpgrp(terminal.as_fd(), getpgrp());
    }
}
