// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 8: TCP-LP beside streams of data, and of data and ACKs, by its threshold.

use super::threshold::{Cross, LINK, choices, figures};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, share_of_link};

pub(crate) fn experiment() -> Experiment {
    let place = "III-D.2, Figure 8";
    Experiment {
        id: "LP03-F8",
        paper: Paper::Lp03,
        title: "The choice of delta: TCP-LP beside streams of data",
        question: "Up to which threshold does TCP-LP still give way to the data of others?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "data",
                "TCP-LP with delta = 0.15 beside data",
                "% of the link",
                (
                    "retains its responsive nature: 2.7 in Table I",
                    Rule::AtMost(2.97),
                ),
                place,
            )
            .concluding(
                "it retains its responsive nature: no more than twice as much",
                Rule::AtMost(5.4),
            ),
            Claim::statement(
                "both",
                "TCP-LP with delta = 0.15 beside data and ACKs, of what TCP gets",
                "%",
                (
                    "retains its responsive nature: 7.3 of 49.3, 14.8, in Table I",
                    Rule::AtMost(16.3),
                ),
                place,
            )
            .concluding(
                "it retains its responsive nature: no more than twice as much",
                Rule::AtMost(29.6),
            ),
        ],
        studies: vec![
            Cross::Data.thresholds(),
            Cross::Both.thresholds(),
            Cross::Data.ideal(),
            Cross::Both.ideal(),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let data = Cross::Data.at(measured, "0.15");
    findings.value(
        "data",
        data.and_then(|point| point.share_of_link("low", LINK)),
    );
    let both = Cross::Both.at(measured, "0.15").and_then(|point| {
        point.estimate(|run| {
            Some(100.0 * share_of_link(run, "low", LINK)? / share_of_link(run, "tcp", LINK)?)
        })
    });
    findings.value("both", both);
    findings.figures = figures(measured, &[Cross::Data, Cross::Both], "lp03-f8");
    findings
}
