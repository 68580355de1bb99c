// SPDX-License-Identifier: MIT OR Apache-2.0
//! Remaining time, as a progress bar on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use netnice_terminal::text::say;

/// Progress of the demonstration.
pub struct Progress {
    bar: ProgressBar,
    total: Duration,
    done: Duration,
}

impl Progress {
    /// Creates a bar on stderr for this total time.
    pub fn new(total: Duration) -> Progress {
        let bar = ProgressBar::with_draw_target(
            Some(total.as_millis() as u64),
            ProgressDrawTarget::stderr(),
        );
        let style = ProgressStyle::with_template("{bar:30} {prefix} left  {msg}");
        bar.set_style(style.expect("the template is well-formed"));
        Progress {
            bar,
            total,
            done: Duration::ZERO,
        }
    }

    /// Announces the next phase.
    pub fn begin(&self, what: String) {
        if self.bar.is_hidden() {
            say!("netnice: {what}");
        }
        self.bar.set_message(what);
        self.draw();
    }

    /// Advances the bar by this time.
    pub fn advance(&mut self, time: Duration) {
        self.done = self.total.min(self.done + time);
        self.draw();
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self) {
        let left = (self.total - self.done).as_secs_f64().round();
        self.bar.set_prefix(format!("{left:>3} s"));
        self.bar.set_position(self.done.as_millis() as u64);
    }
}
