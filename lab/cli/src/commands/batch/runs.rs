// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs of a scenario, several at a time, with a progress bar; finished ones are stored in any case.

use anyhow::{Error, Result};
use netnice_results::{Backend, ResultsDirectory, RunResults, StaleRun};
use netnice_scenario::ScenarioFile;
use netnice_study::{Campaign, Directories, Key, Run};
use nix::sys::signal::Signal;

use super::super::progress::Progress;
use netnice_terminal::text::{self, say};

/// Backend and function that make runs.
pub struct Maker<'maker> {
    /// Source of the figures.
    pub backend: Backend,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Makes a run; `None` where the last argument returned false.
    #[expect(clippy::type_complexity)] // a name for it would say no more
    pub make: &'maker (dyn Fn(Run<'_>, &dyn Fn() -> bool) -> Result<Option<RunResults>> + Sync),
    /// Returns true if the files of a finished run beside its figures exist as well; otherwise the run is repeated.
    pub is_whole: &'maker (dyn Fn(Key) -> bool + Sync),
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
    let campaign = Campaign {
        scenarios: vec![(file.file.clone(), file)],
        backend: maker.backend,
    };
    let keep = Directories {
        directories: vec![directory],
        with_series: false,
        reuse: &|key, run| !misses_events(run) && (maker.is_whole)(key),
    };
    let mut runs = campaign.find(&keep);
    warn_of_stale_runs(&runs.stale);
    let mut progress = Progress::new(quiet)?;
    let make = |run: Run<'_>, go_on: &dyn Fn() -> bool| {
        // Its causes belong to the message.
        (maker.make)(run, go_on).map_err(|error| format!("{error:#}").into())
    };
    let made = campaign.make(&mut runs, &keep, &make, maker.jobs, |tick| {
        progress.tick(tick)
    });
    let keys = campaign.keys().into_iter();
    Ok(Outcome {
        runs: keys.filter_map(|key| runs.finished.remove(&key)).collect(),
        interrupted: progress.finish(),
        error: made.err().map(Error::new),
    })
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

/// The name of a run's files.
pub(super) fn run_name(point: usize, seed: u64) -> String {
    format!("point-{point:05}-seed-{seed}")
}
