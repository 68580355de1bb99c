// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice compare`: two sets of results side by side.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use netnice_results::{
    Backend, Comparison, Manifest, PointComparison, ResultsDirectory, Row, Subject, Summary,
};
use netnice_scenario::input;
use netnice_scenario::parse::{Difference, differences};
use serde::{Deserialize, Serialize};

use super::batch::figures::words;
use netnice_terminal::style;
use netnice_terminal::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  Compare a scenario in the simulator and on this kernel:
      netnice sim scenarios/two_reno.toml --out results/sim
      netnice lab scenarios/two_reno.toml --out results/lab
      netnice compare results/sim results/lab

  Compare two versions by the summaries that they printed:
      netnice compare before.json after.json --json

  Compare two controls in one scenario, and their effect on a call:
      netnice sim home.toml --set flows.backup.congestion_control=cubic --out results/cubic
      netnice sim home.toml --set flows.backup.congestion_control=netnice --out results/netnice
      netnice compare results/cubic results/netnice --differing
      netnice compare results/cubic results/netnice --only call --only 'page time'

A and B are directories of --out, their summary.json, or the output of --json. netnice matches points of a sweep by \
the swept values. A field with one value in A and another in B does not count as swept; it is listed above the table, \
with all other settings that differ. Figures that only A or B has are omitted.

Marks:
  *  the 95 % confidence intervals do not overlap
  !  the means differ by more than 10 % of A's

Exit codes: 0 done, even if A and B differ; 1 failed; 2 wrong usage.";

/// Compare two sets of results: sim and lab, or two versions.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A directory of --out, its summary.json, or the output of --json
    a: PathBuf,
    /// A second set of results, to compare with the first
    b: PathBuf,
    /// Also show links with little traffic, and figures that are zero in both
    #[arg(long)]
    all: bool,
    /// Show only figures whose object and name contain this text (`backup`, `web page time`); implies --all. Can be
    /// repeated: a figure then needs one of the texts
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Show only figures that differ significantly (marked *) or, with one run in a set, by more than 10 % (marked !)
    #[arg(long)]
    differing: bool,
    /// Print JSON, with all figures that --only and --differing select
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

