// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as tables for people.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use netnice_results::{ALL_SIZES, Figure, PointSummary, RunResults, Subject, Summary};
use netnice_scenario::ScenarioFile;
use netnice_scenario::model::DerivedFigure;

use super::figures::{Words, fraction, percent, plain, rate, ratio, seconds, time};
use netnice_terminal::{style, text};

/// Largest number of queues in a report. Queues that are less than half as busy as the busiest and drop nothing are
/// left out; the directory of --out has all.
const MAX_QUEUES: usize = 6;

/// Reports flows, queues and response times, for each point of the sweep.
pub fn report(file: &ScenarioFile, runs: &[RunResults], summary: &Summary) -> String {
    let mut report = String::new();
    let seeds = runs.len() / summary.points.len().max(1);
    // Writing to a String cannot fail.
    let _ = writeln!(
        report,
        "{}: {}{}",
        file.scenario().name,
        text::count(runs.len() as u64, "run"),
        match seeds {
            0 | 1 => String::new(),
            seeds => format!(", means over {seeds} seeds with 95 % confidence intervals"),
        }
    );
    write_figures(&mut report, file, runs, summary);
    for (title, headings, left, rows) in [
        (
            "Flows",
            &[
                "",
                "goodput",
                "loss",
                "retransmitted",
                "RTOs",
                "mean RTT",
                "one-way delay",
                "completion",
                "Jain's index",
            ][..],
            1,
            rows(summary, flow_rows),
        ),
        (
            "Queues",
            &[
                "",
                "utilisation",
                "mean queue",
                "largest",
                "mean wait",
                "drops",
                "marks",
            ][..],
            1,
            rows(summary, queue_rows),
        ),
        (
            "Colours",
            &["", "packets", "drops"][..],
            1,
            rows(summary, colour_rows),
        ),
        (
            "Response times",
            &["", "objects", "mean", "95 %"][..],
            1,
            rows(summary, response_rows),
        ),
        (
            "Pages",
            &["", "number", "unfinished", "mean", "50 %", "95 %", "99 %"][..],
            1,
            rows(summary, page_rows),
        ),
        (
            "Transfers",
            &[
                "",
                "number",
                "unfinished",
                "mean",
                "50 %",
                "95 %",
                "99 %",
                "slowdown",
                "50 %",
                "95 %",
                "99 %",
            ][..],
            1,
            rows(summary, transfer_rows),
        ),
        (
            "Calls",
            &[
                "",
                "MOS",
                "lowest",
                "lost",
                "late",
                "mouth to ear",
                "one-way delay",
                "95 %",
                "99 %",
            ][..],
            1,
            rows(summary, call_rows),
        ),
        (
            "Videos",
            &["", "bit rate", "switches", "stalls", "stalled", "start-up"][..],
            1,
            rows(summary, video_rows),
        ),
        (
            "Phases: goodput",
            &["", "phase", "goodput"][..],
            2,
            rows(summary, phase_rows),
        ),
    ] {
        if rows.is_empty() {
            continue;
        }
        let headings = headings.iter().map(|&heading| heading.to_owned());
        let mut table: Vec<Vec<String>> = vec![file.axes.iter().cloned().chain(headings).collect()];
        table.extend(rows);
        let left = file.axes.len() + left;
        leave_out_empty_columns(&mut table, left);
        let left: Vec<usize> = (0..left).collect();
        let _ = writeln!(report, "\n{title}");
        write_table(&mut report, &table, &left);
    }
    report
}

/// The cell of a table for a figure without a value.
const NO_FIGURE: &str = "-";

/// Leaves out the columns of figures that no row has. The first `left` are no figures.
fn leave_out_empty_columns(table: &mut [Vec<String>], left: usize) {
    let columns = table.first().map_or(0, Vec::len);
    for column in (left..columns).rev() {
        if table[1..].iter().all(|row| row[column] == NO_FIGURE) {
            for row in &mut *table {
                row.remove(column);
            }
        }
    }
}

