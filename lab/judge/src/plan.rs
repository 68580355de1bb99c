// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs of a judgement: the cells, the rivals alone, and CUBIC alone. Finished runs are kept, and reused.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path as FilePath, PathBuf};

use netnice_results::output;
use netnice_results::{Backend, DirectoryError, Estimate, RunResults, StaleRun};
use netnice_scenario::model::Scenario;
use netnice_scenario::{Check, Point, ScenarioError, ScenarioFile};
use netnice_study::{Campaign, Effort, Keep, Key, LAB_BPS, Make, Runs, Tick};
use serde::{Deserialize, Serialize};

use crate::case::{Case, Measured};
use crate::cell::Cell;
use crate::control::Control;
use crate::error::{PlanError, at};
use crate::figure::{FIGURES, Sample};
use crate::judgement::Judgement;
use crate::path::{PATHS, Path};
use crate::rival::{ITSELF, RIVALS, Rival};

/// A finished run as a file has it.
#[derive(Serialize, Deserialize)]
struct RunFile {
    /// Hash of the scenario's text.
    hash: String,
    /// Version of netnice.
    version: String,
    measured: Measured,
}

/// A plan with the directory that keeps what is measured of its runs, and the version that measures them.
pub struct Kept<'a> {
    plan: &'a Plan,
    out: &'a FilePath,
    version: &'a str,
}

/// The runs of a judgement.
#[derive(Debug)]
pub struct Plan {
    effort: Effort,
    backend: Backend,
    seeds: u64,
    controls: Vec<String>,
    /// Cells first.
    cases: Vec<(Case, ScenarioFile)>,
    cells: usize,
}

/// Selects by names, or all that `takes` if there are none.
fn select<T>(
    kind: &'static str,
    all: &'static [T],
    name: fn(&T) -> &'static str,
    wanted: &[String],
    takes: impl Fn(&T) -> bool,
) -> Result<Vec<&'static T>, PlanError> {
    if wanted.is_empty() {
        return Ok(all.iter().filter(|one| takes(one)).collect());
    }
    let find = |wanted: &String| {
        let found = all.iter().find(|one| name(one) == wanted);
        found.ok_or_else(|| PlanError::Unknown {
            kind,
            name: wanted.clone(),
            allowed: all.iter().map(name).collect::<Vec<_>>().join(", "),
        })
    };
    wanted.iter().map(find).collect()
}

impl Plan {
    /// Makes the plan for `controls`. Without names of paths or rivals, those of the effort are taken; in a lab, paths of
    /// at most 100 Mb/s. `check` says what the backend cannot do.
    ///
    /// # Errors
    /// If a path, a rival or a control does not exist, if a control's file does not compile, or if `check` finds something.
    pub fn new(
        controls: &[String],
        paths: &[String],
        rivals: &[String],
        effort: Effort,
        (backend, check): (Backend, Check<'_>),
        seeds: u64,
    ) -> Result<Plan, PlanError> {
        let quick = effort == Effort::Quick;
        let tested: Result<Vec<Control>, PlanError> =
            controls.iter().map(|given| Control::given(given)).collect();
        let tested = tested?;
        for (number, control) in tested.iter().enumerate() {
            let mut before = tested[..number].iter();
            if before.any(|other| other.name == control.name && other != control) {
                return Err(PlanError::SameName(control.name.clone()));
            }
        }
        let paths = select(
            "path",
            PATHS,
            |path: &Path| path.name,
            paths,
            |path| {
                (path.quick || !quick) && !(backend == Backend::Lab && path.rate_bps() > LAB_BPS)
            },
        )?;
        let rivals = select(
            "rival",
            RIVALS,
            |rival: &Rival| rival.name,
            rivals,
            |rival| rival.quick || !quick,
        )?;
        let beside = || rivals.iter().map(|rival| Some(*rival)).chain([None]);
        let mut cases = Vec::new();
        for &path in &paths {
            for rival in beside() {
                cases.extend(tested.iter().map(|control| Case {
                    path,
                    rival,
                    control: Some(control.clone()),
                }));
            }
        }
        let cells = cases.len();
        for &path in &paths {
            let solo = rivals.iter().filter(|rival| rival.name != ITSELF);
            cases.extend(solo.map(|rival| Case {
                path,
                rival: Some(*rival),
                control: None,
            }));
            if !tested.iter().any(|control| control.name == "cubic") {
                cases.push(Case {
                    path,
                    rival: None,
                    control: Some(Control::named("cubic")),
                });
            }
        }
        let cases: Result<Vec<_>, ScenarioError> = cases
            .into_iter()
            .map(|case| {
                let file = case.scenario(effort, seeds, check)?;
                Ok((case, file))
            })
            .collect();
        Ok(Plan {
            effort,
            backend,
            seeds,
            controls: tested.into_iter().map(|control| control.name).collect(),
            cases: cases?,
            cells,
        })
    }

    /// All cases, each with its scenario, which has the seeds.
    pub fn cases(&self) -> impl Iterator<Item = (&Case, &ScenarioFile)> {
        self.cases.iter().map(|(case, file)| (case, file))
    }

    /// The scenarios of all cases.
    pub fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        self.cases.iter().map(|(_, file)| file.scenario())
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.cases.len() * self.seeds as usize
    }

