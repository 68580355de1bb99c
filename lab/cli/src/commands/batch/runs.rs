// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs of a scenario, several at a time, with a progress bar; finished ones are stored in any case.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netnice_scenario::results::{Backend, ResultsDirectory, RunResults, SeriesFormat, StaleRun};
use netnice_scenario::{Point, ScenarioFile, pool};
use nix::sys::signal::Signal;

use netnice_terminal::signals::HeldSignals;
use netnice_terminal::text::{self, say};

/// Backend and function that make runs.
pub struct Maker<'maker> {
    /// Source of the figures.
    pub backend: Backend,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Makes the run of a point, whose number is given, with a seed; `None` where the last argument returned false.
    #[expect(clippy::type_complexity)] // a name for it would say no more
    pub make: &'maker (
                dyn Fn(&Point, usize, u64, &mut dyn FnMut() -> bool) -> Result<Option<RunResults>>
                    + Sync
            ),
    /// Returns true if the files of a finished run beside its figures exist as well; otherwise the run is repeated.
    pub is_whole: &'maker (dyn Fn(&Point, usize, u64) -> bool + Sync),
}

/// The outcome of a batch.
pub struct Outcome {
    /// Finished runs, in the order of the scenario.
    pub runs: Vec<RunResults>,
    /// Signal that ended them early.
    pub interrupted: Option<Signal>,
    /// Error that stopped a run; no others were started after it.
    pub error: Option<Error>,
}

/// Returns true if the record of events at links that the run was to make has gaps.
pub fn misses_events(run: &RunResults) -> bool {
    run.lab.as_ref().is_some_and(|lab| lab.events_lost > 0)
}

/// Makes the runs that are not in `directory` yet.
pub fn run_all(
    file: &ScenarioFile,
    directory: Option<&ResultsDirectory>,
    maker: &Maker,
    quiet: bool,
) -> Result<Outcome> {
    let mut finished: Vec<((usize, u64), RunResults)> = Vec::new();
    let mut left = Vec::new();
    let mut stale = Vec::new();
    for (point, seed) in file.runs() {
        let kept = directory.map(|directory| directory.finished(point, &file.points[point], seed));
        let kept = kept.transpose().unwrap_or_else(|reason| {
            stale.push(reason);
            None
        });
        match kept
            .flatten()
            .filter(|run| !misses_events(run) && (maker.is_whole)(&file.points[point], point, seed))
        {
            Some(run) => finished.push(((point, seed), run)),
            None => left.push((point, seed)),
        }
    }
    warn_of_stale_runs(&stale);
    // The threads inherit the mask, so that signals come to this one.
    let signals = HeldSignals::hold()?;
    let progress = Progress::new(file, finished.len(), &left, maker, quiet)?;
    let mut outcome = Outcome {
        runs: Vec::new(),
        interrupted: None,
        error: None,
    };
    let work =
        |&key: &(usize, u64), stop: &AtomicBool| (key, one(file, directory, maker, key, stop));
    let pool = pool::run(&left, maker.jobs, work, |result| {
        match result {
            Some((key, Ok(Some(run)))) => {
                finished.push((key, run));
                progress.another();
            }
            Some((_, Ok(None))) => {}
            Some((_, Err(error))) => {
                outcome.error.get_or_insert(error);
            }
            None => progress.tick(),
        }
        // Checked here, too, since with short runs one is always waiting.
        if let Some(signal) = signals.ending() {
            outcome.interrupted = Some(signal);
        }
        match outcome.error.is_some() || outcome.interrupted.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if let Err(error) = pool {
        outcome.error = Some(Error::new(error).context("starting a thread for the runs"));
    }
    progress.bar.finish_and_clear();
    finished.sort_by_key(|((point, seed), _)| {
        let seeds = &file.points[*point].scenario.seeds.0;
        (*point, seeds.iter().position(|other| other == seed))
    });
    outcome.runs = finished.into_iter().map(|(_, run)| run).collect();
    Ok(outcome)
}

/// Reports which runs are repeated although they have a file, and why.
pub fn warn_of_stale_runs(stale: &[StaleRun]) {
    const LINES: usize = 5;
    for reason in stale.iter().take(LINES) {
        say!("netnice: {reason}; the run is made again");
    }
    if stale.len() > LINES {
        let more = text::count((stale.len() - LINES) as u64, "more run");
        say!("netnice: {more} with such files are made again");
    }
}

/// Makes one run and stores it if it is complete; returns `None` if it was stopped before.
fn one(
    file: &ScenarioFile,
    directory: Option<&ResultsDirectory>,
    maker: &Maker,
    (number, seed): (usize, u64),
    stop: &AtomicBool,
) -> Result<Option<RunResults>> {
    let point = &file.points[number];
    let mut go_on = || !stop.load(Ordering::Relaxed);
    let run = (maker.make)(point, number, seed, &mut go_on)
        .with_context(|| format!("{}, seed {seed}", file.file))?;
    let Some(mut run) = run else {
        return Ok(None);
    };
    run.settings = point.settings.clone();
    if let Some(directory) = directory {
        directory.store(number, &mut run)?;
        if directory.series_format() == SeriesFormat::Parquet {
            // No table of all runs has them.
            run.series = Vec::new();
        }
    }
    Ok(Some(run))
}

/// The name of a run's files.
pub(super) fn run_name(point: usize, seed: u64) -> String {
    format!("point-{point:05}-seed-{seed}")
}

/// Progress bar on stderr, if that is a terminal.
struct Progress {
    bar: ProgressBar,
    /// Start of the first run, if runs take real time.
    real_time: Option<Instant>,
    finished: AtomicUsize,
    total: usize,
}

impl Progress {
    fn new(
        file: &ScenarioFile,
        finished: usize,
        left: &[(usize, u64)],
        maker: &Maker,
        quiet: bool,
    ) -> Result<Progress> {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let total = finished + left.len();
        let real_time = maker.backend == Backend::Lab;
        let length = match real_time {
            true => {
                let scenarios = left.iter().map(|&(point, _)| &file.points[point].scenario);
                let all: Duration = scenarios.map(|scenario| scenario.duration.get()).sum();
                all.as_secs() / maker.jobs as u64
            }
            false => total as u64,
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        bar.set_style(ProgressStyle::with_template(
            "{bar:30} {msg} runs  {eta} left",
        )?);
        if !real_time {
            bar.set_position(finished as u64);
        }
        bar.reset_eta();
        let progress = Progress {
            bar,
            real_time: real_time.then(Instant::now),
            finished: AtomicUsize::new(finished),
            total,
        };
        progress.show(finished);
        Ok(progress)
    }

    fn show(&self, finished: usize) {
        self.bar
            .set_message(format!("{finished} of {}", self.total));
    }

    /// Counts a finished run.
    fn another(&self) {
        self.show(self.finished.fetch_add(1, Ordering::Relaxed) + 1);
        if self.real_time.is_none() {
            self.bar.inc(1);
        }
    }

    fn tick(&self) {
        match self.real_time {
            Some(began) => self.bar.set_position(began.elapsed().as_secs()),
            None => self.bar.tick(),
        }
    }
}
