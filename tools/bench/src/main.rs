// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures how well the controls yield and fill an idle link. Each trial is a scenario, run on this kernel or in the
//! simulator; every row is a ratio within one run.

mod cost;
mod record;
mod report;
mod trial;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use netnice_emulation::Lab;
use netnice_scenario::{Scenario, pool};

use trial::{Cell, Outcome, Runner, Test, Trial, check_on_kernel};

/// Measures low-priority controls beside others over one link: on this kernel (needs root), or in the simulator.
#[derive(Parser)]
#[command(after_help = "Examples:
  netnice-bench --runs 1 --controls netnice
  netnice-bench --simulated --cell grid --controls netnice --markdown --jobs 2
  netnice-bench --simulated --cell 10mbit/40ms/83p/20ms --tests alone,beside")]
struct Arguments {
    /// Cells to measure, as RATE/RTT/QUEUE or RATE/RTT/QUEUE/JITTER; repeat for more. `grid` stands for 1.5, 10, 100 and 500 Mb/s;
    /// 4, 40 and 200 ms; queues of 0.25, 1, 2.5 and 5 BDP; `jitter` for five paths with 1, 5, 10 and 20 ms of jitter.
    #[arg(long = "cell", default_value = "10mbit/40ms/83p")]
    cells: Vec<String>,
    /// Controls under test.
    #[arg(long, value_delimiter = ',', default_value = "netnice,tcplp")]
    controls: Vec<String>,
    /// Best-effort controls to compete with; the first is the measure of an idle link. [default: cubic,reno,bbr; in
    /// the simulator cubic,reno]
    #[arg(long, value_delimiter = ',')]
    rivals: Option<Vec<String>>,
    /// Tests to run: alone, beside, web, square, two.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "alone,beside,web,square,two"
    )]
    tests: Vec<Test>,
    /// Runs of each trial.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds over which goodput is measured, once flows have settled; longer on long paths.
    #[arg(long, default_value_t = 30)]
    window: u64,
    /// Runs the trials in the simulator instead: no root, no waiting; run n has seed n.
    #[arg(long, conflicts_with = "cost")]
    simulated: bool,
    /// Prints a row of Markdown for each cell: means only.
    #[arg(long)]
    markdown: bool,
    /// Trials at a time: more than one only while the links are slow enough for this machine.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Also measure the processor time that each control takes for an ACK.
    #[arg(long)]
    cost: bool,
    /// Record each call of a congestion control while SCENARIO.toml runs on this kernel (6.10 or later), into SCENARIO.csv, and
    /// measure nothing; one flow of the scenario has the control netnice or tcplp.
    #[arg(long, value_name = "SCENARIO", num_args = 1.., conflicts_with_all = ["simulated", "cost"])]
    record: Vec<std::path::PathBuf>,
    /// Writes every outcome here as JSON.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !arguments.record.is_empty() {
        return arguments
            .record
            .iter()
            .try_for_each(|path| record::record(path));
    }
    let rivals = arguments.rivals.clone().unwrap_or_else(|| {
        let all = ["cubic", "reno", "bbr"].map(str::to_owned);
        all[..if arguments.simulated { 2 } else { 3 }].to_vec()
    });
    let cells = cells(&arguments.cells)?;
    let trials = trials(&arguments, &rivals, &cells)
        .into_iter()
        .map(|trial| Ok((trial.scenario()?, trial)))
        .map(|made| made.map(|(scenario, trial)| (trial, scenario)))
        .collect::<Result<Vec<_>>>()?;
    let outcomes = if arguments.simulated {
        run_all(&trials, &Runner::Simulator, arguments.jobs)?
    } else {
        let scenarios = trials.iter().map(|(_, scenario)| scenario);
        scenarios.clone().try_for_each(check_on_kernel)?;
        let lab = Lab::open(scenarios)?;
        let outcomes = run_all(&trials, &Runner::Kernel(&lab), arguments.jobs)?;
        lab.close()?;
        outcomes
    };
    if arguments.cost {
        print!("{}", cost::table(&arguments.controls)?);
    }

    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&outcomes)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    if arguments.markdown {
        for control in &arguments.controls {
            let rows = report::grid(&cells, &outcomes, control, &rivals, &arguments.tests);
            print!("{rows}");
        }
        let untrusted = outcomes.iter().filter(|o| o.distrust.is_some()).count();
        if untrusted > 0 {
            println!(
                "\nnot to be trusted: {untrusted} of {} trials",
                outcomes.len()
            );
        }
        return Ok(());
    }
    for cell in &cells {
        let of_cell: Vec<_> = outcomes.iter().filter(|o| o.trial.cell == *cell).collect();
        print!(
            "{}",
            report::table(cell, &of_cell, &arguments.controls, &rivals)
        );
    }
    Ok(())
}

