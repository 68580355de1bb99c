// SPDX-License-Identifier: MIT OR Apache-2.0
//! The directory of runs and outcomes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use netnice_results::output;
use netnice_results::{Backend, DirectoryError, Existing, Manifest, ResultsDirectory};
use netnice_scenario::{ScenarioFile, input};

use crate::experiments;
use crate::outcome::{Outcome, Outcomes};
use crate::study::{directory, write_control_files};

/// A directory of a reproduction: `studies/NAME/` for each study, as `netnice sim --out` makes it, `lab/NAME/`, as `netnice lab
/// --out` does, and `outcomes.json`.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    resume: bool,
    version: String,
    command: Vec<String>,
}

/// Why something cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory of a study.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// There are no outcomes.
    #[error("{} holds no outcomes: there is no outcomes.json", .0.display())]
    NoOutcomes(PathBuf),
    /// The file of outcomes.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
}

impl Store {
    /// A store in `path`; with `resume` runs that are there are taken up, and without they are refused.
    pub fn new(path: &Path, resume: bool, version: &str, command: Vec<String>) -> Store {
        Store {
            path: path.to_owned(),
            resume,
            version: version.to_owned(),
            command,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of a study.
    pub fn study(
        &self,
        name: &str,
        file: &ScenarioFile,
        backend: Backend,
    ) -> Result<ResultsDirectory, StoreError> {
        let manifest = Manifest::new(file, backend, &self.version, self.command.clone());
        let path = self.path.join(directory(backend)).join(name);
        let existing = match self.resume {
            true => Existing::Resume,
            false => Existing::Refuse,
        };
        let results = ResultsDirectory::create(&path, manifest, file, existing)?;
        // The settings name control files by their place beside the scenario.
        let scenarios = file.points.iter().map(|point| &point.scenario);
        let mut flows = scenarios.flat_map(|scenario| &scenario.flows);
        if flows.any(|flow| flow.congestion_control.file.is_some()) {
            write_control_files(&path).map_err(|error| StoreError::Io { path, error })?;
        }
        Ok(results)
    }

    fn outcomes_path(&self) -> PathBuf {
        self.path.join("outcomes.json")
    }

    /// The outcomes in a directory.
    pub fn outcomes(directory: &Path) -> Result<Outcomes, StoreError> {
        let path = directory.join("outcomes.json");
        if !path.exists() {
            return Err(StoreError::NoOutcomes(directory.to_owned()));
        }
        let read = input::read_regular(&path, input::SUMMARY_BYTES)
            .and_then(|text| serde_json::from_slice(&text).map_err(io::Error::from));
        read.map_err(|error| StoreError::Io { path, error })
    }

    /// Keeps outcomes beside those that are there of other experiments.
    pub fn keep(
        &self,
        fresh: Vec<Outcome>,
        jobs: usize,
        wall_s: f64,
    ) -> Result<Outcomes, StoreError> {
        let mut outcomes = fresh;
        if let Ok(before) = Store::outcomes(&self.path) {
            let others = before.outcomes.into_iter();
            let others: Vec<Outcome> = others
                .filter(|before| !outcomes.iter().any(|outcome| outcome.id == before.id))
                .collect();
            outcomes.extend(others);
        }
        let ids = experiments::ids();
        outcomes.sort_by_key(|outcome| ids.iter().position(|id| *id == outcome.id));
        let outcomes = Outcomes {
            version: self.version.clone(),
            command: self.command.clone(),
            jobs,
            wall_s,
            outcomes,
        };
        let path = self.outcomes_path();
        let written = fs::create_dir_all(&self.path)
            .and_then(|()| serde_json::to_vec(&outcomes).map_err(io::Error::from))
            .and_then(|text| output::replace(&path, &text));
        written.map_err(|error| StoreError::Io { path, error })?;
        Ok(outcomes)
    }
}
