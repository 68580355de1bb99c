// SPDX-License-Identifier: MIT OR Apache-2.0
//! A batch: all runs of a scenario, by `netnice sim` or `netnice lab`.

mod control_files;
mod doubts;
pub mod figures;
pub mod report;
mod runs;
pub mod traces;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use netnice_results::{
    Backend, Existing, Manifest, ResultsDirectory, RunResults, SeriesFormat, Summary,
};
use netnice_scenario::{Check, ControlFiles, ScenarioFile, warnings};
use nix::sys::signal::Signal;
use serde::Serialize;

use doubts::{note_equal_runs, warn_of_doubts, warn_of_some};
use netnice_terminal::style;
use netnice_terminal::text::{self, say};
use runs::Outcome;

pub use runs::{Maker, warn_of_stale_runs};
pub use traces::WantedTraces;

/// The runs of a batch, and where their results go.
#[derive(Debug, Args)]
pub struct BatchArguments {
    /// Run the seeds 1 to NUMBER instead of the file's
    #[arg(long, value_name = "NUMBER", value_parser = seeds)]
    seeds: Option<u32>,
    /// Set a parameter, or a field by its path: links.bottleneck.rate=5mbit; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    settings: Vec<(String, String)>,
    /// Use the congestion control in this C file for the flows named FLOWS, or else for all TCP flows; can be repeated.
    /// docs/extending.md describes such files
    #[arg(long, value_name = "[FLOWS=]FILE")]
    control_file: Vec<String>,
    /// Allow the scenario to name C files as congestion controls: these are code, so read them first
    #[arg(long)]
    allow_control_files: bool,
    /// Keep all results in this directory
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Reuse finished runs found in the directory
    #[arg(long, requires = "out")]
    resume: bool,
    /// Remove results found in the directory first; other files stay
    #[arg(long, requires = "out", conflicts_with = "resume")]
    overwrite: bool,
    /// Also write the tables as Parquet files
    #[arg(long, requires = "out")]
    parquet: bool,
    /// Keep time series as `text`, in the runs' files and in series.csv, or as `parquet`, in one file per run in
    /// series/, which takes at most a seventh of the space [default: text up to a million samples in all runs together,
    /// else parquet; with --resume the earlier format]
    #[arg(
        long,
        value_name = "FORMAT",
        requires = "out",
        hide_possible_values = true
    )]
    series: Option<SeriesArgument>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Print no table and no progress. Warnings about figures that cannot be trusted still go to stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// How a directory keeps time series.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SeriesArgument {
    Text,
    Parquet,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    manifest: &'a Manifest,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Runs whose figures cannot be trusted; only from a lab.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_trustworthy: Vec<Distrust<'a>>,
}

/// A run whose figures cannot be trusted.
#[derive(Serialize)]
struct Distrust<'a> {
    settings: &'a [(String, String)],
    seed: u64,
    reason: &'a str,
}

impl BatchArguments {
    /// Reads the scenario with the settings and controls of the command line, and reports its errors, and those of `traces`, on stderr.
    ///
    /// # Errors
    /// If `--control-file` names flows that the scenario does not have.
    pub fn load(
        &self,
        path: &Path,
        check: Check<'_>,
        traces: WantedTraces<'_>,
    ) -> Result<Option<ScenarioFile>> {
        let allowed = match self.allow_control_files {
            true => ControlFiles::OfScenario,
            false => ControlFiles::OfSettings,
        };
        let mut controls = Vec::new();
        if !self.control_file.is_empty() {
            // The names of its flows are wanted, and not the files that it has for them.
            let names = self.load_with(path, &[], ControlFiles::Unread, &|_, _| Vec::new());
            let Some(names) = names else {
                return Ok(None);
            };
            controls = control_files::settings(&names, &self.control_file)?;
        }
        let Some(file) = self.load_with(path, &controls, allowed, check) else {
            return Ok(None);
        };
        if let Some(error) = traces.unknown_link(&file)? {
            say!("netnice: {error}");
            return Ok(None);
        }
        Ok(Some(file))
    }

    fn load_with(
        &self,
        path: &Path,
        more: &[(String, String)],
        control_files: ControlFiles,
        check: Check<'_>,
    ) -> Option<ScenarioFile> {
        let mut settings = self.settings.clone();
        settings.extend_from_slice(more);
        if let Some(seeds) = self.seeds {
            if settings.iter().any(|(key, _)| key == "seeds") {
                say!("netnice: --seeds and --set seeds contradict each other: leave one out");
                return None;
            }
            settings.push(("seeds".to_owned(), seeds.to_string()));
        }
        match ScenarioFile::load_for(path, &settings, control_files, check) {
            Ok(file) => Some(file),
            Err(error) => {
                for line in error.to_string().lines() {
                    say!("netnice: {line}");
                }
                None
            }
        }
    }

