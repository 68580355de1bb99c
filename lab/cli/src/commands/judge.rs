// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice judge`: congestion controls on a grid of paths and rivals.

mod search;

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result};
use clap::Args;
use netnice_emulation as experiment;
use netnice_judge::{Effort, Judgement, Plan, PlanError, markdown, page};
use netnice_kernel::need_root;
use netnice_results::Backend;
use netnice_scenario::Check;
use netnice_scenario::network::not_simulated;
use netnice_study::Make;

use super::batch::{command, interrupted_by};
use super::lab;
use super::progress::Progress;
use super::sim::simulate;
use netnice_terminal::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  netnice on many paths with many rivals, in the simulator:
      netnice judge

  A shorter judgement, side by side with other low-priority controls:
      netnice judge netnice tcplp ledbat ledbatpp tcpnice --quick

  A control of your own, in a C file, compared with netnice:
      netnice judge ./mine.h netnice --quick

  One path and one rival, with ten seeds:
      netnice judge netnice --path fq_codel --rival cubic --seeds 10

  On this kernel, in real time, as root:
      sudo netnice judge netnice bbr --lab --quick

  Search for the environments in which controls harm a rival most, fill least or share worst:
      netnice judge netnice tcplp --search --out worst

  After an interruption, continue with the finished runs:
      netnice judge --resume

Each cell is a path, a rival and a control. The control begins alone; the rival comes, stays, and goes again. The same \
runs without the control and without the rival show what each loses. Figures are means over the seeds, with 95 % \
confidence intervals if there are at least two seeds.

The directory of --out:
  judgement.html   one page for any browser: RFC 9743's questions, a heat map
                   for each figure, and each cell with its goodput over time and
                   the command that makes it
  judgement.json   the same for programs
  scenarios/       the scenario of each cell, for `netnice sim` and `netnice
                   lab`, and the C files
  runs/            what was measured of each run

With --search the directory has, for each control and figure, up to ten scenarios of different kinds, the worst first, \
each as close to the plain path as its figure allows (CONTROL.FIGURE.NUMBER.toml). search.json lists them with their \
figures, which are means over three seeds that the search did not use. environments.jsonl has a line for each \
simulated environment; --resume reads it. A scenario whose last table is [search] defines environments, ranges and \
figures: `netnice judge --list --search` prints it, and docs/judge.md describes it.

Only --lab needs root. Exit codes: 0 done, whatever the figures; 1 failed, 2 wrong usage; 130 interrupted.";

/// Judge congestion controls on many paths, with many rivals
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Controls under test: names, or C files such as ./mine.h [default: netnice]
    controls: Vec<String>,
    /// Run in the simulator (the default)
    #[arg(long, conflicts_with = "lab")]
    sim: bool,
    /// Run on this kernel, in real time, on paths of at most 100 Mb/s; needs root
    #[arg(long)]
    lab: bool,
    /// Search in the simulator for the environments in which the controls are worst, within the published ranges
    /// (`--list --search` prints them) or the ranges in FILE
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["lab", "quick", "paths", "rivals", "seeds"]
    )]
    search: Option<Option<PathBuf>>,
    /// Number of environments that --search simulates for each control [default: 20000]
    #[arg(long, value_name = "NUMBER", requires = "search", value_parser = text::whole_number::<usize>(1..=10_000_000))]
    environments: Option<usize>,
    /// Seed of --search: the same seed gives the same results, whatever --jobs [default: 1]
    #[arg(long, value_name = "NUMBER", requires = "search")]
    seed: Option<u64>,
    /// Use fewer paths and rivals, and shorter runs
    #[arg(long)]
    quick: bool,
    /// Use only this path; can be repeated
    #[arg(long = "path", value_name = "NAME")]
    paths: Vec<String>,
    /// Use only this rival; can be repeated
    #[arg(long = "rival", value_name = "NAME")]
    rivals: Vec<String>,
    /// Number of runs of each cell, with the seeds 1 to NUMBER [default: 1 with --quick, else 3]
    #[arg(long, value_name = "NUMBER", value_parser = text::whole_number::<u64>(1..=1000))]
    seeds: Option<u64>,
    /// Number of runs at a time [default: one for each core; with --lab 1]
    #[arg(long, value_name = "NUMBER", value_parser = text::at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// Keep runs and results in this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "judgement")]
    out: PathBuf,
    /// Reuse finished runs found in the directory
    #[arg(long)]
    resume: bool,
    /// Write the figures as a Markdown page to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print the judgement as JSON
    #[arg(long)]
    json: bool,
    /// List the paths and rivals, and run nothing
    #[arg(long, conflicts_with_all = ["json", "markdown", "resume"])]
    list: bool,
}

