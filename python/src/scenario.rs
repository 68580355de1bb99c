// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario that has been read and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netnice_scenario::network::not_simulated;
use netnice_scenario::{ScenarioFile, explain};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::{error, toml};

/// The name that stands for a file in the errors of a scenario built in Python.
const BUILT: &str = "scenario";

#[pyclass(frozen, subclass, module = "netnice")]
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) file: Arc<ScenarioFile>,
    /// Directory of the files that the text refers to.
    directory: Option<PathBuf>,
}

type Settings = Vec<(String, String)>;

/// Sources of a scenario: text, file, settings, directory, hash.
type Parts = (String, String, Settings, Option<PathBuf>, String);

impl Scenario {
    fn parse(
        name: &str,
        text: &str,
        settings: &Settings,
        directory: Option<PathBuf>,
    ) -> PyResult<Scenario> {
        let file =
            ScenarioFile::parse_for(name, text, settings, directory.as_deref(), not_simulated);
        let file = file.map_err(|problems| match name {
            BUILT => error::of_built_scenario(problems),
            _ => error::of_scenario(&problems),
        })?;
        Ok(Scenario {
            file: Arc::new(file),
            directory,
        })
    }
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (**fields))]
    fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Scenario> {
        let text = fields.map_or_else(|| Ok(String::new()), toml::document)?;
        Scenario::parse(BUILT, &text, &Vec::new(), None)
    }

    #[classmethod]
    #[pyo3(signature = (fields, *, directory=None))]
    fn from_dict(
        _class: &Bound<'_, PyType>,
        fields: &Bound<'_, PyDict>,
        directory: Option<PathBuf>,
    ) -> PyResult<Scenario> {
        Scenario::parse(BUILT, &toml::document(fields)?, &Vec::new(), directory)
    }

    #[classmethod]
    #[pyo3(signature = (path, settings=None))]
    fn from_toml(
        _class: &Bound<'_, PyType>,
        path: PathBuf,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let settings = read_settings(settings)?;
        let file = ScenarioFile::load_for(&path, &settings, not_simulated);
        let file = file.map_err(|problems| error::of_scenario(&problems))?;
        Ok(Scenario {
            file: Arc::new(file),
            directory: path.parent().map(Path::to_owned),
        })
    }

    #[classmethod]
    #[pyo3(signature = (text, settings=None, *, file="scenario.toml", directory=None))]
    fn from_text(
        _class: &Bound<'_, PyType>,
        text: &str,
        settings: Option<&Bound<'_, PyDict>>,
        file: &str,
        directory: Option<PathBuf>,
    ) -> PyResult<Scenario> {
        Scenario::parse(file, text, &read_settings(settings)?, directory)
    }

    /// The scenario on another machine, with the check that the files it refers to are the same there.
    #[classmethod]
    fn _from_parts(
        _class: &Bound<'_, PyType>,
        text: &str,
        file: &str,
        settings: Settings,
        directory: Option<PathBuf>,
        hash: &str,
    ) -> PyResult<Scenario> {
        let scenario = Scenario::parse(file, text, &settings, directory)?;
        if scenario.file.hash != hash {
            return Err(PyValueError::new_err(format!(
                "{file}: the files that the scenario refers to differ on this machine; put the same on all"
            )));
        }
        Ok(scenario)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let this = slf.get();
        let file = &this.file;
        let parts = (
            file.text.clone(),
            file.file.clone(),
            file.settings.clone(),
            // A worker may run in another directory.
            this.directory
                .as_deref()
                .map(|directory| std::path::absolute(directory).unwrap_or(directory.to_owned())),
            file.hash.clone(),
        );
        Ok((slf.get_type().getattr("_from_parts")?, parts))
    }

    #[pyo3(signature = (settings=None, /, **more))]
    fn with_settings(
        &self,
        settings: Option<&Bound<'_, PyDict>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let mut all = self.file.settings.clone();
        for (key, value) in read_settings(settings)?
            .into_iter()
            .chain(read_settings(more)?)
        {
            all.retain(|(other, _)| *other != key);
            all.push((key, value));
        }
        Scenario::parse(
            &self.file.file,
            &self.file.text,
            &all,
            self.directory.clone(),
        )
    }

    fn with_sweep(&self, axes: &Bound<'_, PyDict>) -> PyResult<Scenario> {
        let text = toml::with_sweep(&self.file.text, axes)?;
        let settings = self.file.settings.iter();
        let mut settings: Settings = settings.cloned().collect();
        for (key, _) in axes {
            let key: String = key.extract()?;
            settings.retain(|(other, _)| *other != key);
        }
        Scenario::parse(&self.file.file, &text, &settings, self.directory.clone())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.file.scenario().name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.file.scenario().description
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.file.scenario().duration.get().as_secs_f64()
    }

    #[getter]
    fn file(&self) -> &str {
        &self.file.file
    }

    #[getter]
    fn text(&self) -> &str {
        &self.file.text
    }

    #[getter]
    fn settings(&self) -> Settings {
        self.file.settings.clone()
    }

    #[getter]
    fn hash(&self) -> &str {
        &self.file.hash
    }

    #[getter]
    fn axes(&self) -> Vec<String> {
        self.file.axes.clone()
    }

    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let points = self.file.points.iter().map(|point| {
            let settings = PyDict::new(py);
            for (key, value) in &point.settings {
                settings.set_item(key, value)?;
            }
            Ok(settings)
        });
        points.collect()
    }

    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.file.scenario().seeds.0.clone()
    }

    #[getter]
    fn runs(&self) -> Vec<(usize, u64)> {
        self.file.runs()
    }

    fn explain(&self) -> String {
        explain(&self.file)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Scenario>()
            .is_ok_and(|other| other.get().file.hash == self.file.hash)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, &self.file.hash).hash()
    }

    fn __repr__(&self) -> String {
        let (points, runs) = (self.file.points.len(), self.file.runs().len());
        format!(
            "<netnice.Scenario \"{}\": {points} point{}, {runs} run{} of {} s>",
            self.name(),
            if points == 1 { "" } else { "s" },
            if runs == 1 { "" } else { "s" },
            self.duration_s()
        )
    }
}

/// Settings by key, values as TOML writes them.
fn read_settings(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Settings> {
    let Some(settings) = settings else {
        return Ok(Vec::new());
    };
    let settings = settings.iter().map(|(key, value)| {
        let key: String = key.extract()?;
        let value = toml::setting(&key, &value)?;
        Ok((key, value))
    });
    settings.collect()
}
