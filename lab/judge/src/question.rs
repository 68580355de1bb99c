// SPDX-License-Identifier: MIT OR Apache-2.0
//! The questions of RFC 9743, section 5, answered from the figures: a line each.

use serde::Serialize;

use crate::cell::Cell;

/// A question that figures answer.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Its heading in RFC 9743.
    pub title: &'static str,
    /// Condition that each cell is checked for.
    pub asks: &'static str,
    /// The figure that answers it.
    pub figure: &'static str,
    /// The rivals in whose cells it is asked; `none` for the control alone.
    pub rivals: &'static [&'static str],
    /// The bound of a yes, and whether values must stay below it.
    pub bound: f64,
    /// True if the figure must be at most the bound, else at least.
    pub at_most: bool,
}

/// All questions; a new one is a line.
#[rustfmt::skip]
pub const QUESTIONS: &[Question] = &[
    Question { title: "Protection against congestion collapse", asks: "does the rival keep 90 % of its goodput?", figure: "harm", rivals: &["cubic", "reno"], bound: 0.1, at_most: true },
    Question { title: "Protection against bufferbloat", asks: "is the mean queue of the control alone at most 20 ms?", figure: "queue_s", rivals: &["none"], bound: 0.02, at_most: true },
    Question { title: "Protection against high packet loss", asks: "does the rival lose at most 1 % more of its packets?", figure: "loss", rivals: &["cubic", "reno", "call", "udp-square", "on-off"], bound: 0.01, at_most: true },
    Question { title: "Fairness within the proposed algorithm", asks: "is Jain's index of two connections at least 0.9?", figure: "jain", rivals: &["itself"], bound: 0.9, at_most: false },
    Question { title: "Short flows", asks: "is at most a tenth of the time of short transfers and pages due to the control?", figure: "harm_delay", rivals: &["short", "web"], bound: 0.1, at_most: true },
    Question { title: "Existing general-purpose algorithms", asks: "does the control take at most 5 % beside CUBIC and Reno?", figure: "share", rivals: &["cubic", "reno"], bound: 0.05, at_most: true },
    Question { title: "Real-time algorithms", asks: "does a call's 95th percentile of delays grow by at most a quarter of itself?", figure: "harm_delay", rivals: &["call"], bound: 0.25, at_most: true },
    Question { title: "Use of an idle path", asks: "does the control alone have at least 90 % of CUBIC's goodput? (not RFC 9743's)", figure: "alone", rivals: &["none"], bound: 0.9, at_most: false },
];

/// The answer to a question for a control.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Heading of the question.
    pub question: &'static str,
    /// The question.
    pub asks: &'static str,
    /// The control.
    pub control: String,
    /// Cells in which the answer is yes.
    pub yes: usize,
    /// Cells that were measured.
    pub cells: usize,
    /// Worst value; `None` if no cell was measured.
    pub worst: Option<f64>,
    /// Cell of the worst value, as `PATH.RIVAL`.
    pub worst_cell: String,
    /// Name of the figure.
    pub figure: &'static str,
}

impl Question {
    /// Answers the question for a control.
    pub fn answer(&self, control: &str, cells: &[Cell]) -> Answer {
        let own = cells
            .iter()
            .filter(|cell| cell.control == control && self.rivals.contains(&cell.rival.as_str()));
        let values: Vec<(f64, String)> = own
            .filter_map(|cell| {
                let value = cell.figures.get(self.figure)?.mean;
                Some((value, format!("{}.{}", cell.path, cell.rival)))
            })
            .collect();
        let sign = if self.at_most { 1.0 } else { -1.0 };
        let worst = values
            .iter()
            .max_by(|a, b| (sign * a.0).total_cmp(&(sign * b.0)));
        Answer {
            question: self.title,
            asks: self.asks,
            control: control.to_owned(),
            yes: values
                .iter()
                .filter(|(value, _)| sign * value <= sign * self.bound)
                .count(),
            cells: values.len(),
            worst: worst.map(|(value, _)| *value),
            worst_cell: worst.map(|(_, cell)| cell.clone()).unwrap_or_default(),
            figure: self.figure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FIGURES;
    use crate::rival::RIVALS;

    #[test]
    fn questions_name_figures_and_rivals_that_exist() {
        for question in QUESTIONS {
            assert!(FIGURES.iter().any(|figure| figure.name == question.figure));
            for name in question.rivals {
                assert!(*name == "none" || RIVALS.iter().any(|rival| rival.name == *name));
            }
        }
    }
}
