// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 18: the same in parts of the response times beside FTP over TCP.

use netnice_results::Estimate;

use super::f14;
use super::f17::{SETTING, choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;

pub(crate) fn experiment() -> Experiment {
    let place = "V-E.2, Figure 18";
    let mut studies = SETTING.studies();
    studies.extend(f14::SETTING.studies());
    Experiment {
        id: "LP03-F18",
        paper: Paper::Lp03,
        title: "Three congested hops: FTP over TCP-LP and over TCP over all of them",
        question: "Is the gain over TCP still there where the bulk transfer has a long round-trip time?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "shorter",
                "by how much response times are shorter beside TCP-LP",
                "%",
                ("the benefit still holds", Rule::AtLeast(20.0)),
                place,
            ),
            Claim::statement(
                "less",
                "the same less that on one bottleneck (Figure 15)",
                "points",
                ("less pronounced", Rule::AtMost(0.0)),
                place,
            ),
        ],
        studies,
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let here = SETTING.reduction(measured, "tcplp");
    findings.value("shorter", here);
    let one = f14::SETTING.reduction(measured, "tcplp");
    findings.value(
        "less",
        here.zip(one).map(|(here, one)| difference(&here, &one)),
    );
    findings.figures.push(SETTING.ratios(
        measured,
        "lp03-f18",
        "Three hops: response times in parts of those beside TCP",
    ));
    findings
}

/// The difference of two independent means; the squares of the half widths add up.
fn difference(a: &Estimate, b: &Estimate) -> Estimate {
    let squares = a.half_width_95.zip(b.half_width_95);
    Estimate {
        mean: a.mean - b.mean,
        half_width_95: squares.map(|(a, b)| a.hypot(b)),
        min: a.min - b.max,
        max: a.max - b.min,
        runs: a.runs.min(b.runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_add_up_in_squares() {
        let estimate = |mean, half_width| Estimate {
            mean,
            half_width_95: Some(half_width),
            min: mean,
            max: mean,
            runs: 4,
        };
        let found = difference(&estimate(50.0, 3.0), &estimate(80.0, 4.0));
        assert_eq!((found.mean, found.half_width_95), (-30.0, Some(5.0)));
    }
}
