// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments on a running kernel: which studies fit an emulated link, and their values beside paper and simulation.
//!
//! Nothing is chosen by its result. A value is measured on a kernel if every study that it is made of fits; which these are
//! is found out by leaving the runs of one study after the other out of the evaluation: so an evaluation must give a value
//! only if all is there that it is made of. A study fits if the kernel can do what its scenario asks for, its slowest link
//! has at most 100 Mb/s, and one run of each of its points takes at most half an hour of real time. Where the study has
//! a path for kernels ([`Study::on_kernel`]), all of this is asked of that path, and its values say so.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use netnice_results::{Backend, RunResults, until_in_time};
use netnice_scenario::model::Scenario;
use netnice_scenario::{Check, ScenarioFile};
use netnice_study::{LAB_BPS, Make, Run, Scale, Tick, slowest_bps};

use crate::definition::Experiment;
use crate::figure::{Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, MeasuredStudy};
use crate::outcome::{LabOutcome, LabValue, Outcome, StudyRecord};
use crate::run::{Finished, Reproduction, ReproductionError};
use crate::store::Store;
use crate::study::{Study, StudyError, control_files};

/// The most real time that a study may take.
const LONGEST_STUDY: Duration = Duration::from_secs(30 * 60);

/// How much is run in real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabLimits {
    /// Most runs of a point; fewer where a study would take more than half an hour.
    pub seeds: u32,
    /// The longest run, without its warm-up. A study whose length is the same with `--quick` and `--full` has a course of
    /// its own, and keeps its length.
    pub longest: Duration,
    /// How often a run is made again in which the machine was late, whatever its figures are.
    pub repeats: u32,
}

impl Default for LabLimits {
    fn default() -> LabLimits {
        LabLimits {
            seeds: 3,
            longest: Duration::from_secs(60),
            repeats: 2,
        }
    }
}

/// The sources of a value or a curve: the studies without whose runs it changes.
type Made = BTreeSet<String>;

/// The sources of an experiment's values and curves.
#[derive(Debug, Default)]
struct MadeOf {
    /// By the claim's key.
    values: BTreeMap<String, Made>,
    /// By the names of figure and curve.
    curves: BTreeMap<(String, String), Made>,
}

/// The studies of a reproduction that fit an emulated link and that some value needs, ready to be run on a kernel.
#[derive(Debug)]
pub struct LabReproduction<'a> {
    simulated: &'a Reproduction,
    lab: Reproduction,
    made_of: Vec<MadeOf>,
    /// Why a study does not fit, by its name.
    refused: BTreeMap<String, String>,
    repeats: u32,
}

impl Reproduction {
    /// Adds what a running kernel measures. `check` says what that cannot do of a scenario. Only experiments whose runs are
    /// finished are measured there.
    ///
    /// # Errors
    /// If the control files of studies cannot be written to a directory for temporary files.
    pub fn on_kernel(
        &self,
        finished: &Finished,
        limits: LabLimits,
        check: Check<'_>,
    ) -> io::Result<LabReproduction<'_>> {
        let controls = control_files()?;
        let mut fitting: BTreeMap<&str, (Study, ScenarioFile)> = BTreeMap::new();
        let mut refused = BTreeMap::new();
        for (study, _) in &self.studies {
            match fit(study, limits, controls.path(), check) {
                Ok(file) => {
                    fitting.insert(&study.name, (study.clone(), file));
                }
                Err(reason) => {
                    refused.insert(study.name.clone(), reason);
                }
            }
        }
        let made_of: Vec<MadeOf> = self
            .experiments
            .iter()
            .map(|experiment| {
                let measured = self.measured(experiment, finished);
                measured.map_or_else(MadeOf::default, |measured| made_of(experiment, &measured))
            })
            .collect();
        let values = made_of.iter().flat_map(|made_of| made_of.values.values());
        let needed: BTreeSet<&String> = values
            .filter(|made| made.iter().all(|study| !refused.contains_key(study)))
            .flatten()
            .collect();
        let studies = self
            .studies
            .iter()
            .filter(|(study, _)| needed.contains(&study.name));
        let studies = studies.filter_map(|(study, _)| fitting.remove(study.name.as_str()));
        let lab = Reproduction {
            experiments: self.experiments.clone(),
            effort: self.effort,
            backend: Backend::Lab,
            studies: studies.collect(),
        };
        Ok(LabReproduction {
            simulated: self,
            lab,
            made_of,
            refused,
            repeats: limits.repeats,
        })
    }
}

