// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice plot`: draws the log of a transfer. Results in a directory are drawn by the laboratory's program.

mod transfer;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use crossterm::terminal;
use netnice_terminal::{style, text};

use super::laboratory;
use crate::transfer_log;
use transfer::Transfer;

const EXAMPLES: &str = "\
Examples:
  sudo netnice run --log backup.jsonl -- rsync -a photos/ backup.example.org:photos/
  netnice plot backup.jsonl
  netnice plot backup.jsonl -o backup.svg
  netnice plot backup.jsonl --terminal

  The results of a simulation, which netnice-lab draws, with its own options (`netnice-lab plot --help`):
  netnice plot results/square_wave --format png

The picture of a log shows, over time, the rate, the queueing delay with the threshold above which the control reacts, \
and the number of connections in each state. It is shaded while at least half of the connections yield to others. You \
can draw a log while it grows, and after its run was killed.";

/// Draw the log of `netnice run --log`, or the results of a simulation.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A file from `netnice run --log`, or a directory from `netnice sim --out`
    source: PathBuf,
    /// File for the picture of a log, .svg [default: the log's name with .svg]
    #[arg(short, long, value_name = "FILE", value_parser = picture)]
    output: Option<PathBuf>,
    /// Draw a log as text
    #[arg(long)]
    terminal: bool,
    /// Options for results, passed to netnice-lab
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    passed: Vec<OsString>,
}

/// Parses the name of a picture.
fn picture(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path.extension().is_some_and(|end| end == "svg") {
        true => Ok(path),
        false => Err("the name has to end in .svg".to_owned()),
    }
}

/// Draws, and prints the names of the files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let source = &arguments.source;
    if source.is_dir() {
        let mut all = vec![source.clone().into_os_string()];
        all.extend_from_slice(&arguments.passed);
        return laboratory::pass("plot", &all);
    }
    if let Some(option) = arguments.passed.first() {
        let message = format!(
            "{} is for results, and {} is not a directory",
            option.to_string_lossy(),
            source.display()
        );
        return Err(crate::Netnice::command()
            .error(ErrorKind::ArgumentConflict, message)
            .into());
    }
    if !source.exists() {
        bail!(
            "there is no {}: give the file of `netnice run --log`, or the directory of `netnice sim --out`",
            source.display()
        );
    }
    draw_log(arguments)
}

/// Columns where the output goes to no terminal.
const WIDTH: usize = 80;

fn draw_log(arguments: &Arguments) -> Result<ExitCode> {
    let log = &arguments.source;
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
    fs::write(&picture, netnice_chart::stacked_svg(&transfer.panels()))
        .with_context(|| format!("writing {}", picture.display()))?;
    text::print_line(&picture.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NETNICE_DRAW=1` draws it anew.
    #[test]
    fn the_picture_of_a_transfer_is_that_of_its_log() {
        const LOG: &str = include_str!("../../../../docs/data/transfer.jsonl");
        const PICTURE: &str = "../../docs/pictures/transfer.svg";
        let (header, entries) = transfer_log::read(LOG, "transfer.jsonl").unwrap();
        let drawn = netnice_chart::stacked_svg(&Transfer::new(&header, &entries).panels());
        if std::env::var_os("NETNICE_DRAW").is_some() {
            fs::write(PICTURE, &drawn).unwrap();
        }
        let kept = fs::read_to_string(PICTURE).unwrap_or_default();
        assert!(
            kept == drawn,
            "{PICTURE} differs: run this test with NETNICE_DRAW=1"
        );
    }
}
