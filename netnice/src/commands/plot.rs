// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice plot`: draws the results in a directory.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use netnice_scenario::plot;
use netnice_scenario::results::{ResultsDirectory, Summary};

use crate::text;

const EXAMPLES: &str = "\
Examples:
  netnice sim scenarios/square_wave.toml --out results/square_wave
  netnice plot results/square_wave
  netnice plot results/square_wave --format png --to figures

Figures, as far as the results have the data:
  goodput_by_flow   goodput of the flows over the sweep, with 95 % confidence intervals
  response_times    mean response time of web objects by size
  cwnd, goodput, queue_packets, queue_delay   time series of the first run, where the scenario
                    has a sampling interval";

/// Draw the results of a simulation.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The directory that `netnice sim --out` has made
    results: PathBuf,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = Format::Svg)]
    format: Format,
    /// Directory for the files [default: plots in the directory of the results]
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Svg,
    Png,
}

/// Draws, and prints the names of the files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let directory = ResultsDirectory::open(&arguments.results)?;
    let runs = directory.runs()?;
    let plots = plot::plots(directory.manifest(), &runs, &Summary::of(&runs));
    if plots.is_empty() {
        bail!(
            "{} has nothing to draw: no run is finished",
            arguments.results.display()
        );
    }
    let to = match &arguments.to {
        Some(to) => to.clone(),
        None => arguments.results.join("plots"),
    };
    fs::create_dir_all(&to).with_context(|| to.display().to_string())?;
    for plot in plots {
        let path = match arguments.format {
            Format::Svg => {
                let path = to.join(format!("{}.svg", plot.name));
                fs::write(&path, plot::svg(&plot)?).with_context(|| path.display().to_string())?;
                path
            }
            Format::Png => {
                let path = to.join(format!("{}.png", plot.name));
                plot::write_png(&plot, &path)?;
                path
            }
        };
        text::print(&format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
