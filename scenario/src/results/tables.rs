// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as tables, for CSV and other formats with columns.

use super::{RunResults, Summary};

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

impl Table {
    fn new(axes: &[String], columns: &[&str]) -> Table {
        let columns = columns.iter().map(|&column| column.to_owned());
        Table {
            columns: axes.iter().cloned().chain(columns).collect(),
            rows: Vec::new(),
        }
    }

    /// Comma-separated values (RFC 4180) with a heading.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            let cells = row.iter().map(|cell| match cell {
                Cell::Text(text) => text.clone(),
                Cell::Number(number) if number.is_finite() => number.to_string(),
                Cell::Number(_) => String::new(),
                Cell::Whole(number) => number.to_string(),
            });
            writer.write_record(cells)?;
        }
        writer
            .into_inner()
            .map_err(|error| error.into_error().into())
    }
}

macro_rules! row {
    ($settings:expr, $($cell:expr),* $(,)?) => {{
        let mut row: Vec<Cell> = $settings.iter().map(|(_, value)| Cell::from(value.as_str())).collect();
        row.extend([$(Cell::from($cell)),*]);
        row
    }};
}

/// Makes a table of runs.
type Make = fn(&[String], &[RunResults], &Summary) -> Table;

/// All tables by name, each made when its turn comes; those without rows are of what the scenario does not have.
pub fn all(
    axes: &[String],
    runs: &[RunResults],
    summary: &Summary,
) -> impl Iterator<Item = (&'static str, Table)> {
    let tables: [(&str, Make); 5] = [
        ("summary", |axes, _, summary| summary_table(axes, summary)),
        ("flows", |axes, runs, _| flows(axes, runs)),
        ("queues", |axes, runs, _| queues(axes, runs)),
        ("response_times", |axes, runs, _| response_times(axes, runs)),
        ("series", |axes, runs, _| series(axes, runs)),
    ];
    tables
        .into_iter()
        .map(move |(name, make)| (name, make(axes, runs, summary)))
}

fn summary_table(axes: &[String], summary: &Summary) -> Table {
    let columns = [
        "subject",
        "of",
        "quantity",
        "unit",
        "mean",
        "half_width_95",
        "min",
        "max",
        "runs",
    ];
    let mut table = Table::new(axes, &columns);
    for point in &summary.points {
        for figure in &point.figures {
            let value = &figure.value;
            table.rows.push(row![
                point.settings,
                figure.subject.name(),
                figure.of.as_str(),
                &*figure.quantity,
                &*figure.unit,
                value.mean,
                value.half_width_95,
                value.min,
                value.max,
                value.runs as u64,
            ]);
        }
    }
    table
}

fn flows(axes: &[String], runs: &[RunResults]) -> Table {
    let columns = [
        "seed",
        "flow",
        "group",
        "class",
        "congestion_control",
        "phase",
        "goodput_bps",
        "throughput_bps",
        "delivered_bytes",
        "packets_sent",
        "packets_received",
        "packets_lost",
        "retransmissions",
        "timeouts",
        "recoveries",
        "ecn_reactions",
        "early_indications",
        "mean_cwnd",
        "rtt_mean_s",
        "rtt_p95_s",
        "one_way_delay_mean_s",
        "one_way_delay_p95_s",
        "completion_s",
    ];
    let mut table = Table::new(axes, &columns);
    for run in runs {
        for flow in &run.flows {
            table.rows.push(row![
                run.settings,
                run.seed,
                flow.name.as_str(),
                flow.group.as_str(),
                flow.class.name(),
                flow.congestion_control.as_str(),
                "",
                flow.goodput_bps,
                flow.throughput_bps,
                flow.delivered_bytes,
                flow.packets_sent,
                flow.packets_received,
                flow.packets_lost,
                flow.retransmissions,
                flow.timeouts,
                flow.recoveries,
                flow.ecn_reactions,
                flow.early_indications,
                flow.mean_cwnd,
                flow.rtt.mean_s,
                flow.rtt.p95_s,
                flow.one_way_delay.mean_s,
                flow.one_way_delay.p95_s,
                flow.completion_s,
            ]);
            for phase in &flow.phases {
                let mut row = row![
                    run.settings,
                    run.seed,
                    flow.name.as_str(),
                    flow.group.as_str(),
                    flow.class.name(),
                    flow.congestion_control.as_str(),
                    phase.name.as_str(),
                    phase.goodput_bps,
                    phase.throughput_bps,
                ];
                row.resize(table.columns.len(), Cell::Number(f64::NAN));
                table.rows.push(row);
            }
        }
    }
    table
}

fn queues(axes: &[String], runs: &[RunResults]) -> Table {
    let columns = [
        "seed",
        "link",
        "rate_bps",
        "utilisation",
        "arrived",
        "delivered",
        "marked",
        "drop_cause",
        "drop_class",
        "drops",
        "mean_packets",
        "mean_bytes",
        "max_packets",
        "wait_mean_s",
        "wait_p95_s",
        "wait_p99_s",
        "wait_max_s",
    ];
    let mut table = Table::new(axes, &columns);
    for run in runs {
        for queue in &run.queues {
            // A row for each cause of drops, or one without.
            let drops = queue.drops.iter();
            let mut causes: Vec<(&str, &str, u64)> = drops
                .map(|drops| (drops.cause.as_str(), drops.class.name(), drops.packets))
                .collect();
            if causes.is_empty() {
                causes.push(("", "", 0));
            }
            for (cause, class, packets) in causes {
                table.rows.push(row![
                    run.settings,
                    run.seed,
                    queue.link.as_str(),
                    queue.rate_bps,
                    queue.utilisation,
                    queue.arrived,
                    queue.delivered,
                    queue.marked,
                    cause,
                    class,
                    packets,
                    queue.mean_packets,
                    queue.mean_bytes,
                    queue.max_packets,
                    queue.waiting.mean_s,
                    queue.waiting.p95_s,
                    queue.waiting.p99_s,
                    queue.waiting.max_s,
                ]);
            }
        }
    }
    table
}

fn response_times(axes: &[String], runs: &[RunResults]) -> Table {
    let columns = [
        "seed",
        "flow",
        "from_bytes",
        "to_bytes",
        "mean_bytes",
        "objects",
        "mean_s",
        "p50_s",
        "p95_s",
        "p99_s",
        "max_s",
    ];
    let mut table = Table::new(axes, &columns);
    for run in runs {
        for flow in &run.response_times {
            for bin in &flow.bins {
                table.rows.push(row![
                    run.settings,
                    run.seed,
                    flow.flow.as_str(),
                    bin.from_bytes,
                    bin.to_bytes,
                    bin.mean_bytes,
                    bin.response.count,
                    bin.response.mean_s,
                    bin.response.p50_s,
                    bin.response.p95_s,
                    bin.response.p99_s,
                    bin.response.max_s,
                ]);
            }
        }
    }
    table
}

fn series(axes: &[String], runs: &[RunResults]) -> Table {
    let columns = ["seed", "of", "quantity", "unit", "time_s", "value"];
    let mut table = Table::new(axes, &columns);
    for run in runs {
        for series in &run.series {
            for (&time, &value) in series.time_s.iter().zip(&series.value) {
                table.rows.push(row![
                    run.settings,
                    run.seed,
                    series.of.as_str(),
                    series.quantity.as_str(),
                    series.unit.as_str(),
                    time,
                    value,
                ]);
            }
        }
    }
    table
}
