// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as tables for people.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use netnice_results::{ALL_SIZES, Figure, PointSummary, RunResults, Subject, Summary};
use netnice_scenario::ScenarioFile;
use netnice_scenario::model::DerivedFigure;

use super::figures::{rate, words};
use netnice_terminal::{style, text};

/// Largest number of queues in a report. Queues that are less than half as busy as the busiest and drop nothing are
/// left out; the directory of --out has all.
const MAX_QUEUES: usize = 6;

/// A column of a table.
struct Column {
    heading: &'static str,
    quantity: &'static str,
    /// The quantity that counts the values of a percentile, and the per cent of them that are below it.
    percentile: Option<(&'static str, f64)>,
}

const fn column(heading: &'static str, quantity: &'static str) -> Column {
    Column {
        heading,
        quantity,
        percentile: None,
    }
}

/// A percentile of values whose number is `count`.
const fn above(percent: f64, count: &'static str, column: Column) -> Column {
    Column {
        percentile: Some((count, percent)),
        ..column
    }
}

/// A table with a row for each of some names.
struct Table {
    title: &'static str,
    subject: Subject,
    /// The names of a point's rows.
    names: fn(&PointSummary, Subject) -> Vec<&str>,
    /// Stands behind each name.
    unit: &'static str,
    columns: &'static [Column],
}

const TABLES: [Table; 8] = [
    Table {
        title: "Flows",
        subject: Subject::Flows,
        names: subjects,
        unit: "",
        columns: &[
            column("goodput", "goodput"),
            column("loss", "loss"),
            column("retransmitted", "retransmissions"),
            column("RTOs", "timeouts"),
            column("mean RTT", "mean_rtt"),
            column("one-way delay", "mean_one_way_delay"),
            column("completion", "completion"),
            column("Jain's index", "jain_index"),
        ],
    },
    Table {
        title: "Queues",
        subject: Subject::Queue,
        names: busy_queues,
        unit: "",
        columns: &[
            column("utilisation", "utilisation"),
            column("mean queue", "mean_queue"),
            column("largest", "max_queue"),
            column("mean wait", "mean_wait"),
            column("drops", "drops"),
            column("marks", "marks"),
        ],
    },
    Table {
        title: "Colours",
        subject: Subject::Colour,
        names: dropping_queues,
        unit: "",
        columns: &[column("packets", "arrived"), column("drops", "drops")],
    },
    Table {
        title: "Response times",
        subject: Subject::Objects,
        names: sizes_of_objects,
        unit: " B",
        columns: &[
            column("objects", "objects"),
            column("mean", "response_time"),
            above(95.0, "objects", column("95 %", "p95_response_time")),
        ],
    },
    Table {
        title: "Pages",
        subject: Subject::Pages,
        names: subjects,
        unit: "",
        columns: &[
            column("number", "pages"),
            column("unfinished", "unfinished"),
            column("mean", "page_time"),
            column("50 %", "p50_page_time"),
            above(95.0, "pages", column("95 %", "p95_page_time")),
            above(99.0, "pages", column("99 %", "p99_page_time")),
        ],
    },
    Table {
        title: "Transfers",
        subject: Subject::Transfers,
        names: subjects,
        unit: "",
        columns: &[
            column("number", "transfers"),
            column("unfinished", "unfinished"),
            column("mean", "completion"),
            column("50 %", "p50_completion"),
            above(95.0, "transfers", column("95 %", "p95_completion")),
            above(99.0, "transfers", column("99 %", "p99_completion")),
            column("slowdown", "slowdown"),
            column("50 %", "p50_slowdown"),
            above(95.0, "transfers", column("95 %", "p95_slowdown")),
            above(99.0, "transfers", column("99 %", "p99_slowdown")),
        ],
    },
    Table {
        title: "Calls",
        subject: Subject::Calls,
        names: subjects,
        unit: "",
        columns: &[
            column("MOS", "mos"),
            column("lowest", "lowest_mos"),
            column("lost", "lost"),
            column("late", "late"),
            column("mouth to ear", "mouth_to_ear"),
            column("one-way delay", "mean_one_way_delay"),
            column("95 %", "p95_one_way_delay"),
            column("99 %", "p99_one_way_delay"),
        ],
    },
    Table {
        title: "Videos",
        subject: Subject::Videos,
        names: subjects,
        unit: "",
        columns: &[
            column("bit rate", "bit_rate"),
            column("switches", "switches"),
            column("stalls", "stalls"),
            column("stalled", "stall_time"),
            column("start-up", "start_up"),
        ],
    },
];

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
    let mut add = |title: &str, headings: Vec<&str>, left: usize, rows: Vec<Vec<String>>| {
        if rows.is_empty() {
            return;
        }
        let headings = headings.into_iter().map(str::to_owned);
        let mut table: Vec<Vec<String>> = vec![file.axes.iter().cloned().chain(headings).collect()];
        table.extend(rows);
        let left = file.axes.len() + left;
        leave_out_empty_columns(&mut table, left);
        let left: Vec<usize> = (0..left).collect();
        let _ = writeln!(report, "\n{title}");
        write_table(&mut report, &table, &left);
    };
    for table in &TABLES {
        let headings = table.columns.iter().map(|column| column.heading);
        let headings = std::iter::once("").chain(headings).collect();
        let rows = rows(summary, |point| table.rows(point));
        add(table.title, headings, 1, rows);
    }
    let phases = rows(summary, phase_rows);
    add("Phases: goodput", vec!["", "phase", "goodput"], 2, phases);
    report
}

