// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice judge --search`: the environments in which a control is worst.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use netnice_judge::PlanError;
use netnice_judge::search::{Found, PUBLISHED, Search, Space};
use netnice_scenario::input;
use netnice_study::{Tick, markdown_rows};
use netnice_terminal::text::{self, say};

use super::{Arguments, is_usage};
use crate::commands::batch::interrupted_by;
use crate::commands::progress::Progress;

/// Searches for each control, and prints what was found.
pub fn run(arguments: &Arguments, given: Option<&Path>, controls: &[String]) -> Result<ExitCode> {
    let result = search(arguments, given, controls);
    let usage = |error: &anyhow::Error| error.downcast_ref().is_some_and(is_usage);
    match result {
        Err(error) if usage(&error) => {
            say!("netnice: {error}");
            Ok(ExitCode::from(2))
        }
        result => result,
    }
}

fn search(arguments: &Arguments, given: Option<&Path>, controls: &[String]) -> Result<ExitCode> {
    let (file, source) = match given {
        None => (
            "the published environments".to_owned(),
            PUBLISHED.to_owned(),
        ),
        Some(path) => {
            let file = path.display().to_string();
            let bytes = input::read(path, input::SCENARIO_BYTES)
                .map_err(|error| PlanError::Space(format!("{file}: cannot be read: {error}")))?;
            let text = String::from_utf8(bytes)
                .map_err(|_| PlanError::Space(format!("{file}: is no text in UTF-8")))?;
            (file, text)
        }
    };
    let space = Space::parse(&file, &source)?;
    let jobs = arguments.jobs.or(thread::available_parallelism().ok());
    let search = Search {
        space: &space,
        controls,
        environments: arguments.environments.unwrap_or(20_000),
        reported: 10,
        seed: arguments.seed.unwrap_or(1),
        simulate: &|point, seed, go_on| {
            let on = (&point.scenario, point.take_layout()?);
            Ok(netnice_sim::run_laid_out(on, seed, go_on)?)
        },
        jobs: jobs.map_or(1, NonZeroUsize::get),
    };
    let mut progress = Progress::new(arguments.json)?;
    let begun = Instant::now();
    let (mut runs, mut environments) = (0, 0);
    let tick = |now: netnice_judge::search::Progress<'_>| -> ControlFlow<()> {
        let before = controls.iter().position(|control| control == now.control);
        (runs, environments) = (now.runs, before.unwrap_or(0) * now.of + now.environments);
        let of_runs = controls.len() * now.of;
        progress.tick(Tick {
            runs: environments,
            of_runs,
            part: (environments as f64 / of_runs as f64).min(1.0),
        })
    };
    let version = env!("CARGO_PKG_VERSION");
    let found = search.run(&arguments.out, arguments.resume, version, tick)?;
    let took_s = begun.elapsed().as_secs_f64();
    if let Some(signal) = progress.finish() {
        let of = (environments, controls.len() * search.environments);
        return Ok(interrupted_by(signal, of, &arguments.out));
    }
    let found = found.unwrap_or_default();
    say!(
        "netnice: {runs} environments were simulated in {took_s:.0} s, {:.0} an hour; the scenarios are in {}",
        runs as f64 / took_s * 3600.0,
        arguments.out.display()
    );
    let table = table(&found);
    if let Some(path) = &arguments.markdown {
        let lines = markdown_rows(&table[0], &table[1..], false);
        fs::write(path, lines).with_context(|| path.display().to_string())?;
    }
    match arguments.json {
        true => text::print_json(&found)?,
        false => text::print(&format!(
            "{}\n",
            text::table(&table, &[0, 1, 3, 4]).join("\n")
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn table(found: &[Found]) -> Vec<Vec<String>> {
    let head = [
        "control",
        "figure",
        "value (plain path)",
        "environment",
        "file",
    ]
    .map(str::to_owned);
    let rows = found.iter().map(|found| {
        let differs = found
            .differs
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        vec![
            found.control.clone(),
            found.figure.clone(),
            format!("{:.3} ({:.3})", found.value, found.plain),
            differs.collect::<Vec<_>>().join(", "),
            found.file.clone(),
        ]
    });
    [head.to_vec()].into_iter().chain(rows).collect()
}
