// SPDX-License-Identifier: MIT OR Apache-2.0
//! A directory of results: a manifest, a file for each finished run with its checksum, and what is made from them in the
//! end.
//!
//! Every file is complete or absent, whenever the program ends: so finished runs are kept, and found again. A run's file
//! that has another checksum, or none, is not taken for what the program has written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::slice;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use sha2::{Digest, Sha256};

use super::samples::Samples;
use crate::output;
use crate::{RunResults, Series, Summary, tables};
use netnice_scenario::hexadecimal::hexadecimal;
use netnice_scenario::input;
use netnice_scenario::{Point, ScenarioFile};

/// The directory of the Parquet files of time series: it has nothing else, so that a program reads all of them by its name.
const SERIES: &str = "series";

/// Checksums of runs and their time series, as `sha256sum` writes and checks them; of two lines for a file the later one counts.
const CHECKSUMS: &str = "SHA256SUMS";

/// Where figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Computed by the simulator.
    Simulation,
    /// Measured with real packets.
    Lab,
}

/// How a directory keeps time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesFormat {
    /// As JSON in the files of runs, and all of them in `series.csv`.
    #[default]
    Text,
    /// As a Parquet file for each run, in `series/`.
    Parquet,
}

impl SeriesFormat {
    /// Name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            SeriesFormat::Text => "text",
            SeriesFormat::Parquet => "Parquet files",
        }
    }

    /// The format for so many samples where nobody chose one; `None` for the default. A sample takes 70 bytes as text, which takes as long
    /// to write as it takes to simulate.
    fn for_samples(samples: u64) -> Option<SeriesFormat> {
        let many = samples > TEXT_SAMPLES && cfg!(feature = "parquet");
        many.then_some(SeriesFormat::Parquet)
    }
}

/// The bytes of a Parquet file of time series.
type SeriesContent = Vec<u8>;

/// The most samples of all runs that are kept as text where nobody chose.
const TEXT_SAMPLES: u64 = 1_000_000;

/// The origin of the results, enough to make them again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the scenario.
    pub scenario: String,
    /// SHA-256 of the scenario's text, the settings from outside but for the seeds, and its traces.
    pub scenario_hash: String,
    /// Simulated or measured.
    #[serde(alias = "world")]
    pub backend: Backend,
    /// Version of netnice.
    pub version: String,
    /// The command, with its arguments.
    pub command: Vec<String>,
    /// The settings from outside the file: key and value.
    pub settings: Vec<(String, String)>,
    /// Parameters and fields of the sweep.
    pub axes: Vec<String>,
    /// Seeds of each point.
    pub seeds: Vec<u64>,
    /// Runs in all.
    pub runs: usize,
    /// How time series are kept. In a directory that has results it is as before; where nobody chose, text up to a million samples of all
    /// runs, and Parquet files beyond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesFormat>,
}

impl Manifest {
    /// The manifest of a scenario's runs.
    pub fn new(
        file: &ScenarioFile,
        backend: Backend,
        version: &str,
        command: Vec<String>,
    ) -> Manifest {
        Manifest {
            scenario: file.scenario().name.clone(),
            scenario_hash: file.hash_of_runs.clone(),
            backend,
            version: version.to_owned(),
            command,
            settings: file.settings.clone(),
            axes: file.axes.clone(),
            seeds: file.scenario().seeds.0.clone(),
            runs: file.runs().len(),
            series: None,
        }
    }

    /// Why runs of `wanted` cannot be added to those of this manifest: what it has that `wanted` has not. `None` if they can be.
    fn differs_from(&self, wanted: &Manifest) -> Option<String> {
        if self.backend != wanted.backend {
            return Some(match self.backend {
                Backend::Simulation => "`netnice sim`".to_owned(),
                Backend::Lab => "`netnice lab`".to_owned(),
            });
        }
        if self.version != wanted.version {
            return Some(format!("netnice {}", self.version));
        }
        if self.scenario_hash != wanted.scenario_hash {
            let settings = |manifest: &Manifest| -> Vec<String> {
                let settings = manifest.settings.iter();
                let settings = settings.filter(|(key, _)| key != "seeds");
                settings
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect()
            };
            let had = settings(self);
            return Some(match () {
                () if had == settings(wanted) => {
                    "another text of the scenario, or of a file that it names".to_owned()
                }
                () if had.is_empty() => "a scenario without these settings".to_owned(),
                () => format!("other settings ({})", had.join(", ")),
            });
        }
        let missing = self.seeds.iter().find(|seed| !wanted.seeds.contains(seed));
        missing.map(|seed| format!("further seeds, such as {seed}"))
    }
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Results are there already.
    #[error("{} holds results already; reuse them with --resume, replace them with --overwrite, or choose another directory", .0.display())]
    Occupied(PathBuf),
    /// Results of something else are there.
    #[error("{} holds results of {of}; replace them with --overwrite, or choose another directory", path.display())]
    OtherRuns {
        /// The directory.
        path: PathBuf,
        /// What they are of.
        of: String,
    },
    /// Time series are there in another format.
    #[error("{} holds time series as {}; leave out --series, or choose another directory", path.display(), format.name())]
    OtherSeries {
        /// The directory.
        path: PathBuf,
        /// Their format.
        format: SeriesFormat,
    },
    /// There are runs, but no manifest that says of which scenario.
    #[error("{} holds runs without the manifest.json that says which scenario they are of; choose another directory, or remove runs/ from it", .0.display())]
    UnknownRuns(PathBuf),
    /// There are no results.
    #[error("{} holds no results: there is no manifest.json", .0.display())]
    NoResults(PathBuf),
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file that was read or written.
        path: PathBuf,
        /// Its answer.
        error: io::Error,
    },
}

