// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runs of `netnice reproduce` and `netnice judge`, for executors; the outcomes of finished ones.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netnice_judge::{Effort, Keep, Plan, PlanError, markdown, page};
use netnice_papers::{Reproduction as Papers, Store, experiments};
use netnice_results::{Backend, output};
use netnice_scenario::network::not_simulated;
use netnice_scenario::{Check, ControlFiles, ScenarioFile};
use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;

use crate::error;
use crate::runs;
use crate::scenario::Scenario;
use crate::simulation::simulate;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A name and a scenario.
type Named = (String, Scenario);

/// `directory` holds the C file that the scenario names, if it names one.
fn named(name: impl Into<String>, file: &ScenarioFile, directory: Option<&Path>) -> Named {
    let scenario = Scenario {
        file: Arc::new(file.clone()),
        directory: directory.map(Path::to_owned),
        control_files: match directory {
            Some(_) => ControlFiles::OfScenario,
            None => ControlFiles::default(),
        },
    };
    (name.into(), scenario)
}

/// Experiments of the papers.
#[pyclass(frozen, module = "netnice._native")]
pub(crate) struct Reproduction {
    papers: Papers,
}

#[pymethods]
impl Reproduction {
    #[new]
    fn new(py: Python<'_>, ids: Vec<String>, full: bool) -> PyResult<Reproduction> {
        let chosen = experiments::select(&ids).map_err(|unknown| {
            PyValueError::new_err(format!(
                "there is no experiment {unknown}; there are {}",
                experiments::ids().join(", ")
            ))
        })?;
        let effort = match full {
            true => Effort::Full,
            false => Effort::Quick,
        };
        let papers = py.detach(|| Papers::new(chosen, effort));
        let papers = papers.map_err(error::of_run)?;
        Ok(Reproduction { papers })
    }

    /// The studies; that of a name is kept in `studies/NAME` of the directory.
    fn studies(&self) -> Vec<Named> {
        let studies = self.papers.studies();
        studies
            .map(|(name, file)| named(name, file, None))
            .collect()
    }

    /// The outcomes as JSON, which is `outcomes.json` of the directory as well. A run that is not there is made here.
    fn outcomes(
        &self,
        py: Python<'_>,
        out: PathBuf,
        command: Vec<String>,
        jobs: usize,
        wall_s: f64,
    ) -> PyResult<String> {
        let mut signal = None;
        let outcomes = py.detach(|| {
            let store = Store::new(&out, true, VERSION, command);
            let finished = self.papers.run(&simulate, Some(&store), 1, |_| {
                signal = Python::attach(|py| py.check_signals()).err();
                match signal {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            });
            let finished = finished.map_err(error::of_run)?;
            let fresh = self.papers.outcomes(&finished);
            let outcomes = store.keep(fresh, jobs, wall_s).map_err(error::of_run)?;
            serde_json::to_string(&outcomes).map_err(error::of_run)
        });
        match signal {
            Some(signal) => Err(signal),
            None => outcomes,
        }
    }
}

/// Cells of the judge's grid.
#[pyclass(frozen, module = "netnice._native")]
pub(crate) struct Judge {
    plan: Plan,
    out: PathBuf,
}

#[pymethods]
impl Judge {
    #[new]
    fn new(
        controls: Vec<String>,
        paths: Vec<String>,
        rivals: Vec<String>,
        quick: bool,
        seeds: u64,
        out: PathBuf,
    ) -> PyResult<Judge> {
        let effort = match quick {
            true => Effort::Quick,
            false => Effort::Full,
        };
        let backend: (Backend, Check) = (Backend::Simulation, &not_simulated);
        let plan = Plan::new(&controls, &paths, &rivals, effort, backend, seeds);
        let plan = plan.map_err(|problem| match &problem {
            PlanError::Scenario(scenario) => error::of_scenario(scenario),
            _ => PyValueError::new_err(problem.to_string()),
        })?;
        Ok(Judge { plan, out })
    }

    fn cases(&self) -> Vec<Named> {
        let cases = self.plan.cases();
        cases
            .map(|(case, file)| named(case.name(), file, case.directory()))
            .collect()
    }

    /// Prepares the directory; returns the runs that it does not hold, by number of the case and seed.
    fn begin(&self, py: Python<'_>, resume: bool) -> PyResult<Vec<(usize, u64)>> {
        let left = py.detach(|| {
            let kept = self.plan.begin(&self.out, resume, VERSION)?;
            Ok(kept.runs().left)
        });
        let left = left.map_err(|problem| match &problem {
            PlanError::Occupied(path) => PyFileExistsError::new_err(format!(
                "{} holds runs already; reuse them with resume=True, or choose another directory",
                path.display()
            )),
            _ => error::of_run(problem),
        })?;
        Ok(left
            .into_iter()
            .map(|(case, _, seed)| (case, seed))
            .collect())
    }

    /// Keeps what is measured of a run, whose bytes these are.
    fn store(&self, py: Python<'_>, case: usize, seed: u64, text: &[u8]) -> PyResult<()> {
        let mut cases = self.plan.cases();
        let Some((_, file)) = cases.nth(case) else {
            return Err(PyValueError::new_err(format!("there is no case {case}")));
        };
        let run = runs::read(file, (0, seed), text)?;
        let kept = self.plan.kept(&self.out, VERSION);
        py.detach(|| kept.keep((case, 0, seed), run).map(drop))
            .map_err(error::of_run)
    }

    /// The judgement as JSON, which is written to the directory as well, as JSON, HTML and Markdown.
    fn judgement(&self, py: Python<'_>, command: Vec<String>) -> PyResult<String> {
        py.detach(|| {
            let begun = self.plan.begin(&self.out, true, VERSION);
            let begun = begun.map_err(error::of_run)?;
            let judgement = begun.judge(&begun.runs(), command);
            let json = serde_json::to_string(&judgement).map_err(error::of_run)?;
            for (name, text) in [
                ("judgement.json", &json),
                ("judgement.html", &page::page(&judgement)),
                ("judgement.md", &markdown::markdown(&judgement)),
            ] {
                let path = self.out.join(name);
                output::replace(&path, text.as_bytes())
                    .map_err(|error| error::of_run(format!("{}: {error}", path.display())))?;
            }
            Ok(json)
        })
    }
}