/// A study as it is run in real time, or why it does not fit.
fn fit(
    study: &Study,
    limits: LabLimits,
    controls: &Path,
    check: Check<'_>,
) -> Result<ScenarioFile, String> {
    let at = |scale: Scale| {
        let file = study.scenario_on_kernel(scale, controls);
        file.map_err(|StudyError { error, .. }| error.to_string())
    };
    let file = at(study.quick)?;
    for point in &file.points {
        let slowest = slowest_bps(&point.scenario).unwrap_or(0.0);
        if slowest > LAB_BPS {
            return Err(format!(
                "its slowest link has {:.0} Mb/s, and a lab is in time up to {:.0} Mb/s",
                slowest / 1e6,
                LAB_BPS / 1e6
            ));
        }
        let layout = point.layout().map_err(|problems| problems.to_string())?;
        if let Some(problem) = check(&point.scenario, &layout).first() {
            let problem = problem.to_string();
            // The rest of the message is advice for the author of the scenario.
            return Err(problem.split("; ").next().unwrap_or(&problem).to_owned());
        }
    }
    let duration = match study.quick.duration == study.full.duration {
        true => study.quick.duration,
        false => {
            let warm_up = file.scenario().warm_up.get();
            study.quick.duration.min(warm_up + limits.longest)
        }
    };
    let one_run_each = duration * file.points.len() as u32;
    let possible = LONGEST_STUDY.as_nanos() / one_run_each.as_nanos().max(1);
    let seeds = limits.seeds.min(study.quick.seeds).min(possible as u32);
    if seeds == 0 {
        return Err(format!(
            "one run of each of its {} points takes {} min in real time, and at most {} are spent on a study",
            file.points.len(),
            one_run_each.as_secs().div_ceil(60),
            LONGEST_STUDY.as_secs() / 60
        ));
    }
    at(Scale { seeds, duration })
}

/// Leaves out the runs of one study after the other, and finds the values that change.
fn made_of(experiment: &Experiment, measured: &Measured<'_>) -> MadeOf {
    let whole = (experiment.evaluate)(measured);
    let mut made_of = MadeOf::default();
    for study in &measured.studies {
        let rest = (experiment.evaluate)(&measured.without(|name| name == study.name));
        for value in &whole.values {
            let made = made_of.values.entry(value.key.clone()).or_default();
            let other = rest.values.iter().find(|other| other.key == value.key);
            if other.and_then(|other| other.ours) != value.ours {
                made.insert(study.name.to_owned());
            }
        }
        for (figure, curve) in curves(&whole) {
            let name = (figure.name.clone(), curve.name.clone());
            let made = made_of.curves.entry(name).or_default();
            if same_curve(&rest, figure, curve).is_none_or(|other| other.points != curve.points) {
                made.insert(study.name.to_owned());
            }
        }
    }
    made_of
}

fn curves(findings: &Findings) -> impl Iterator<Item = (&Figure, &Curve)> {
    let figures = findings.figures.iter();
    figures.flat_map(|figure| figure.curves.iter().map(move |curve| (figure, curve)))
}

/// The curve of the same name in other findings.
fn same_curve<'a>(findings: &'a Findings, figure: &Figure, curve: &Curve) -> Option<&'a Curve> {
    let mut all = curves(findings);
    let same =
        |(one, other): &(&Figure, &Curve)| one.name == figure.name && other.name == curve.name;
    all.find(same).map(|(_, curve)| curve)
}

