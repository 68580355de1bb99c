// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments with the scenarios of their studies, to be run as a campaign.

use std::ops::ControlFlow;

use netnice_results::{Backend, RunResults};
use netnice_scenario::ScenarioFile;
use netnice_study::{Campaign, Directories, Effort, Make, RunError, Runs, Tick};

use crate::definition::Experiment;
use crate::measured::{Measured, MeasuredPoint, MeasuredStudy};
use crate::outcome::{Outcome, StudyRecord};
use crate::store::{Store, StoreError};
use crate::study::{Study, StudyError};

/// Experiments with the scenarios of their studies, ready to be run.
#[derive(Debug)]
pub struct Reproduction {
    pub(crate) experiments: Vec<Experiment>,
    pub(crate) effort: Effort,
    pub(crate) backend: Backend,
    pub(crate) studies: Vec<(Study, ScenarioFile)>,
}

/// The runs of all studies.
pub type Finished = Runs<RunResults>;

/// Why a reproduction ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReproductionError {
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A result could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
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

    fn campaign(&self) -> Campaign<'_> {
        let studies = self.studies();
        Campaign {
            scenarios: studies
                .map(|(name, file)| (format!("study {name}"), file))
                .collect(),
            backend: self.backend,
        }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.campaign().keys().len()
    }

    /// Makes the runs that are not in the store yet by `make`, at most `jobs` at a time. `tick` gets the progress, several times
    /// a second, and says whether to go on. What is finished is returned, and kept in the store.
    pub fn run(
        &self,
        make: &Make<'_>,
        store: Option<&Store>,
        jobs: usize,
        tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<Finished, ReproductionError> {
        self.run_reusing(make, store, &|_| true, jobs, tick)
    }

    /// As [`Reproduction::run`]; of the store those finished runs are reused for which the function says so.
    pub(crate) fn run_reusing(
        &self,
        make: &Make<'_>,
        store: Option<&Store>,
        reused: &(dyn Fn(&RunResults) -> bool + Sync),
        jobs: usize,
        tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<Finished, ReproductionError> {
        let directories = self.studies().map(|(name, file)| {
            let directory = store.map(|store| store.study(name, file, self.backend));
            directory.transpose()
        });
        let directories = directories.collect::<Result<Vec<_>, StoreError>>()?;
        let keep = Directories {
            directories: directories.iter().map(Option::as_ref).collect(),
            with_series: true,
            reuse: &|_, run| reused(run),
        };
        let campaign = self.campaign();
        let mut runs = campaign.find(&keep);
        campaign.make(&mut runs, &keep, make, jobs, tick)?;
        Ok(runs)
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
            let (scale, points) = (study.scale(self.effort), file.points.len());
            Some(StudyRecord::new(study, scale, points, self.backend))
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
        self.studies().position(|(study, _)| study == name)
    }

    /// The measurements of an experiment's studies, if all runs are finished.
    pub(crate) fn measured<'a>(
        &'a self,
        experiment: &Experiment,
        finished: &'a Finished,
    ) -> Option<Measured<'a>> {
        let studies = experiment.studies.iter();
        let studies = studies.map(|wanted| self.study(self.place(&wanted.name)?, finished));
        Some(Measured {
            studies: studies.collect::<Option<_>>()?,
        })
    }

    /// The measurements of a study, if all its runs are finished.
    pub(crate) fn study<'a>(
        &'a self,
        study: usize,
        finished: &'a Finished,
    ) -> Option<MeasuredStudy<'a>> {
        let (described, file) = &self.studies[study];
        let points = file.points.iter().enumerate().map(|(number, point)| {
            let seeds = point.scenario.seeds.0.iter();
            let runs = seeds.map(|&seed| finished.finished.get(&(study, number, seed)));
            Some(MeasuredPoint {
                settings: &point.settings,
                runs: runs.collect::<Option<_>>()?,
            })
        });
        Some(MeasuredStudy {
            name: &described.name,
            points: points.collect::<Option<_>>()?,
        })
    }
}