    fn campaign(&self) -> Campaign<'_> {
        Campaign {
            scenarios: (self.cases())
                .map(|(case, file)| (case.name(), file))
                .collect(),
            backend: self.backend,
        }
    }

    /// Makes the runs that `out` does not hold yet, at most `jobs` at a time; `tick` receives the progress several times a second, and
    /// breaks to stop. Returns the judgement of the finished runs, and their number.
    ///
    /// # Errors
    /// If a run fails, if a file cannot be written, or if `out` holds runs and `resume` is false.
    #[expect(clippy::too_many_arguments)] // each is an option of the command
    pub fn run(
        &self,
        make: &Make<'_>,
        out: &FilePath,
        resume: bool,
        jobs: usize,
        version: &str,
        command: Vec<String>,
        tick: impl FnMut(Tick) -> ControlFlow<()>,
    ) -> Result<(Judgement, usize), PlanError> {
        let kept = self.begin(out, resume, version)?;
        let mut runs = kept.runs();
        // The runs that take longest begin first, so that none is left over at the end.
        runs.left.sort_by(|a, b| {
            let rate = |key: &Key| self.cases[key.0].0.path.rate_bps();
            rate(b).total_cmp(&rate(a))
        });
        let campaign = self.campaign();
        campaign.make(&mut runs, &kept, make, jobs, tick)?;
        Ok((kept.judge(&runs, command), runs.count()))
    }

    /// Prepares `out`.
    ///
    /// # Errors
    /// If a file cannot be written, or if `out` holds runs and `resume` is false.
    pub fn begin<'a>(
        &'a self,
        out: &'a FilePath,
        resume: bool,
        version: &'a str,
    ) -> Result<Kept<'a>, PlanError> {
        let (runs, scenarios) = (out.join("runs"), out.join("scenarios"));
        if !resume && fs::read_dir(&runs).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(PlanError::Occupied(out.to_owned()));
        }
        for directory in [&runs, &scenarios] {
            fs::create_dir_all(directory).map_err(at(directory))?;
        }
        for (case, file) in &self.cases {
            let path = scenarios.join(format!("{}.toml", case.name()));
            fs::write(&path, &file.text).map_err(at(&path))?;
            // Beside the scenario, so that it can be run elsewhere, and later.
            if let Some(control) = case.control.as_ref().filter(|_| case.directory().is_some()) {
                let path = scenarios.join(&control.name);
                let flows = &file.scenario().flows;
                let read = flows
                    .iter()
                    .find_map(|flow| flow.congestion_control.file.as_ref());
                fs::write(&path, read.map_or("", |read| read.text())).map_err(at(&path))?;
            }
        }
        Ok(self.kept(out, version))
    }

    /// What a directory that [`Plan::begin`] has prepared keeps.
    pub fn kept<'a>(&'a self, out: &'a FilePath, version: &'a str) -> Kept<'a> {
        Kept {
            plan: self,
            out,
            version,
        }
    }

    /// Returns the number of a case.
    fn find(&self, path: &Path, rival: Option<&Rival>, control: Option<&str>) -> Option<usize> {
        self.cases.iter().position(|(case, _)| {
            case.path.name == path.name
                && case.rival.map(|rival| rival.name) == rival.map(|rival| rival.name)
                && case.control.as_ref().map(|control| control.name.as_str()) == control
        })
    }

    /// Returns a cell, if all runs of a seed that it is made of are finished.
    fn cell(
        &self,
        number: usize,
        finished: &BTreeMap<Key, Measured>,
        scenarios: &FilePath,
    ) -> Option<Cell> {
        let case = &self.cases[number].0;
        let solo = self.find(case.path, case.rival, None);
        let cubic = self.find(case.path, None, Some("cubic"))?;
        let samples: Vec<Sample> = (1..=self.seeds)
            .filter_map(|seed| {
                Some(Sample {
                    rival: case.rival,
                    with: finished.get(&(number, 0, seed))?,
                    solo: match solo {
                        Some(solo) => Some(finished.get(&(solo, 0, seed))?),
                        None => None,
                    },
                    cubic: finished.get(&(cubic, 0, seed))?,
                })
            })
            .collect();
        let first = samples.first()?.with;
        let figures = FIGURES.iter().filter_map(|figure| {
            let values: Vec<f64> = samples.iter().filter_map(figure.of).collect();
            Some((figure.name, Estimate::of(&values)?))
        });
        let distrust = samples
            .iter()
            .find_map(|sample| sample.with.distrust.clone());
        let file = scenarios.join(format!("{}.toml", case.name()));
        Some(Cell {
            path: case.path.name.to_owned(),
            rival: case.rival.map_or("none", |rival| rival.name).to_owned(),
            control: case.control.as_ref()?.name.clone(),
            figures: figures.collect(),
            run: format!(
                "netnice {} {}{}",
                command_of(self.backend),
                // The page's reader has not chosen the file.
                match case.directory() {
                    Some(_) => "--allow-control-files ",
                    None => "",
                },
                file.display()
            ),
            distrust,
            own_series: first.own_series.clone(),
            rival_series: first.rival_series.clone(),
            end_s: first.end_s,
        })
    }
}

