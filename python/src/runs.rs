// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of runs.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use netnice_results::{self as results, RunResults, Summary, tables};
use netnice_scenario::ScenarioFile;
use netnice_study::Key;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::scenario::Scenario;
use crate::tables::Table;

/// The number of a point of the sweep, and a seed.
pub(crate) type RunKey = (usize, u64);

/// The names of the tables.
const TABLES: [&str; 12] = [
    "summary",
    "figures",
    "flows",
    "queues",
    "colours",
    "response_times",
    "pages",
    "transfers",
    "completion_times",
    "calls",
    "videos",
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

    /// The runs of a campaign that has no other scenario.
    pub(crate) fn of_campaign(file: &ScenarioFile, finished: BTreeMap<Key, RunResults>) -> Runs {
        let runs = finished.into_iter();
        let runs = runs.map(|((_, point, seed), run)| ((point, seed), run));
        Runs::new(file, runs.collect())
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
                        (&*figure.of).into(),
                        (&*figure.quantity).into(),
                        figure.unit.name().into(),
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
            let table = found.next().map(|(_, rows)| rows.into_table());
            table.map(|table| Table::of(&self.axes, &table))
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

/// The 97.5 % quantile of Student's t distribution, for 95 % confidence intervals.
#[pyfunction]
pub(crate) fn student_t_975(degrees_of_freedom: usize) -> f64 {
    results::student_t_975(degrees_of_freedom)
}
