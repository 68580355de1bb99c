// SPDX-License-Identifier: MIT OR Apache-2.0
//! Square-wave UDP on the testbed: the part of the excess that one TCP-LP flow and ten use.

use netnice_results::Estimate;
use netnice_study::Scale;

use super::common::choices;
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, mean, throughput};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_square_wave.toml");
const QUICK: Scale = Scale::new(4, 150);
const FULL: Scale = Scale::new(50, 1000);
const PLACE: &str = "Topology Creation and Transmission";

/// From 50 ms to 51.2 s.
const PERIODS: &[&str] = &["50ms", "200ms", "800ms", "3.2s", "12.8s", "51.2s"];

/// The kernel's TCP.
const KERNEL: &[(&str, &str)] = &[
    ("recovery", "sack"),
    ("delayed_ack", "true"),
    ("min_rto", "200ms"),
    ("tick", "1ms"),
];

/// The mean excess: 10 Mb/s less half of two thirds.
const EXCESS_BPS: f64 = 10e6 - 6.666e6 / 2.0;

fn study(name: &str, control: &str, flows: &str) -> Study {
    Study::new(format!("tb_b_{name}"), FILE, QUICK, FULL)
        .set_all(KERNEL)
        .set("wave_packet", "1040B")
        .set("flows.bulk.congestion_control", control)
        .set("flows.bulk.count", flows)
        .sweep("period", PERIODS)
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "TB-B",
        paper: Paper::Tb,
        title: "Square-wave UDP on the testbed",
        question: "Do one TCP-LP flow and many use what highly dynamic cross-traffic leaves?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "one",
                "one flow of TCP-LP, of what one flow of TCP gets, mean over the periods",
                "%",
                (
                    "as in the first paper's Figure 11: the curves are alike",
                    Rule::AtLeast(80.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "many",
                "ten flows of TCP-LP: part of the excess, mean over the periods",
                "%",
                (
                    "aggregates successfully utilize the excess",
                    Rule::AtLeast(80.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "long",
                "one flow of TCP-LP at a period of 51.2 s: part of the excess",
                "%",
                ("a single flow utilizes the excess", Rule::AtLeast(80.0)),
                PLACE,
            ),
        ],
        studies: vec![
            study("tcp", "reno", "1"),
            study("one", "tcplp", "1"),
            study("ten", "tcplp", "10"),
        ],
        evaluate,
    }
}

fn of_excess(point: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.estimate(|run| Some(100.0 * throughput(run, "bulk")? / EXCESS_BPS))
}

/// The mean of a study's points, or of their ratios to another's.
fn mean_over_periods(values: &[Option<Estimate>]) -> Option<f64> {
    let means: Option<Vec<f64>> = values
        .iter()
        .map(|value| value.map(|value| value.mean))
        .collect();
    let means = means?;
    Some(mean(&means))
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let points = |study: &str| &measured.study(study).points;
    let ratios: Vec<Option<Estimate>> = points("tb_b_one")
        .iter()
        .zip(points("tb_b_tcp"))
        .map(|(one, tcp)| {
            one.paired(tcp, |one, tcp| {
                Some(100.0 * throughput(one, "bulk")? / throughput(tcp, "bulk")?)
            })
        })
        .collect();
    findings.value(
        "one",
        mean_over_periods(&ratios).and_then(crate::findings::exact),
    );
    let ten: Vec<Option<Estimate>> = points("tb_b_ten").iter().map(of_excess).collect();
    findings.value(
        "many",
        mean_over_periods(&ten).and_then(crate::findings::exact),
    );
    findings.value("long", points("tb_b_one").last().and_then(of_excess));
    let curve = |name: &str, study: &str| {
        let looks = (name, CurveKind::Ours);
        measured.study(study).curve(looks, "period", of_excess)
    };
    findings.figures.push(Figure {
        name: "tb-b".to_owned(),
        title: "Square-wave UDP on the testbed".to_owned(),
        caption: "Throughput in per cent of the average excess, against the period of the square wave; with the TCP of a Linux kernel.".to_owned(),
        kind: FigureKind::Lines,
        x: Axis::logarithmic("period of the square wave", "s"),
        y: Axis::linear("throughput", "% of the excess"),
        curves: vec![
            curve("TCP", "tb_b_tcp"),
            curve("TCP-LP", "tb_b_one"),
            curve("ten TCP-LP", "tb_b_ten"),
        ],
    });
    findings
}