    /// Opens the directory for the results, if one is given.
    pub fn directory(
        &self,
        file: &ScenarioFile,
        backend: Backend,
    ) -> Result<(Manifest, Option<ResultsDirectory>)> {
        let mut manifest = Manifest::new(file, backend, env!("CARGO_PKG_VERSION"), command());
        manifest.series = self.series.map(|format| match format {
            SeriesArgument::Text => SeriesFormat::Text,
            SeriesArgument::Parquet => SeriesFormat::Parquet,
        });
        let out = self.out.as_ref();
        let existing = match (self.resume, self.overwrite) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Overwrite,
            _ => Existing::Refuse,
        };
        let directory = out
            .map(|out| ResultsDirectory::create(out, manifest.clone(), file, existing))
            .transpose()?;
        if let Some(directory) = &directory {
            manifest.series = directory.manifest().series;
        }
        let chosen = directory.as_ref().filter(|directory| {
            let parquet = directory.series_format() == SeriesFormat::Parquet;
            parquet && self.series.is_none() && !self.resume && !self.quiet
        });
        if let Some(directory) = chosen {
            say!(
                "netnice: {} samples: time series are kept as Parquet files in {}; --series text keeps them as JSON and CSV",
                file.samples(),
                directory.series_directory().display()
            );
        }
        Ok((manifest, directory))
    }

    /// Makes all runs, stores them and reports the results.
    pub fn run(&self, file: &ScenarioFile, maker: &Maker) -> Result<ExitCode> {
        warn_of_some(&warnings(file), "; --explain shows all", |warning| {
            say!("netnice: warning: {warning}");
        });
        let (manifest, directory) = self.directory(file, maker.backend)?;
        let out = self.out.as_deref();
        let Outcome {
            runs,
            interrupted,
            error,
        } = runs::run_all(file, (out, directory.as_ref()), maker, self.quiet)?;
        // Of a hundred thousand flows it takes as much memory as their runs.
        let shown = self.json || !self.quiet;
        let summary = match directory.is_some() || shown {
            true => Summary::of(&runs),
            false => Summary::default(),
        };
        if let Some(directory) = &directory {
            directory.write_tables(&runs, &summary)?;
            if self.parquet {
                directory.write_parquet(&runs, &summary)?;
            }
        }
        let total = file.runs().len();
        if let Some(error) = error {
            if !runs.is_empty() {
                say!("netnice: {} of {total} runs are finished", runs.len());
            }
            return Err(error);
        }
        if self.json {
            let report = Report {
                manifest: &manifest,
                summary: &summary,
                not_trustworthy: distrusted(&runs),
            };
            text::print_json(&report)?;
        } else if !self.quiet && !runs.is_empty() {
            text::print(&report::report(file, &runs, &summary))?;
        }
        warn_of_doubts(file, &runs);
        if !self.quiet {
            note_equal_runs(&runs);
        }
        for run in distrusted(&runs) {
            let mut words = text::settings(run.settings);
            words.push(format!("seed {}: {}", run.seed, run.reason));
            let line = format!("NOT TRUSTWORTHY: {}", words.join(", "));
            say!("netnice: {}", style::alarm(line));
        }
        if let Some(signal) = interrupted {
            let Some(out) = &self.out else {
                say!(
                    "netnice: interrupted; {} of {total} runs are finished, and not kept: --out DIRECTORY keeps them for --resume",
                    runs.len()
                );
                return Ok(ExitCode::from(128 + signal as u8));
            };
            return Ok(interrupted_by(signal, (runs.len(), total), out));
        }
        Ok(match runs.iter().any(runs::misses_events) {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }
}

/// Reports that a signal ended the runs, with the number of those finished and of all, and returns the exit code.
pub fn interrupted_by(signal: Signal, (finished, total): (usize, usize), out: &Path) -> ExitCode {
    say!(
        "netnice: interrupted; {finished} of {total} runs are finished and kept in {}: go on with the same command and --resume",
        out.display()
    );
    ExitCode::from(128 + signal as u8)
}

/// Returns the command line for a manifest, as UTF-8 for JSON, although file names need not be UTF-8.
pub fn command() -> Vec<String> {
    let arguments = std::env::args_os();
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

fn distrusted(runs: &[RunResults]) -> Vec<Distrust<'_>> {
    let runs = runs.iter().filter_map(|run| {
        let lab = run.lab.as_ref().filter(|lab| !lab.trustworthy)?;
        Some(Distrust {
            settings: &run.settings,
            seed: run.seed,
            reason: &lab.reason,
        })
    });
    runs.collect()
}

fn seeds(text: &str) -> Result<u32, String> {
    let number = text::whole_number(1..=100_000)(text);
    number.map_err(|error| {
        format!("{error}; the seeds are 1 to this number, and --set seeds='[3, 5]' runs these two")
    })
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as KEY=VALUE, such as links.bottleneck.rate=5mbit".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_key_and_a_value() {
        let setting = key_and_value("links.a-b.rate = 5mbit");
        assert_eq!(
            setting,
            Ok(("links.a-b.rate".to_owned(), "5mbit".to_owned()))
        );
        assert!(key_and_value("rate").is_err());
        assert!(key_and_value("=5").is_err());
    }
}
