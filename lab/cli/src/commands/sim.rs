// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice sim`: runs a scenario in the packet-level simulator.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result};
use clap::Args;
use netnice_results::Backend;
use netnice_scenario::network::not_simulated;
use netnice_scenario::{explain, json_schema};
use netnice_study::{Made, Run};

use super::batch::{BatchArguments, Maker, WantedTraces};
use crate::allocator;
use netnice_terminal::text;

const EXAMPLES: &str = "\
Examples:
  Two Reno flows over one link, ten seeds:
      netnice sim scenarios/two_reno.toml

  Describe the scenario in words, without running it:
      netnice sim scenarios/square_wave.toml --explain

  A quick run with other settings than the file's:
      netnice sim scenarios/two_reno.toml --seeds 2 --set duration=50s \\
          --set links.bottleneck.rate=1.5mbit --set flows.reno.congestion_control=cubic

  Keep all results, and draw them:
      netnice sim scenarios/square_wave.toml --out results/square_wave
      netnice plot results/square_wave

  Capture the packets of a link, for Wireshark:
      netnice sim scenarios/two_reno.toml --seeds 1 --out results/two_reno --pcap bottleneck

  Capture the packets of all links in one file:
      netnice sim scenarios/two_reno.toml --seeds 1 --out results/two_reno --pcap all

  Write all events of packets at a link as a table, for Python or DuckDB:
      netnice sim scenarios/two_reno.toml --seeds 1 --out results/two_reno --events bottleneck

  Show why netnice gave way, line by line:
      netnice sim scenarios/netnice_beside_cubic.toml --seeds 1 --out results/beside --decisions
      jq -r .text results/beside/traces/*/decisions.jsonl

  After an interruption, continue with the finished runs:
      netnice sim scenarios/square_wave.toml --out results/square_wave --resume

The directory of --out:
  manifest.json    version, hash of the scenario, seeds, command
  scenario.toml    the scenario
  runs/            one JSON file for each run, with all figures and time series
  series/          with --series parquet, and from a million samples on: one
                   Parquet file for each run with its time series, which are
                   then in no other file
  summary.json     means over the seeds with 95 % confidence intervals
  SHA256SUMS       checksums of runs/ and series/; --resume repeats runs
                   whose files differ
  traces/          for each run, a file for each link of --pcap, or all.pcapng
                   for all, events.parquet with the links of --events, and
                   decisions.jsonl of --decisions
  *.csv            the summary, and flows, queues, colours of packets, response
                   times, distributions of completion times and time series
                   of all runs

The same file and seed give the same figures to the last digit, whatever --jobs. docs/scenarios.md describes the file's \
format. Needs no root.

Exit codes: 0 done, 1 failed, 2 wrong usage or a scenario with mistakes; 130 interrupted.";

/// Simulate a scenario packet by packet.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The scenario, a TOML file
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Describe topology and flows in words, and run nothing
    #[arg(long)]
    explain: bool,
    /// Print the JSON Schema of scenario files, for editors
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Number of runs at a time [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = text::at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// Write the packets of this link as a pcapng file for each run; can be repeated. `NAME (reverse)` is the reverse
    /// path. `all` writes the packets of all links to one file, all.pcapng, in time order, with an interface for each
    /// link. --resume repeats a finished run if this file is missing
    #[arg(long, value_name = "LINK", requires = "out")]
    pcap: Vec<String>,
    /// For each run, write arrivals, drops, marks and deliveries of packets at this link to events.parquet; `all` for
    /// all links; can be repeated. It takes a tenth of the space of --pcap. --resume repeats a finished run if this
    /// file is missing
    #[arg(long, value_name = "LINK", requires = "out")]
    events: Vec<String>,
    /// For each run, write netnice's decisions to decisions.jsonl: each change of a connection's phase, with its
    /// reason, windows and delays, and in words. --resume repeats a finished run if this file is missing
    #[arg(long, requires = "out")]
    decisions: bool,
    #[command(flatten)]
    batch: BatchArguments,
}

/// A run of the simulator without traces.
pub fn simulate(run: Run<'_>, go_on: &dyn Fn() -> bool) -> Made {
    Ok(netnice_sim::run_laid_out(run.laid_out()?, run.seed, go_on)?)
}

/// Runs the scenario and prints its results.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(path) = &arguments.file else {
        let schema = serde_json::to_string_pretty(&json_schema()).context("writing the schema")?;
        text::print(&format!("{schema}\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let traces = WantedTraces {
        pcap: &arguments.pcap,
        events: &arguments.events,
        decisions: arguments.decisions,
    };
    let Some(file) = arguments.batch.load(path, &not_simulated, traces)? else {
        return Ok(ExitCode::from(2));
    };
    if arguments.explain {
        text::print(&explain(&file))?;
        return Ok(ExitCode::SUCCESS);
    }
    let jobs = arguments.jobs.or(thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    if jobs.min(file.runs().len()) <= 1 {
        allocator::share_memory();
    }
    let maker = Maker {
        backend: Backend::Simulation,
        jobs,
        traces,
        make: &|run, traces, go_on| {
            let on = run.laid_out()?;
            Ok(netnice_sim::run_laid_out_with_traces(
                on, run.seed, traces, go_on,
            )?)
        },
    };
    arguments.batch.run(&file, &maker)
}
