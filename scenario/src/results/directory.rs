// SPDX-License-Identifier: MIT OR Apache-2.0
//! A directory of results: a manifest, a file for each finished run, and what is made from them in the end.
//!
//! Every file is complete or absent, whenever the program ends: so finished runs are kept, and found again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{RunResults, Summary, tables};
use crate::ScenarioFile;

/// Where figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// Computed by the simulator.
    Simulation,
    /// Measured with real packets.
    Lab,
}

/// What has made the results, enough to make them again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the scenario.
    pub scenario: String,
    /// SHA-256 of the scenario's text, what was set from outside and its traces.
    pub scenario_hash: String,
    /// Simulated or measured.
    pub world: World,
    /// Version of netnice.
    pub version: String,
    /// The command, with its arguments.
    pub command: Vec<String>,
    /// What was set from outside: key and value.
    pub settings: Vec<(String, String)>,
    /// Parameters and fields of the sweep.
    pub axes: Vec<String>,
    /// Seeds of each point.
    pub seeds: Vec<u64>,
    /// Runs in all.
    pub runs: usize,
}

impl Manifest {
    /// The manifest of a scenario's runs.
    pub fn new(file: &ScenarioFile, world: World, version: &str, command: Vec<String>) -> Manifest {
        Manifest {
            scenario: file.scenario().name.clone(),
            scenario_hash: file.hash.clone(),
            world,
            version: version.to_owned(),
            command,
            settings: file.settings.clone(),
            axes: file.axes.clone(),
            seeds: file.scenario().seeds.0.clone(),
            runs: file.runs().len(),
        }
    }

    /// Runs of both give the same figures.
    fn same_runs(&self, other: &Manifest) -> bool {
        self.scenario_hash == other.scenario_hash
            && self.version == other.version
            && self.world == other.world
    }
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Results are there already.
    #[error("{} holds results already; take them up with --resume, or choose another directory", .0.display())]
    Occupied(PathBuf),
    /// Results of something else are there.
    #[error("{} holds results of another scenario, version or setting; choose another directory", .0.display())]
    OtherRuns(PathBuf),
    /// Runs are there, but nothing says of what.
    #[error("{} holds runs without the manifest.json that says which scenario they are of; choose another directory, or remove runs/ from it", .0.display())]
    UnknownRuns(PathBuf),
    /// There are no results.
    #[error("{} holds no results: there is no manifest.json", .0.display())]
    NoResults(PathBuf),
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Its answer.
        error: io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError + '_ {
    move |error| DirectoryError::Io {
        path: path.to_owned(),
        error,
    }
}

/// An open directory of results.
#[derive(Debug, Clone)]
pub struct ResultsDirectory {
    path: PathBuf,
    manifest: Manifest,
}

impl ResultsDirectory {
    /// A new directory, or with `resume` one that has runs of the same scenario.
    pub fn create(
        path: &Path,
        manifest: Manifest,
        scenario: &ScenarioFile,
        resume: bool,
    ) -> Result<ResultsDirectory, DirectoryError> {
        let runs = path.join("runs");
        if path.join("manifest.json").exists() {
            let before = ResultsDirectory::open(path)?;
            if !resume {
                return Err(DirectoryError::Occupied(path.to_owned()));
            }
            if !before.manifest.same_runs(&manifest) {
                return Err(DirectoryError::OtherRuns(path.to_owned()));
            }
        } else if runs.exists() && !run_files(&runs)?.is_empty() {
            // They would be taken for runs of this scenario.
            return Err(DirectoryError::UnknownRuns(path.to_owned()));
        }
        fs::create_dir_all(&runs).map_err(at(&runs))?;
        write(&path.join("scenario.toml"), scenario.text.as_bytes())?;
        write_json(&path.join("manifest.json"), &manifest)?;
        Ok(ResultsDirectory {
            path: path.to_owned(),
            manifest,
        })
    }

