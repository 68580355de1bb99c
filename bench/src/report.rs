// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a cell: means over runs with their spread.

use std::fmt::Write as _;

use netnice_lab::statistics::Summary;

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

    /// `value / reference`, run by run, or just `value` without a reference.
    fn row(&mut self, label: &str, values: Vec<f64>, reference: Option<Vec<f64>>, percent: bool) {
        let ratios: Vec<f64> = match reference {
            Some(reference) => values.iter().zip(&reference).map(|(v, r)| v / r).collect(),
            None => values,
        };
        let Some(summary) = Summary::of(&ratios) else {
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

/// The table of one cell.
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
        " worst p99 lateness of the link: {:.3} ms",
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