impl LabReproduction<'_> {
    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.lab.runs()
    }

    /// The scenarios of all runs.
    pub fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        let files = self.lab.studies.iter().map(|(_, file)| file);
        files.flat_map(|file| file.points.iter().map(|point| &point.scenario))
    }

    /// How long the runs take one after the other.
    pub fn real_time(&self) -> Duration {
        let seeds = |scenario: &Scenario| scenario.seeds.0.len() as u32;
        self.scenarios()
            .map(|scenario| scenario.duration.get() * seeds(scenario))
            .sum()
    }

    /// Makes the runs that are not in the store yet, at most `jobs` at a time, and fewer where their links together
    /// have more than 100 Mb/s, or 18,000 packets per second; as [`Reproduction::run`]. A run in which the machine was late
    /// is made again, one in the store, too.
    pub fn run(
        &self,
        make: &Make<'_>,
        store: Option<&Store>,
        jobs: usize,
        tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<Finished, ReproductionError> {
        let again = |run: Run<'_>, go_on: &dyn Fn() -> bool| {
            until_in_time(self.repeats, || make(run, go_on))
        };
        let reused = |run: &RunResults| self.repeats == 0 || run.was_in_time();
        self.lab.run_reusing(&again, store, &reused, jobs, tick)
    }

    /// Puts the kernel's values beside the simulated ones.
    pub fn add_to(&self, outcomes: &mut [Outcome], finished: &Finished) {
        for (experiment, made_of) in self.simulated.experiments.iter().zip(&self.made_of) {
            let outcome = outcomes
                .iter_mut()
                .find(|outcome| outcome.id == experiment.id);
            if let Some(outcome) = outcome {
                self.add(experiment, made_of, outcome, finished);
            }
        }
    }

    fn add(
        &self,
        experiment: &Experiment,
        made_of: &MadeOf,
        outcome: &mut Outcome,
        finished: &Finished,
    ) {
        let (measured, ran) = self.measured(experiment, finished);
        let findings = (experiment.evaluate)(&measured);
        for value in &mut outcome.values {
            let made = made_of.values.get(&value.claim.key);
            let Some(made) = made.filter(|made| !made.is_empty()) else {
                // A formula, or a value that cannot be measured anywhere.
                continue;
            };
            let found = findings
                .values
                .iter()
                .find(|found| found.key == value.claim.key);
            value.lab = Some(match self.why_not(made, &ran) {
                Some(reason) => LabValue::NotMeasured { reason },
                None => match found.and_then(|found| found.ours) {
                    Some(ours) => LabValue::Measured {
                        ours,
                        judgement: value.claim.judge(&ours),
                        path: self.path(made),
                        distrust: distrust(&measured, made),
                    },
                    None => LabValue::NotMeasured {
                        reason: "the runs are too short for it".to_owned(),
                    },
                },
            });
        }
        let on_kernel = |name: &(String, String)| {
            let made = made_of.curves.get(name);
            made.is_some_and(|made| !made.is_empty() && made.is_subset(&ran))
        };
        add_curves(&mut outcome.figures, &findings, on_kernel);
        outcome.lab = Some(self.record(&measured, &ran));
    }

    /// The path of these studies on a kernel, where it is not that of the simulation.
    fn path(&self, made: &Made) -> Option<String> {
        let mut studies = made.iter().filter_map(|name| {
            let (study, _) = &self.lab.studies[self.lab.place(name)?];
            study.on_kernel.as_ref()
        });
        studies.next().map(|path| path.words.to_owned())
    }

    /// Why a value that is made of these studies was not measured, if it was not.
    fn why_not(&self, made: &Made, ran: &Made) -> Option<String> {
        if let Some(reason) = made.iter().find_map(|study| self.refused.get(study)) {
            return Some(reason.clone());
        }
        (!made.is_subset(ran)).then(|| "interrupted before its runs were finished".to_owned())
    }

    /// The measurements on the kernel, without runs where there are none, and the studies that were run.
    fn measured<'a>(
        &'a self,
        experiment: &Experiment,
        finished: &'a Finished,
    ) -> (Measured<'a>, Made) {
        let mut ran = Made::new();
        let studies = experiment.studies.iter().filter_map(|wanted| {
            let on_kernel = self.lab.place(&wanted.name);
            let on_kernel = on_kernel.and_then(|study| self.lab.study(study, finished));
            if on_kernel.is_some() {
                ran.insert(wanted.name.clone());
            }
            on_kernel.or_else(|| {
                let (study, file) = &self.simulated.studies[self.simulated.place(&wanted.name)?];
                let points = file.points.iter().map(|point| MeasuredPoint {
                    settings: &point.settings,
                    runs: Vec::new(),
                });
                Some(MeasuredStudy {
                    name: &study.name,
                    points: points.collect(),
                })
            })
        });
        let measured = Measured {
            studies: studies.collect(),
        };
        (measured, ran)
    }

    fn record(&self, measured: &Measured<'_>, ran: &Made) -> LabOutcome {
        let studies = self
            .lab
            .studies
            .iter()
            .filter(|(study, _)| ran.contains(&study.name));
        let records = studies.map(|(study, file)| {
            let scenario = file.scenario();
            let scale = Scale {
                seeds: scenario.seeds.0.len() as u32,
                duration: scenario.duration.get(),
            };
            StudyRecord::new(study, scale, file.points.len(), Backend::Lab)
        });
        let mut reports = runs(measured)
            .filter_map(|(_, run)| run.lab.as_ref())
            .peekable();
        let kernel = reports
            .peek()
            .map_or(String::new(), |report| report.kernel.clone());
        let notes: BTreeSet<&String> = reports.flat_map(|report| &report.notes).collect();
        LabOutcome {
            kernel,
            studies: records.collect(),
            notes: notes.into_iter().cloned().collect(),
        }
    }
}

