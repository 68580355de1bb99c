// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice plot`: draws the results in a directory, or the log of a transfer.

mod transfer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use crossterm::terminal;
use netnice_chart::png::png;
use netnice_scenario::plot;
use netnice_scenario::results::{ResultsDirectory, Summary};

use crate::{style, text, transfer_log};
use transfer::Transfer;

const EXAMPLES: &str = "\
Examples:
  netnice sim scenarios/square_wave.toml --out results/square_wave
  netnice plot results/square_wave
  netnice plot results/square_wave --format png --to figures
  netnice plot results/home --point congestion_control=netnice --point queue=cake --to figures

  sudo netnice run --log backup.jsonl -- rsync -a photos/ backup.example.org:photos/
  netnice plot backup.jsonl
  netnice plot backup.jsonl -o backup.png
  netnice plot backup.jsonl --terminal

Figures of results, as far as these have the data:
  figures_QUANTITY  the scenario's own [[figures]] of each quantity over the
                    sweep, with 95 % confidence intervals; bars where its
                    values are names or have several units
  goodput_by_flow, mos_by_flow, page_time_by_flow, completion_by_flow,
  bit_rate_by_flow, stall_time_by_flow
                    the same of goodputs, calls, pages, arriving transfers and
                    videos
  response_times    mean response time of web objects by size
  completion_times  cumulative distribution of the completion times of arriving
                    transfers, of all seeds together; in a sweep another file
                    for each class of sizes
  cwnd, goodput, queue_packets, queue_delay
                    time series where the scenario has a sampling interval, of
                    the first point of a sweep, or of those that --point
                    chooses, together: means over the seeds, with 95 %
                    confidence intervals, or with each seed where there are
                    fewer than five

queue_delay is the backlog divided by the link's rate: what waits for a link that is down takes longer. A \
retransmission that fills a hole brings all data behind it into order at once. Where goodputs over time \
have peaks, more than twice their 99th percentile, the axis ends at 1.25 times that percentile, and the \
caption has the largest value. A curve of fewer than 200 values above zero is not cut.

Intervals that would hide how far the means are apart are cut. Queues that are idle, and curves beyond \
those that can be told apart, are left out; stderr says how many.

The picture of a log has the rate, the queueing delay with the threshold of yielding, and the number \
of connections in each state, over time. It is shaded where at least half of the connections yield \
to others. A log that is being written, or whose run was killed, is drawn as far as it goes.";

/// Draw the results of a simulation, or the log of `netnice run --log`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The directory that `netnice sim --out` has made, or the file that `netnice run --log` has written
    results: PathBuf,
    /// Format of the files, for results
    #[arg(long, value_enum, default_value_t = Format::Svg)]
    format: Format,
    /// Only points of the sweep with this value, for results: KEY is a swept field or its name's end, and VALUE a value or the
    /// name in a table. Several values of a field: any of them
    #[arg(long, value_name = "KEY=VALUE", value_parser = wanted, conflicts_with_all = ["output", "terminal"])]
    point: Vec<plot::Wanted>,
    /// Directory for the files, for results [default: plots in the directory of the results]
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
    /// File for the picture of a log, .svg or .png [default: the log's name with .svg]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["format", "to"], value_parser = picture)]
    output: Option<PathBuf>,
    /// Draw a log as text
    #[arg(long, conflicts_with_all = ["format", "to"])]
    terminal: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Svg,
    Png,
}

/// Parses the name of a picture.
fn picture(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path
        .extension()
        .is_some_and(|end| end == "svg" || end == "png")
    {
        true => Ok(path),
        false => Err("the name has to end in .svg or .png".to_owned()),
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
    if arguments.results.is_file() {
        if !arguments.point.is_empty() {
            let message = "--point is for results, and a log has no sweep";
            return Err(crate::Netnice::command()
                .error(ErrorKind::ArgumentConflict, message)
                .into());
        }
        return draw_log(arguments);
    }
    if arguments.output.is_some() || arguments.terminal {
        let message = format!(
            "--output and --terminal are for the log of a run, and {} is no file",
            arguments.results.display()
        );
        return Err(crate::Netnice::command()
            .error(ErrorKind::ArgumentConflict, message)
            .into());
    }
    if !arguments.results.exists() {
        bail!(
            "there is no {}: give the directory of `netnice sim --out`, or the file of `netnice run --log`",
            arguments.results.display()
        );
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
        let path = to.join(match arguments.format {
            Format::Svg => format!("{}.svg", plot.name),
            Format::Png => format!("{}.png", plot.name),
        });
        save(&netnice_chart::svg(&plot), &path)?;
        text::print(&format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Columns where the output goes to no terminal.
const WIDTH: usize = 80;

fn draw_log(arguments: &Arguments) -> Result<ExitCode> {
    let log = &arguments.results;
    let name = log.display().to_string();
    let read = fs::read(log).with_context(|| format!("reading {name}"))?;
    let (header, entries) = transfer_log::read(&String::from_utf8_lossy(&read), &name)?;
    if entries.iter().all(|entry| entry.connections.is_empty()) {
        bail!("{name} has nothing to draw: no reading found a connection of the command");
    }
    let transfer = Transfer::new(&header, &entries);
    if arguments.terminal {
        let width = match style::on_terminal() {
            true => terminal::size().map_or(WIDTH, |(width, _)| width.into()),
            false => WIDTH,
        };
        text::print_line(&transfer.lines(width).join("\n"))?;
    }
    let picture = match (&arguments.output, arguments.terminal) {
        (Some(output), _) => output.clone(),
        (None, true) => return Ok(ExitCode::SUCCESS),
        (None, false) => log.with_extension("svg"),
    };
    save(&netnice_chart::stacked_svg(&transfer.panels()), &picture)?;
    text::print_line(&picture.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a picture in the format that the file's name ends in.
fn save(svg: &str, picture: &Path) -> Result<()> {
    let writing = || format!("writing {}", picture.display());
    match picture.extension().is_some_and(|end| end == "png") {
        true => fs::write(picture, png(svg).with_context(writing)?),
        false => fs::write(picture, svg),
    }
    .with_context(writing)
}
