// SPDX-License-Identifier: MIT OR Apache-2.0
//! netnice's decisions in a run, a line of JSON each.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netnice_congestion::decisions::Observer;
use netnice_parameters::decisions::{Decision, Transition};
use serde::Serialize;

/// The record of a run's decisions.
#[derive(Clone)]
pub(crate) struct DecisionTrace(Arc<Mutex<State>>);

struct State {
    file: Box<dyn Write + Send>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

impl fmt::Debug for DecisionTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionTrace").finish_non_exhaustive()
    }
}

/// A line.
#[derive(Serialize)]
struct Line<'a> {
    flow: &'a str,
    #[serde(flatten)]
    decision: Decision,
}

impl DecisionTrace {
    /// A record in this file.
    pub fn new(file: Box<dyn Write + Send>) -> Self {
        let failure = None;
        Self(Arc::new(Mutex::new(State { file, failure })))
    }

    /// Returns what takes note of the decisions at one end of a flow.
    pub fn observer(&self, flow: &str) -> Observer {
        let (trace, flow) = (self.clone(), flow.to_owned());
        Observer::new(move |transition| trace.write(&flow, transition))
    }

    fn write(&self, flow: &str, transition: &Transition) {
        let mut state = self.locked();
        if state.failure.is_some() {
            return;
        }
        let decision = transition.told(0);
        let line = serde_json::to_vec(&Line { flow, decision });
        let written = line.map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            state.file.write_all(&line)
        });
        state.failure = written.err();
    }

    /// Writes what is left.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.locked();
        match state.failure.take() {
            Some(failure) => Err(failure),
            None => state.file.flush(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
