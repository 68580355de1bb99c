// SPDX-License-Identifier: MIT OR Apache-2.0
//! A directory of results, as `netnice sim --out` has it.

use std::path::PathBuf;
use std::sync::Arc;

use netnice_results::{Backend, Existing, Manifest, ResultsDirectory, SeriesFormat};
use netnice_scenario::ScenarioFile;
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::error;
use crate::runs::{self, RunKey, Runs};
use crate::scenario::Scenario;
use crate::simulation::{campaign, keep};

#[pyclass(frozen, module = "netnice._native")]
pub(crate) struct Directory {
    file: Arc<ScenarioFile>,
    pub(crate) directory: ResultsDirectory,
}

#[pymethods]
impl Directory {
    /// Creates the directory, or opens it where `resume` is true and it has runs of this scenario.
    #[new]
    #[pyo3(signature = (scenario, path, resume, command, series=None))]
    fn new(
        scenario: &Scenario,
        path: PathBuf,
        resume: bool,
        command: Vec<String>,
        series: Option<&str>,
    ) -> PyResult<Directory> {
        use netnice_results::DirectoryError;
        let file = scenario.file.clone();
        let version = env!("CARGO_PKG_VERSION");
        let mut manifest = Manifest::new(&file, Backend::Simulation, version, command);
        manifest.series = match series {
            None => None,
            Some("text") => Some(SeriesFormat::Text),
            Some("parquet") => Some(SeriesFormat::Parquet),
            Some(other) => {
                let message = format!("series is \"text\", \"parquet\" or None, not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let existing = match resume {
            true => Existing::Resume,
            false => Existing::Refuse,
        };
        let directory = ResultsDirectory::create(&path, manifest, &file, existing);
        let directory = directory.map_err(|problem| match &problem {
            DirectoryError::Occupied(path) => PyFileExistsError::new_err(format!(
                "{} holds results already; reuse them with resume=True, or choose another directory",
                path.display()
            )),
            DirectoryError::OtherRuns { path, of } => PyFileExistsError::new_err(format!(
                "{} holds results of {of}; choose another directory",
                path.display()
            )),
            DirectoryError::OtherSeries { path, format } => PyFileExistsError::new_err(format!(
                "{} holds time series as {}; leave out `series`, or choose another directory",
                path.display(),
                format.name()
            )),
            DirectoryError::Io { error, .. } => {
                let number = error.raw_os_error();
                match number {
                    Some(number) => PyOSError::new_err((number, problem.to_string())),
                    None => PyOSError::new_err(problem.to_string()),
                }
            }
            _ => PyFileExistsError::new_err(problem.to_string()),
        })?;
        Ok(Directory { file, directory })
    }

    /// The runs that are there, those that are left, and a line for each file that is not as it was written.
    fn finished(&self, py: Python<'_>) -> (Runs, Vec<RunKey>, Vec<String>) {
        py.detach(|| {
            let found = campaign(&self.file).find(&keep(Some(&self.directory)));
            let left = found.left.into_iter().map(|(_, point, seed)| (point, seed));
            let stale = found.stale.iter().map(ToString::to_string);
            let runs = Runs::of_campaign(&self.file, found.finished);
            (runs, left.collect(), stale.collect())
        })
    }

    /// Stores a run of which these are the file's contents.
    fn store(&self, py: Python<'_>, key: RunKey, text: &[u8]) -> PyResult<()> {
        let mut run = runs::read(&self.file, key, text)?;
        py.detach(|| self.directory.store(key.0, &mut run))
            .map_err(error::of_run)
    }

    /// Writes summary and tables of the runs, as `netnice sim --out` does.
    #[pyo3(signature = (runs, parquet=false))]
    fn write_tables(&self, py: Python<'_>, runs: &Bound<'_, Runs>, parquet: bool) -> PyResult<()> {
        let runs = runs.get();
        py.detach(|| {
            let (results, summary) = (runs.results(), runs.summary());
            self.directory.write_tables(results, summary)?;
            match parquet {
                true => self.directory.write_parquet(results, summary),
                false => Ok(()),
            }
        })
        .map_err(error::of_run)
    }
}
