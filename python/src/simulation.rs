// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated runs on this machine.

use std::fmt::Display;
use std::ops::ControlFlow;

use netnice_results::{Backend, ResultsDirectory, RunResults};
use netnice_scenario::ScenarioFile;
use netnice_sim::OutsideControls;
use netnice_study::{Campaign, Directories, Made, Run, Tick};
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
    let failed = |error: &dyn Display| format!("{name}, seed {seed}: {error}");
    let layout = at.take_layout().map_err(|error| failed(&error))?;
    let run = netnice_sim::run_with_controls((&at.scenario, layout), seed, controls, go_on)
        .map_err(|error| failed(&error))?;
    Ok(run.map(|mut run| {
        run.settings.clone_from(&at.settings);
        run
    }))
}

/// All runs of a scenario.
pub(crate) fn campaign(file: &ScenarioFile) -> Campaign<'_> {
    Campaign {
        scenarios: vec![(file.file.clone(), file)],
        backend: Backend::Simulation,
    }
}

/// Keeps runs whole, and in the directory, if there is one.
pub(crate) fn keep(directory: Option<&ResultsDirectory>) -> Directories<'_> {
    Directories {
        directories: vec![directory],
        with_series: true,
        reuse: &|_, _| true,
    }
}

/// A run without controls from outside.
pub(crate) fn simulate(run: Run<'_>, go_on: &dyn Fn() -> bool) -> Made {
    let made = netnice_sim::run_laid_out(run.laid_out()?, run.seed, go_on);
    Ok(made?)
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
    let file = &scenario.file;
    let (campaign, keep) = (
        campaign(file),
        keep(directory.map(|directory| &directory.get().directory)),
    );
    let left = keys.into_iter().map(|(point, seed)| (0, point, seed));
    let mut runs = netnice_study::Runs {
        left: left.collect(),
        ..Default::default()
    };
    let (mut told, mut failed): (usize, Option<PyErr>) = (0, None);
    let tick = |tick: Tick| {
        if failed.is_none() {
            // Signals such as SIGINT wait until Python's main thread asks for them.
            let asked = Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    Some(progress) if tick.runs > told => {
                        progress.call1(py, (tick.runs,)).map(drop)
                    }
                    _ => Ok(()),
                }
            });
            (told, failed) = (tick.runs, asked.err());
        }
        match failed {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    };
    let made = py.detach(|| campaign.make(&mut runs, &keep, &simulate, jobs.max(1), tick));
    match failed {
        Some(error) => Err(error),
        None => {
            made.map_err(error::of_run)?;
            Ok(Runs::of_campaign(file, runs.finished))
        }
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