impl Table {
    fn rows(&self, point: &PointSummary) -> Vec<Vec<String>> {
        let names = (self.names)(point, self.subject).into_iter();
        let rows = names.map(|name| {
            let cells = self
                .columns
                .iter()
                .map(|column| self.cell(point, name, column));
            let first = format!("{name}{}", self.unit);
            std::iter::once(first).chain(cells).collect()
        });
        rows.collect()
    }

    /// Formats a figure, or returns a dash if there is none, or fewer than 100 / (100 - n) values of which it is the nth percentile: it
    /// would be their greatest.
    fn cell(&self, point: &PointSummary, name: &str, column: &Column) -> String {
        let figure = |quantity| point.figure(self.subject, name, quantity);
        let too_few = column.percentile.is_some_and(|(count, percent)| {
            let least = 100.0 / (100.0 - percent);
            figure(count).is_some_and(|count| count.value.mean < least)
        });
        cell(figure(column.quantity).filter(|_| !too_few))
    }
}

/// Formats a figure, or returns a dash if there is none.
fn cell(figure: Option<&Figure>) -> String {
    figure.map_or_else(
        || NO_FIGURE.to_owned(),
        |figure| words(figure.subject, figure.unit.name(), &figure.quantity)(&figure.value),
    )
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
            cell(figure)
        });
        table.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    let _ = writeln!(report);
    write_table(report, &table, &[0]);
}

/// Returns the rows of all points, preceded by the sweep's values.
fn rows(summary: &Summary, of: impl Fn(&PointSummary) -> Vec<Vec<String>>) -> Vec<Vec<String>> {
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

/// The busiest queues, and those that drop packets.
fn busy_queues(point: &PointSummary, subject: Subject) -> Vec<&str> {
    let mut names = subjects(point, subject);
    // With hundreds of thousands of queues, a search for each would be too slow.
    let of_all = |quantity: &str| -> HashMap<&str, f64> {
        let figures = point.figures.iter();
        figures
            .filter(|figure| figure.subject == subject && figure.quantity == quantity)
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
    let mut names = subjects(point, subject);
    names.retain(|name| chosen.contains(name));
    names
}

/// The flow or link in a name that ends in sizes or in a colour.
fn without_last(name: &str) -> &str {
    name.rsplit_once(' ').map_or(name, |(first, _)| first)
}

/// The colours of the queues that drop some packets.
fn dropping_queues(point: &PointSummary, subject: Subject) -> Vec<&str> {
    let dropping = point.figures.iter().filter(|figure| {
        figure.subject == subject && figure.quantity == "drops" && figure.value.mean > 0.0
    });
    let dropping: HashSet<_> = dropping.map(|figure| without_last(&figure.of)).collect();
    let mut names = subjects(point, subject);
    names.retain(|name| dropping.contains(without_last(name)));
    names
}

/// The sizes of web objects by flow, in order.
fn sizes_of_objects(point: &PointSummary, subject: Subject) -> Vec<&str> {
    let mut names = subjects(point, subject);
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
            let figure = point.figure(subject, name, "size");
            figure.map_or(0.0, |figure| figure.value.mean)
        };
        without_last(a)
            .cmp(without_last(b))
            .then(size(a).total_cmp(&size(b)))
    });
    names
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