    /// A directory that has results.
    pub fn open(path: &Path) -> Result<ResultsDirectory, DirectoryError> {
        let manifest = path.join("manifest.json");
        if !manifest.exists() {
            return Err(DirectoryError::NoResults(path.to_owned()));
        }
        Ok(ResultsDirectory {
            path: path.to_owned(),
            manifest: read_json(&manifest)?,
        })
    }

    /// What has made the results.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn run_path(&self, point: usize, seed: u64) -> PathBuf {
        let name = format!("point-{point:05}-seed-{seed}.json");
        self.path.join("runs").join(name)
    }

    /// A run that was finished before, if it can be read.
    pub fn finished(&self, point: usize, seed: u64) -> Option<RunResults> {
        read_json(&self.run_path(point, seed)).ok()
    }

    /// Keeps a finished run.
    pub fn store(&self, point: usize, run: &RunResults) -> Result<(), DirectoryError> {
        write_json(&self.run_path(point, run.seed), run)
    }

    /// All finished runs, by point and seed.
    pub fn runs(&self) -> Result<Vec<RunResults>, DirectoryError> {
        let mut files = run_files(&self.path.join("runs"))?;
        files.sort_by_key(|&(key, _)| key);
        files.iter().map(|(_, path)| read_json(path)).collect()
    }

    /// Writes the tables as Parquet files, beside those of [`ResultsDirectory::write_tables`].
    #[cfg(feature = "parquet")]
    pub fn write_parquet(
        &self,
        runs: &[RunResults],
        summary: &Summary,
    ) -> Result<(), DirectoryError> {
        for (name, table) in tables::all(&self.manifest.axes, runs, summary) {
            if !table.rows.is_empty() {
                let path = self.path.join(format!("{name}.parquet"));
                let mut content = Vec::new();
                super::parquet_file::write(&table, &mut content)
                    .map_err(|error| at(&path)(io::Error::other(error)))?;
                write(&path, &content)?;
            }
        }
        Ok(())
    }

    /// Writes the summary and the tables of `runs`.
    pub fn write_tables(
        &self,
        runs: &[RunResults],
        summary: &Summary,
    ) -> Result<(), DirectoryError> {
        write_json(&self.path.join("summary.json"), summary)?;
        for (name, table) in tables::all(&self.manifest.axes, runs, summary) {
            if !table.rows.is_empty() {
                let path = self.path.join(format!("{name}.csv"));
                let csv = table
                    .csv()
                    .map_err(|error| io::Error::other(error.to_string()));
                write(&path, &csv.map_err(at(&path))?)?;
            }
        }
        Ok(())
    }
}

/// Point and seed of a run.
type RunKey = (usize, u64);

/// The files of finished runs in a directory.
fn run_files(directory: &Path) -> Result<Vec<(RunKey, PathBuf)>, DirectoryError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(at(directory))? {
        let path = entry.map_err(at(directory))?.path();
        if let Some(key) = path.file_name().and_then(|name| key(name.to_str()?)) {
            files.push((key, path));
        }
    }
    Ok(files)
}

/// Point and seed of a run by the name of its file.
fn key(name: &str) -> Option<RunKey> {
    let name = name.strip_prefix("point-")?.strip_suffix(".json")?;
    let (point, seed) = name.split_once("-seed-")?;
    Some((point.parse().ok()?, seed.parse().ok()?))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, DirectoryError> {
    let text = fs::read(path).map_err(at(path))?;
    serde_json::from_slice(&text).map_err(|error| at(path)(error.into()))
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), DirectoryError> {
    let mut text = serde_json::to_vec(value).map_err(|error| at(path)(error.into()))?;
    text.push(b'\n');
    write(path, &text)
}

/// Writes beside and renames, so that the file is never half there.
fn write(path: &Path, content: &[u8]) -> Result<(), DirectoryError> {
    let beside = path.with_extension("unfinished");
    let written = fs::File::create(&beside).and_then(|mut file| file.write_all(content));
    written
        .and_then(|()| fs::rename(&beside, path))
        .map_err(at(path))
}
