// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice reproduce`: every table and figure of the papers, with a verdict.

mod kernel;
mod lines;

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use netnice_emulation as experiment;
use netnice_kernel::need_root;
use netnice_papers::{
    Effort, Experiment, LabLimits, Outcomes, Reproduction, Store, experiments, markdown,
};

use super::batch::{command, interrupted_by, warn_of_stale_runs};
use super::progress::Progress;
use super::sim::simulate;
use netnice_terminal::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  Every table and figure of all papers, in minutes:
      netnice reproduce

  The tables and figures of one paper, or single ones:
      netnice reproduce LP03
      netnice reproduce LP03-F11 LP03-T1a

  As the papers ran it, 50 runs of 1000 s for each point:
      netnice reproduce --full --out full

  Repeat on this kernel, in real time, the runs that fit an emulated link (as root):
      sudo netnice reproduce LP03-T1a TB-C --lab

  After an interruption, continue with the finished runs:
      netnice reproduce --resume

  The verdicts as a page of Markdown:
      netnice reproduce --markdown papers.md

  Write the report again from the outcomes in a directory, without running anything:
      netnice reproduce --no-run --out full

Output: for each value that a paper reports, the paper's figure, ours with its 95 % confidence \
interval, and the verdict:
  reproduced                       our value is within a tolerance of the paper's,
                                   chosen before the runs
  same conclusion, other figure    it is not, but the paper's conclusion from the
                                   value holds
  not reproduced                   neither; the reason is given below
  fitted                           the value served to choose a setting that the
                                   paper leaves open; it is counted separately
A `?` means that the interval crosses the bound: more runs may change the verdict.

With --lab a line below each value gives this kernel's value, or the reason why it has none. A value is measured if \
all its studies fit: the kernel supports everything in the scenario, the slowest link has at most 100 Mb/s, and one \
run of each point takes at most half an hour. Runs last at most --lab-seconds, unless the experiment prescribes a \
length. They run one after the other, or --lab-jobs at a time as long as their links together have at most 100 Mb/s \
and 18,000 packets per second. A run in which the machine was late is repeated up to --lab-repeats times; if it is \
still late, it is NOT TRUSTWORTHY.

The directory of --out:
  report.html      the report: every table and figure next to the papers', in one
                   file for any browser
  outcomes.json    verdicts, figures, tables; those of earlier calls for other
                   ids stay
  studies/         results of each scenario, as `netnice sim --out` makes them;
                   `netnice plot` draws them
  lab/             results of the kernel's runs, in the same form

Only --lab needs root. Exit codes: 0 done, whatever the verdicts; 1 failed, 2 wrong usage; 130 interrupted.";

/// Reproduce the tables and figures of the papers, with a verdict for each value
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Experiments (LP03-F11) or papers (LP03); all if none is given
    ids: Vec<String>,
    /// Use fewer and shorter runs: every verdict within minutes (the default)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Use the papers' own number and length of runs
    #[arg(long)]
    full: bool,
    /// Number of runs at a time [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = text::at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// Keep runs and outcomes in this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "reproduction")]
    out: PathBuf,
    /// Repeat on this kernel, in real time, the runs that fit an emulated link; needs root
    #[arg(long)]
    lab: bool,
    /// With --lab, maximum number of runs of each point
    #[arg(long, requires = "lab", value_name = "NUMBER", default_value = "3",
        value_parser = text::whole_number::<u32>(1..=1000))]
    lab_seeds: u32,
    /// With --lab, maximum length of a run in seconds, without its warm-up
    #[arg(long, requires = "lab", value_name = "SECONDS", default_value = "60",
        value_parser = text::whole_number::<u32>(1..=86400))]
    lab_seconds: u32,
    /// With --lab, number of runs at a time: more than one only if this machine still hands packets over in time
    #[arg(long, requires = "lab", value_name = "NUMBER", default_value = "1", value_parser = text::at_least_one)]
    lab_jobs: NonZeroUsize,
    /// With --lab, maximum number of repetitions of a run in which this machine was late; with --resume this includes
    /// finished runs
    #[arg(long, requires = "lab", value_name = "NUMBER", default_value = "2",
        value_parser = text::whole_number::<u32>(0..=100))]
    lab_repeats: u32,
    /// Run nothing: write verdicts and report for the outcomes in the directory
    #[arg(long, conflicts_with_all = ["quick", "full", "jobs", "resume", "lab"])]
    no_run: bool,
    /// Reuse finished runs found in the directory
    #[arg(long)]
    resume: bool,
    /// Write the verdicts as a Markdown page to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report to this file [default: report.html in the directory]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the outcomes as JSON
    #[arg(long)]
    json: bool,
    /// List the experiments, and run nothing
    #[arg(long, conflicts_with_all = ["json", "markdown", "no_run", "report", "resume"])]
    list: bool,
}