/// Writes a table whose first row is its headings; columns in `left` are left-aligned.
fn write_table(report: &mut String, table: &[Vec<String>], left: &[usize]) {
    let mut lines = text::table(table, left).into_iter();
    let headings = style::heading(lines.next().unwrap_or_default());
    let _ = writeln!(report, "{headings}");
    for line in lines {
        let _ = writeln!(report, "{line}");
    }
}

/// Returns true if flows of the figure, and of its divisor, were there: where the divisor is zero it has no value in any run.
fn had_flows(figure: &DerivedFigure, runs: &[RunResults]) -> bool {
    let others = figure.over.iter().flat_map(|over| &over.flows);
    let mut groups = figure.flows.iter().chain(others);
    groups.all(|group| {
        let mut runs = runs.iter();
        runs.any(|run| run.flows.iter().any(|flow| flow.group == *group))
    })
}

/// The figures that the scenario derives from its runs, with a column for each point of the sweep.
fn write_figures(report: &mut String, file: &ScenarioFile, runs: &[RunResults], summary: &Summary) {
    let points = summary.points.iter();
    let found: HashSet<&str> = points
        .flat_map(|point| subjects(point, Subject::Figure))
        .collect();
    let figures = file.scenario().figures.iter();
    let names = figures.filter(|figure| found.contains(&*figure.name) || had_flows(figure, runs));
    let names: Vec<&str> = names.map(|figure| &*figure.name).collect();
    if names.is_empty() {
        return;
    }
    let columns = summary.points.iter().map(|point| {
        let values = point.settings.iter().map(|(_, value)| value.as_str());
        values.collect::<Vec<_>>().join(", ")
    });
    let mut table: Vec<Vec<String>> = vec![std::iter::once(String::new()).chain(columns).collect()];
    for name in names {
        let cells = summary.points.iter().map(|point| {
            let mut figures = point.figures.iter();
            let figure =
                figures.find(|figure| figure.subject == Subject::Figure && *figure.of == *name);
            figure.map_or_else(
                || NO_FIGURE.to_owned(),
                |figure| derived_words(figure.unit.name(), &figure.quantity)(&figure.value),
            )
        });
        table.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    let _ = writeln!(report);
    write_table(report, &table, &[0]);
}

/// Returns the formatter of a figure that the scenario derives.
pub fn derived_words(unit: &str, quantity: &str) -> Words {
    match (unit, quantity) {
        ("bit/s", _) => rate,
        ("s", "completion_time" | "time_to_90_percent" | "stall_time") => seconds,
        ("s", _) => time,
        (_, "jain_index") => fraction,
        (_, "loss") => percent,
        (_, "slowdown" | "p99_slowdown" | "mos") => plain,
        _ => ratio,
    }
}

/// Returns the rows of all points, preceded by the sweep's values.
fn rows(summary: &Summary, of: fn(&PointSummary) -> Vec<Vec<String>>) -> Vec<Vec<String>> {
    let points = summary.points.iter().flat_map(|point| {
        let values: Vec<String> = point
            .settings
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        let rows = of(point).into_iter();
        rows.map(move |row| values.iter().cloned().chain(row).collect())
    });
    points.collect()
}

/// The subjects of the figures, each once.
fn subjects(point: &PointSummary, subject: Subject) -> Vec<&str> {
    let mut known = HashSet::new();
    let figures = point.figures.iter();
    let figures = figures.filter(|figure| figure.subject == subject);
    let names = figures.map(|figure| &*figure.of);
    names.filter(|&name| known.insert(name)).collect()
}

fn flow_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let names = subjects(point, Subject::Flows).into_iter();
    let rows = names.map(|name| {
        vec![
            name.to_owned(),
            cell(point, Subject::Flows, name, ("goodput", rate)),
            cell(point, Subject::Flows, name, ("loss", percent)),
            cell(point, Subject::Flows, name, ("retransmissions", plain)),
            cell(point, Subject::Flows, name, ("timeouts", plain)),
            cell(point, Subject::Flows, name, ("mean_rtt", time)),
            cell(point, Subject::Flows, name, ("mean_one_way_delay", time)),
            cell(point, Subject::Flows, name, ("completion", seconds)),
            cell(point, Subject::Flows, name, ("jain_index", fraction)),
        ]
    });
    rows.collect()
}

