// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice compare`: two sets of results side by side.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use netnice_scenario::input;
use netnice_scenario::results::{
    Backend, Comparison, Manifest, PointComparison, ResultsDirectory, Row, Subject, Summary,
};
use serde::{Deserialize, Serialize};

use super::batch::figures::{self, Words};
use super::batch::report::derived_words;
use crate::style;
use crate::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  A scenario simulated, and on this kernel:
      netnice sim scenarios/two_reno.toml --out results/sim
      netnice lab scenarios/two_reno.toml --out results/lab
      netnice compare results/sim results/lab

  Two versions, by the summaries that they printed:
      netnice compare before.json after.json --json

A and B are directories of --out, their summary.json, or what --json has printed. Points of a sweep \
are matched by what it has set; figures that only one of them has are left out.

Marks:
  *  the 95 % confidence intervals have nothing in common
  !  the means differ by more than 10 % of A's

Exit codes: 0 done, whatever the difference; 1 failed; 2 wrong usage.";

/// Put two sets of results side by side: sim and lab, or two versions.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A directory of --out, its summary.json, or what --json has printed
    a: PathBuf,
    /// Another of these, compared with the first
    b: PathBuf,
    /// Links that are hardly used as well
    #[arg(long)]
    all: bool,
    /// As JSON on stdout, with all figures
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

/// One of the two sets of results.
struct Side {
    summary: Summary,
    manifest: Option<Manifest>,
    /// Runs that cannot be trusted.
    distrusted: usize,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    a: Option<&'a Manifest>,
    b: Option<&'a Manifest>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Compares, and prints a table.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    let comparison = Comparison::of(&a.summary, &b.summary);
    if comparison.points.is_empty() {
        bail!(
            "{} and {} have no point of a sweep in common",
            arguments.a.display(),
            arguments.b.display()
        );
    }
    if arguments.json {
        let report = Report {
            a: a.manifest.as_ref(),
            b: b.manifest.as_ref(),
            comparison: &comparison,
        };
        let line = serde_json::to_string(&report).context("writing the comparison as JSON")?;
        text::print(&format!("{line}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = String::new();
    for (name, side, path) in [("A", &a, &arguments.a), ("B", &b, &arguments.b)] {
        // Writing to a String cannot fail.
        let _ = writeln!(report, "{name}: {}", side.words(path));
    }
    for point in &comparison.points {
        write_point(&mut report, point, arguments.all);
    }
    text::print(&report)?;
    for (points, path) in [
        (&comparison.only_in_a, &arguments.a),
        (&comparison.only_in_b, &arguments.b),
    ] {
        if !points.is_empty() {
            let points = text::count(points.len() as u64, "point");
            say!("netnice: {points} only in {}", path.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads results from a directory or a file.
fn read(path: &Path) -> Result<Side> {
    if path.is_dir() {
        let directory = ResultsDirectory::open(path)?;
        let runs = directory.runs()?;
        let labs = runs.iter().filter_map(|run| run.lab.as_ref());
        return Ok(Side {
            summary: Summary::of(&runs),
            manifest: Some(directory.manifest().clone()),
            distrusted: labs.filter(|lab| !lab.trustworthy).count(),
        });
    }
    #[derive(Deserialize)]
    struct Printed {
        manifest: Option<Manifest>,
        #[serde(flatten)]
        summary: Summary,
        #[serde(default)]
        not_trustworthy: Vec<serde_json::Value>,
    }
    let what = || format!("{} holds no results", path.display());
    let text = input::read(path, input::SUMMARY_BYTES).with_context(what)?;
    let printed: Printed = serde_json::from_slice(&text).with_context(what)?;
    Ok(Side {
        summary: printed.summary,
        manifest: printed.manifest,
        distrusted: printed.not_trustworthy.len(),
    })
}

impl Side {
    fn words(&self, path: &Path) -> String {
        let runs: usize = self
            .summary
            .points
            .iter()
            .map(|point| point.seeds.len())
            .sum();
        let mut words = format!("{}, {}", path.display(), text::count(runs as u64, "run"));
        if let Some(manifest) = &self.manifest {
            let backend = match manifest.backend {
                Backend::Simulation => "simulated",
                Backend::Lab => "measured on a kernel",
            };
            let _ = write!(
                words,
                " of {}, {backend}, netnice {}",
                manifest.scenario, manifest.version
            );
        }
        if self.distrusted > 0 {
            let distrusted = format!("; {} NOT TRUSTWORTHY", self.distrusted);
            words.push_str(&style::bad(distrusted));
        }
        words
    }
}

fn write_point(report: &mut String, point: &PointComparison, all: bool) {
    let settings: Vec<String> = point
        .settings
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let _ = match settings.is_empty() {
        true => writeln!(report),
        false => writeln!(report, "\n{}", settings.join(", ")),
    };
    let headings = ["", "", "A", "B", "B/A", ""].map(str::to_owned);
    let mut table = vec![headings.to_vec()];
    for row in point
        .rows
        .iter()
        .filter(|row| all || is_of_interest(point, row))
    {
        let words = words(row);
        table.push(vec![
            row.of.clone(),
            row.quantity.replace('_', " "),
            words(&row.a),
            words(&row.b),
            row.ratio
                .map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            marks(row),
        ]);
    }
    let mut lines = text::table(&table, &[0, 1]).into_iter();
    let _ = writeln!(
        report,
        "{}",
        style::heading(lines.next().unwrap_or_default())
    );
    for line in lines {
        let _ = writeln!(report, "{}", line.trim_end());
    }
}

fn marks(row: &Row) -> String {
    let apart = if row.intervals_apart == Some(true) {
        "*"
    } else {
        ""
    };
    let notable = if row.notable { "!" } else { "" };
    format!("{apart}{notable}")
}

/// Leaves out queues less than half as busy as the busiest, and values that are zero in both sets.
fn is_of_interest(point: &PointComparison, row: &Row) -> bool {
    if row.a.mean == 0.0 && row.b.mean == 0.0 {
        return false;
    }
    if row.subject != Subject::Queue {
        return true;
    }
    let utilisation = |of: Option<&str>| {
        let rows = point.rows.iter().filter(|other| {
            other.subject == Subject::Queue
                && other.quantity == "utilisation"
                && of.is_none_or(|of| other.of == of)
        });
        rows.map(|row| row.a.mean.max(row.b.mean))
            .fold(0.0, f64::max)
    };
    utilisation(Some(&row.of)) >= utilisation(None) / 2.0
}

/// Returns the formatter of a figure.
fn words(row: &Row) -> Words {
    if row.subject == Subject::Figure {
        return derived_words(&row.unit, &row.quantity);
    }
    match (row.unit.as_str(), row.quantity.as_str()) {
        ("bit/s", _) => figures::rate,
        ("s", "completion") => figures::seconds,
        ("s", _) => figures::time,
        (_, "loss" | "drops" | "marks" | "utilisation") => figures::percent,
        (_, "jain_index") => figures::fraction,
        _ => figures::plain,
    }
}
