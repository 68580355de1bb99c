// SPDX-License-Identifier: MIT OR Apache-2.0
//! Studies: scenarios with their settings.

use std::fs;
use std::io;
use std::path::Path;

use netnice_results::Backend;
use netnice_scenario::{ScenarioError, ScenarioFile};
use netnice_study::{Effort, Scale};
use tempfile::TempDir;

/// A scenario, its settings and sweeps, and the number of runs.
///
/// Experiments may share a study: those of the same name are the same, and run once.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Name, unique among all papers: `lp03_t1_tcplp`.
    pub name: String,
    /// Name of the scenario file in `papers/experiments/scenarios/`.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The settings, as of `netnice sim --set`.
    pub settings: Vec<(String, String)>,
    /// Sweeps beside those of the file: a parameter or a field, and values as of settings.
    pub sweep: Vec<(String, Vec<String>)>,
    /// Runs with `--quick`.
    pub quick: Scale,
    /// Runs with `--full`.
    pub full: Scale,
    /// The path on a running kernel, where the study's own is beyond one.
    pub on_kernel: Option<KernelPath>,
}

/// The path of a study on a running kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPath {
    /// The difference, to stand beside a value: `on 100 Mb/s in place of 450`.
    pub words: &'static str,
    /// Settings after those of the study.
    pub settings: Vec<(String, String)>,
}

/// A study whose scenario is refused.
#[derive(Debug, thiserror::Error)]
#[error("study {study}: {error}")]
pub struct StudyError {
    /// Its name.
    pub study: String,
    /// Why.
    pub error: ScenarioError,
}

/// Congestion controls in C for kernels that have none of that name: file and text. A study's settings for a kernel name
/// the file.
const CONTROL_FILES: [(&str, &str); 1] =
    [("highspeed.h", include_str!("../scenarios/highspeed.h"))];

/// Writes the control files of studies to a directory, for scenarios that are read there.
pub(crate) fn write_control_files(directory: &Path) -> io::Result<()> {
    CONTROL_FILES
        .iter()
        .try_for_each(|(file, text)| fs::write(directory.join(file), text))
}

/// A directory with the control files.
pub(crate) fn control_files() -> io::Result<TempDir> {
    let directory = tempfile::tempdir()?;
    write_control_files(directory.path())?;
    Ok(directory)
}

/// Where a [`Store`](crate::Store) keeps the studies of a backend.
pub(crate) fn directory(backend: Backend) -> &'static str {
    match backend {
        Backend::Simulation => "studies",
        Backend::Lab => "lab",
    }
}

/// A value as of `netnice sim --set`: a text needs no quotes.
fn in_toml(value: &str) -> String {
    let plain = value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
    match plain || value.starts_with('{') {
        true => value.to_owned(),
        false => format!("{value:?}"),
    }
}

/// A file of `papers/experiments/scenarios/`: its name and its text.
macro_rules! scenario {
    ($file:literal) => {
        (
            $file,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/", $file)),
        )
    };
}
pub(crate) use scenario;

impl Study {
    /// A study of a file, given by `scenario!`.
    pub fn new(
        name: impl Into<String>,
        (file, text): (&'static str, &'static str),
        quick: Scale,
        full: Scale,
    ) -> Study {
        Study {
            name: name.into(),
            file,
            text,
            settings: Vec::new(),
            sweep: Vec::new(),
            quick,
            full,
            on_kernel: None,
        }
    }

    /// With another path on a running kernel, described by `words`.
    #[must_use]
    pub fn on_kernel(mut self, words: &'static str, settings: &[(&str, &str)]) -> Study {
        let settings = settings.iter();
        let settings = settings.map(|&(key, value)| (key.to_owned(), value.to_owned()));
        self.on_kernel = Some(KernelPath {
            words,
            settings: settings.collect(),
        });
        self
    }

    /// Renames the study.
    #[must_use]
    pub fn renamed(mut self, name: &str) -> Study {
        self.name = name.to_owned();
        self
    }

    /// With a parameter, or a field by its path, set to a value.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Study {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// With all of these set.
    #[must_use]
    pub fn set_all(self, settings: &[(&str, &str)]) -> Study {
        settings
            .iter()
            .fold(self, |study, (key, value)| study.set(key, value))
    }

    /// With a parameter or a field taking these values in turn. The file must have no sweep.
    #[must_use]
    pub fn sweep(mut self, key: &str, values: &[&str]) -> Study {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        self.sweep.push((key.to_owned(), values));
        self
    }

    /// How often it is run.
    pub fn scale(&self, effort: Effort) -> Scale {
        match effort {
            Effort::Quick => self.quick,
            Effort::Full => self.full,
        }
    }

    /// The scenario's text with the sweep.
    fn full_text(&self) -> String {
        let mut text = self.text.to_owned();
        if !self.sweep.is_empty() {
            text.push_str("\n[sweep]\n");
        }
        for (key, values) in &self.sweep {
            let values: Vec<String> = values.iter().map(|value| in_toml(value)).collect();
            text.push_str(&format!("{key} = [{}]\n", values.join(", ")));
        }
        text
    }

    /// The scenario, read and checked, as it is run with this effort.
    pub fn scenario(&self, effort: Effort) -> Result<ScenarioFile, StudyError> {
        self.scenario_at(self.scale(effort))
    }

    /// The settings of a backend.
    pub(crate) fn settings_of(&self, backend: Backend) -> impl Iterator<Item = &(String, String)> {
        let path = match backend {
            Backend::Simulation => None,
            Backend::Lab => self.on_kernel.as_ref(),
        };
        let settings = path.map_or(&[][..], |path| &path.settings);
        self.settings.iter().chain(settings)
    }

    /// The scenario, read and checked, with so many runs of such a length.
    pub fn scenario_at(&self, scale: Scale) -> Result<ScenarioFile, StudyError> {
        self.scenario_of(Backend::Simulation, scale, None)
    }

    /// The scenario for a running kernel. `control_files` is the directory of [`control_files`].
    pub(crate) fn scenario_on_kernel(
        &self,
        scale: Scale,
        control_files: &Path,
    ) -> Result<ScenarioFile, StudyError> {
        self.scenario_of(Backend::Lab, scale, Some(control_files))
    }

    fn scenario_of(
        &self,
        backend: Backend,
        scale: Scale,
        directory: Option<&Path>,
    ) -> Result<ScenarioFile, StudyError> {
        let mut settings: Vec<_> = self.settings_of(backend).cloned().collect();
        settings.push(("seeds".to_owned(), scale.seeds.to_string()));
        let seconds = format!("{}s", scale.duration.as_secs());
        settings.push(("duration".to_owned(), seconds));
        ScenarioFile::parse(self.file, &self.full_text(), &settings, directory).map_err(|error| {
            StudyError {
                study: self.name.clone(),
                error,
            }
        })
    }
}