/// One of the two sets of results.
struct Side {
    summary: Summary,
    manifest: Option<Manifest>,
    /// Text of the scenario, of a directory.
    scenario: Option<String>,
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
    let mut comparison = Comparison::of(&a.summary, &b.summary);
    if comparison.points.is_empty() {
        bail!(
            "{} and {} have no point of a sweep in common{}",
            arguments.a.display(),
            arguments.b.display(),
            apart(&a.summary, &b.summary, &comparison.differences)
        );
    }
    comparison.differences = differing(&a, &b, comparison.differences);
    let points = comparison.points.iter();
    let chosen: Vec<Vec<bool>> = points.map(|point| arguments.chosen(point)).collect();
    for (point, chosen) in comparison.points.iter_mut().zip(chosen) {
        let mut chosen = chosen.into_iter();
        point.rows.retain(|_| chosen.next() == Some(true));
    }
    let nothing = comparison.points.iter().all(|point| point.rows.is_empty());
    if nothing && !arguments.only.is_empty() && !arguments.differing {
        bail!(
            "no figure has {} in its object and name, which are the first columns with --all",
            arguments.only.join(" or ")
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
    write_differences(&mut report, &comparison.differences);
    for point in &comparison.points {
        write_point(&mut report, point);
    }
    if !nothing {
        let _ = writeln!(report, "\n{LEGEND}");
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

impl Arguments {
    /// Which rows of a point are shown. What --only names is shown whether it is of interest or not.
    fn chosen(&self, point: &PointComparison) -> Vec<bool> {
        let all = self.all || self.json || !self.only.is_empty();
        let busy = Busy::of(point);
        let rows = point.rows.iter();
        rows.map(|row| (all || busy.is_of_interest(row)) && self.choose(row))
            .collect()
    }

    /// Is the row among those that `--only` and `--differing` leave?
    fn choose(&self, row: &Row) -> bool {
        let plain = |text: &str| text.to_lowercase().replace('_', " ");
        let name = plain(&format!("{} {}", row.of, row.quantity));
        let wanted = |text: &String| name.contains(&plain(text));
        let named = self.only.is_empty() || self.only.iter().any(wanted);
        named && (!self.differing || row.intervals_apart.unwrap_or(row.notable))
    }
}

/// The settings that differ: of two directories all fields of the scenario, else those given from outside, and `single`, the fields of
/// the sweep that have one value in each.
fn differing(a: &Side, b: &Side, single: Vec<Difference>) -> Vec<Difference> {
    let source = |side: &Side| -> Option<(String, Vec<(String, String)>)> {
        let manifest = side.manifest.as_ref()?;
        Some((side.scenario.clone()?, manifest.settings.clone()))
    };
    if let (Some(a), Some(b)) = (source(a), source(b)) {
        if let Some(found) = differences((&a.0, &a.1), (&b.0, &b.1)) {
            return found;
        }
    }
    let mut found = single;
    let (Some(a), Some(b)) = (&a.manifest, &b.manifest) else {
        return found;
    };
    let last = |settings: &[(String, String)], key: &str| {
        let mut settings = settings.iter().rev();
        settings
            .find(|(other, _)| other == key)
            .map(|it| it.1.clone())
    };
    for (key, _) in a.settings.iter().chain(&b.settings) {
        let (of_a, of_b) = (last(&a.settings, key), last(&b.settings, key));
        if of_a != of_b && found.iter().all(|known| known.key != *key) {
            found.push(Difference {
                key: key.clone(),
                a: of_a,
                b: of_b,
            });
        }
    }
    found
}

/// Names a field of which two sweeps have no value in common, for the end of an error, so that they have no point in common; not one
/// of the fields of a single value.
fn apart(a: &Summary, b: &Summary, single: &[Difference]) -> String {
    let values = |summary: &Summary, key: &str| -> Vec<String> {
        let settings = summary.points.iter().flat_map(|point| &point.settings);
        let of_key = settings.filter(|(other, _)| other == key);
        let mut values: Vec<String> = of_key.map(|(_, value)| value.clone()).collect();
        let mut seen = HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
        values
    };
    let words = |values: Vec<String>| match values.is_empty() {
        true => "is not swept".to_owned(),
        false => format!("is {}", shortened(&values.join(", "))),
    };
    let first = [a, b].into_iter().filter_map(|it| it.points.first());
    let keys = first.flat_map(|point| point.settings.iter().map(|(key, _)| key));
    let mut swept = keys.filter(|&key| single.iter().all(|it| it.key != *key));
    let apart = swept.find_map(|key| {
        let (of_a, of_b) = (values(a, key), values(b, key));
        let disjoint = of_a.iter().all(|value| !of_b.contains(value));
        disjoint.then(|| format!(": {key} {} in A and {} in B", words(of_a), words(of_b)))
    });
    apart.unwrap_or_default()
}

/// Reads results from a directory or a file.
fn read(path: &Path) -> Result<Side> {
    if path.is_dir() {
        let directory = ResultsDirectory::open(path)?;
        let runs = directory.runs()?;
        let labs = runs.iter().filter_map(|run| run.lab.as_ref());
        let scenario = input::read(&path.join("scenario.toml"), input::SCENARIO_BYTES);
        return Ok(Side {
            summary: Summary::of(&runs),
            scenario: scenario.ok().and_then(|text| String::from_utf8(text).ok()),
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
        scenario: None,
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

/// The marks, for below the tables.
const LEGEND: &str = "*  the 95 % confidence intervals do not overlap    !  the means differ by more than 10 % of A's";
/// Differences at the head, and letters of a value there.
const MOST_DIFFERENCES: usize = 20;
const LONGEST_VALUE: usize = 60;

/// Cuts a long value.
fn shortened(value: &str) -> String {
    match value.chars().count() > LONGEST_VALUE {
        true => value.chars().take(LONGEST_VALUE - 1).chain(['…']).collect(),
        false => value.to_owned(),
    }
}

fn write_differences(report: &mut String, differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    let _ = writeln!(report, "Settings that differ, A / B:");
    let words = |value: &Option<String>| match value {
        Some(value) => shortened(value),
        None => "not set".to_owned(),
    };
    for Difference { key, a, b } in differences.iter().take(MOST_DIFFERENCES) {
        let _ = writeln!(report, "  {key}: {} / {}", words(a), words(b));
    }
    if differences.len() > MOST_DIFFERENCES {
        let more = differences.len() - MOST_DIFFERENCES;
        let _ = writeln!(report, "  and {more} more");
    }
}

fn write_point(report: &mut String, point: &PointComparison) {
    let settings = text::settings(&point.settings);
    let _ = match settings.is_empty() {
        true => writeln!(report),
        false => writeln!(report, "\n{}", settings.join(", ")),
    };
    if point.rows.is_empty() {
        let _ = writeln!(report, "No figure is left by the filter.");
        return;
    }
    let headings = ["", "", "A", "B", "B/A", ""].map(str::to_owned);
    let mut table = vec![headings.to_vec()];
    for row in &point.rows {
        let words = words(row.subject, &row.unit, &row.quantity);
        table.push(vec![
            row.of.clone(),
            quantity_words(row),
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

fn quantity_words(row: &Row) -> String {
    row.quantity.replace('_', " ")
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

/// How busy the queues of a point are: their utilisation, the larger one of the two sets.
struct Busy<'a> {
    of: HashMap<&'a str, f64>,
    most: f64,
}

impl<'a> Busy<'a> {
    fn of(point: &'a PointComparison) -> Busy<'a> {
        let (mut of, mut most) = (HashMap::new(), 0.0f64);
        let rows = point.rows.iter();
        for row in rows.filter(|it| it.subject == Subject::Queue && it.quantity == "utilisation") {
            let utilisation = row.a.mean.max(row.b.mean);
            let known: &mut f64 = of.entry(row.of.as_str()).or_default();
            *known = known.max(utilisation);
            most = most.max(utilisation);
        }
        Busy { of, most }
    }

    /// Leaves out queues less than half as busy as the busiest, and values that are zero in both sets.
    fn is_of_interest(&self, row: &Row) -> bool {
        if row.a.mean == 0.0 && row.b.mean == 0.0 {
            return false;
        }
        let utilisation = || self.of.get(row.of.as_str()).copied().unwrap_or(0.0);
        row.subject != Subject::Queue || utilisation() >= self.most / 2.0
    }
}

#[cfg(test)]
mod tests {
    use netnice_results::Estimate;

    use super::*;

    fn row(subject: Subject, of: &str, quantity: &str, unit: &str, mean: f64) -> Row {
        let value = Estimate::of(&[mean]).unwrap();
        Row {
            subject,
            of: of.to_owned(),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            a: value,
            b: value,
            ratio: Some(1.0),
            intervals_apart: None,
            notable: false,
        }
    }

    fn arguments(only: &[&str], differing: bool) -> Arguments {
        Arguments {
            a: PathBuf::new(),
            b: PathBuf::new(),
            all: false,
            only: only.iter().map(|&text| text.to_owned()).collect(),
            differing,
            json: false,
        }
    }

    fn point(rows: Vec<Row>) -> PointComparison {
        PointComparison {
            settings: Vec::new(),
            rows,
        }
    }

    #[test]
    fn what_only_names_is_shown_of_all_links() {
        let queue = |of, quantity, mean| row(Subject::Queue, of, quantity, "", mean);
        let point = point(vec![
            queue("busy", "utilisation", 0.9),
            queue("half", "utilisation", 0.45),
            queue("idle", "utilisation", 0.1),
            queue("idle", "mean_packets", 2.0),
            queue("idle", "drops", 0.0),
            row(Subject::Flows, "bulk", "loss", "", 0.0),
            row(Subject::Flows, "bulk", "goodput", "bit/s", 1e6),
        ]);
        let chosen = |only: &[&str]| arguments(only, false).chosen(&point);
        assert_eq!(
            chosen(&[]),
            [true, true, false, false, false, false, true],
            "of interest"
        );
        assert_eq!(
            chosen(&["idle", "bulk loss"]),
            [false, false, true, true, true, true, false]
        );
    }

    #[test]
    fn busy_queues_of_large_networks_are_chosen() {
        let rows = (0..20_000).flat_map(|number| {
            let of = format!("link{number}");
            let utilisation = 0.1 + 0.8 * f64::from(number % 2);
            [
                row(Subject::Queue, &of, "mean_packets", "", 1.0),
                row(Subject::Queue, &of, "utilisation", "", utilisation),
            ]
        });
        let point = point(rows.collect());
        let chosen = arguments(&[], false).chosen(&point);
        assert!(chosen.chunks(4).all(|it| it == [false, false, true, true]));
    }

    #[test]
    fn filters_choose_rows() {
        let mut row = row(Subject::Pages, "my_web", "page_time", "s", 1.0);
        for (only, differing, chosen) in [
            (&[][..], false, true),
            (&["Page time"], false, true),
            (&["my_web page_time"], false, true),
            (&["mos", "web"], false, true),
            (&["mos"], false, false),
            (&[], true, false),
        ] {
            let arguments = arguments(only, differing);
            assert_eq!(arguments.choose(&row), chosen, "{only:?}");
        }
        // Without intervals the difference of the means counts, with them whether they meet.
        row.notable = true;
        assert!(arguments(&[], true).choose(&row));
        row.intervals_apart = Some(false);
        assert!(!arguments(&[], true).choose(&row));
        row.intervals_apart = Some(true);
        assert!(arguments(&[], true).choose(&row));
        assert!(!arguments(&["mos"], true).choose(&row));
    }
}
