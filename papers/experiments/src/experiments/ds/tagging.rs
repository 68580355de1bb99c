// SPDX-License-Identifier: MIT OR Apache-2.0
//! Section 5.2: a token bucket in place of the time sliding window.

use netnice_results::{Estimate, RunResults};
use netnice_study::Table;

use super::common::{Setup, TARGETS_BPS, choices};
use super::phases::{CONGESTED, OVER_PROVISIONED, PHASES, throughput_mbps_of};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, mean};
use crate::study::Study;
use netnice_study::written_or_dash;

const PLACE: &str = "2.2 and 5.2";

/// The setups with taggers.
const SETUPS: [Setup; 2] = [Setup::ModifiedRio, Setup::StandardRio];

/// A token bucket on each flow's link, that holds what the flow's target rate fills in 200 ms.
fn token_bucket(setup: Setup) -> Study {
    let study = setup.study();
    let name = format!("{}_token_bucket", study.name);
    let study = TARGETS_BPS
        .iter()
        .enumerate()
        .fold(study, |study, (flow, target)| {
            let bucket = format!(
                r#"{{ kind = "token_bucket", rate = "{target}bit", burst = "{}B" }}"#,
                target / 8 / 5
            );
            study.set(&format!("links.tcp{flow}_source-left.marker"), &bucket)
        });
    study.renamed(&name)
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = choices();
    choices.push(Choice::new(
        "depth of the token bucket",
        "what the target rate fills in 200 ms, the window of TSW",
    ));
    Experiment {
        id: "DS-tagging",
        paper: Paper::Ds,
        title: "A token bucket in place of the time sliding window",
        question: "Does TCP that knows its target rate need a tagger made for TCP?",
        choices,
        claims: vec![
            Claim::statement(
                "well",
                "modified TCP, token bucket: least part of its target that a flow gets while congested",
                "%",
                (
                    "TCP would perform well without a probabilistic tagging function",
                    Rule::AtLeast(90.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "differs",
                "modified TCP: difference between the taggers, of the target, mean over flows and three phases",
                "%",
                ("a simple token bucket could be used", Rule::AtMost(10.0)),
                PLACE,
            ),
            Claim::statement(
                "less",
                "the same less that of standard TCP",
                "points",
                (
                    "less dependent on the tagging when TCP has the mechanisms",
                    Rule::AtMost(0.0),
                ),
                PLACE,
            ),
        ],
        studies: SETUPS
            .iter()
            .flat_map(|&setup| [setup.study(), token_bucket(setup)])
            .collect(),
        evaluate,
    }
}

/// A flow's throughput in a phase, in per cent of its target.
fn of_target(run: &RunResults, flow: usize, phase: usize) -> Option<f64> {
    let mbps = throughput_mbps_of(run, &format!("tcp{flow}"), phase)?;
    Some(100.0 * mbps * 1e6 / f64::from(TARGETS_BPS[flow]))
}

/// The mean distance of two runs, over the flows and the phases in which the targets fill the link.
fn distance(run: &RunResults, other: &RunResults) -> Option<f64> {
    let phases = 0..OVER_PROVISIONED;
    let pairs = phases.flat_map(|phase| (0..TARGETS_BPS.len()).map(move |flow| (flow, phase)));
    let all = pairs.map(|(flow, phase)| {
        Some((of_target(run, flow, phase)? - of_target(other, flow, phase)?).abs())
    });
    let all = all.collect::<Option<Vec<f64>>>()?;
    Some(mean(&all))
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let sliding = |setup: Setup| measured.point(&setup.study().name);
    let bucket = |setup: Setup| measured.point(&token_bucket(setup).name);
    let [modified, standard] = SETUPS;
    let least = bucket(modified).estimate(|run| {
        let all = (0..TARGETS_BPS.len()).map(|flow| of_target(run, flow, CONGESTED));
        all.collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::min)
    });
    findings.value("well", least);
    let distances = |setup: Setup| {
        let pairs = bucket(setup).runs.iter().zip(&sliding(setup).runs);
        let all = pairs.map(|(run, other)| distance(run, other));
        all.collect::<Option<Vec<f64>>>()
    };
    let of = |values: Option<Vec<f64>>| values.and_then(|values| Estimate::of(&values));
    findings.value("differs", of(distances(modified)));
    let pairs = distances(modified).zip(distances(standard));
    let less = pairs.map(|(modified, standard)| {
        let pairs = modified.iter().zip(&standard);
        pairs
            .map(|(modified, standard)| modified - standard)
            .collect()
    });
    findings.value("less", of(less));
    for setup in SETUPS {
        findings
            .tables
            .push(table(setup, sliding(setup), bucket(setup)));
    }
    findings
}

/// Throughput in per cent of the target, by TSW and by the bucket.
fn table(setup: Setup, sliding: &MeasuredPoint<'_>, bucket: &MeasuredPoint<'_>) -> Table {
    let title = format!("{}: % of the target, TSW and token bucket", setup.title());
    let columns = ["flow", PHASES[0], PHASES[1], PHASES[2]];
    let mut table = Table::new(&title, &columns);
    for flow in 0..TARGETS_BPS.len() {
        let mut row = vec![format!("TCP{flow}")];
        row.extend((0..OVER_PROVISIONED).map(|phase| {
            let cell = |point: &MeasuredPoint<'_>| {
                written_or_dash(point.estimate(|run| of_target(run, flow, phase)))
            };
            format!("{}; {}", cell(sliding), cell(bucket))
        }));
        table.rows.push(row);
    }
    table
}
