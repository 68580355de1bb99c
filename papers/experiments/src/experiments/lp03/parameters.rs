// SPDX-License-Identifier: MIT OR Apache-2.0
//! Section III-D: delta, gamma and the inference time-out with hundreds of flows and several bottlenecks.

use netnice_results::{Estimate, RunResults};
use netnice_study::{Scale, Table, written_or_dash};

use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::{Findings, exact};
use crate::measured::{Measured, MeasuredPoint, queue};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_many_flows.toml");
const QUICK: Scale = Scale::new(4, 70);
const FULL: Scale = Scale::new(10, 70);
const PLACE: &str = "III-D";

const TCP: [&str; 3] = ["tcp0", "tcp1", "tcp2"];
const LOW: [&str; 4] = ["low_long", "low0", "low1", "low2"];
const HOPS: [&str; 3] = ["hop0", "hop1", "hop2"];
/// Phases of the scenario: beside TCP, and after it.
const BESIDE: usize = 0;
const AFTER: usize = 1;

/// Parameters with other values than the paper's, one at a time.
const OTHERS: [(&str, [&str; 2]); 3] = [
    ("delta", ["0.02", "0.5"]),
    ("gamma", ["0.016", "1.0"]),
    ("inference_rtts", ["1", "10"]),
];

fn study(name: &str) -> Study {
    Study::new(format!("lp03_parameters_{name}"), FILE, QUICK, FULL)
}

pub(crate) fn experiment() -> Experiment {
    let claim = |key, what, unit, reported| Claim::statement(key, what, unit, reported, PLACE);
    let mut studies = vec![
        LOW.iter().fold(study("without"), |study, low| {
            study.set(&format!("flows.{low}.count"), "0")
        }),
        study("chosen"),
    ];
    studies.extend(OTHERS.map(|(parameter, values)| study(parameter).sweep(parameter, &values)));
    Experiment {
        id: "LP03-parameters",
        paper: Paper::Lp03,
        title: "delta, gamma and the inference time-out with hundreds of flows",
        question: "Are the paper's values a compromise between giving way and using what is left, with hundreds of flows over several bottlenecks of unlike capacity?",
        choices: vec![
            Choice::new(
                "the scenarios, which the paper does not show",
                "three hops of 45, 30 and 60 Mb/s; 40 TCP flows over each, which end after 40 s; 40 TCP-LP flows over all three and 20 over each; 20 TCP flows in the other direction throughout",
            ),
            Choice::new(
                "responsive, and robust",
                "what TCP keeps of what it gets without TCP-LP, from 15 to 40 s; what TCP-LP uses of the three hops from 45 to 70 s, when there are only the ACKs of others",
            ),
            Choice::new(
                "smaller and larger values",
                "delta 0.02 and 0.5, gamma 1/64 and 1, an inference time-out of 1 and 10 round trips",
            ),
        ],
        claims: vec![
            claim(
                "small_delta",
                "delta 0.02: what TCP-LP uses after TCP, of that with 0.15",
                "%",
                (
                    "very small thresholds can substantially degrade throughput",
                    Rule::AtMost(80.0),
                ),
            ),
            claim(
                "large_delta",
                "delta 0.5: what TCP keeps, less that with 0.15",
                "points",
                (
                    "responsiveness decreases when delta increases",
                    Rule::AtMost(0.0),
                ),
            ),
            claim(
                "compromise",
                "delta 0.15: the lesser of what TCP keeps and what is used after it, less the best of that with 0.02 and 0.5",
                "points",
                (
                    "0.15 is a high performance compromise with hundreds of flows, unlike capacities and several bottlenecks",
                    Rule::AtLeast(0.0),
                ),
            ),
            claim(
                "small_gamma",
                "gamma 1/64: what TCP keeps, less that with 1/8",
                "points",
                (
                    "smoothing over long intervals degrades early detection",
                    Rule::AtMost(0.0),
                ),
            ),
            claim(
                "large_gamma",
                "gamma 1, no smoothing: what TCP-LP uses after TCP, of that with 1/8",
                "%",
                (
                    "smoothing is essential against false indications",
                    Rule::AtMost(90.0),
                ),
            ),
            claim(
                "long_time_out",
                "time-out of 10 round trips: what TCP keeps, less that with 3",
                "points",
                (
                    "a longer time-out makes TCP-LP more responsive",
                    Rule::AtLeast(0.0),
                ),
            ),
            claim(
                "short_time_out",
                "time-out of one round trip: what TCP-LP gets beside TCP, of that with 3",
                "%",
                (
                    "a shorter time-out makes it more aggressive",
                    Rule::AtLeast(100.0),
                ),
            ),
        ],
        studies,
        evaluate,
    }
}