/// Why a run's file is not reused.
#[derive(Debug, thiserror::Error)]
pub enum StaleRun {
    /// Its contents differ from those that the program has written.
    #[error("{}: the file is not as it was written: its SHA-256 is not that in {CHECKSUMS}", .0.display())]
    Changed(PathBuf),
    /// It may be anything.
    #[error("{}: {CHECKSUMS} has no line for the file", .0.display())]
    Unlisted(PathBuf),
    /// It is of another run.
    #[error("{}: the file is of another seed or other settings", .0.display())]
    OtherRun(PathBuf),
    /// It is no run at all.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Message of the system or of the parser.
        error: io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError + '_ {
    move |error| DirectoryError::Io {
        path: path.to_owned(),
        error,
    }
}

/// Action on results that a directory already holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the directory.
    Refuse,
    /// Reuse finished runs, if they are of the same scenario, version and settings.
    Resume,
    /// Remove them. Files that are no results stay.
    Overwrite,
}

/// An open directory of results.
#[derive(Debug, Clone)]
pub struct ResultsDirectory {
    path: PathBuf,
    manifest: Manifest,
    /// Of the runs that were there when it was opened: name and SHA-256.
    checksums: BTreeMap<String, String>,
}

impl ResultsDirectory {
    /// A new directory, or one that holds results already and is treated as `existing` says.
    pub fn create(
        path: &Path,
        mut manifest: Manifest,
        scenario: &ScenarioFile,
        existing: Existing,
    ) -> Result<ResultsDirectory, DirectoryError> {
        let runs = path.join("runs");
        if existing == Existing::Overwrite && path.join("manifest.json").exists() {
            remove_results(path)?;
        }
        if path.join("manifest.json").exists() {
            let before = ResultsDirectory::open(path)?;
            if existing == Existing::Refuse {
                return Err(DirectoryError::Occupied(path.to_owned()));
            }
            if let Some(of) = before.manifest.differs_from(&manifest) {
                let path = path.to_owned();
                return Err(DirectoryError::OtherRuns { path, of });
            }
            let format = before.series_format();
            if manifest.series.is_some_and(|wanted| wanted != format) {
                let path = path.to_owned();
                return Err(DirectoryError::OtherSeries { path, format });
            }
            manifest.series = before.manifest.series;
        } else if runs.exists() && !run_files(&runs)?.is_empty() {
            // They would be taken for runs of this scenario.
            return Err(DirectoryError::UnknownRuns(path.to_owned()));
        } else if manifest.series.is_none() {
            manifest.series = SeriesFormat::for_samples(scenario.samples());
        }
        fs::create_dir_all(&runs).map_err(at(&runs))?;
        write(&path.join("scenario.toml"), scenario.text.as_bytes())?;
        write_json(&path.join("manifest.json"), &manifest)?;
        Ok(ResultsDirectory {
            path: path.to_owned(),
            manifest,
            checksums: read_checksums(&path.join(CHECKSUMS))?,
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
            manifest: read_json(&manifest, input::SUMMARY_BYTES)?,
            checksums: read_checksums(&path.join(CHECKSUMS))?,
        })
    }

