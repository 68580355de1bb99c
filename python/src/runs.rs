// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs, and their results.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use netnice_scenario::results::{self, RunResults, Summary, tables};
use netnice_scenario::{ScenarioFile, pool};
use netnice_sim::OutsideControls;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::control::{self, Failure};
use crate::directory::Directory;
use crate::error;
use crate::scenario::Scenario;
use crate::tables::Table;

/// The number of a point of the sweep, and a seed.
pub(crate) type RunKey = (usize, u64);

/// The names of the tables.
const TABLES: [&str; 7] = [
    "summary",
    "figures",
    "flows",
    "queues",
    "response_times",
    "transfers",
    "series",
];

#[pyclass(frozen, module = "netnice._native")]
pub(crate) struct Runs {
    axes: Vec<String>,
    keys: Vec<RunKey>,
    runs: Arc<Vec<RunResults>>,
    summary: OnceLock<Summary>,
}

impl Runs {
    /// Runs in the order of the scenario.
    pub(crate) fn new(file: &ScenarioFile, mut runs: Vec<(RunKey, RunResults)>) -> Runs {
        let places = file.runs();
        let places: std::collections::HashMap<RunKey, usize> = (places
            .into_iter()
            .enumerate()
            .map(|(place, key)| (key, place)))
        .collect();
        runs.sort_by_key(|(key, _)| (places.get(key).copied(), *key));
        let (keys, runs) = runs.into_iter().unzip();
        Runs {
            axes: file.axes.clone(),
            keys,
            runs: Arc::new(runs),
            summary: OnceLock::new(),
        }
    }

    pub(crate) fn results(&self) -> &[RunResults] {
        &self.runs
    }

    /// The quantities of the summary for each run alone.
    fn figures(&self) -> tables::Table {
        let columns = ["seed", "subject", "of", "quantity", "unit", "value"];
        let columns = columns.iter().map(|&name| name.to_owned());
        let mut table = tables::Table {
            columns: self.axes.iter().cloned().chain(columns).collect(),
            rows: Vec::new(),
        };
        for run in self.runs.iter() {
            for point in Summary::of(std::slice::from_ref(run)).points {
                for figure in point.figures {
                    let settings = run.settings.iter().map(|(_, value)| value.into());
                    let cells: [tables::Cell; 6] = [
                        run.seed.into(),
                        figure.subject.name().into(),
                        (&figure.of).into(),
                        (&*figure.quantity).into(),
                        (&*figure.unit).into(),
                        figure.value.mean.into(),
                    ];
                    table.rows.push(settings.chain(cells).collect());
                }
            }
        }
        table
    }

    pub(crate) fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| Summary::of(&self.runs))
    }
}

#[pymethods]
impl Runs {
    /// The runs of the scenario whose files' contents these are.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        scenario: &Scenario,
        runs: Vec<(RunKey, Vec<u8>)>,
    ) -> PyResult<Runs> {
        let file = scenario.file.clone();
        py.detach(|| {
            let runs = runs
                .iter()
                .map(|(key, text)| Ok((*key, read(&file, *key, text)?)));
            Ok(Runs::new(&file, runs.collect::<PyResult<_>>()?))
        })
    }

    #[getter]
    fn keys(&self) -> Vec<RunKey> {
        self.keys.clone()
    }

    #[getter]
    fn axes(&self) -> Vec<String> {
        self.axes.clone()
    }

    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// A run as its file in a directory of results has it.
    fn json<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let run = self.runs.get(index).ok_or_else(|| {
            PyIndexError::new_err(format!("there are {} runs, from 0", self.runs.len()))
        })?;
        Ok(PyBytes::new(py, &write(run)?))
    }

    /// Events that the simulator handled in all runs.
    #[getter]
    fn events(&self) -> u64 {
        self.runs.iter().map(|run| run.events).sum()
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        if name == "series" {
            return py.detach(|| Table::of_series(&self.axes, &self.runs));
        }
        if name == "figures" {
            return py.detach(|| Table::of(&self.axes, &self.figures()));
        }
        py.detach(|| {
            let all = tables::all(&self.axes, &self.runs, self.summary());
            let mut found = all.filter(|&(other, _)| other == name);
            found.next().map(|(_, table)| Table::of(&self.axes, &table))
        })
        .unwrap_or_else(|| {
            let names = TABLES.join(", ");
            Err(PyKeyError::new_err(format!(
                "there is no table {name:?}; there are {names}"
            )))
        })
    }
}

/// The contents of the file of a run.
pub(crate) fn write(run: &RunResults) -> PyResult<Vec<u8>> {
    let mut text = serde_json::to_vec(run).map_err(error::of_run)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads the contents of the file of a run of this scenario.
pub(crate) fn read(
    file: &ScenarioFile,
    (point, seed): RunKey,
    text: &[u8],
) -> PyResult<RunResults> {
    let run: RunResults = serde_json::from_slice(text)
        .map_err(|error| PyValueError::new_err(format!("this is no run: {error}")))?;
    let settings = file.points.get(point).map(|point| &point.settings);
    if run.seed != seed || settings != Some(&run.settings) {
        return Err(PyValueError::new_err(format!(
            "this is not the run of point {point} with seed {seed}"
        )));
    }
    Ok(run)
}

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
        let Some(run) = run(&file, key, &OutsideControls::new(), go_on)? else {
            return Ok(None);
        };
        if let Some(directory) = directory {
            directory.keep(key.0, &run)?;
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
            let text = py.detach(|| write(&run))?;
            results.push((key, PyBytes::new(py, &text)));
        }
    }
    Ok(results)
}

/// The 97.5 % quantile of Student's t distribution, for 95 % confidence intervals.
#[pyfunction]
pub(crate) fn student_t_975(degrees_of_freedom: usize) -> f64 {
    results::student_t_975(degrees_of_freedom)
}
