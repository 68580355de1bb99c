// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the studies of experiments, several runs at a time.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use netnice_scenario::ScenarioFile;
use netnice_scenario::model::Scenario;
use netnice_scenario::pool::{self, LAB_BPS, Make};
use netnice_scenario::results::{Backend, ResultsDirectory, RunResults, StaleRun};

use crate::budget::Budget;
use crate::effort::Effort;
use crate::experiment::Experiment;
use crate::measured::{Measured, MeasuredPoint, MeasuredStudy};
use crate::outcome::{Outcome, StudyRecord};
use crate::store::{Store, StoreError};
use crate::study::{Study, StudyError};

/// The load in packets per second, where packets are small. On two processors three links of 10 Mb/s with packets of 210
/// bytes are in time, six are not.
const LAB_PACKETS_PER_SECOND: f64 = 18e3;

/// Experiments with the scenarios of their studies, ready to be run.
#[derive(Debug)]
pub struct Reproduction {
    pub(crate) experiments: Vec<Experiment>,
    pub(crate) effort: Effort,
    pub(crate) backend: Backend,
    pub(crate) studies: Vec<(Study, ScenarioFile)>,
}

/// A run: study, point and seed.
pub(crate) type Key = (usize, usize, u64);

/// Finished runs.
#[derive(Debug, Default)]
pub struct Finished {
    pub(crate) runs: BTreeMap<Key, RunResults>,
    /// Why runs that had a file were made again.
    pub stale: Vec<StaleRun>,
}

/// The progress of the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Finished runs.
    pub runs: usize,
    /// All runs.
    pub of_runs: usize,
    /// Part of the work that is done, 0 to 1.
    pub part: f64,
}

/// Why it ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A run failed.
    #[error("study {study}, seed {seed}: {error}")]
    Run {
        /// Study.
        study: String,
        /// Seed.
        seed: u64,
        /// The message of the simulator or the lab.
        error: Box<dyn Error + Send + Sync>,
    },
    /// Not even one thread could be had.
    #[error("starting a thread for the runs: {0}")]
    Thread(io::Error),
    /// A result could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Finished {
    /// The number of runs.
    pub fn count(&self) -> usize {
        self.runs.len()
    }
}

impl Reproduction {
    /// Reads and checks the scenarios of all studies. Studies of one name are taken once.
    pub fn new(experiments: Vec<Experiment>, effort: Effort) -> Result<Reproduction, StudyError> {
        let mut studies: Vec<(Study, ScenarioFile)> = Vec::new();
        for study in experiments
            .iter()
            .flat_map(|experiment| &experiment.studies)
        {
            if studies.iter().all(|(other, _)| other.name != study.name) {
                studies.push((study.clone(), study.scenario(effort)?));
            }
        }
        Ok(Reproduction {
            experiments,
            effort,
            backend: Backend::Simulation,
            studies,
        })
    }

    /// The studies: name, and scenario as it is run.
    pub fn studies(&self) -> impl Iterator<Item = (&str, &ScenarioFile)> {
        let studies = self.studies.iter();
        studies.map(|(study, file)| (study.name.as_str(), file))
    }

    /// All runs.
    fn keys(&self) -> Vec<Key> {
        let studies = self.studies.iter().enumerate();
        let runs = studies.flat_map(|(study, (_, file))| {
            let runs = file.runs().into_iter();
            runs.map(move |(point, seed)| (study, point, seed))
        });
        runs.collect()
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.keys().len()
    }

    /// A measure of a run's work: bits that its slowest link can carry in its time; in a lab only time.
    fn work(&self, (study, point, _): Key) -> f64 {
        let scenario = &self.studies[study].1.points[point].scenario;
        let rate = match self.backend {
            Backend::Simulation => slowest_bps(scenario).unwrap_or(1e6),
            Backend::Lab => 1.0,
        };
        scenario.duration.get().as_secs_f64() * rate
    }

    /// The part of the shared budget of 1 that a run takes: in a lab, of the load that it carries in time.
    fn load(&self, (study, point, _): Key) -> f64 {
        match self.backend {
            Backend::Simulation => 0.0,
            Backend::Lab => lab_load(&self.studies[study].1.points[point].scenario),
        }
    }

