// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice sim`: a scenario in the packet-level simulator.

mod report;
mod runs;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use netnice_scenario::network::not_simulated;
use netnice_scenario::results::{Manifest, ResultsDirectory, Summary, World};
use netnice_scenario::{Network, ScenarioFile, explain, json_schema};
use serde::Serialize;

use crate::text;
use runs::Outcome;

const EXAMPLES: &str = "\
Examples:
  Two Reno flows over one link, ten seeds:
      netnice sim scenarios/two_reno.toml

  What the scenario is, in words, without running it:
      netnice sim scenarios/square_wave.toml --explain

  Quick, and different from the file:
      netnice sim scenarios/two_reno.toml --seeds 2 --set duration=50s \\
          --set links.bottleneck.rate=1.5mbit --set flows.reno.congestion_control=cubic

  Everything kept, and drawn:
      netnice sim scenarios/square_wave.toml --out results/square_wave
      netnice plot results/square_wave

  What a link carried, for Wireshark:
      netnice sim scenarios/two_reno.toml --seeds 1 --out results/two_reno --pcap bottleneck

  Interrupted? What is finished is kept, and not computed again:
      netnice sim scenarios/square_wave.toml --out results/square_wave --resume

The directory of --out:
  manifest.json    version, hash of the scenario, seeds, command
  scenario.toml    the scenario
  runs/            one JSON file for each run, with all figures and time series
  summary.json     means over the seeds with 95 % confidence intervals
  traces/          for each run, the links of --pcap
  *.csv            the same, and flows, queues, response times and time series of all runs

The same file and seed give the same figures to the last digit, whatever --jobs. The file's format is
described in docs/scenarios.md. Needs no root.

Exit codes: 0 done, 1 failed, 2 wrong usage or a scenario with mistakes; 130 interrupted.";

/// What `--pcap` calls all links.
const ALL_LINKS: &str = "all";

/// Simulate a scenario packet by packet.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The scenario, a TOML file
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Print topology and flows in words, and run nothing
    #[arg(long)]
    explain: bool,
    /// Print the JSON Schema of scenario files, for editors
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Run the seeds 1 to NUMBER instead of the file's
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// Runs at a time [default: one for each core]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<NonZeroUsize>,
    /// Set a parameter, or a field by its path, such as links.bottleneck.rate=5mbit; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    settings: Vec<(String, String)>,
    /// Keep all results in this directory
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Take up the runs that are in the directory already
    #[arg(long, requires = "out")]
    resume: bool,
    /// Write the tables as Parquet files, too
    #[arg(long, requires = "out")]
    parquet: bool,
    /// Write the packets of this link as a pcapng file for each run; `all` for all links; can be repeated.
    /// `NAME (reverse)` is the way back
    #[arg(long, value_name = "LINK", requires = "out")]
    pcap: Vec<String>,
    /// The summary as JSON on stdout
    #[arg(long)]
    json: bool,
    /// No table and no progress
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

/// The first of these that is no link of the scenario.
fn unknown_link<'a>(file: &ScenarioFile, links: &'a [String]) -> Result<Option<&'a String>> {
    if links.is_empty() {
        return Ok(None);
    }
    // What has been read has been laid out before.
    let network =
        Network::new(file.scenario()).map_err(|_| anyhow!("the scenario has no network"))?;
    let known =
        |name: &&String| *name == ALL_LINKS || network.links.iter().any(|link| link.name == **name);
    Ok(links.iter().find(|name| !known(name)))
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as KEY=VALUE, such as links.bottleneck.rate=5mbit".to_owned()),
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    manifest: &'a Manifest,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Runs the scenario and prints what came of it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(path) = &arguments.file else {
        let schema = serde_json::to_string_pretty(&json_schema()).context("writing the schema")?;
        text::print(&format!("{schema}\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut settings = arguments.settings.clone();
    if let Some(seeds) = arguments.seeds {
        settings.push(("seeds".to_owned(), seeds.to_string()));
    }
    let file = match ScenarioFile::load_for(path, &settings, not_simulated) {
        Ok(file) => file,
        Err(error) => {
            for line in error.to_string().lines() {
                eprintln!("netnice: {line}");
            }
            return Ok(ExitCode::from(2));
        }
    };
    if let Some(link) = unknown_link(&file, &arguments.pcap)? {
        eprintln!("netnice: --pcap {link}: there is no such link; see --explain for their names");
        return Ok(ExitCode::from(2));
    }
    if arguments.explain {
        text::print(&explain(&file))?;
        return Ok(ExitCode::SUCCESS);
    }
    let command = std::env::args().collect();
    let manifest = Manifest::new(&file, World::Simulation, env!("CARGO_PKG_VERSION"), command);
    let directory = arguments
        .out
        .as_ref()
        .map(|out| ResultsDirectory::create(out, manifest.clone(), &file, arguments.resume))
        .transpose()?;
    let jobs = arguments.jobs.or(thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);

    let Outcome {
        runs,
        interrupted,
        error,
    } = runs::run_all(
        &file,
        directory.as_ref(),
        &arguments.pcap,
        jobs,
        arguments.quiet,
    )?;
    let summary = Summary::of(&runs);
    if let Some(directory) = &directory {
        directory.write_tables(&runs, &summary)?;
        if arguments.parquet {
            directory.write_parquet(&runs, &summary)?;
        }
    }
    let total = file.runs().len();
    if let Some(error) = error {
        eprintln!("netnice: {} of {total} runs are finished", runs.len());
        return Err(error);
    }
    if arguments.json {
        let report = Report {
            manifest: &manifest,
            summary: &summary,
        };
        let line = serde_json::to_string(&report).context("writing the summary as JSON")?;
        text::print(&format!("{line}\n"))?;
    } else if !arguments.quiet && !runs.is_empty() {
        text::print(&report::report(&file, &runs, &summary))?;
    }
    if let Some(signal) = interrupted {
        let finished = format!("{} of {total} runs are finished", runs.len());
        match &arguments.out {
            Some(out) => eprintln!(
                "netnice: interrupted; {finished} and kept in {}: go on with the same command and --resume",
                out.display()
            ),
            None => eprintln!(
                "netnice: interrupted; {finished}, and not kept: --out DIRECTORY keeps them for --resume"
            ),
        }
        return Ok(ExitCode::from(128 + signal as u8));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_key_and_a_value() {
        let setting = key_and_value("links.a-b.rate = 5mbit");
        assert_eq!(
            setting,
            Ok(("links.a-b.rate".to_owned(), "5mbit".to_owned()))
        );
        assert!(key_and_value("rate").is_err());
        assert!(key_and_value("=5").is_err());
    }
}
