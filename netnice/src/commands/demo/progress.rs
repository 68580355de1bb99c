// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time that is left, on a terminal as a bar.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::text::say;

/// How far the demonstration is.
pub struct Progress {
    bar: ProgressBar,
    total: Duration,
    done: Duration,
}

impl Progress {
    /// A bar on stderr for so much time.
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

    /// Says what comes next.
    pub fn begin(&self, what: String) {
        if self.bar.is_hidden() {
            say!("netnice: {what}");
        }
        self.bar.set_message(what);
        self.draw();
    }

    /// So much time has passed.
    pub fn advance(&mut self, time: Duration) {
        self.done = self.total.min(self.done + time);
        self.draw();
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self) {
        let left = (self.total - self.done).as_secs_f64().round();
        self.bar.set_prefix(format!("{left:>3} s"));
        self.bar.set_position(self.done.as_millis() as u64);
    }
}
