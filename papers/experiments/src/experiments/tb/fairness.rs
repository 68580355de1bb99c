// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fairness among TCP-LP flows.

use super::common::{choices, mbps, testbed};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::Measured;

const PLACE: &str = "Topology Creation and Transmission";
const FLOWS: &[&str] = &["2", "5", "10", "20"];

pub(crate) fn experiment() -> Experiment {
    let claims = FLOWS.iter().map(|flows| {
        Claim::statement(
            flows,
            &format!("Jain's index of {flows} TCP-LP flows"),
            "",
            (
                "TCP-LP flows share excess bandwidth fairly",
                Rule::AtLeast(0.95),
            ),
            PLACE,
        )
        .concluding("nearly fairly", Rule::AtLeast(0.85))
    });
    let mut claims: Vec<Claim> = claims.collect();
    claims.push(
        Claim::statement(
            "used",
            "throughput of ten TCP-LP flows",
            "% of the link",
            (
                "aggregates utilize the available bandwidth",
                Rule::AtLeast(80.0),
            ),
            PLACE,
        )
        .concluding("more than half", Rule::AtLeast(50.0)),
    );
    let study = |name: &str, control: &str| {
        testbed(name)
            .set("flows.tcp.count", "0")
            .set("flows.low.congestion_control", control)
            .sweep("flows.low.count", FLOWS)
    };
    Experiment {
        id: "TB-C",
        paper: Paper::Tb,
        title: "Fairness among TCP-LP flows",
        question: "Do TCP-LP flows that have the link to themselves share it fairly?",
        choices: choices(),
        claims,
        studies: vec![study("c", "tcplp"), study("c_reno", "reno")],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let points = &measured.study("tb_c").points;
    let mut curves = [
        Curve::new("TCP-LP", CurveKind::Ours),
        Curve::new("TCP", CurveKind::Ours),
    ];
    for (flows, (low, tcp)) in FLOWS
        .iter()
        .zip(points.iter().zip(&measured.study("tb_c_reno").points))
    {
        findings.value(flows, low.jain("low"));
        let number = flows.parse().unwrap_or(f64::NAN);
        curves[0].add(number, low.jain("low"));
        curves[1].add(number, tcp.jain("low"));
    }
    let ten = points
        .iter()
        .find(|point| point.setting("flows.low.count") == "10");
    let used = ten.and_then(|ten| ten.estimate(|run| Some(100.0 * mbps(run, "low") / 10.0)));
    findings.value("used", used);
    findings.figures.push(Figure {
        name: "tb-c".to_owned(),
        title: "Fairness among flows of one kind".to_owned(),
        caption: "Jain's index of the goodputs, against the number of flows.".to_owned(),
        kind: FigureKind::Lines,
        x: Axis::linear("flows", ""),
        y: Axis::linear("Jain's index", ""),
        curves: curves.to_vec(),
    });
    findings
}