/// Goodput of groups in a phase.
fn goodput_bps(run: &RunResults, groups: &[&str], phase: usize) -> Option<f64> {
    let flows = run.flows.iter();
    let of_groups = flows.filter(|flow| groups.contains(&flow.group.as_str()));
    let phases = of_groups.map(|flow| Some(flow.phases.get(phase)?.goodput_bps));
    phases.sum()
}

/// TCP's goodput while there is TCP.
fn tcp_bps(run: &RunResults) -> Option<f64> {
    goodput_bps(run, &TCP, BESIDE)
}

/// TCP-LP's beside it.
fn low_bps(run: &RunResults) -> Option<f64> {
    goodput_bps(run, &LOW, BESIDE)
}

/// Per cent of its goodput without TCP-LP that TCP keeps.
fn kept(point: &MeasuredPoint<'_>, without: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.paired(without, |run, without| {
        Some(100.0 * tcp_bps(run)? / tcp_bps(without)?)
    })
}

/// TCP-LP's goodput over the hops after TCP's end, in per cent of their rates.
fn used(point: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.estimate(used_of)
}

fn used_of(run: &RunResults) -> Option<f64> {
    // The long flows cross all hops.
    let crossing = goodput_bps(run, &LOW, AFTER)? + 2.0 * goodput_bps(run, &LOW[..1], AFTER)?;
    let rates = HOPS.map(|hop| queue(run, hop).map(|queue| queue.rate_bps as f64));
    Some(100.0 * crossing / rates.into_iter().sum::<Option<f64>>()?)
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let without = measured.point("lp03_parameters_without");
    let chosen = measured.point("lp03_parameters_chosen");
    let others = |parameter: &str| {
        &measured
            .study(&format!("lp03_parameters_{parameter}"))
            .points
    };
    let [delta, gamma, time_out] = OTHERS.map(|(parameter, _)| others(parameter));
    let points = |point: &MeasuredPoint<'_>| {
        let pairs = point.runs.iter().zip(&chosen.runs).zip(&without.runs);
        let values = pairs.map(|((run, chosen), without)| {
            Some(100.0 * (tcp_bps(run)? - tcp_bps(chosen)?) / tcp_bps(without)?)
        });
        Estimate::of(&values.collect::<Option<Vec<f64>>>()?)
    };
    let of_used = |point: &MeasuredPoint<'_>| {
        point.paired(chosen, |run, chosen| {
            Some(100.0 * used_of(run)? / used_of(chosen)?)
        })
    };
    findings.value("small_delta", of_used(&delta[0]));
    findings.value("large_delta", points(&delta[1]));
    let lesser = |point: &MeasuredPoint<'_>| {
        let (kept, used) = kept(point, without).zip(used(point))?;
        Some(kept.mean.min(used.mean))
    };
    let best = lesser(&delta[0]).zip(lesser(&delta[1]));
    let compromise = lesser(chosen).zip(best.map(|(small, large)| small.max(large)));
    findings.value(
        "compromise",
        compromise.and_then(|(chosen, best)| exact(chosen - best)),
    );
    findings.value("small_gamma", points(&gamma[0]));
    findings.value("large_gamma", of_used(&gamma[1]));
    findings.value("long_time_out", points(&time_out[1]));
    let beside = time_out[0].paired(chosen, |run, chosen| {
        Some(100.0 * low_bps(run)? / low_bps(chosen)?)
    });
    findings.value("short_time_out", beside);
    let columns = [
        "",
        "TCP keeps, %",
        "TCP-LP beside TCP, Mb/s",
        "TCP-LP uses of the hops after TCP, %",
    ];
    let mut table = Table::new("220 flows over three bottlenecks", &columns);
    let mut row = |title: String, point: &MeasuredPoint<'_>| {
        let beside = point.estimate(|run| Some(low_bps(run)? / 1e6));
        let cells = [kept(point, without), beside, used(point)].map(written_or_dash);
        table
            .rows
            .push(std::iter::once(title).chain(cells).collect());
    };
    row("the paper's values".to_owned(), chosen);
    for (parameter, values) in OTHERS {
        for (value, point) in values.iter().zip(others(parameter)) {
            row(format!("{parameter} {value}"), point);
        }
    }
    findings.tables.push(table);
    findings
}