fn queue_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let mut names = subjects(point, Subject::Queue);
    // With hundreds of thousands of queues, a search for each would be too slow.
    let of_all = |quantity: &str| -> HashMap<&str, f64> {
        let figures = point.figures.iter();
        figures
            .filter(|figure| figure.subject == Subject::Queue && figure.quantity == quantity)
            .map(|figure| (&*figure.of, figure.value.mean))
            .collect()
    };
    let (utilisations, drops) = (of_all("utilisation"), of_all("drops"));
    let utilisation = |name: &str| utilisations.get(name).copied().unwrap_or(0.0);
    names.sort_by(|a, b| utilisation(b).total_cmp(&utilisation(a)));
    let busiest = names.first().map_or(0.0, |name| utilisation(name));
    let dropped = |name: &str| drops.get(name).is_some_and(|&share| share > 0.0);
    names.retain(|name| utilisation(name) >= busiest / 2.0 || dropped(name));
    names.truncate(MAX_QUEUES);
    // In the order of the scenario: utilisations differ by little where several links are full.
    let chosen: HashSet<&str> = names.into_iter().collect();
    let mut names = subjects(point, Subject::Queue);
    names.retain(|name| chosen.contains(name));
    let rows = names.into_iter().map(|name| {
        vec![
            name.to_owned(),
            cell(point, Subject::Queue, name, ("utilisation", percent)),
            cell(point, Subject::Queue, name, ("mean_queue", plain)),
            cell(point, Subject::Queue, name, ("max_queue", plain)),
            cell(point, Subject::Queue, name, ("mean_wait", time)),
            cell(point, Subject::Queue, name, ("drops", percent)),
            cell(point, Subject::Queue, name, ("marks", percent)),
        ]
    });
    rows.collect()
}

/// The flow or link in a name that ends in sizes or in a colour.
fn without_last(name: &str) -> &str {
    name.rsplit_once(' ').map_or(name, |(first, _)| first)
}

/// Packets by colour of the queues that drop some.
fn colour_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let dropping = point.figures.iter().filter(|figure| {
        figure.subject == Subject::Colour && figure.quantity == "drops" && figure.value.mean > 0.0
    });
    let dropping: HashSet<_> = dropping.map(|figure| without_last(&figure.of)).collect();
    let mut names = subjects(point, Subject::Colour);
    names.retain(|name| dropping.contains(without_last(name)));
    let rows = names.into_iter().map(|name| {
        vec![
            name.to_owned(),
            cell(point, Subject::Colour, name, ("arrived", plain)),
            cell(point, Subject::Colour, name, ("drops", percent)),
        ]
    });
    rows.collect()
}

fn response_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let mut names = subjects(point, Subject::Objects);
    // The transfers of a flow of arrivals have a table of their own.
    let arrive = |name: &str| {
        let all = format!("{} {ALL_SIZES}", without_last(name));
        point
            .figure(Subject::Transfers, &all, "transfers")
            .is_some()
    };
    names.retain(|name| !arrive(name));
    // A bin that is empty for the first seeds appears late, but each flow's bins must be in the order of size.
    names.sort_by(|a, b| {
        let size = |name: &str| {
            let figure = point.figure(Subject::Objects, name, "size");
            figure.map_or(0.0, |figure| figure.value.mean)
        };
        without_last(a)
            .cmp(without_last(b))
            .then(size(a).total_cmp(&size(b)))
    });
    let rows = names.into_iter().map(|name| {
        vec![
            format!("{name} B"),
            cell(point, Subject::Objects, name, ("objects", plain)),
            cell(point, Subject::Objects, name, ("response_time", time)),
            percentile(
                point,
                Subject::Objects,
                name,
                ("objects", 95.0),
                ("p95_response_time", time),
            ),
        ]
    });
    rows.collect()
}

