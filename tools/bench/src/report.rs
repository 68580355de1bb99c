// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table of a cell: means over runs with their spread.

use std::fmt::Write as _;

use netnice_scenario::results::Estimate;

use crate::trial::{Cell, Outcome, Test};

struct Table<'a> {
    outcomes: &'a [&'a Outcome],
    text: String,
}

impl Table<'_> {
    fn values(
        &self,
        test: Test,
        control: Option<&str>,
        rival: Option<&str>,
        name: &str,
    ) -> Vec<f64> {
        self.outcomes
            .iter()
            .filter(|outcome| {
                outcome.trial.test == test
                    && outcome.trial.control.as_deref() == control
                    && outcome.trial.rival.as_deref() == rival
            })
            .filter_map(|outcome| outcome.values.get(name).copied())
            .collect()
    }

    fn row(&mut self, label: &str, values: Vec<f64>, reference: Option<Vec<f64>>, percent: bool) {
        let Some(summary) = Estimate::of(&ratios(values, reference)) else {
            return;
        };
        let (scale, unit) = if percent { (100.0, " %") } else { (1.0, "") };
        let digits = if percent { 2 } else { 3 };
        let _ = writeln!(
            self.text,
            "  {label:<44} {:>8.digits$}{unit}  [{:.digits$} .. {:.digits$}]",
            summary.mean * scale,
            summary.min * scale,
            summary.max * scale,
        );
    }
}

/// Returns a row of Markdown for each cell: means over runs, in percent except for times and Jain's index.
pub fn grid(
    cells: &[Cell],
    outcomes: &[Outcome],
    control: &str,
    rivals: &[String],
    tests: &[Test],
) -> String {
    let mut columns: Vec<(String, Test, Column)> = Vec::new();
    for &test in tests {
        let mut column = |name: &str, column| columns.push((name.to_owned(), test, column));
        match test {
            Test::Alone => column("alone", Column::OfIdle("goodput")),
            Test::Beside => {
                for (index, rival) in rivals.iter().enumerate() {
                    column(&format!("beside {rival}"), Column::Beside(index, "share"));
                    column("it keeps", Column::Keeps(index));
                    column("back after, s", Column::Beside(index, "back"));
                }
            }
            Test::Web => {
                column("web mean", Column::OfNoBulk("web_mean"));
                column("p95", Column::OfNoBulk("web_p95"));
                column("bulk", Column::OfIdle("goodput"));
            }
            Test::Square => {
                column("square", Column::Percent("excess"));
                column("UDP lost", Column::Percent("udp_loss"));
            }
            Test::Two => {
                column("two", Column::OfIdle("goodput"));
                column("Jain", Column::Value("jain"));
            }
        }
    }
    let mut text = format!("\n{control}\n\n| cell |");
    for (name, ..) in &columns {
        let _ = write!(text, " {name} |");
    }
    let _ = write!(text, "\n| --- |{}", " --- |".repeat(columns.len()));
    for cell in cells {
        let of_cell: Vec<_> = outcomes.iter().filter(|o| o.trial.cell == *cell).collect();
        let table = Table {
            outcomes: &of_cell,
            text: String::new(),
        };
        let _ = write!(text, "\n| {cell} |");
        for (_, test, column) in &columns {
            let value = table.figure(control, rivals, *test, *column);
            let _ = match value {
                Some(value) if value.abs() >= 99.95 => write!(text, " {value:.0} |"),
                Some(value) if value.abs() >= 9.995 => write!(text, " {value:.1} |"),
                Some(value) => write!(text, " {value:.2} |"),
                None => write!(text, " |"),
            };
        }
    }
    text.push('\n');
    text
}

