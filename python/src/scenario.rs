// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario that has been read and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netnice_scenario::model::Transport;
use netnice_scenario::network::not_simulated;
use netnice_scenario::{ControlFiles, ScenarioFile, explain};
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
    pub(crate) directory: Option<PathBuf>,
    pub(crate) control_files: ControlFiles,
}

type Settings = Vec<(String, String)>;

/// Sources of a scenario: text, file, settings, directory, whether its text may name control files, hash.
type Parts = (String, String, Settings, Option<PathBuf>, bool, String);

/// The C files that may be controls.
fn control_files(allow: bool) -> ControlFiles {
    match allow {
        true => ControlFiles::OfScenario,
        false => ControlFiles::OfSettings,
    }
}

impl Scenario {
    fn parse(
        name: &str,
        text: &str,
        settings: &Settings,
        directory: Option<PathBuf>,
        control_files: ControlFiles,
    ) -> PyResult<Scenario> {
        let place = directory.as_deref();
        let file =
            ScenarioFile::parse_for(name, text, settings, place, control_files, &not_simulated);
        let file = file.map_err(|problems| match name {
            BUILT => error::of_built_scenario(problems),
            _ => error::of_scenario(&problems),
        })?;
        Ok(Scenario {
            file: Arc::new(file),
            directory,
            control_files,
        })
    }
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (**fields))]
    fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Scenario> {
        let text = fields.map_or_else(|| Ok(String::new()), toml::document)?;
        Scenario::parse(BUILT, &text, &Vec::new(), None, ControlFiles::default())
    }

    #[classmethod]
    #[pyo3(signature = (fields, *, directory=None, allow_control_files=false))]
    fn from_dict(
        _class: &Bound<'_, PyType>,
        fields: &Bound<'_, PyDict>,
        directory: Option<PathBuf>,
        allow_control_files: bool,
    ) -> PyResult<Scenario> {
        let text = toml::document(fields)?;
        let allowed = control_files(allow_control_files);
        Scenario::parse(BUILT, &text, &Vec::new(), directory, allowed)
    }

    #[classmethod]
    #[pyo3(signature = (path, settings=None, *, allow_control_files=false))]
    fn from_toml(
        _class: &Bound<'_, PyType>,
        path: PathBuf,
        settings: Option<&Bound<'_, PyDict>>,
        allow_control_files: bool,
    ) -> PyResult<Scenario> {
        let settings = read_settings(settings)?;
        let control_files = control_files(allow_control_files);
        let file = ScenarioFile::load_for(&path, &settings, control_files, &not_simulated);
        let file = file.map_err(|problems| error::of_scenario(&problems))?;
        Ok(Scenario {
            file: Arc::new(file),
            directory: path.parent().map(Path::to_owned),
            control_files,
        })
    }

    #[classmethod]
    #[pyo3(signature = (text, settings=None, *, file="scenario.toml", directory=None, allow_control_files=false))]
    fn from_text(
        _class: &Bound<'_, PyType>,
        text: &str,
        settings: Option<&Bound<'_, PyDict>>,
        file: &str,
        directory: Option<PathBuf>,
        allow_control_files: bool,
    ) -> PyResult<Scenario> {
        let settings = read_settings(settings)?;
        let allowed = control_files(allow_control_files);
        Scenario::parse(file, text, &settings, directory, allowed)
    }

    /// The scenario on another machine, with the check that the files it refers to are the same there.
    #[classmethod]
    fn _from_parts(
        _class: &Bound<'_, PyType>,
        text: &str,
        file: &str,
        settings: Settings,
        directory: Option<PathBuf>,
        allow_control_files: bool,
        hash: &str,
    ) -> PyResult<Scenario> {
        let allowed = control_files(allow_control_files);
        let scenario = Scenario::parse(file, text, &settings, directory, allowed)?;
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
            this.control_files == ControlFiles::OfScenario,
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
            self.control_files,
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
        let directory = self.directory.clone();
        let allowed = self.control_files;
        Scenario::parse(&self.file.file, &text, &settings, directory, allowed)
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

    /// Names of the flows over TCP.
    #[getter]
    pub(crate) fn tcp_flows(&self) -> Vec<&str> {
        let flows = self.file.scenario().flows.iter();
        let tcp = flows.filter(|flow| flow.transport == Transport::Tcp);
        tcp.map(|flow| flow.name.as_str()).collect()
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