fn page_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let rows = subjects(point, Subject::Pages).into_iter().map(|name| {
        let of = |quantity, words: Words| cell(point, Subject::Pages, name, (quantity, words));
        let at =
            |percent, figure| percentile(point, Subject::Pages, name, ("pages", percent), figure);
        vec![
            name.to_owned(),
            of("pages", plain),
            of("unfinished", plain),
            of("page_time", time),
            of("p50_page_time", time),
            at(95.0, ("p95_page_time", time)),
            at(99.0, ("p99_page_time", time)),
        ]
    });
    rows.collect()
}

fn transfer_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let rows = subjects(point, Subject::Transfers).into_iter().map(|name| {
        let of = |quantity, words: Words| cell(point, Subject::Transfers, name, (quantity, words));
        let at = |percent, figure| {
            let count = ("transfers", percent);
            percentile(point, Subject::Transfers, name, count, figure)
        };
        vec![
            name.to_owned(),
            of("transfers", plain),
            of("unfinished", plain),
            of("completion", time),
            of("p50_completion", time),
            at(95.0, ("p95_completion", time)),
            at(99.0, ("p99_completion", time)),
            of("slowdown", plain),
            of("p50_slowdown", plain),
            at(95.0, ("p95_slowdown", plain)),
            at(99.0, ("p99_slowdown", plain)),
        ]
    });
    rows.collect()
}

fn call_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let rows = subjects(point, Subject::Calls).into_iter().map(|name| {
        let of = |quantity, words: Words| cell(point, Subject::Calls, name, (quantity, words));
        vec![
            name.to_owned(),
            of("mos", plain),
            of("lowest_mos", plain),
            of("lost", percent),
            of("late", percent),
            of("mouth_to_ear", time),
            of("mean_one_way_delay", time),
            of("p95_one_way_delay", time),
            of("p99_one_way_delay", time),
        ]
    });
    rows.collect()
}

fn video_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let rows = subjects(point, Subject::Videos).into_iter().map(|name| {
        let of = |quantity, words: Words| cell(point, Subject::Videos, name, (quantity, words));
        vec![
            name.to_owned(),
            of("bit_rate", rate),
            of("switches", plain),
            of("stalls", plain),
            of("stall_time", seconds),
            of("start_up", seconds),
        ]
    });
    rows.collect()
}

fn phase_rows(point: &PointSummary) -> Vec<Vec<String>> {
    let figures = point.figures.iter();
    let rows = figures.filter_map(|figure: &Figure| {
        let phase = figure.quantity.strip_prefix("goodput in ")?;
        Some(vec![
            figure.of.to_string(),
            phase.to_owned(),
            rate(&figure.value),
        ])
    });
    rows.collect()
}

/// Formats a figure, or returns a dash if there is none.
fn cell(
    point: &PointSummary,
    subject: Subject,
    of: &str,
    (quantity, words): (&str, Words),
) -> String {
    let figure = point.figure(subject, of, quantity);
    figure.map_or_else(|| NO_FIGURE.to_owned(), |figure| words(&figure.value))
}

/// Formats a figure of the `percent`th percentile like [`cell`], or returns a dash if the runs have fewer than 100 / (100 - `percent`) values,
/// of which `count` is the mean number: it would be their greatest.
fn percentile(
    point: &PointSummary,
    subject: Subject,
    of: &str,
    (count, percent): (&str, f64),
    (quantity, words): (&str, Words),
) -> String {
    let least = 100.0 / (100.0 - percent);
    match point.figure(subject, of, count) {
        Some(count) if count.value.mean < least => NO_FIGURE.to_owned(),
        _ => cell(point, subject, of, (quantity, words)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_figure_are_left_out() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let mut table = vec![
            row(["", "loss", "completion", "index"]),
            row(["-", "0.1 %", "-", "-"]),
            row(["b", "-", "-", "0.5"]),
        ];
        leave_out_empty_columns(&mut table, 1);
        assert_eq!(
            table,
            [
                ["", "loss", "index"],
                ["-", "0.1 %", "-"],
                ["b", "-", "0.5"]
            ]
        );
    }
}
