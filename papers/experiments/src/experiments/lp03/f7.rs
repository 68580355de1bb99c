// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 7: TCP-LP beside streams of ACKs, by its threshold.

use netnice_results::RunResults;

use super::threshold::{Cross, DELTA, LINK, choices, figures};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, share_of_link};

pub(crate) fn experiment() -> Experiment {
    let place = "III-D.2, Figure 7";
    Experiment {
        id: "LP03-F7",
        paper: Paper::Lp03,
        title: "The choice of delta: TCP-LP beside streams of ACKs",
        question: "From which threshold on does TCP-LP not mistake the ACKs of others for congestion?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "robust",
                "TCP-LP with delta = 0.15 beside ACKs, of what Reno gets there",
                "%",
                (
                    "robust in utilizing available bandwidth",
                    Rule::AtLeast(90.0),
                ),
                place,
            ),
            Claim::statement(
                "small",
                "TCP-LP with delta = 0.02, of what it gets with 0.15",
                "%",
                (
                    "very small thresholds substantially degrade throughput",
                    Rule::AtMost(80.0),
                ),
                place,
            ),
        ],
        studies: vec![
            Cross::Acks.thresholds(),
            Cross::Acks.reno(),
            Cross::Acks.ideal(),
        ],
        evaluate,
    }
}

/// In words: from which threshold on TCP-LP gets nine tenths of what Reno gets.
fn enough(measured: &Measured<'_>) -> String {
    let share = |point: &MeasuredPoint<'_>| Some(point.share_of_link("low", LINK)?.mean);
    let reno = share(Cross::Acks.at_reno(measured));
    let mut points = Cross::Acks.measured(measured).points.iter();
    let enough = points.find(|point| {
        share(point)
            .zip(reno)
            .is_some_and(|(low, reno)| low >= 0.9 * reno)
    });
    let own = "TCP-LP's own data comes in bursts, as its ACKs are compressed by the data in the other direction";
    match enough {
        Some(point) => format!(
            "{own}; it takes a delta of {} to get nine tenths of Reno's",
            point.setting(DELTA)
        ),
        None => format!("{own}; no delta up to 0.5 gives nine tenths of Reno's"),
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let share = |run: &RunResults| share_of_link(run, "low", LINK);
    let chosen = Cross::Acks.at(measured, "0.15");
    let robust = chosen.and_then(|chosen| {
        chosen.paired(Cross::Acks.at_reno(measured), |low, reno| {
            Some(100.0 * share(low)? / share(reno)?)
        })
    });
    findings.value_or_reason("robust", robust, enough(measured));
    let small = chosen.and_then(|chosen| {
        let small = Cross::Acks.at(measured, "0.02")?;
        small.paired(chosen, |small, chosen| {
            Some(100.0 * share(small)? / share(chosen)?)
        })
    });
    findings.value("small", small);
    findings.figures = figures(measured, &[Cross::Acks], "lp03-f7");
    findings
}
