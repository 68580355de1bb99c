// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress bar with the remaining time, and the signals that end the runs.

use std::ops::ControlFlow;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netnice_study::Tick;
use nix::sys::signal::Signal;

use netnice_terminal::signals::HeldSignals;

/// Steps of the bar: thousandths of the work, since run times differ widely.
const STEPS: u64 = 1000;

/// The bar on stderr, if that is a terminal, and the signals, which this thread receives since it was created first.
pub struct Progress {
    bar: ProgressBar,
    signals: HeldSignals,
    interrupted: Option<Signal>,
    begun: bool,
}

impl Progress {
    /// Creates an empty bar; hidden if `quiet`.
    pub fn new(quiet: bool) -> Result<Progress> {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        bar.set_style(ProgressStyle::with_template("{bar:30} {msg}  {eta} left")?);
        Ok(Progress {
            bar,
            signals: HeldSignals::hold()?,
            interrupted: None,
            begun: false,
        })
    }

    /// Updates the bar; breaks if a signal requests the end.
    pub fn tick(&mut self, tick: Tick) -> ControlFlow<()> {
        self.bar.set_position((tick.part * STEPS as f64) as u64);
        if !self.begun {
            // Runs finished before give no estimate of the time left.
            self.bar.reset_eta();
            self.begun = true;
        }
        self.bar
            .set_message(format!("{} of {} runs", tick.runs, tick.of_runs));
        self.interrupted = self.signals.ending().or(self.interrupted);
        match self.interrupted {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// Clears the bar; returns the signal that ended the runs early, if any.
    pub fn finish(self) -> Option<Signal> {
        self.bar.finish_and_clear();
        self.interrupted
    }
}
