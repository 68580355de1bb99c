// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs of a judgement: the cells, the rivals alone, and CUBIC alone. Finished runs are kept, and reused.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use netnice_scenario::model::Scenario;
use netnice_scenario::pool::{self, LAB_BPS, Make};
use netnice_scenario::results::{Estimate, RunResults};
use netnice_scenario::{ScenarioError, ScenarioFile, output};
use serde::{Deserialize, Serialize};

use crate::case::{Case, Measured};
use crate::cell::Cell;
use crate::control::Control;
use crate::effort::Effort;
use crate::error::{PlanError, at};
use crate::figure::{FIGURES, Sample};
use crate::judgement::Judgement;
use crate::path::{PATHS, Path};
use crate::rival::{ITSELF, RIVALS, Rival};

/// The progress of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Finished runs.
    pub runs: usize,
    /// All runs.
    pub of_runs: usize,
}

/// A finished run as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Hash of the scenario's text.
    hash: String,
    /// Version of netnice.
    version: String,
    measured: Measured,
}

/// The part of a plan that a directory holds: runs by the number of their case and their seed.
#[derive(Debug, Default)]
pub struct Begun {
    /// Those that are finished.
    pub finished: BTreeMap<(usize, u64), Measured>,
    /// The others.
    pub left: Vec<(usize, u64)>,
}

