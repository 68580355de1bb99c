// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fairness among TCP-LP flows.

use super::common::{choices, mbps, testbed};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredStudy};

const PLACE: &str = "Topology Creation and Transmission";
const COUNT: &str = "flows.low.count";
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
    });
    let mut claims: Vec<Claim> = claims.collect();
    claims.push(Claim::statement(
        "used",
        "throughput of ten TCP-LP flows",
        "% of the link",
        (
            "aggregates utilize the available bandwidth",
            Rule::AtLeast(80.0),
        ),
        PLACE,
    ));
    let study = |name: &str, control: &str| {
        testbed(name)
            .set("flows.tcp.count", "0")
            .set("flows.low.congestion_control", control)
            .sweep(COUNT, FLOWS)
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
    let low = measured.study("tb_c");
    for (flows, point) in FLOWS.iter().zip(&low.points) {
        findings.value(flows, point.jain("low"));
    }
    let curve = |study: &MeasuredStudy<'_>, name: &str| {
        let looks = (name, CurveKind::Ours);
        study.curve(looks, COUNT, |point| point.jain("low"))
    };
    let ten = low.at(COUNT, "10");
    let used = ten.and_then(|ten| ten.estimate(|run| Some(100.0 * mbps(run, "low") / 10.0)));
    findings.value("used", used);
    findings.figures.push(Figure {
        name: "tb-c".to_owned(),
        title: "Fairness among flows of one kind".to_owned(),
        caption: "Jain's index of the goodputs, against the number of flows.".to_owned(),
        kind: FigureKind::Lines,
        x: Axis::linear("flows", ""),
        y: Axis::linear("Jain's index", ""),
        curves: vec![
            curve(low, "TCP-LP"),
            curve(measured.study("tb_c_reno"), "TCP"),
        ],
    });
    findings
}