    /// The origin of the results.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How it keeps time series.
    pub fn series_format(&self) -> SeriesFormat {
        self.manifest.series.unwrap_or_default()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where time series are that are kept as Parquet files.
    pub fn series_directory(&self) -> PathBuf {
        self.path.join(SERIES)
    }

    /// A run that was finished before this directory was opened; an error where there is a file, but not of that run as
    /// it was written. `number` is that of `point` in the sweep. Its time series stay in their file where they have one of their own:
    /// [`ResultsDirectory::load_series`] reads them.
    pub fn finished(
        &self,
        number: usize,
        point: &Point,
        seed: u64,
    ) -> Result<Option<RunResults>, StaleRun> {
        let run = self.finished_files(number, point, seed)?;
        Ok(run.map(|(run, _)| run))
    }

    /// [`ResultsDirectory::finished`], with the time series.
    pub fn finished_with_series(
        &self,
        number: usize,
        point: &Point,
        seed: u64,
    ) -> Result<Option<RunResults>, StaleRun> {
        let Some((mut run, series)) = self.finished_files(number, point, seed)? else {
            return Ok(None);
        };
        if let Some(content) = series {
            let path = self.path.join(series_file(number, seed));
            let series = read_series(content);
            run.series = series.map_err(|error| StaleRun::Unreadable { path, error })?;
            run.series_file = None;
        }
        Ok(Some(run))
    }

    /// A finished run, and the content of its file of time series where it has one.
    fn finished_files(
        &self,
        number: usize,
        point: &Point,
        seed: u64,
    ) -> Result<Option<(RunResults, Option<SeriesContent>)>, StaleRun> {
        let name = run_file(number, seed);
        let path = self.path.join(&name);
        let unreadable = |error| StaleRun::Unreadable {
            path: path.clone(),
            error,
        };
        let text = match input::read_regular(&path, input::RUN_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        self.compare_checksum(&name, &text)?;
        let run: RunResults =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))?;
        if run.seed != seed || run.settings != point.settings {
            return Err(StaleRun::OtherRun(path));
        }
        if run.series_file.is_none() {
            return Ok(Some((run, None)));
        }
        // Of this name, whatever the run's file says.
        let name = series_file(number, seed);
        let path = self.path.join(&name);
        let content = input::read_regular(&path, input::RUN_BYTES);
        let content = content.map_err(|error| StaleRun::Unreadable { path, error })?;
        self.compare_checksum(&name, &content)?;
        Ok(Some((run, Some(content))))
    }

    fn compare_checksum(&self, name: &str, content: &[u8]) -> Result<(), StaleRun> {
        let path = || self.path.join(name);
        match self.checksums.get(name) {
            Some(checksum) if *checksum == sha256(content) => Ok(()),
            Some(_) => Err(StaleRun::Changed(path())),
            None => Err(StaleRun::Unlisted(path())),
        }
    }

    /// Reads the time series of a run if they have a file of their own. `point` is the number of the run's point in the sweep.
    pub fn load_series(&self, point: usize, run: &mut RunResults) -> Result<(), DirectoryError> {
        if run.series_file.is_none() {
            return Ok(());
        }
        let path = self.path.join(series_file(point, run.seed));
        let content = input::read_regular(&path, input::RUN_BYTES).map_err(at(&path))?;
        run.series = read_series(content).map_err(at(&path))?;
        run.series_file = None;
        Ok(())
    }

    /// Keeps a finished run, and its checksum. `run` is the same afterwards.
    pub fn store(&self, point: usize, run: &mut RunResults) -> Result<(), DirectoryError> {
        if self.series_format() == SeriesFormat::Text || run.series.is_empty() {
            return self.store_figures(point, run);
        }
        let name = series_file(point, run.seed);
        let path = self.path.join(&name);
        let directory = self.series_directory();
        fs::create_dir_all(&directory).map_err(at(&directory))?;
        let axes = &self.manifest.axes;
        let written = output::replace_through(&path, Hashed::new, |file| {
            write_series(&tables::series(axes, slice::from_ref(run)), file)
        });
        self.add_checksum(&name, written.map_err(at(&path))?)?;
        let series = mem::take(&mut run.series);
        run.series_file = Some(name);
        let stored = self.store_figures(point, run);
        run.series = series;
        run.series_file = None;
        stored
    }

    fn store_figures(&self, point: usize, run: &RunResults) -> Result<(), DirectoryError> {
        let name = run_file(point, run.seed);
        let path = self.path.join(&name);
        let written = output::replace_through(&path, Hashed::new, |file| write_json_to(file, run));
        self.add_checksum(&name, written.map_err(at(&path))?)
    }

    /// Adds a file, of which this was written, to the list of checksums.
    fn add_checksum(&self, name: &str, written: Hashed<File>) -> Result<(), DirectoryError> {
        let sum = hexadecimal(&written.digest.finalize());
        // Last, so that a line is never there before its file. One write: threads store runs at a time.
        let checksums = self.path.join(CHECKSUMS);
        let line = format!("{sum}  {name}\n");
        let mut options = fs::OpenOptions::new();
        let file = options.append(true).create(true).open(&checksums);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(at(&checksums))
    }

