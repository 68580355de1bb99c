// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as tables, for CSV and other formats with columns.

use std::io::{self, Write};
use std::iter::Peekable;

use super::samples::Samples;
use crate::{PhaseResult, ResponseTimes, RunResults, SizeClass, Summary};

/// A table with named columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Names of the columns, with units.
    pub columns: Vec<String>,
    /// Rows, as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// A field of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number; NaN where there is none.
    Number(f64),
    /// A whole number.
    Whole(u64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::Text(text.clone())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Number(number)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Cell {
        Cell::Number(number.unwrap_or(f64::NAN))
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Whole(number)
    }
}

/// A table of which no row is kept: each is made when its turn comes. That of a large summary would take several times the memory of the
/// summary.
pub struct Rows<'a> {
    /// Names of the columns, with units.
    pub columns: Vec<String>,
    rows: Peekable<Box<dyn Iterator<Item = Vec<Cell>> + 'a>>,
}

impl<'a> Rows<'a> {
    fn new(
        axes: &[String],
        columns: &[&str],
        rows: impl Iterator<Item = Vec<Cell>> + 'a,
    ) -> Rows<'a> {
        let columns = columns.iter().map(|&column| column.to_owned());
        let rows: Box<dyn Iterator<Item = Vec<Cell>> + 'a> = Box::new(rows);
        Rows {
            columns: axes.iter().cloned().chain(columns).collect(),
            rows: rows.peekable(),
        }
    }

    /// Returns true if no row is left.
    pub fn is_empty(&mut self) -> bool {
        self.rows.peek().is_none()
    }

    /// Writes comma-separated values (RFC 4180) with a heading.
    pub fn write_csv(self, to: impl Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(&self.columns)?;
        for row in self {
            for cell in row {
                match cell {
                    Cell::Text(text) => writer.write_field(text)?,
                    Cell::Number(number) if number.is_finite() => {
                        writer.write_field(number.to_string())?;
                    }
                    Cell::Number(_) => writer.write_field("")?,
                    Cell::Whole(number) => writer.write_field(number.to_string())?,
                }
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }

    /// Makes all rows, for formats that are made by column.
    pub fn into_table(self) -> Table {
        Table {
            columns: self.columns,
            rows: self.rows.collect(),
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Vec<Cell>;

    fn next(&mut self) -> Option<Vec<Cell>> {
        self.rows.next()
    }
}

#[cfg(test)]
impl Table {
    /// Its rows, made again.
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows {
            columns: self.columns.clone(),
            rows: (Box::new(self.rows.iter().cloned()) as Box<dyn Iterator<Item = _>>).peekable(),
        }
    }
}

/// Rows for each subject: the settings of its point, and then the cell of each column.
macro_rules! rows {
    ($axes:expr, for $subject:pat_param in $subjects:expr, of $settings:expr, {
        $($column:literal: $cell:expr),* $(,)?
    }) => {
        Rows::new($axes, &[$($column),*], $subjects.map(|$subject| {
            let settings = $settings.iter().map(|(_, value)| Cell::from(value));
            settings.chain([$(Cell::from($cell)),*]).collect()
        }))
    };
}

/// The names of all tables, and of that of all samples.
pub(super) const NAMES: [&str; 11] = [
    "summary",
    "flows",
    "queues",
    "colours",
    "response_times",
    "pages",
    "transfers",
    "completion_times",
    "calls",
    "videos",
    SERIES,
];

/// The name of the table of all samples, which is too long to be kept as cells: see [`Samples`].
pub(super) const SERIES: &str = "series";

/// Makes the rows of a table of runs.
type Make = for<'a> fn(&[String], &'a [RunResults], &'a Summary) -> Rows<'a>;

/// All tables by name but that of the time series; a table without rows is of something that the scenario lacks.
pub fn all<'a>(
    axes: &'a [String],
    runs: &'a [RunResults],
    summary: &'a Summary,
) -> impl Iterator<Item = (&'static str, Rows<'a>)> {
    let tables: [Make; NAMES.len() - 1] = [
        |axes, _, summary| summary_table(axes, summary),
        |axes, runs, _| flows(axes, runs),
        |axes, runs, _| queues(axes, runs),
        |axes, runs, _| colours(axes, runs),
        |axes, runs, _| response_times(axes, runs),
        |axes, runs, _| pages(axes, runs),
        |axes, runs, _| transfers(axes, runs),
        |axes, runs, _| completion_times(axes, runs),
        |axes, runs, _| calls(axes, runs),
        |axes, runs, _| videos(axes, runs),
    ];
    NAMES
        .into_iter()
        .zip(tables)
        .map(move |(name, make)| (name, make(axes, runs, summary)))
}

/// The table of all samples of all runs, written without being made.
pub fn series<'a>(axes: &'a [String], runs: &'a [RunResults]) -> Samples<'a> {
    Samples::new(axes, runs)
}

fn summary_table<'a>(axes: &[String], summary: &'a Summary) -> Rows<'a> {
    let figures = summary
        .points
        .iter()
        .flat_map(|point| point.figures.iter().map(move |figure| (point, figure)));
    rows!(axes, for (point, figure) in figures, of point.settings, {
        "subject": figure.subject.name(),
        "of": &*figure.of,
        "quantity": &*figure.quantity,
        "unit": figure.unit.name(),
        "mean": figure.value.mean,
        "half_width_95": figure.value.half_width_95,
        "min": figure.value.min,
        "max": figure.value.max,
        "runs": figure.value.runs as u64,
    })
}