fn cells(texts: &[String]) -> Result<Vec<Cell>> {
    let mut names = Vec::new();
    for text in texts {
        match text.as_str() {
            "grid" => {
                for rate in ["1.5mbit", "10mbit", "100mbit", "500mbit"] {
                    for rtt in ["4ms", "40ms", "200ms"] {
                        let queues = ["0.25bdp", "1bdp", "2.5bdp", "5bdp"];
                        names.extend(queues.map(|queue| format!("{rate}/{rtt}/{queue}")));
                    }
                }
            }
            "jitter" => {
                for path in [
                    "1.5mbit/40ms/25p",
                    "10mbit/40ms/83p",
                    "20mbit/10ms/100p",
                    "50mbit/20ms/300p",
                    "100mbit/40ms/333p",
                ] {
                    let jitters = ["1ms", "5ms", "10ms", "20ms"];
                    names.extend(jitters.map(|jitter| format!("{path}/{jitter}")));
                }
            }
            _ => names.push(text.clone()),
        }
    }
    names.iter().map(|name| name.parse()).collect()
}

/// Returns all trials, with runs as the outermost loop, so that a slow period of the machine affects all alike.
fn trials(arguments: &Arguments, rivals: &[String], cells: &[Cell]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for run in 0..arguments.runs {
        for cell in cells {
            let mut add = |test, control: Option<&String>, rival: Option<&String>| {
                trials.push(Trial {
                    cell: cell.clone(),
                    test,
                    control: control.cloned(),
                    rival: rival.cloned(),
                    run,
                    window: std::time::Duration::from_secs(arguments.window),
                });
            };
            for &test in &arguments.tests {
                match test {
                    Test::Alone => {
                        for name in rivals.iter().chain(&arguments.controls) {
                            add(test, Some(name), None);
                        }
                    }
                    Test::Beside => {
                        for control in &arguments.controls {
                            for rival in rivals {
                                add(test, Some(control), Some(rival));
                            }
                        }
                    }
                    Test::Web => {
                        add(test, None, None);
                        add(test, rivals.first(), None);
                        for control in &arguments.controls {
                            add(test, Some(control), None);
                        }
                    }
                    Test::Square | Test::Two => {
                        for control in &arguments.controls {
                            add(test, Some(control), None);
                        }
                    }
                }
            }
        }
    }
    trials
}

fn run_all(trials: &[(Trial, Scenario)], runner: &Runner<'_>, jobs: usize) -> Result<Vec<Outcome>> {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} trials, {eta} left  {msg}")?;
    let progress = ProgressBar::new(trials.len() as u64).with_style(style);
    let numbered: Vec<_> = trials.iter().enumerate().collect();
    let mut outcomes = BTreeMap::new();
    let mut failure = None;
    let work = |(index, (trial, scenario)): &(usize, &(Trial, Scenario)), _: &AtomicBool| {
        let results = runner.run(scenario, trial.seed());
        let outcome = results.and_then(|results| trial.outcome(&results));
        (*index, outcome)
    };
    pool::run(&numbered, jobs.max(1), work, |result| {
        match result {
            Some((index, Ok(outcome))) => {
                outcomes.insert(index, outcome);
                progress.inc(1);
            }
            Some((_, Err(error))) => {
                failure.get_or_insert(error);
            }
            None => progress.tick(),
        }
        match failure {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    })
    .context("starting a thread for the trials")?;
    progress.finish_and_clear();
    match failure {
        Some(error) => Err(error),
        None => Ok(outcomes.into_values().collect()),
    }
}
