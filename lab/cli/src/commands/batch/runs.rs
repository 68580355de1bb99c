// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs of a scenario, several at a time, with a progress bar; finished ones are stored in any case.

use std::path::Path;

use anyhow::{Error, Result};
use netnice_results::{Backend, ResultsDirectory, RunResults, StaleRun};
use netnice_scenario::ScenarioFile;
use netnice_sim::Traces;
use netnice_study::{Campaign, Directories, Key, Run};
use nix::sys::signal::Signal;

use super::super::progress::Progress;
use super::traces::{self, WantedTraces};
use netnice_terminal::text::{self, say};

/// Backend and function that make runs.
pub struct Maker<'maker> {
    /// Source of the figures.
    pub backend: Backend,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// The traces of each run.
    pub traces: WantedTraces<'maker>,
    /// Makes a run with these traces; `None` where the last argument returned false.
    pub make: &'maker MakeTraced<'maker>,
}

type MakeTraced<'a> =
    dyn Fn(Run<'_>, Option<&Traces>, &dyn Fn() -> bool) -> Result<Option<RunResults>> + Sync + 'a;

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

/// Makes the runs that are not in `directory` yet, which is `out`: those without their traces there as well.
pub fn run_all(
    file: &ScenarioFile,
    (out, directory): (Option<&Path>, Option<&ResultsDirectory>),
    maker: &Maker,
    quiet: bool,
) -> Result<Outcome> {
    let campaign = Campaign {
        scenarios: vec![(file.file.clone(), file)],
        backend: maker.backend,
    };
    let traces = |number, seed| maker.traces.of_run(out, number, seed);
    let is_whole = |(_, number, seed): Key| {
        let point = &file.points[number];
        traces(number, seed).is_none_or(|it| traces::are_there(&it, point))
    };
    let keep = Directories {
        directories: vec![directory],
        with_series: false,
        reuse: &|key, run| !misses_events(run) && is_whole(key),
    };
    let mut runs = campaign.find(&keep);
    warn_of_stale_runs(&runs.stale);
    let mut progress = Progress::new(quiet)?;
    let make = |run: Run<'_>, go_on: &dyn Fn() -> bool| {
        let made = traces::keep(traces(run.number, run.seed), |traces| {
            (maker.make)(run, traces, go_on)
        });
        // Its causes belong to the message.
        made.map_err(|error| format!("{error:#}").into())
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