/// A figure of so many values; of none there is none.
fn of(count: u64, figure: f64) -> f64 {
    match count {
        0 => f64::NAN,
        _ => figure,
    }
}

/// The figures that a flow has for the whole run only, and not for a phase.
fn whole(phase: Option<&PhaseResult>, value: impl Into<Cell>) -> Cell {
    match phase {
        None => value.into(),
        Some(_) => Cell::Number(f64::NAN),
    }
}

/// Each flow over the whole run, then over each phase.
fn flows<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs.iter().flat_map(|run| {
        run.flows.iter().flat_map(move |flow| {
            let phases = flow.phases.iter().map(Some);
            std::iter::once(None)
                .chain(phases)
                .map(move |phase| (run, flow, phase))
        })
    });
    rows!(axes, for (run, flow, phase) in rows, of run.settings, {
        "seed": run.seed,
        "flow": &flow.name,
        "group": &flow.group,
        "class": flow.class.name(),
        "congestion_control": &flow.congestion_control,
        "phase": phase.map_or("", |phase| &phase.name),
        "goodput_bps": phase.map_or(flow.goodput_bps, |phase| phase.goodput_bps),
        "throughput_bps": phase.map_or(flow.throughput_bps, |phase| phase.throughput_bps),
        "delivered_bytes": whole(phase, flow.delivered_bytes),
        "packets_sent": whole(phase, flow.packets_sent),
        "packets_received": whole(phase, flow.packets_received),
        "packets_lost": whole(phase, flow.packets_lost),
        "retransmissions": whole(phase, flow.retransmissions),
        "timeouts": whole(phase, flow.timeouts),
        "recoveries": whole(phase, flow.recoveries),
        "ecn_reactions": whole(phase, flow.ecn_reactions),
        "early_indications": whole(phase, flow.early_indications),
        "mean_cwnd": whole(phase, flow.mean_cwnd),
        "rtt_mean_s": whole(phase, of(flow.rtt.count, flow.rtt.mean_s)),
        "rtt_p95_s": whole(phase, of(flow.rtt.count, flow.rtt.p95_s)),
        "one_way_delay_mean_s": whole(phase, of(flow.one_way_delay.count, flow.one_way_delay.mean_s)),
        "one_way_delay_p95_s": whole(phase, of(flow.one_way_delay.count, flow.one_way_delay.p95_s)),
        "completion_s": whole(phase, flow.completion_s),
    })
}