    /// Leaves one line for each file in the list of checksums.
    fn tidy_checksums(&self) -> Result<(), DirectoryError> {
        let path = self.path.join(CHECKSUMS);
        let mut text = String::new();
        for (name, checksum) in read_checksums(&path)? {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{checksum}  {name}");
        }
        write(&path, text.as_bytes())
    }

    /// All finished runs with their time series, by point and seed.
    pub fn runs(&self) -> Result<Vec<RunResults>, DirectoryError> {
        let mut files = run_files(&self.path.join("runs"))?;
        files.sort_by_key(|&(key, _)| key);
        let files = files.iter();
        files
            .map(|((point, _), path)| {
                let mut run = read_json(path, input::RUN_BYTES)?;
                self.load_series(*point, &mut run)?;
                Ok(run)
            })
            .collect()
    }

    /// Writes the tables as Parquet files, beside those of [`ResultsDirectory::write_tables`].
    #[cfg(feature = "parquet")]
    pub fn write_parquet(
        &self,
        runs: &[RunResults],
        summary: &Summary,
    ) -> Result<(), DirectoryError> {
        let all = || tables::all(&self.manifest.axes, runs, summary);
        for ((name, mut rows), (_, again)) in all().zip(all()) {
            if !rows.is_empty() {
                let path = self.path.join(format!("{name}.parquet"));
                let written = output::replace_by(&path, |file| {
                    super::parquet_file::write(rows, again, file).map_err(io::Error::other)
                });
                written.map_err(at(&path))?;
            }
        }
        let samples = tables::series(&self.manifest.axes, runs);
        if self.series_format() == SeriesFormat::Text && !samples.is_empty() {
            let path = self.path.join(format!("{}.parquet", tables::SERIES));
            let written = output::replace_by(&path, |file| write_series(&samples, file));
            written.map_err(at(&path))?;
        }
        Ok(())
    }

    /// Writes the summary and the tables of `runs`, that of time series where they are kept as text.
    pub fn write_tables(
        &self,
        runs: &[RunResults],
        summary: &Summary,
    ) -> Result<(), DirectoryError> {
        self.tidy_checksums()?;
        write_json(&self.path.join("summary.json"), summary)?;
        for (name, mut rows) in tables::all(&self.manifest.axes, runs, summary) {
            if !rows.is_empty() {
                let path = self.path.join(format!("{name}.csv"));
                let written = output::replace_by(&path, |file| rows.write_csv(file));
                written.map_err(at(&path))?;
            }
        }
        let samples = tables::series(&self.manifest.axes, runs);
        if self.series_format() == SeriesFormat::Text && !samples.is_empty() {
            let path = self.path.join(format!("{}.csv", tables::SERIES));
            let written = output::replace_by(&path, |file| samples.write_csv(file));
            written.map_err(at(&path))?;
        }
        Ok(())
    }
}

/// Removes the results in a directory, the manifest last: until then it still is a directory of results.
fn remove_results(path: &Path) -> Result<(), DirectoryError> {
    // It must be one: a manifest.json of something else is not ours to remove.
    ResultsDirectory::open(path)?;
    let runs = path.join("runs");
    if runs.exists() {
        for (_, run) in run_files(&runs)? {
            // The packets of its links, as `netnice sim --pcap` writes them.
            if let Some(traces) = run.file_stem().map(|name| path.join("traces").join(name)) {
                if traces.exists() {
                    fs::remove_dir_all(&traces).map_err(at(&traces))?;
                }
            }
            remove_file(&run)?;
        }
    }
    let series = path.join(SERIES);
    if series.exists() {
        // A run that was killed leaves one without the run's file.
        for ending in ["parquet", "unfinished"] {
            for (_, file) in files_of_runs(&series, ending)? {
                remove_file(&file)?;
            }
        }
        // It stays where something else is in it.
        let _ = fs::remove_dir(&series);
    }
    let tables = tables::NAMES.iter();
    let tables = tables.flat_map(|name| [format!("{name}.csv"), format!("{name}.parquet")]);
    let others = ["summary.json", CHECKSUMS, "scenario.toml", "manifest.json"].map(str::to_owned);
    for name in tables.chain(others) {
        remove_file(&path.join(name))?;
    }
    Ok(())
}

/// Removes a file that need not exist.
fn remove_file(path: &Path) -> Result<(), DirectoryError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

/// Point and seed of a run.
type RunKey = (usize, u64);

