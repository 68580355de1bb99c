// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run of a scenario, from its description to its results.

use std::path::PathBuf;
use std::sync::Arc;

use netnice_results::RunResults;
use netnice_scenario::Layout;
use netnice_scenario::model::Scenario;
use netnice_scenario::network::{FlowGroup, Problems, not_simulated};

use crate::engine::options::EngineOptions;
use crate::error::RunError;
use crate::scenario::build::OutsideControls;
use crate::scenario::trace_files::Traces;
use crate::scenario::{build, report};
use crate::simulation::Simulation;

/// The run of `scenario` with one seed, at time zero: to look at while it is under way.
pub fn simulation(scenario: &Scenario, seed: u64) -> Result<Simulation, RunError> {
    let engine = EngineOptions::default();
    let layout = layout(scenario)?;
    check(scenario, &layout)?;
    let none = OutsideControls::new();
    build::prepare(scenario, &layout, seed, None, engine, &none, None)
}

fn layout(scenario: &Scenario) -> Result<Arc<Layout>, RunError> {
    let layout = Layout::new(scenario).map_err(Problems)?;
    Ok(Arc::new(layout))
}

fn check(scenario: &Scenario, layout: &Layout) -> Result<(), Problems> {
    let problems = not_simulated(scenario, layout);
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Problems(problems)),
    }
}

/// Runs `scenario` with one seed. Calls `go_on` every few milliseconds and returns `None` once it returns false.
///
/// The results depend on the scenario and the seed only. Runs share nothing, so that any number can go on in parallel.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    run_on(EngineOptions::default(), scenario, seed, None, go_on)
}

/// As [`run_laid_out`], with controls from outside for some flows. The results name the controls that the scenario has for them.
pub fn run_with_controls(
    on: (&Scenario, Arc<Layout>),
    seed: u64,
    controls: &OutsideControls,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    let engine = EngineOptions::default();
    run_all(engine, on, seed, None, controls, &mut go_on)
}

/// As [`run`], with the scenario's layout, which its runs can share.
pub fn run_laid_out(
    on: (&Scenario, Arc<Layout>),
    seed: u64,
    go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    run_laid_out_with_traces(on, seed, None, go_on)
}

/// As [`run_with_traces`], with the scenario's layout.
pub fn run_laid_out_with_traces(
    on: (&Scenario, Arc<Layout>),
    seed: u64,
    traces: Option<&Traces>,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    let engine = EngineOptions::default();
    let none = OutsideControls::new();
    run_all(engine, on, seed, traces, &none, &mut go_on)
}

/// As [`run`], and writes the packets that come out of links to traces, which change nothing in the results.
pub fn run_with_traces(
    scenario: &Scenario,
    seed: u64,
    traces: Option<&Traces>,
    go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    run_on(EngineOptions::default(), scenario, seed, traces, go_on)
}

/// As [`run_with_traces`], with engine options, for tests of the options against each other. They change nothing in the
/// results.
pub fn run_on(
    engine: EngineOptions,
    scenario: &Scenario,
    seed: u64,
    traces: Option<&Traces>,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    let none = OutsideControls::new();
    let on = (scenario, layout(scenario)?);
    run_all(engine, on, seed, traces, &none, &mut go_on)
}

fn run_all(
    engine: EngineOptions,
    (scenario, layout): (&Scenario, Arc<Layout>),
    seed: u64,
    traces: Option<&Traces>,
    controls: &OutsideControls,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<RunResults>, RunError> {
    check(scenario, &layout)?;
    let decisions = traces.map_or(Ok(None), Traces::begin_decisions)?;
    let mut simulation = build::prepare(
        scenario,
        &layout,
        seed,
        traces,
        engine,
        controls,
        decisions.as_ref(),
    )?;
    // Of a hundred thousand flows the rest takes as much memory as what the run needs of them: results need their groups alone.
    let groups = layout.flows.iter().map(|flow| flow.group.clone());
    let groups: Vec<Arc<FlowGroup>> = groups.collect();
    drop(layout);
    let files = || {
        let flows = scenario.flows.iter();
        flows.filter_map(|flow| flow.congestion_control.file.as_ref())
    };
    let failed = || files().find_map(|file| file.failure());
    let finished = simulation.run_while(|_| go_on() && failed().is_none());
    let packets = simulation.finish_packets();
    let events = simulation.finish_events();
    if let Some(traces) = traces {
        let failed = |path: Option<PathBuf>| {
            let path = path.unwrap_or_else(|| traces.directory.clone());
            |error| RunError::Trace { path, error }
        };
        packets.map_err(failed(traces.merged_file()))?;
        events.map_err(failed(traces.events_file()))?;
        let decided = decisions.map_or(Ok(()), |decisions| decisions.finish());
        decided.map_err(failed(traces.decisions_file()))?;
    }
    if let Some(reason) = failed() {
        return Err(RunError::ControlFile(reason));
    }
    Ok(finished.then(|| report::results(&mut simulation, scenario, &groups)))
}