    /// Makes the runs that are not in the store yet, at most `jobs` at a time. `tick` gets the progress, several times
    /// a second, and says whether to go on. What is finished is returned, and kept in the store.
    pub fn run(
        &self,
        store: Option<&Store>,
        jobs: usize,
        tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<Finished, RunError> {
        self.run_by(&simulate, store, &|_| true, jobs, tick)
    }

    /// Runs the studies by `make`; of the store those finished runs are reused for which the function says so.
    pub(crate) fn run_by(
        &self,
        make: &Make<'_>,
        store: Option<&Store>,
        reused: &dyn Fn(&RunResults) -> bool,
        jobs: usize,
        mut tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<Finished, RunError> {
        let directories = self.studies.iter().map(|(study, file)| {
            let directory = store.map(|store| store.study(&study.name, file, self.backend));
            directory.transpose()
        });
        let directories = directories.collect::<Result<Vec<_>, StoreError>>()?;
        let keys = self.keys();
        let (mut done, mut all) = (0.0, 0.0);
        let mut finished = Finished::default();
        let mut left = Vec::new();
        for &key in &keys {
            let (study, point, seed) = key;
            let work = self.work(key);
            all += work;
            let kept = directories[study].as_ref();
            let point_of_sweep = &self.studies[study].1.points[point];
            let kept =
                kept.map(|directory| directory.finished_with_series(point, point_of_sweep, seed));
            let kept = kept.transpose().unwrap_or_else(|reason| {
                finished.stale.push(reason);
                None
            });
            match kept.flatten().filter(reused) {
                Some(run) => {
                    finished.runs.insert(key, run);
                    done += work;
                }
                None => left.push(key),
            }
        }
        let budget = Budget::new(1.0);
        let mut failure = None;
        let work = |&key: &Key, stop: &AtomicBool| {
            let _part = budget.take(self.load(key));
            let run = match stop.load(Ordering::Relaxed) {
                true => Ok(None),
                false => self.one(make, &directories, key, stop),
            };
            (key, run)
        };
        let pool = pool::run(&left, jobs, work, |result| {
            match result {
                Some((key, Ok(Some(run)))) => {
                    finished.runs.insert(key, run);
                    done += self.work(key);
                }
                Some((_, Err(error))) => {
                    failure.get_or_insert(error);
                }
                Some((_, Ok(None))) | None => {}
            }
            let now = Tick {
                runs: finished.runs.len(),
                of_runs: keys.len(),
                part: if all > 0.0 { done / all } else { 1.0 },
            };
            match failure {
                Some(_) => ControlFlow::Break(()),
                None => tick(now),
            }
        });
        pool.map_err(RunError::Thread)?;
        match failure {
            Some(error) => Err(error),
            None => Ok(finished),
        }
    }

    /// One run, kept if it came to its end; `None` where it was stopped before.
    fn one(
        &self,
        make: &Make<'_>,
        directories: &[Option<ResultsDirectory>],
        (study, number, seed): Key,
        stop: &AtomicBool,
    ) -> Result<Option<RunResults>, RunError> {
        let (described, file) = &self.studies[study];
        let point = &file.points[number];
        let go_on = || !stop.load(Ordering::Relaxed);
        let run = make(&point.scenario, seed, &go_on).map_err(|error| RunError::Run {
            study: described.name.clone(),
            seed,
            error,
        })?;
        let Some(mut run) = run else {
            return Ok(None);
        };
        run.settings = point.settings.clone();
        if let Some(directory) = &directories[study] {
            directory
                .store(number, &mut run)
                .map_err(StoreError::from)?;
        }
        Ok(Some(run))
    }

    /// The outcomes of the experiments whose runs are all finished.
    pub fn outcomes(&self, finished: &Finished) -> Vec<Outcome> {
        let experiments = self.experiments.iter();
        experiments
            .filter_map(|experiment| self.outcome(experiment, finished))
            .collect()
    }

    fn outcome(&self, experiment: &Experiment, finished: &Finished) -> Option<Outcome> {
        let measured = self.measured(experiment, finished)?;
        let records = experiment.studies.iter().filter_map(|wanted| {
            let (study, file) = &self.studies[self.place(&wanted.name)?];
            let scale = study.scale(self.effort);
            Some(StudyRecord::new(
                study,
                scale,
                file.points.len(),
                self.backend,
            ))
        });
        let findings = (experiment.evaluate)(&measured);
        Some(Outcome::new(
            experiment,
            self.effort,
            records.collect(),
            findings,
        ))
    }

    /// Which of the studies has this name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.studies
            .iter()
            .position(|(study, _)| study.name == name)
    }

    /// The measurements of an experiment's studies, if all runs are finished.
    pub(crate) fn measured<'a>(
        &'a self,
        experiment: &Experiment,
        finished: &'a Finished,
    ) -> Option<Measured<'a>> {
        let studies = experiment.studies.iter().map(|wanted| {
            let study = self.place(&wanted.name)?;
            let (described, file) = &self.studies[study];
            finished.study(study, &described.name, file)
        });
        Some(Measured {
            studies: studies.collect::<Option<_>>()?,
        })
    }
}

