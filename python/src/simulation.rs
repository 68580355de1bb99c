// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated runs on this machine.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use netnice_results::RunResults;
use netnice_scenario::ScenarioFile;
use netnice_sim::OutsideControls;
use netnice_study::pool;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::control::{self, Failure};
use crate::directory::Directory;
use crate::error;
use crate::runs::{self, RunKey, Runs};
use crate::scenario::Scenario;

/// One run, with controls from outside; `None` if `go_on` has returned false.
fn run(
    file: &ScenarioFile,
    (point, seed): RunKey,
    controls: &OutsideControls,
    go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, String> {
    let name = &file.file;
    let at = file.points.get(point).ok_or_else(|| {
        let points = file.points.len();
        format!("{name}: there is no point {point}; there are {points}, from 0")
    })?;
    let run = netnice_sim::run_with_controls(&at.scenario, seed, controls, go_on)
        .map_err(|error| format!("{name}, seed {seed}: {error}"))?;
    Ok(run.map(|mut run| {
        run.settings.clone_from(&at.settings);
        run
    }))
}

/// Runs on this machine, without Python's lock; stores each finished run where `directory` is given.
///
/// Calls `progress` with the number of finished runs on the caller's thread. `KeyboardInterrupt`, or an error of
/// `progress`, ends the runs within milliseconds; the stored ones are kept.
#[pyfunction]
#[pyo3(signature = (scenario, keys, jobs, directory=None, progress=None))]
pub(crate) fn run_local(
    py: Python<'_>,
    scenario: &Scenario,
    keys: Vec<RunKey>,
    jobs: usize,
    directory: Option<&Bound<'_, Directory>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Runs> {
    let file = scenario.file.clone();
    let directory = directory.map(Bound::get);
    let work = |&key: &RunKey, stop: &AtomicBool| -> Result<Option<(RunKey, RunResults)>, String> {
        let go_on = || !stop.load(Ordering::Relaxed);
        let Some(mut run) = run(&file, key, &OutsideControls::new(), go_on)? else {
            return Ok(None);
        };
        if let Some(directory) = directory {
            directory.keep(key.0, &mut run)?;
        }
        Ok(Some((key, run)))
    };
    let mut finished = Vec::with_capacity(keys.len());
    let mut failed: Option<PyErr> = None;
    let pool = py.detach(|| {
        pool::run(&keys, jobs.max(1), work, |result| {
            let more = matches!(&result, Some(Ok(Some(_))));
            match result {
                Some(Ok(run)) => finished.extend(run),
                Some(Err(message)) => {
                    failed.get_or_insert(error::of_run(message));
                }
                None => {}
            }
            if failed.is_none() {
                // Signals such as SIGINT wait until Python's main thread asks for them.
                let asked = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(progress) if more => progress.call1(py, (finished.len(),)).map(drop),
                        _ => Ok(()),
                    }
                });
                failed = asked.err();
            }
            match failed {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        })
    });
    match (failed, pool) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(error::of_run(format!("starting a thread: {error}"))),
        (None, Ok(())) => Ok(Runs::new(&scenario.file, finished)),
    }
}

/// Runs one after the other, without Python's lock, and returns the contents of their files. `controls` are classes or
/// functions that make the controls of some flows, by the flows' name; an error in one of them is raised as it is.
#[pyfunction]
#[pyo3(signature = (scenario, keys, controls=None))]
pub(crate) fn run_batch<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    keys: Vec<RunKey>,
    controls: Option<control::Classes>,
) -> PyResult<Vec<(RunKey, Bound<'py, PyBytes>)>> {
    let file = &scenario.file;
    let classes = controls.unwrap_or_default();
    control::check(scenario, &classes)?;
    let mut results = Vec::with_capacity(keys.len());
    for key in keys {
        let mut signal = None;
        let failure = Failure::default();
        let controls = control::of_run(py, &classes, &failure);
        let run = py.detach(|| {
            let go_on = || {
                signal = Python::attach(|py| py.check_signals()).err();
                signal.is_none() && !failure.is_some()
            };
            run(file, key, &controls, go_on).map_err(error::of_run)
        });
        if let Some(error) = failure.take().or(signal) {
            return Err(error);
        }
        if let Some(mut run) = run? {
            control::name(py, &mut run, &classes);
            let text = py.detach(|| runs::write(&run))?;
            results.push((key, PyBytes::new(py, &text)));
        }
    }
    Ok(results)
}
