// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocked signals, taken one at a time so that none interrupts unfinished work.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

use crate::write_signals;

/// Signals by which people and programs control a command.
const CONTROLLING: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Signal that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// A child has ended, stopped or continued.
    Child,
    /// Typed at the terminal, which sends it to the whole foreground process group.
    FromTerminal(Signal),
    /// Sent by a process.
    FromProcess(Signal),
}

impl Arrived {
    /// Returns the signal, if it requests the end.
    fn ends(self) -> Option<Signal> {
        match self {
            Arrived::FromTerminal(signal) | Arrived::FromProcess(signal) => {
                matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP)
                    .then_some(signal)
            }
            Arrived::Child => None,
        }
    }
}

/// Signals blocked in this thread, and in those that it starts.
pub struct HeldSignals {
    held: SigSet,
    before: SigSet,
}

impl HeldSignals {
    /// Blocks the signals that could end this process, and SIGCHLD. Call before starting other threads.
    pub fn hold() -> Result<HeldSignals> {
        let mut held: SigSet = CONTROLLING.into_iter().collect();
        held.add(Signal::SIGCHLD);
        let mut blocked = held;
        // Its default action stops a background process that takes the terminal, as netnice does after a shell.
        blocked.add(Signal::SIGTTOU);
        let mut before = SigSet::empty();
        // The parent may have left it ignored, and then no child could be waited for.
        // SAFETY: the default action runs no code of this program.
        unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }.context("restoring SIGCHLD")?;
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before))
            .context("holding signals back")?;
        Ok(HeldSignals { held, before })
    }

    /// Restores in `command` the signal mask from before.
    pub fn release_for<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let before = self.before;
        let restore = move || -> io::Result<()> {
            pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
            write_signals::restore()
        };
        // SAFETY: both may be called between fork and exec.
        unsafe { command.pre_exec(restore) }
    }

    /// Returns a pending signal that requests the end.
    pub fn ending(&self) -> Option<Signal> {
        self.wait(Some(Duration::ZERO))?.ends()
    }

    /// Returns a signal that requests the end, if one arrives within `time`.
    pub fn ending_within(&self, time: Duration) -> Option<Signal> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.wait(Some(left)) {
                Some(arrived) => match arrived.ends() {
                    None => {}
                    signal => return signal,
                },
                None => return None,
            }
        }
    }

    /// Returns a descriptor that is readable while a signal is pending.
    pub fn descriptor(&self) -> Result<SignalFd> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        SignalFd::with_flags(&self.held, flags).context("waiting for signals")
    }

    /// Waits for a signal, at most for `timeout` if given.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<Arrived> {
        let timeout = timeout.map(TimeSpec::from_duration);
        let timeout = timeout
            .as_ref()
            .map_or(std::ptr::null(), |time| time.as_ref());
        // SAFETY: siginfo_t is a plain C structure for which all zeroes is a valid value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: all pointers are null or to values that live through the call.
        let number = unsafe { libc::sigtimedwait(self.held.as_ref(), &mut info, timeout) };
        match Signal::try_from(number).ok()? {
            Signal::SIGCHLD => Some(Arrived::Child),
            signal if info.si_code > 0 => Some(Arrived::FromTerminal(signal)),
            signal => Some(Arrived::FromProcess(signal)),
        }
    }
}
