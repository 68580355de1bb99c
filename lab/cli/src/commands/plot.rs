// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice plot` of a directory or of a file of JSON: draws results, or charts described there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use netnice_chart::png::png;
use netnice_results::plot;
use netnice_results::{ResultsDirectory, Summary};

use super::charts;
use netnice_terminal::text;

const EXAMPLES: &str = "\
Examples:
  netnice sim scenarios/square_wave.toml --out results/square_wave
  netnice plot results/square_wave
  netnice plot results/square_wave --format png --to figures
  netnice plot results/home --point congestion_control=netnice --point queue=cake --to figures
  netnice-lab plot chart.json --to figures

Figures of results, as far as these have the data:
  figures_QUANTITY  the scenario's own [[figures]] of each quantity over the
                    sweep, with 95 % confidence intervals; bars where its
                    values are names or have several units
  goodput_by_flow, mos_by_flow, page_time_by_flow, completion_by_flow,
  bit_rate_by_flow, stall_time_by_flow
                    the same for goodputs, calls, pages, arriving transfers and
                    videos
  response_times    mean response time of web objects by size
  completion_times  cumulative distribution of the completion times of arriving
                    transfers, of all seeds together; in a sweep another file
                    for each class of sizes
  cwnd, goodput, queue_packets, queue_delay
                    time series, if the scenario has a sampling interval, of
                    the first point of a sweep, or in one figure of the points
                    that --point chooses: means over the seeds, with 95 %
                    confidence intervals, or with fewer than five seeds each
                    seed

queue_delay is the backlog divided by the link's rate; while the link is down, packets wait longer. A retransmission \
that fills a hole brings all data behind it into order at once, so goodput over time has peaks. If they exceed twice \
the 99th percentile, the axis ends at 1.25 times that limit, and the caption has the largest value. Curves of fewer \
than 200 values above zero are not cut.

Intervals are cut if they would hide the differences between means. netnice omits idle queues, and curves beyond the \
number of distinguishable ones; stderr says how many.

A file that ends in .json describes your own charts, which netnice draws in one picture, one below the other:
  { \"panels\": [ {
    \"title\": \"Goodput\", \"kind\": \"time_series\",
    \"x\": { \"label\": \"time (s)\" }, \"y\": { \"label\": \"Mb/s\" },
    \"curves\": [ { \"name\": \"cubic\", \"points\": [[0, 4.5], [1, 9.1]] } ] } ] }
The kind is time_series, lines, bars or heat_map. Optional keys of a panel: caption; y_most (the end of the axis); \
names (of bars or of a heat map's columns, which points number from 0; each curve is a row); areas (with a name and \
spans along the axis). Optional keys of an axis: logarithmic. Optional keys of a curve: look (0 to 23); halves (half \
widths of its points' intervals).";

/// Draw the results of a simulation, or charts of your own.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A directory from `netnice sim --out`, or a file of charts, FILE.json
    results: PathBuf,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = Format::Svg)]
    format: Format,
    /// Draw only points of the sweep with this value: KEY is a swept field or the end of its name, VALUE is a value or
    /// its name in a table. Can be repeated: points then need one of the values given for each field
    #[arg(long, value_name = "KEY=VALUE", value_parser = wanted)]
    point: Vec<plot::Wanted>,
    /// Directory for the files [default: plots in the directory of the results, or the directory of FILE.json]
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Svg,
    Png,
}

impl Format {
    /// The name of a picture's file.
    fn file(self, stem: &str) -> String {
        match self {
            Format::Svg => format!("{stem}.svg"),
            Format::Png => format!("{stem}.png"),
        }
    }
}

/// Parses `KEY=VALUE`.
fn wanted(text: &str) -> Result<plot::Wanted, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("give a swept field and its value, such as congestion_control=cubic".to_owned()),
    }
}

/// Draws, and prints the names of the files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !arguments.results.exists() {
        bail!(
            "there is no {}: give the directory of `netnice sim --out`, or a file of charts",
            arguments.results.display()
        );
    }
    let is_json = arguments
        .results
        .extension()
        .is_some_and(|end| end == "json");
    if is_json && arguments.results.is_file() {
        return draw_charts(arguments);
    }
    let directory = ResultsDirectory::open(&arguments.results)?;
    let runs = directory.runs()?;
    let manifest = directory.manifest();
    let runs = match arguments.point.is_empty() || runs.is_empty() {
        true => runs,
        false => plot::choose(manifest, runs, &arguments.point)
            .map_err(|why| anyhow!("--point {why}"))?,
    };
    let chosen = !arguments.point.is_empty();
    let plots = plot::plots(manifest, &runs, &Summary::of(&runs), chosen);
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
        for note in &plot.notes {
            text::say!("netnice: {}: {note}", plot.name);
        }
        let name = arguments.format.file(&plot.name);
        save(&netnice_chart::svg(&plot), &to.join(name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws a file of charts as one picture.
fn draw_charts(arguments: &Arguments) -> Result<ExitCode> {
    let file = &arguments.results;
    if !arguments.point.is_empty() {
        bail!(
            "--point is for results, and {} describes charts",
            file.display()
        );
    }
    let panels = charts::read(file)?;
    let to = match &arguments.to {
        Some(to) => to.as_path(),
        None => file.parent().unwrap_or(Path::new("")),
    };
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = arguments.format.file(&stem);
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    save(&netnice_chart::stacked_svg(&panels), &to.join(name))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a picture in the format that the file's name ends in, and prints the name.
fn save(svg: &str, picture: &Path) -> Result<()> {
    let writing = || format!("writing {}", picture.display());
    match picture.extension().is_some_and(|end| end == "png") {
        true => fs::write(picture, png(svg).with_context(writing)?),
        false => fs::write(picture, svg),
    }
    .with_context(writing)?;
    text::print(&format!("{}\n", picture.display()))?;
    Ok(())
}
