// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looks for the environments in which a control's figures are worst, and shrinks them.

mod evolve;
mod measured;
mod shrink;
mod space;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path as FilePath;
use std::sync::atomic::{AtomicBool, Ordering};

use netnice_scenario::Point;
use netnice_study::{Made, RunError, pool};
use serde::Serialize;

use crate::error::{PlanError, at};
use evolve::Population;
use measured::Measurements;
pub use space::{Environment, PUBLISHED, Space, Worst};

/// Makes a run of a point with a seed, until the last argument returns false.
pub type Simulate<'a> = dyn Fn(&Point, u64, &dyn Fn() -> bool) -> Made + Sync + 'a;

/// Environments in a population, and its generations: more environments to search are more populations.
const ENVIRONMENTS: usize = 16;
const GENERATIONS: usize = 30;
/// Seeds of the runs of the search, of shrinking, and of the reported figures. They differ, since an environment is chosen
/// among many by its figure, and may owe it to chance.
const OF_SEARCH: [u64; 1] = [1];
const OF_SHRINKING: [u64; 1] = [2];
const REPORTED: [u64; 3] = [3, 4, 5];
/// An environment is reported if it keeps this part of the distance to the plain path's figure with other seeds.
const REPEATED: f64 = 0.5;

/// A search.
pub struct Search<'a> {
    /// The environments to choose from, and their figures.
    pub space: &'a Space,
    /// The controls under test.
    pub controls: &'a [String],
    /// Environments for each control, those of shrinking left out.
    pub environments: usize,
    /// Environments to report of each figure. Half as many more are shrunk, since several become alike.
    pub reported: usize,
    /// Seed of the search.
    pub seed: u64,
    /// Makes the runs.
    pub simulate: &'a Simulate<'a>,
    /// Runs at a time.
    pub jobs: usize,
}

/// An environment found, with its figure.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    /// The control.
    pub control: String,
    /// The figure.
    pub figure: String,
    /// Its mean over the seeds of the file.
    pub value: f64,
    /// Its mean on the plain path.
    pub plain: f64,
    /// The values of parameters that are not those of the plain path.
    pub differs: BTreeMap<String, String>,
    /// The scenario file.
    pub file: String,
    /// The command that runs it.
    pub run: String,
}

/// The progress of a search.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The control.
    pub control: &'a str,
    /// Environments of the search, known ones included.
    pub environments: usize,
    /// Those that are to be searched.
    pub of: usize,
    /// Runs simulated, those of shrinking included.
    pub runs: usize,
}

