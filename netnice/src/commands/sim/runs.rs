// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs of a scenario, several at a time, with a bar; finished ones are kept whatever happens.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netnice_scenario::ScenarioFile;
use netnice_scenario::results::{ResultsDirectory, RunResults};
use netnice_sim::Traces;
use nix::sys::signal::Signal;

use crate::signals::{Arrived, HeldSignals};

/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of a packet that a trace keeps: all headers, but no data.
const SNAP_LENGTH: u32 = 128;

/// What came of the runs.
pub struct Outcome {
    /// Those that are finished, in the order of the scenario.
    pub runs: Vec<RunResults>,
    /// The signal that ended it early.
    pub interrupted: Option<Signal>,
    /// Why a run could not be made; no others were begun after it.
    pub error: Option<Error>,
}

/// Makes the runs that are not in `directory` yet, at most `jobs` at a time, and traces of the links in `traced`.
pub fn run_all(
    file: &ScenarioFile,
    directory: Option<&ResultsDirectory>,
    traced: &[String],
    jobs: usize,
    quiet: bool,
) -> Result<Outcome> {
    let mut finished: Vec<((usize, u64), RunResults)> = Vec::new();
    let mut left = Vec::new();
    for (point, seed) in file.runs() {
        match directory.and_then(|directory| directory.finished(point, seed)) {
            Some(run) => finished.push(((point, seed), run)),
            None => left.push((point, seed)),
        }
    }
    // The threads inherit the mask, so that signals come to this one.
    let signals = HeldSignals::hold()?;
    let bar = bar(file.runs().len(), finished.len(), quiet)?;
    let stop = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let mut outcome = Outcome {
        runs: Vec::new(),
        interrupted: None,
        error: None,
    };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.min(left.len()) {
            let (sender, left, next, stop) = (sender.clone(), &left, &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Some(&key) = left.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        return;
                    };
                    if let Some(result) = one(file, directory, traced, key, stop).transpose() {
                        // The other side is there as long as this scope is.
                        let _ = sender.send((key, result));
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok((key, Ok(run))) => {
                    finished.push((key, run));
                    bar.inc(1);
                }
                Ok((_, Err(error))) => {
                    stop.store(true, Ordering::Relaxed);
                    outcome.error.get_or_insert(error);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => bar.tick(),
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            // Also where runs are so short that one always is waiting.
            if let Some(signal) = ending(&signals) {
                stop.store(true, Ordering::Relaxed);
                outcome.interrupted = Some(signal);
            }
        }
    });
    bar.finish_and_clear();
    finished.sort_by_key(|((point, seed), _)| {
        let seeds = &file.points[*point].scenario.seeds.0;
        (*point, seeds.iter().position(|other| other == seed))
    });
    outcome.runs = finished.into_iter().map(|(_, run)| run).collect();
    Ok(outcome)
}

/// One run, kept if it came to its end; `None` where it was stopped before.
fn one(
    file: &ScenarioFile,
    directory: Option<&ResultsDirectory>,
    traced: &[String],
    (number, seed): (usize, u64),
    stop: &AtomicBool,
) -> Result<Option<RunResults>> {
    let point = &file.points[number];
    let go_on = || !stop.load(Ordering::Relaxed);
    let traces = match directory {
        Some(directory) if !traced.is_empty() => Some(traces(directory, traced, number, seed)?),
        _ => None,
    };
    let run = netnice_sim::run_with_traces(&point.scenario, seed, traces.as_ref(), go_on)
        .with_context(|| format!("{}, seed {seed}", file.file))?;
    let Some(mut run) = run else {
        return Ok(None);
    };
    run.settings = point.settings.clone();
    if let Some(directory) = directory {
        directory.store(number, &run)?;
    }
    Ok(Some(run))
}

/// Where the traces of a run go.
fn traces(results: &ResultsDirectory, links: &[String], point: usize, seed: u64) -> Result<Traces> {
    let name = format!("point-{point:05}-seed-{seed}");
    let directory = results.path().join("traces").join(name);
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let all = links.iter().any(|link| link == super::ALL_LINKS);
    Ok(Traces {
        directory,
        links: (!all).then(|| links.to_vec()),
        snap_length: SNAP_LENGTH,
    })
}

/// A signal that asks to end.
fn ending(signals: &HeldSignals) -> Option<Signal> {
    match signals.wait(Some(Duration::ZERO))? {
        Arrived::FromTerminal(signal) | Arrived::FromProcess(signal) => {
            matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP).then_some(signal)
        }
        Arrived::Child => None,
    }
}

/// A bar on stderr, where that is a terminal.
fn bar(total: usize, done: usize, quiet: bool) -> Result<ProgressBar> {
    let target = match quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    };
    let bar = ProgressBar::with_draw_target(Some(total as u64), target);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs  {eta} left")?;
    bar.set_style(style);
    bar.set_position(done as u64);
    bar.reset_eta();
    Ok(bar)
}