impl Finished {
    /// The measurements of a study, if all its runs are finished.
    pub(crate) fn study<'a>(
        &'a self,
        study: usize,
        name: &'a str,
        file: &'a ScenarioFile,
    ) -> Option<MeasuredStudy<'a>> {
        let points = file.points.iter().enumerate().map(|(number, point)| {
            let seeds = point.scenario.seeds.0.iter();
            let runs = seeds.map(|&seed| self.runs.get(&(study, number, seed)));
            Some(MeasuredPoint {
                settings: &point.settings,
                runs: runs.collect::<Option<_>>()?,
            })
        });
        Some(MeasuredStudy {
            name,
            points: points.collect::<Option<_>>()?,
        })
    }
}

/// The rate of the slowest link, in bits per second; `None` where none has a rate.
pub(crate) fn slowest_bps(scenario: &Scenario) -> Option<f64> {
    let rates = scenario.links.iter().filter_map(|link| link.rate);
    rates.map(|rate| rate.as_f64()).reduce(f64::min)
}

/// The part of the load that a lab carries in time which a run asks for, 0 to 1.
fn lab_load(scenario: &Scenario) -> f64 {
    let rate = slowest_bps(scenario).unwrap_or(0.0);
    let sizes = scenario.flows.iter().map(|flow| flow.packet_size.get());
    let packets = sizes
        .min()
        .map_or(0.0, |smallest| rate / (8 * smallest) as f64);
    let load = (rate / LAB_BPS).max(packets / LAB_PACKETS_PER_SECOND);
    load.min(1.0)
}

/// A run of the simulator.
fn simulate(
    scenario: &Scenario,
    seed: u64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<RunResults>, Box<dyn Error + Send + Sync>> {
    netnice_sim::run(scenario, seed, go_on).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::lab_load;
    use crate::effort::Effort;
    use crate::experiments;

    #[test]
    fn a_lab_is_loaded_by_bits_or_where_packets_are_small_by_packets() {
        let load = |id: &str, study: &str| {
            let experiment = experiments::select(&[id.to_owned()]).unwrap().remove(0);
            let mut studies = experiment.studies.iter();
            let study = studies.find(|one| one.name == study).unwrap();
            lab_load(study.scenario(Effort::Quick).unwrap().scenario())
        };
        // 1.5 of 100 Mb/s.
        assert_eq!(load("LP03-T1a", "lp03_t1a_tcplp"), 0.015);
        // 10 Mb/s as packets of 210 bytes: 5952 in a second, of 18,000.
        let small = load("LP03-F11", "lp03_f11_tcp");
        assert!((small - 0.330_688).abs() < 1e-6, "{small}");
        // 450 Mb/s are more than fits.
        assert_eq!(load("HS-2", "hs_highspeed_alone"), 1.0);
    }
}