/// All runs with the names of their studies.
fn runs<'a>(measured: &'a Measured<'_>) -> impl Iterator<Item = (&'a str, &'a RunResults)> {
    measured.studies.iter().flat_map(|study| {
        let runs = study.points.iter().flat_map(|point| &point.runs);
        runs.map(|run| (study.name, *run))
    })
}

/// Why the runs of these studies cannot be trusted, if they cannot.
fn distrust(measured: &Measured<'_>, made: &Made) -> Option<String> {
    let of_these: Vec<&RunResults> = runs(measured)
        .filter(|(study, _)| made.contains(*study))
        .map(|(_, run)| run)
        .collect();
    let reports = of_these.iter().filter_map(|run| run.lab.as_ref());
    let reasons: Vec<&str> = reports
        .filter(|report| !report.trustworthy)
        .map(|report| report.reason.as_str())
        .collect();
    let first = reasons.first()?;
    Some(format!(
        "{} of {} runs; {first}",
        reasons.len(),
        of_these.len()
    ))
}

/// Adds the kernel's curves: beside ours, or for a time series in a figure of their own.
fn add_curves(
    figures: &mut Vec<Figure>,
    findings: &Findings,
    on_kernel: impl Fn(&(String, String)) -> bool,
) {
    for place in (0..figures.len()).rev() {
        let figure = &mut figures[place];
        let chosen = curves(findings).filter(|(of, curve)| {
            of.name == figure.name && on_kernel(&(of.name.clone(), curve.name.clone()))
        });
        let found: Vec<Curve> = chosen.map(|(_, curve)| curve.clone()).collect();
        if found.is_empty() {
            continue;
        }
        if figure.kind == FigureKind::TimeSeries {
            let mut own = figure.clone();
            own.name.push_str("-kernel");
            own.title.push_str(", on this kernel");
            own.curves = found;
            figures.insert(place + 1, own);
        } else {
            figure.curves.extend(found.into_iter().map(|curve| Curve {
                name: format!("{}, on this kernel", curve.name),
                kind: CurveKind::Kernel,
                ..curve
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LabLimits, control_files, fit};
    use crate::experiments;
    use crate::study::Study;
    use netnice_study::slowest_bps;

    fn study(id: &str, name: &str) -> Study {
        let experiment = experiments::select(&[id.to_owned()]).unwrap().remove(0);
        let mut studies = experiment.studies.into_iter();
        studies.find(|study| study.name == name).unwrap()
    }

    #[test]
    fn a_path_beyond_a_kernel_is_replaced_where_one_is_given() {
        let controls = control_files().unwrap();
        let fit = |study: &Study| {
            let limits = LabLimits::default();
            fit(study, limits, controls.path(), &|_, _| Vec::new())
        };
        let slow = fit(&study("HS-2", "hs_highspeed_reverse")).unwrap();
        let scenario = slow.scenario();
        assert_eq!(slowest_bps(scenario), Some(100e6));
        // 30 s of warm-up and 60 s.
        assert_eq!(scenario.duration.get().as_secs(), 90);
        for name in ["bulk", "reverse"] {
            let mut flows = scenario.flows.iter();
            let flow = flows.find(|flow| flow.name == name).unwrap();
            assert!(flow.congestion_control.file.is_some(), "{name}");
        }
        let reason = fit(&study("HS-4", "hs_hstcplp_reverse_fast")).unwrap_err();
        assert!(reason.contains("has 2500 Mb/s"), "{reason}");
    }

    #[test]
    fn every_path_for_kernels_is_a_valid_scenario() {
        let controls = control_files().unwrap();
        let mut paths = 0;
        for experiment in experiments::all() {
            for study in experiment.studies {
                paths += usize::from(study.on_kernel.is_some());
                if let Err(error) = study.scenario_on_kernel(study.quick, controls.path()) {
                    panic!("{}: {error}", experiment.id);
                }
            }
        }
        assert!(paths > 0);
    }
}