/// Runs the cells and writes the results.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.list {
        text::print(&match arguments.search {
            Some(_) => netnice_judge::search::PUBLISHED.to_owned(),
            None => list(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let effort = match arguments.quick {
        true => Effort::Quick,
        false => Effort::Full,
    };
    let controls = match arguments.controls.is_empty() {
        true => &["netnice".to_owned()][..],
        false => &arguments.controls,
    };
    if let Some(file) = &arguments.search {
        return search::run(arguments, file.as_deref(), controls);
    }
    let seeds = arguments.seeds.unwrap_or(match effort {
        Effort::Quick => 1,
        Effort::Full => 3,
    });
    let backend: (Backend, Check) = match arguments.lab {
        true => (Backend::Lab, &experiment::check),
        false => (Backend::Simulation, &not_simulated),
    };
    let (paths, rivals) = (&arguments.paths, &arguments.rivals);
    let plan = Plan::new(controls, paths, rivals, effort, backend, seeds);
    let plan = match plan {
        Err(error) if is_usage(&error) => {
            for line in error.to_string().lines() {
                say!("netnice: {line}");
            }
            return Ok(ExitCode::from(2));
        }
        plan => plan?,
    };
    match arguments.lab {
        false => {
            let cores = arguments.jobs.or(thread::available_parallelism().ok());
            judge(arguments, &plan, &simulate, cores)
        }
        true => {
            need_root("the lab, which makes network namespaces,")?;
            let lab = lab::open(plan.scenarios())?;
            let code = judge(arguments, &plan, &lab::maker(&lab), arguments.jobs);
            lab.close()?;
            code
        }
    }
}

/// A mistake of whoever called.
fn is_usage(error: &PlanError) -> bool {
    matches!(
        error,
        PlanError::Unknown { .. }
            | PlanError::Control(_)
            | PlanError::ControlName(_)
            | PlanError::SameName(_)
            | PlanError::Scenario(_)
            | PlanError::Space(_)
    )
}

fn judge(
    arguments: &Arguments,
    plan: &Plan,
    make: &Make<'_>,
    jobs: Option<NonZeroUsize>,
) -> Result<ExitCode> {
    let mut progress = Progress::new(arguments.json)?;
    let (judgement, finished) = plan.run(
        make,
        &arguments.out,
        arguments.resume,
        jobs.map_or(1, NonZeroUsize::get),
        env!("CARGO_PKG_VERSION"),
        command(),
        |tick| progress.tick(tick),
    )?;
    let interrupted = progress.finish();
    write(arguments, &judgement)?;
    if let Some(signal) = interrupted {
        let runs = (finished, plan.runs());
        return Ok(interrupted_by(signal, runs, &arguments.out));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(arguments: &Arguments, judgement: &Judgement) -> Result<()> {
    let file = |path: PathBuf, text: &str| {
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    let json = serde_json::to_string(judgement).context("writing the judgement as JSON")?;
    file(arguments.out.join("judgement.json"), &json)?;
    file(arguments.out.join("judgement.html"), &page::page(judgement))?;
    if let Some(path) = &arguments.markdown {
        file(path.clone(), &markdown::markdown(judgement))?;
    }
    if arguments.json {
        return text::print(&format!("{json}\n"));
    }
    text::print(&answers(judgement))?;
    say!(
        "netnice: the page is {}",
        arguments.out.join("judgement.html").display()
    );
    Ok(())
}

/// The answers to the questions, a line each.
fn answers(judgement: &Judgement) -> String {
    let mut rows = vec![[&["question".to_owned()][..], &judgement.controls].concat()];
    for question in netnice_judge::question::QUESTIONS {
        let answers = judgement.answers.iter();
        let answers = answers.filter(|answer| answer.question == question.title);
        let mut row = vec![question.title.to_owned()];
        row.extend(answers.map(|answer| format!("{} of {}", answer.yes, answer.cells)));
        rows.push(row);
    }
    let lines = text::table(&rows, &[0]);
    format!(
        "Cells in which the answer to RFC 9743's question is yes, of those measured:\n{}\n",
        lines.join("\n")
    )
}

fn list() -> String {
    let paths = netnice_judge::path::PATHS.iter();
    let paths = paths.map(|path| vec![path.name.to_owned(), path.describe()]);
    let rivals = netnice_judge::rival::RIVALS.iter();
    let rivals = rivals.map(|rival| vec![rival.name.to_owned(), rival.describe.to_owned()]);
    let table = |rows: Vec<Vec<String>>| text::table(&rows, &[0, 1]).join("\n");
    format!(
        "Paths:\n{}\n\nRivals:\n{}\n",
        table(paths.collect()),
        table(rivals.collect())
    )
}