impl Search<'_> {
    /// Searches, and writes what it finds to `out`, where figures are kept as well. `None` where `tick` has stopped it.
    ///
    /// # Errors
    /// If a run fails, if a file cannot be written, or if `out` holds another search, or `resume` is false and it holds one.
    pub fn run(
        &self,
        out: &FilePath,
        resume: bool,
        version: &str,
        mut tick: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Vec<Found>>, PlanError> {
        for control in self.controls {
            self.space
                .scenario(control, &self.space.plain(), &OF_SEARCH)?;
        }
        let kept = Measurements::open(self, out, resume, version)?;
        let mut all = Vec::new();
        for control in self.controls {
            let Some(seen) = self.evolve(control, &kept, &mut tick)? else {
                return Ok(None);
            };
            let Some(found) = self.worst(control, &seen, &kept, out, &mut tick)? else {
                return Ok(None);
            };
            all.extend(found);
        }
        let path = out.join("search.json");
        let text = serde_json::to_string_pretty(&all).unwrap_or_default();
        fs::write(&path, text + "\n").map_err(at(&path))?;
        Ok(Some(all))
    }

    /// All environments that the populations of a control have come to.
    fn evolve(
        &self,
        control: &str,
        kept: &Measurements<'_>,
        tick: &mut impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Option<BTreeSet<Environment>>, PlanError> {
        let ranges = &self.space.ranges;
        let figures = self.space.figures.len();
        // The populations of a number begin alike for all figures, so that these share the runs.
        let each = (self.environments / (figures * ENVIRONMENTS * GENERATIONS)).max(1);
        let mut populations: Vec<Population> = (0..each * figures)
            .map(|number| {
                let (of, figure) = (number / figures, number % figures);
                let (first, then) = (format!("population {of}"), format!("figure {figure}"));
                Population::new(ENVIRONMENTS, ranges.len(), self.seed, &first, &then)
            })
            .collect();
        let environment = |place: &evolve::Place| -> Environment {
            let values = ranges.iter().zip(place);
            self.space
                .used(values.map(|(range, &at)| range.at(at)).collect())
        };
        let mut seen = BTreeSet::new();
        loop {
            let trials = populations
                .iter()
                .flat_map(|population| population.trials());
            let new: BTreeSet<Environment> = trials
                .map(environment)
                .filter(|it| !seen.contains(it))
                .collect();
            let new: Vec<Environment> = new.into_iter().collect();
            let before = seen.len();
            let measured = kept.all(control, &new, &OF_SEARCH, |done, runs| {
                tick(Progress {
                    control,
                    environments: before + done,
                    of: self.environments,
                    runs,
                })
            })?;
            if !measured {
                return Ok(None);
            }
            seen.extend(new);
            // A population in which all are alike has no new ones.
            if seen.len() >= self.environments || seen.len() == before {
                return Ok(Some(seen));
            }
            for (number, population) in populations.iter_mut().enumerate() {
                let trials = population.trials().iter().map(environment);
                let values =
                    trials.map(|trial| kept.badness(control, &trial, &OF_SEARCH, number % figures));
                let values = values.map(|badness| -badness).collect();
                population.evolve(values);
            }
        }
    }

    /// The worst environments of each figure that are of different kinds, shrunk and written to files.
    fn worst(
        &self,
        control: &str,
        seen: &BTreeSet<Environment>,
        kept: &Measurements<'_>,
        out: &FilePath,
        tick: &mut impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Vec<Found>>, PlanError> {
        let kind = |environment: &Environment| -> Vec<String> {
            let values = self.space.ranges.iter().zip(environment);
            values
                .map(|(range, value)| range.kind(value).to_owned())
                .collect()
        };
        let mut jobs = Vec::new();
        for figure in 0..self.space.figures.len() {
            let mut by_badness: Vec<_> = seen
                .iter()
                .map(|it| (kept.badness(control, it, &OF_SEARCH, figure), it))
                .collect();
            by_badness.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut kinds = BTreeSet::new();
            let different = by_badness
                .into_iter()
                .filter(|(_, it)| kinds.insert(kind(it)));
            jobs.extend(
                different
                    .take(self.reported + self.reported / 2)
                    .map(|(_, it)| (figure, it.clone())),
            );
        }
        let mut shrunk: Vec<(usize, Environment)> = Vec::new();
        let mut failure = None;
        let mut stopped = false;
        let work = |job: &(usize, Environment), stop: &AtomicBool| {
            let go_on = || !stop.load(Ordering::Relaxed);
            let (figure, environment) = job;
            let shrunk = shrink::shrink(self.space, control, environment, *figure, kept, &go_on)?;
            let Some(found) = shrunk else {
                return Ok(None);
            };
            for environment in [&found, &self.space.plain()] {
                if !kept.one(control, environment, &REPORTED, &go_on)? {
                    return Ok(None);
                }
            }
            Ok(Some((*figure, found)))
        };
        pool::run(&jobs, self.jobs, work, |result| {
            match result {
                Some(Ok(Some(found))) => shrunk.push(found),
                Some(Ok(None)) => stopped = true,
                Some(Err(error)) => {
                    failure.get_or_insert(error);
                }
                None => {}
            }
            let progress = Progress {
                control,
                environments: seen.len(),
                of: self.environments,
                runs: kept.runs(),
            };
            match (&failure, tick(progress)) {
                (None, ControlFlow::Continue(())) => ControlFlow::Continue(()),
                _ => {
                    stopped = true;
                    ControlFlow::Break(())
                }
            }
        })
        .map_err(|error| PlanError::Run(RunError::Thread(error)))?;
        if let Some(error) = failure {
            return Err(error);
        }
        if stopped {
            return Ok(None);
        }
        let mut found = Vec::new();
        for (figure, (name, _)) in self.space.figures.iter().enumerate() {
            let of_figure = shrunk.iter().filter(|(of, _)| *of == figure);
            let mut by_badness: Vec<_> = of_figure
                .map(|(_, it)| (kept.badness(control, it, &REPORTED, figure), it))
                .collect();
            by_badness.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
            let mut kinds = BTreeSet::new();
            let plain = self.space.plain();
            let of_plain = kept.badness(control, &plain, &REPORTED, figure);
            let enough = |environment: &Environment, badness: f64| {
                let shrunk = kept.badness(control, environment, &OF_SHRINKING, figure);
                *environment != plain
                    && badness > of_plain
                    && badness - of_plain >= REPEATED * (shrunk - of_plain)
            };
            by_badness.retain(|(badness, it)| enough(it, *badness));
            let different = by_badness
                .into_iter()
                .filter(|(_, it)| kinds.insert(kind(it)));
            for (number, (_, environment)) in different.take(self.reported).enumerate() {
                found.push(self.write(
                    control,
                    name,
                    figure,
                    number + 1,
                    environment,
                    kept,
                    out,
                )?);
            }
        }
        Ok(Some(found))
    }

    #[expect(clippy::too_many_arguments)] // a file's name, place and content
    fn write(
        &self,
        control: &str,
        name: &str,
        figure: usize,
        number: usize,
        environment: &Environment,
        kept: &Measurements<'_>,
        out: &FilePath,
    ) -> Result<Found, PlanError> {
        let value = |it: &Environment| kept.value(control, it, &REPORTED, figure);
        let control_name = control.rsplit('/').next().unwrap_or(control);
        let file = format!("{control_name}.{}.{number}.toml", name.replace(' ', "-"));
        let path = out.join(&file);
        let text = self.space.text(control, environment, &REPORTED);
        fs::write(&path, text).map_err(at(&path))?;
        Ok(Found {
            control: control_name.to_owned(),
            figure: name.to_owned(),
            value: value(environment),
            plain: value(&self.space.plain()),
            differs: self.space.differs(environment),
            run: match control.contains('/') {
                true => format!("netnice sim --allow-control-files {}", path.display()),
                false => format!("netnice sim {}", path.display()),
            },
            file,
        })
    }
}