/// The runs of a judgement.
#[derive(Debug)]
pub struct Plan {
    effort: Effort,
    lab: bool,
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
    /// at most 100 Mb/s.
    ///
    /// # Errors
    /// If a path, a rival or a control does not exist, or if a control's file does not compile.
    pub fn new(
        controls: &[String],
        paths: &[String],
        rivals: &[String],
        effort: Effort,
        lab: bool,
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
            |path| (path.quick || !quick) && !(lab && path.rate_bps() > LAB_BPS),
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
                let file = case.scenario(effort, seeds)?;
                Ok((case, file))
            })
            .collect();
        Ok(Plan {
            effort,
            lab,
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

    /// Makes the runs that `out` does not hold yet, at most `jobs` at a time; `progress` receives the number of
    /// finished runs several times a second, and breaks to stop.
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
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Judgement, Progress), PlanError> {
        let Begun {
            mut finished,
            mut left,
        } = self.begin(out, resume, version)?;
        // The runs that take longest begin first, so that none is left over at the end.
        left.sort_by(|a, b| {
            let rate = |key: &(usize, u64)| self.cases[key.0].0.path.rate_bps();
            rate(b).total_cmp(&rate(a))
        });
        let work = |&(number, seed): &(usize, u64), stop: &AtomicBool| {
            let (case, file) = &self.cases[number];
            let go_on = || !stop.load(Ordering::Relaxed);
            let results = make(file.scenario(), seed, &go_on).map_err(|error| PlanError::Run {
                case: case.name(),
                seed,
                error,
            })?;
            let Some(results) = results else {
                return Ok(None);
            };
            let measured = self.store(out, (number, seed), &results, version)?;
            Ok(Some(((number, seed), measured)))
        };
        let mut failure = None;
        let pool = pool::run(&left, jobs, work, |result| {
            match result {
                Some(Ok(Some((key, measured)))) => {
                    finished.insert(key, measured);
                }
                Some(Err(error)) => {
                    failure.get_or_insert(error);
                }
                Some(Ok(None)) | None => {}
            }
            let far = Progress {
                runs: finished.len(),
                of_runs: self.runs(),
            };
            match failure.is_some() {
                true => ControlFlow::Break(()),
                false => progress(far),
            }
        });
        pool.map_err(at(out))?;
        if let Some(error) = failure {
            return Err(error);
        }
        let far = Progress {
            runs: finished.len(),
            of_runs: self.runs(),
        };
        Ok((self.judge(&finished, out, version, command), far))
    }

    /// Prepares `out`, and reads the runs that it holds.
    ///
    /// # Errors
    /// If a file cannot be written, or if `out` holds runs and `resume` is false.
    pub fn begin(&self, out: &FilePath, resume: bool, version: &str) -> Result<Begun, PlanError> {
        let (runs, scenarios) = (out.join("runs"), out.join("scenarios"));
        if !resume && fs::read_dir(&runs).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(PlanError::Occupied(out.to_owned()));
        }
        for directory in [&runs, &scenarios] {
            fs::create_dir_all(directory).map_err(at(directory))?;
        }
        let mut begun = Begun::default();
        for (number, (case, file)) in self.cases.iter().enumerate() {
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
            for seed in 1..=self.seeds {
                match kept(&self.run_file(out, case, seed), &file.hash, version) {
                    Some(measured) => {
                        begun.finished.insert((number, seed), measured);
                    }
                    None => begun.left.push((number, seed)),
                }
            }
        }
        Ok(begun)
    }

    /// Keeps what is measured of the run of a case with a seed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store(
        &self,
        out: &FilePath,
        (number, seed): (usize, u64),
        results: &RunResults,
        version: &str,
    ) -> Result<Measured, PlanError> {
        let (case, file) = &self.cases[number];
        let kept = Kept {
            hash: file.hash.clone(),
            version: version.to_owned(),
            measured: case.measure(self.effort, results),
        };
        keep(&self.run_file(out, case, seed), &kept)?;
        Ok(kept.measured)
    }

    fn run_file(&self, out: &FilePath, case: &Case, seed: u64) -> PathBuf {
        let backend = if self.lab { "lab" } else { "sim" };
        out.join("runs")
            .join(format!("{}.{seed}.{backend}.json", case.name()))
    }

    /// Returns the number of a case.
    fn find(&self, path: &Path, rival: Option<&Rival>, control: Option<&str>) -> Option<usize> {
        self.cases.iter().position(|(case, _)| {
            case.path.name == path.name
                && case.rival.map(|rival| rival.name) == rival.map(|rival| rival.name)
                && case.control.as_ref().map(|control| control.name.as_str()) == control
        })
    }

    /// The judgement of finished runs.
    pub fn judge(
        &self,
        finished: &BTreeMap<(usize, u64), Measured>,
        out: &FilePath,
        version: &str,
        command: Vec<String>,
    ) -> Judgement {
        let scenarios = out.join("scenarios");
        let cells = (0..self.cells).filter_map(|number| self.cell(number, finished, &scenarios));
        let cells: Vec<Cell> = cells.collect();
        Judgement {
            version: version.to_owned(),
            command,
            backend: if self.lab { "lab" } else { "simulation" },
            controls: self.controls.clone(),
            answers: Judgement::answers(&self.controls, &cells),
            cells,
        }
    }

    /// Returns a cell, if all runs of a seed that it is made of are finished.
    fn cell(
        &self,
        number: usize,
        finished: &BTreeMap<(usize, u64), Measured>,
        scenarios: &FilePath,
    ) -> Option<Cell> {
        let case = &self.cases[number].0;
        let solo = self.find(case.path, case.rival, None);
        let cubic = self.find(case.path, None, Some("cubic"))?;
        let samples: Vec<Sample> = (1..=self.seeds)
            .filter_map(|seed| {
                Some(Sample {
                    rival: case.rival,
                    with: finished.get(&(number, seed))?,
                    solo: match solo {
                        Some(solo) => Some(finished.get(&(solo, seed))?),
                        None => None,
                    },
                    cubic: finished.get(&(cubic, seed))?,
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
                if self.lab { "lab" } else { "sim" },
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

/// Returns a finished run, if it is one of this scenario and version.
fn kept(path: &FilePath, hash: &str, version: &str) -> Option<Measured> {
    let kept: Kept = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (kept.hash == hash && kept.version == version).then_some(kept.measured)
}

/// Writes a finished run; the file is complete or absent.
fn keep(path: &FilePath, kept: &Kept) -> Result<(), PlanError> {
    let text = serde_json::to_vec(kept).map_err(|error| PlanError::Io {
        path: path.to_owned(),
        error: error.into(),
    })?;
    output::replace(path, &text).map_err(at(path))
}