/// A row for each cause of a queue's drops, or one without.
fn queues<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs.iter().flat_map(|run| {
        run.queues.iter().flat_map(move |queue| {
            let without = queue.drops.is_empty().then_some(None);
            let causes = queue.drops.iter().map(Some).chain(without);
            causes.map(move |drops| (run, queue, drops))
        })
    });
    rows!(axes, for (run, queue, drops) in rows, of run.settings, {
        "seed": run.seed,
        "link": &queue.link,
        "rate_bps": queue.rate_bps,
        "utilisation": queue.utilisation,
        "arrived": queue.arrived,
        "delivered": queue.delivered,
        "marked": queue.marked,
        "drop_cause": drops.map_or("", |drops| &drops.cause),
        "drop_class": drops.map_or("", |drops| drops.class.name()),
        "drops": drops.map_or(0, |drops| drops.packets),
        "mean_packets": queue.mean_packets,
        "mean_bytes": queue.mean_bytes,
        "max_packets": queue.max_packets,
        "wait_mean_s": of(queue.waiting.count, queue.waiting.mean_s),
        "wait_p95_s": of(queue.waiting.count, queue.waiting.p95_s),
        "wait_p99_s": of(queue.waiting.count, queue.waiting.p99_s),
        "wait_max_s": of(queue.waiting.count, queue.waiting.max_s),
    })
}

/// A row for each colour of packets at a queue.
fn colours<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs.iter().flat_map(|run| {
        let queues = run.queues.iter();
        queues.flat_map(move |queue| {
            queue
                .colours
                .iter()
                .map(move |of_colour| (run, queue, of_colour))
        })
    });
    rows!(axes, for (run, queue, of_colour) in rows, of run.settings, {
        "seed": run.seed,
        "link": &queue.link,
        "colour": &of_colour.colour,
        "arrived": of_colour.arrived,
        "dropped": of_colour.dropped,
    })
}

fn response_times<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs.iter().flat_map(|run| {
        let flows = run.response_times.iter();
        flows.flat_map(move |flow| flow.bins.iter().map(move |bin| (run, flow, bin)))
    });
    rows!(axes, for (run, flow, bin) in rows, of run.settings, {
        "seed": run.seed,
        "flow": &flow.flow,
        "from_bytes": bin.from_bytes,
        "to_bytes": bin.to_bytes,
        "mean_bytes": bin.mean_bytes,
        "objects": bin.response.count,
        "mean_s": of(bin.response.count, bin.response.mean_s),
        "p50_s": of(bin.response.count, bin.response.p50_s),
        "p95_s": of(bin.response.count, bin.response.p95_s),
        "p99_s": of(bin.response.count, bin.response.p99_s),
        "max_s": of(bin.response.count, bin.response.max_s),
    })
}

fn pages<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs.iter().flat_map(|run| {
        let flows = run.response_times.iter();
        flows.filter_map(move |flow| Some((run, flow, flow.pages?)))
    });
    rows!(axes, for (run, flow, pages) in rows, of run.settings, {
        "seed": run.seed,
        "flow": &flow.flow,
        "pages": pages.load.count,
        "unfinished": pages.unfinished,
        "mean_s": of(pages.load.count, pages.load.mean_s),
        "p50_s": of(pages.load.count, pages.load.p50_s),
        "p95_s": of(pages.load.count, pages.load.p95_s),
        "p99_s": of(pages.load.count, pages.load.p99_s),
        "max_s": of(pages.load.count, pages.load.max_s),
    })
}

/// Of each run and flow the arriving transfers of all sizes, then those of each class.
fn size_classes(
    runs: &[RunResults],
) -> impl Iterator<Item = (&RunResults, &ResponseTimes, &SizeClass)> {
    runs.iter().flat_map(|run| {
        let flows = run.response_times.iter();
        flows.flat_map(move |flow| flow.classes.iter().map(move |class| (run, flow, class)))
    })
}

fn transfers<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    rows!(axes, for (run, flow, class) in size_classes(runs), of run.settings, {
        "seed": run.seed,
        "flow": &flow.flow,
        "above_bytes": class.above_bytes,
        "to_bytes": class.to_bytes.map(|bytes| bytes as f64),
        "mean_bytes": class.mean_bytes,
        "transfers": class.completion.count,
        "unfinished": class.unfinished,
        "mean_s": of(class.completion.count, class.completion.mean_s),
        "p50_s": of(class.completion.count, class.completion.p50_s),
        "p95_s": of(class.completion.count, class.completion.p95_s),
        "p99_s": of(class.completion.count, class.completion.p99_s),
        "max_s": of(class.completion.count, class.completion.max_s),
        "slowdown_mean": of(class.completion.count, class.slowdown.mean),
        "slowdown_p50": of(class.completion.count, class.slowdown.p50),
        "slowdown_p95": of(class.completion.count, class.slowdown.p95),
        "slowdown_p99": of(class.completion.count, class.slowdown.p99),
        "slowdown_max": of(class.completion.count, class.slowdown.max),
    })
}