impl Kept<'_> {
    /// The runs: those that the directory holds, and those that are left.
    pub fn runs(&self) -> Runs<Measured> {
        self.plan.campaign().find(self)
    }

    /// The judgement of finished runs.
    pub fn judge(&self, runs: &Runs<Measured>, command: Vec<String>) -> Judgement {
        let (plan, scenarios) = (self.plan, self.out.join("scenarios"));
        let cells = (0..plan.cells).filter_map(|case| plan.cell(case, &runs.finished, &scenarios));
        let cells: Vec<Cell> = cells.collect();
        Judgement {
            version: self.version.to_owned(),
            command,
            backend: match plan.backend {
                Backend::Simulation => "simulation",
                Backend::Lab => "lab",
            },
            controls: plan.controls.clone(),
            answers: Judgement::answers(&plan.controls, &cells),
            cells,
        }
    }

    fn run_file(&self, (case, _, seed): Key) -> PathBuf {
        let (case, backend) = (
            self.plan.cases[case].0.name(),
            command_of(self.plan.backend),
        );
        self.out
            .join("runs")
            .join(format!("{case}.{seed}.{backend}.json"))
    }
}

impl Keep for Kept<'_> {
    type Kept = Measured;

    /// A run of another scenario or version, or one that cannot be read, is none.
    fn find(&self, key: Key, _: &Point) -> Result<Option<Measured>, StaleRun> {
        let text = fs::read(self.run_file(key)).ok();
        let file = text.and_then(|text| serde_json::from_slice::<RunFile>(&text).ok());
        let hash = &self.plan.cases[key.0].1.hash;
        let same = |file: &RunFile| file.hash == *hash && file.version == self.version;
        Ok(file.filter(same).map(|file| file.measured))
    }

    fn keep(&self, key: Key, run: RunResults) -> Result<Measured, DirectoryError> {
        let (case, file) = &self.plan.cases[key.0];
        let kept = RunFile {
            hash: file.hash.clone(),
            version: self.version.to_owned(),
            measured: case.measure(self.plan.effort, &run),
        };
        let path = self.run_file(key);
        let text = serde_json::to_vec(&kept).map_err(io::Error::from);
        match text.and_then(|text| output::replace(&path, &text)) {
            Ok(()) => Ok(kept.measured),
            Err(error) => Err(DirectoryError::Io { path, error }),
        }
    }
}

/// The command that runs a scenario.
fn command_of(backend: Backend) -> &'static str {
    match backend {
        Backend::Simulation => "sim",
        Backend::Lab => "lab",
    }
}