/// The figure of a column of the grid.
#[derive(Clone, Copy)]
enum Column {
    Value(&'static str),
    Percent(&'static str),
    /// Percentage of the first rival's goodput on an idle link.
    OfIdle(&'static str),
    /// Multiple of the value without bulk.
    OfNoBulk(&'static str),
    /// Beside the rival of this number: a share in percent, or seconds.
    Beside(usize, &'static str),
    /// The rival's goodput, of that which it gets alone.
    Keeps(usize),
}

impl Table<'_> {
    fn figure(&self, control: &str, rivals: &[String], test: Test, column: Column) -> Option<f64> {
        let own = Some(control);
        let name = |index: usize| rivals.get(index).map(String::as_str);
        let (values, reference, scale) = match column {
            Column::Value(value) => (self.values(test, own, None, value), None, 1.0),
            Column::Percent(value) => (self.values(test, own, None, value), None, 100.0),
            Column::OfIdle(value) => {
                let idle = self.values(Test::Alone, name(0), None, "goodput");
                (self.values(test, own, None, value), Some(idle), 100.0)
            }
            Column::OfNoBulk(value) => {
                let without = self.values(test, None, None, value);
                (self.values(test, own, None, value), Some(without), 1.0)
            }
            Column::Beside(index, value) => {
                let scale = if value == "share" { 100.0 } else { 1.0 };
                (self.values(test, own, name(index), value), None, scale)
            }
            Column::Keeps(index) => {
                let alone = self.values(Test::Alone, name(index), None, "goodput");
                let kept = self.values(test, own, name(index), "rival_goodput");
                (kept, Some(alone), 100.0)
            }
        };
        let summary = Estimate::of(&ratios(values, reference))?;
        Some(summary.mean * scale)
    }
}

/// Returns `value / reference`, run by run, or `value` without a reference.
fn ratios(values: Vec<f64>, reference: Option<Vec<f64>>) -> Vec<f64> {
    match reference {
        Some(reference) => values.iter().zip(&reference).map(|(v, r)| v / r).collect(),
        None => values,
    }
}

/// Returns the table of one cell.
pub fn table(cell: &Cell, outcomes: &[&Outcome], controls: &[String], rivals: &[String]) -> String {
    let mut table = Table {
        outcomes,
        text: format!("\n{cell}\n"),
    };
    let reference = rivals.first().map(String::as_str);
    for control in controls {
        let name = Some(control.as_str());
        let _ = writeln!(table.text, " {control}");
        let idle = table.values(Test::Alone, reference, None, "goodput");
        let alone = table.values(Test::Alone, name, None, "goodput");
        table.row(
            "alone, of what the first rival gets",
            alone,
            Some(idle.clone()),
            true,
        );
        for rival in rivals {
            let rival_name = Some(rival.as_str());
            let of = |value| table.values(Test::Beside, name, rival_name, value);
            let (share, kept, after, back) =
                (of("share"), of("rival_goodput"), of("after_1s"), of("back"));
            let rival_alone = table.values(Test::Alone, rival_name, None, "goodput");
            table.row(&format!("share beside {rival}"), share, None, true);
            table.row(&format!("{rival} keeps"), kept, Some(rival_alone), true);
            table.row(
                &format!("link taken 1 s after {rival} starts"),
                after,
                None,
                true,
            );
            table.row(
                &format!("seconds to 90 % after {rival} ends"),
                back,
                None,
                false,
            );
        }
        for (value, label) in [
            ("web_mean", "web mean, times no bulk"),
            ("web_p95", "web p95, times no bulk"),
        ] {
            let with = table.values(Test::Web, name, None, value);
            let without = table.values(Test::Web, None, None, value);
            table.row(label, with, Some(without), false);
        }
        let bulk = table.values(Test::Web, name, None, "goodput");
        table.row(
            "bulk during web, of the idle link",
            bulk,
            Some(idle.clone()),
            true,
        );
        let excess = table.values(Test::Square, name, None, "excess");
        table.row("square wave, share of the excess", excess, None, true);
        let loss = table.values(Test::Square, name, None, "udp_loss");
        table.row("square wave, UDP lost", loss, None, true);
        let both = table.values(Test::Two, name, None, "goodput");
        table.row("two flows together", both, Some(idle), true);
        let jain = table.values(Test::Two, name, None, "jain");
        table.row("two flows, Jain's index", jain, None, false);
    }
    let worst = outcomes.iter().map(|o| o.lateness_p99).fold(0.0, f64::max);
    let _ = writeln!(
        table.text,
        " worst p99 lateness of the network: {:.3} ms",
        worst * 1e3
    );
    for outcome in outcomes.iter().filter(|o| o.distrust.is_some()) {
        let _ = writeln!(
            table.text,
            " not to be trusted: {:?} {} run {}: {}",
            outcome.trial.test,
            outcome.trial.control.as_deref().unwrap_or("none"),
            outcome.trial.run,
            outcome.distrust.as_deref().unwrap_or_default(),
        );
    }
    table.text
}
