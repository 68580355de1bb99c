// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of environments: measured once, and kept in a file, a line each.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use netnice_study::{RunError, pool};
use serde::{Deserialize, Serialize};

use super::Search;
use super::space::{Environment, Worst};
use crate::error::{PlanError, at};

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    control: String,
    environment: Environment,
    seeds: Vec<u64>,
    figures: Vec<Option<f64>>,
}

type Key = (String, Environment, Vec<u64>);
/// A value for each figure of the space; `None` where a run has none.
type Figures = Vec<Option<f64>>;

pub(super) struct Measurements<'a> {
    search: &'a Search<'a>,
    known: Mutex<HashMap<Key, Figures>>,
    file: Mutex<File>,
    path: PathBuf,
    runs: AtomicUsize,
}

fn key(control: &str, environment: &Environment, seeds: &[u64]) -> Key {
    (control.to_owned(), environment.clone(), seeds.to_vec())
}

impl<'a> Measurements<'a> {
    /// Opens the directory's file. Its beginning is the version and the scenario of the plain path with the ranges.
    pub(super) fn open(
        search: &'a Search<'a>,
        out: &FilePath,
        resume: bool,
        version: &str,
    ) -> Result<Measurements<'a>, PlanError> {
        fs::create_dir_all(out).map_err(at(out))?;
        let path = out.join("environments.jsonl");
        let head =
            serde_json::to_string(&(version, &search.space.source)).unwrap_or_default() + "\n";
        let mut known = HashMap::new();
        let text = fs::read_to_string(&path).unwrap_or_default();
        if !text.is_empty() && !resume {
            return Err(PlanError::Occupied(out.to_owned()));
        }
        if !text.is_empty() && !text.starts_with(&head) {
            return Err(PlanError::OtherSearch(out.to_owned()));
        }
        // The last line may be cut off.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..whole].lines().skip(1) {
            if let Ok(line) = serde_json::from_str::<Line>(line) {
                known.insert((line.control, line.environment, line.seeds), line.figures);
            }
        }
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(at(&path))?;
        file.set_len(whole as u64).map_err(at(&path))?;
        if whole == 0 {
            file.write_all(head.as_bytes()).map_err(at(&path))?;
        }
        Ok(Measurements {
            search,
            known: Mutex::new(known),
            file: Mutex::new(file),
            path,
            runs: AtomicUsize::new(0),
        })
    }

    fn get(&self, key: &Key) -> Option<Figures> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).cloned()
    }

    /// Runs simulated so far.
    pub(super) fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Measures an environment unless it is known; false where it was stopped.
    pub(super) fn one(
        &self,
        control: &str,
        environment: &Environment,
        seeds: &[u64],
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, PlanError> {
        let key = key(control, environment, seeds);
        if self.get(&key).is_some() {
            return Ok(true);
        }
        let space = self.search.space;
        let scenario = space.scenario(control, environment, seeds)?;
        let mut sums = vec![Some(0.0); space.figures.len()];
        for &seed in seeds {
            let run = (self.search.simulate)(&scenario.points[0], seed, go_on);
            let run = run.map_err(|error| RunError::Run {
                of: space.text(control, environment, &[seed]),
                seed,
                error,
            })?;
            let Some(run) = run else {
                return Ok(false);
            };
            self.runs.fetch_add(1, Ordering::Relaxed);
            for (sum, (name, _)) in sums.iter_mut().zip(&space.figures) {
                let value = run.figures.iter().find(|figure| figure.name == *name);
                *sum = sum.zip(value).map(|(sum, figure)| sum + figure.value);
            }
        }
        let mean = |sum: f64| (sum / seeds.len() as f64 * 1e6).round() / 1e6;
        let figures: Figures = sums.into_iter().map(|sum| sum.map(mean)).collect();
        let line = Line {
            control: key.0.clone(),
            environment: key.1.clone(),
            seeds: key.2.clone(),
            figures: figures.clone(),
        };
        let line = serde_json::to_string(&line).unwrap_or_default() + "\n";
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(at(&self.path))?;
        drop(file);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, figures);
        Ok(true)
    }

    /// Measures environments, several at a time; `tick` gets how many are done and the runs simulated. False where it has
    /// stopped them.
    pub(super) fn all(
        &self,
        control: &str,
        environments: &[Environment],
        seeds: &[u64],
        mut tick: impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<bool, PlanError> {
        let (mut done, mut failure) = (0, None);
        let work = |environment: &Environment, stop: &AtomicBool| {
            self.one(control, environment, seeds, &|| {
                !stop.load(Ordering::Relaxed)
            })
        };
        pool::run(environments, self.search.jobs, work, |result| {
            match result {
                Some(Ok(measured)) => done += usize::from(measured),
                Some(Err(error)) => {
                    failure.get_or_insert(error);
                }
                None => {}
            }
            match failure {
                Some(_) => ControlFlow::Break(()),
                None => tick(done, self.runs()),
            }
        })
        .map_err(RunError::Thread)?;
        match failure {
            Some(error) => Err(error),
            None => Ok(done == environments.len()),
        }
    }

    /// A figure of an environment that has been measured; NaN where it has none.
    pub(super) fn value(
        &self,
        control: &str,
        environment: &Environment,
        seeds: &[u64],
        figure: usize,
    ) -> f64 {
        let figures = self
            .get(&key(control, environment, seeds))
            .unwrap_or_default();
        figures.get(figure).copied().flatten().unwrap_or(f64::NAN)
    }

    /// The figure with the sign by which the worst is the largest; the least of all where there is none.
    pub(super) fn badness(
        &self,
        control: &str,
        environment: &Environment,
        seeds: &[u64],
        figure: usize,
    ) -> f64 {
        let value = self.value(control, environment, seeds, figure);
        match self.search.space.figures[figure].1 {
            _ if value.is_nan() => f64::NEG_INFINITY,
            Worst::Lowest => -value,
            Worst::Highest => value,
        }
    }
}