/// Runs the experiments and prints the verdicts.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let chosen = match experiments::select(&arguments.ids) {
        Ok(chosen) => chosen,
        Err(unknown) => {
            say!(
                "netnice: there is no experiment {unknown}; there are {}, and --list says what they are",
                experiments::ids().join(", ")
            );
            return Ok(ExitCode::from(2));
        }
    };
    if arguments.list {
        text::print(&lines::list(&chosen))?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.no_run {
        let outcomes = Store::outcomes(&arguments.out)?;
        let is_there = |one: &&Experiment| outcomes.outcomes.iter().any(|there| there.id == one.id);
        let (there, missing): (Vec<_>, Vec<_>) = chosen.iter().partition(is_there);
        // Without ids, all existing outcomes are meant.
        if !arguments.ids.is_empty() && !missing.is_empty() {
            say!(
                "netnice: {} holds no outcome of {}; run without --no-run to get it",
                arguments.out.display(),
                names(&missing).join(", ")
            );
            if there.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
        let ids = names(&there);
        write(arguments, outcomes, &ids)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.lab {
        need_root("the lab, which makes network namespaces,")?;
    }
    let effort = match arguments.full {
        true => Effort::Full,
        false => Effort::Quick,
    };
    let jobs = arguments.jobs.or(thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let begin = Instant::now();
    let reproduction = Reproduction::new(chosen, effort)?;
    let version = env!("CARGO_PKG_VERSION");
    let store = Store::new(&arguments.out, arguments.resume, version, command());
    let mut progress = Progress::new(arguments.json)?;
    let finished = reproduction.run(&simulate, Some(&store), jobs, |tick| progress.tick(tick))?;
    let mut interrupted = progress.finish();
    warn_of_stale_runs(&finished.stale);

    let mut fresh = reproduction.outcomes(&finished);
    let mut made = (finished.count(), reproduction.runs());
    if arguments.lab && interrupted.is_none() {
        let limits = LabLimits {
            seeds: arguments.lab_seeds,
            longest: Duration::from_secs(arguments.lab_seconds.into()),
            repeats: arguments.lab_repeats,
        };
        let on_kernel = reproduction.on_kernel(&finished, limits, &experiment::check)?;
        let done = kernel::run(&on_kernel, &store, arguments.lab_jobs.get(), arguments.json)?;
        warn_of_stale_runs(&done.finished.stale);
        on_kernel.add_to(&mut fresh, &done.finished);
        made = (made.0 + done.finished.count(), made.1 + on_kernel.runs());
        interrupted = done.interrupted;
    }
    let ids: Vec<String> = fresh.iter().map(|outcome| outcome.id.clone()).collect();
    let outcomes = store.keep(fresh, jobs, begin.elapsed().as_secs_f64())?;
    write(arguments, outcomes, &ids)?;
    if let Some(signal) = interrupted {
        return Ok(interrupted_by(signal, made, &arguments.out));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the ids of experiments.
fn names(experiments: &[&Experiment]) -> Vec<String> {
    experiments.iter().map(|one| one.id.to_owned()).collect()
}

/// Writes the report and the page of all outcomes, and prints those of `ids`.
fn write(arguments: &Arguments, outcomes: Outcomes, ids: &[String]) -> Result<()> {
    if let Some(path) = &arguments.markdown {
        fs::write(path, markdown(&outcomes)).with_context(|| path.display().to_string())?;
    }
    let path = match &arguments.report {
        Some(path) => path.clone(),
        None => arguments.out.join("report.html"),
    };
    fs::write(&path, netnice_report::html(&outcomes))
        .with_context(|| path.display().to_string())?;
    let now = Outcomes {
        outcomes: outcomes
            .outcomes
            .into_iter()
            .filter(|outcome| ids.contains(&outcome.id))
            .collect(),
        ..outcomes
    };
    if arguments.json {
        let line = serde_json::to_string(&now).context("writing the outcomes as JSON")?;
        text::print(&format!("{line}\n"))?;
    } else {
        text::print(&lines::verdicts(&now))?;
        say!("netnice: the report is in {}", path.display());
    }
    Ok(())
}