/// The files of finished runs in a directory.
fn run_files(directory: &Path) -> Result<Vec<(RunKey, PathBuf)>, DirectoryError> {
    files_of_runs(directory, "json")
}

/// The files in a directory whose names are those of runs with this ending.
fn files_of_runs(directory: &Path, ending: &str) -> Result<Vec<(RunKey, PathBuf)>, DirectoryError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(at(directory))? {
        let path = entry.map_err(at(directory))?.path();
        if let Some(key) = path
            .file_name()
            .and_then(|name| key(name.to_str()?, ending))
        {
            files.push((key, path));
        }
    }
    Ok(files)
}

/// Point and seed of a run by the name of its file.
fn key(name: &str, ending: &str) -> Option<RunKey> {
    let name = name.strip_prefix("point-")?.strip_suffix(ending)?;
    let name = name.strip_suffix('.')?;
    let (point, seed) = name.split_once("-seed-")?;
    Some((point.parse().ok()?, seed.parse().ok()?))
}

/// A run's file in the directory of results.
fn run_file(point: usize, seed: u64) -> String {
    format!("runs/point-{point:05}-seed-{seed}.json")
}

/// The file of a run's time series in the directory of results.
fn series_file(point: usize, seed: u64) -> String {
    format!("{SERIES}/point-{point:05}-seed-{seed}.parquet")
}

#[cfg(feature = "parquet")]
fn write_series(samples: &Samples, to: impl Write + Send) -> io::Result<()> {
    super::series_file::write(samples, to).map_err(io::Error::other)
}

#[cfg(feature = "parquet")]
fn read_series(content: Vec<u8>) -> io::Result<Vec<Series>> {
    super::series_file::read(content).map_err(io::Error::other)
}

#[cfg(not(feature = "parquet"))]
const NO_PARQUET: &str =
    "time series in Parquet files need the feature `parquet` of netnice-scenario";

#[cfg(not(feature = "parquet"))]
fn write_series(_: &Samples, _: impl Write + Send) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_PARQUET))
}

#[cfg(not(feature = "parquet"))]
fn read_series(_: Vec<u8>) -> io::Result<Vec<Series>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_PARQUET))
}

fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// Name and SHA-256 of each file in a list; none where there is no list. A line that a full disk has cut off is none.
fn read_checksums(path: &Path) -> Result<BTreeMap<String, String>, DirectoryError> {
    let text = match input::read_regular(path, input::SUMMARY_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(at(path)(error)),
    };
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    Ok(lines
        .map(|(checksum, name)| (name.to_owned(), checksum.to_owned()))
        .collect())
}

fn read_json<T: DeserializeOwned>(path: &Path, most: u64) -> Result<T, DirectoryError> {
    let text = input::read_regular(path, most).map_err(at(path))?;
    serde_json::from_slice(&text).map_err(|error| at(path)(error.into()))
}

/// Takes the checksum of what is written.
struct Hashed<W> {
    to: W,
    digest: Sha256,
}

impl<W> Hashed<W> {
    fn new(to: W) -> Hashed<W> {
        Hashed {
            to,
            digest: Sha256::new(),
        }
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes a line of JSON.
fn write_json_to(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut json = Serializer::with_formatter(&mut to, Numbers::default());
    value.serialize(&mut json)?;
    to.write_all(b"\n")
}

/// Compact JSON, with the text of the newest number kept, as many numbers are equal to the one before.
#[derive(Default)]
struct Numbers {
    bits: u64,
    /// Empty before the first.
    text: Vec<u8>,
}

impl Formatter for Numbers {
    #[inline]
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value.to_bits() != self.bits || self.text.is_empty() {
            self.bits = value.to_bits();
            self.text.clear();
            CompactFormatter.write_f64(&mut self.text, value)?;
        }
        writer.write_all(&self.text)
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), DirectoryError> {
    output::replace_by(path, |file| write_json_to(file, value)).map_err(at(path))
}

fn write(path: &Path, content: &[u8]) -> Result<(), DirectoryError> {
    output::replace(path, content).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_by_serde_json() {
        let numbers = [
            0.0,
            -0.0,
            -0.0,
            1.0,
            1.0,
            f64::NAN,
            1.0,
            1e300,
            0.1,
            0.1,
            3.0,
        ];
        let numbers: Vec<Option<f64>> = (numbers.into_iter())
            .map(|number| number.is_finite().then_some(number))
            .collect();
        let value = (numbers, "a", 7u64, Some(0.5));
        let mut text = Vec::new();
        write_json_to(&mut text, &value).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            serde_json::to_string(&value).unwrap() + "\n"
        );
    }
}