/// A row for each bin of a distribution of completion times that has transfers.
fn completion_times<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = size_classes(runs).flat_map(|(run, flow, class)| {
        let bins = class.completion_times.cumulative();
        bins.map(move |bin| (run, flow, class, bin))
    });
    rows!(axes, for (run, flow, class, (up_to_s, transfers, share)) in rows, of run.settings, {
        "seed": run.seed,
        "flow": &flow.flow,
        "above_bytes": class.above_bytes,
        "to_bytes": class.to_bytes.map(|bytes| bytes as f64),
        "completion_s": up_to_s,
        "transfers": transfers,
        "share": share,
    })
}

fn calls<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs
        .iter()
        .flat_map(|run| run.calls.iter().map(move |call| (run, call)));
    rows!(axes, for (run, call) in rows, of run.settings, {
        "seed": run.seed,
        "flow": &call.flow,
        "group": &call.group,
        "packets": call.quality.packets,
        "lost": call.quality.lost,
        "late": call.quality.late,
        "burst_ratio": call.quality.burst_ratio,
        "one_way_delay_mean_s": of(call.one_way_delay.count, call.one_way_delay.mean_s),
        "one_way_delay_p50_s": of(call.one_way_delay.count, call.one_way_delay.p50_s),
        "one_way_delay_p95_s": of(call.one_way_delay.count, call.one_way_delay.p95_s),
        "one_way_delay_p99_s": of(call.one_way_delay.count, call.one_way_delay.p99_s),
        "mouth_to_ear_s": call.quality.mouth_to_ear_s,
        "rating": call.quality.rating,
        "mos": call.quality.mos,
    })
}

fn videos<'a>(axes: &[String], runs: &'a [RunResults]) -> Rows<'a> {
    let rows = runs
        .iter()
        .flat_map(|run| run.videos.iter().map(move |video| (run, video)));
    rows!(axes, for (run, video) in rows, of run.settings, {
        "seed": run.seed,
        "flow": &video.flow,
        "group": &video.group,
        "chunks": video.quality.chunks,
        "mean_rate_bps": video.quality.mean_rate_bps,
        "switches": video.quality.switches,
        "stalls": video.quality.stalls,
        "stalled_s": video.quality.stalled_s,
        "start_up_s": video.quality.start_up_s,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_documentation_lists_the_columns_of_the_tables() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
        let text = fs::read_to_string(path).unwrap();
        let table = text.split_once("<!-- columns -->\n").unwrap().1;
        let table = table.split("\n\n").next().unwrap();
        // Words in code style outside brackets, of which a column has its meaning or its values.
        let names = |cell: &str| -> Vec<String> {
            let mut depth = 0;
            let outside: String = cell
                .chars()
                .filter(|&character| {
                    depth += i32::from(character == '(') - i32::from(character == ')');
                    depth == 0
                })
                .collect();
            let names = outside.split('`').skip(1).step_by(2);
            names.map(str::to_owned).collect()
        };
        let documented: Vec<(String, Vec<String>)> = table
            .lines()
            .skip(2)
            .map(|row| {
                let cells: Vec<&str> = row.split('|').collect();
                (names(cells[1]).remove(0), names(cells[3]))
            })
            .collect();
        let summary = Summary::default();
        let mut expected: Vec<(String, Vec<String>)> = all(&[], &[], &summary)
            .map(|(name, rows)| (name.to_owned(), rows.columns))
            .collect();
        let columns = series(&[], &[]).columns().map(str::to_owned).collect();
        expected.push((SERIES.to_owned(), columns));
        assert_eq!(documented, expected);
    }
}
