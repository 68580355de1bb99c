// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large aggregation: as many TCP-LP flows as TCP flows.

use netnice_results::Estimate;
use netnice_study::Table;

use super::common::{FLOWS, choices, mbps, testbed};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;

const PLACE: &str = "TCP-Transparency";

/// The variants: study, name, kind of curve.
const VARIANTS: [(&str, &str, CurveKind); 3] = [
    (
        "tb_a_small",
        "TCP-LP with packets of 64 bytes",
        CurveKind::Ours,
    ),
    ("tb_a_full", "TCP-LP with full packets", CurveKind::Variant),
    (
        "tb_a_ideal",
        "strict priority (reference model)",
        CurveKind::Reference,
    ),
];

/// As many flows of each kind, from one to 20.
fn both(name: &str) -> Study {
    testbed(name).sweep("flows.tcp.count", FLOWS)
}

/// TCP-LP flows in the numbers of `FLOWS`: a study for each, as a sweep would make a grid of both numbers.
fn pairs(name: &str, settings: &[(&str, &str)]) -> Vec<Study> {
    let one = |&flows: &&str| {
        testbed(&format!("{name}_{flows}"))
            .set("flows.tcp.count", flows)
            .set("flows.low.count", flows)
            .set_all(settings)
    };
    FLOWS.iter().map(one).collect()
}

fn studies() -> Vec<Study> {
    let ideal = [
        ("queue", r#"{ discipline = "priority", limit = "2.5bdp" }"#),
        ("flows.low.congestion_control", "reno"),
    ];
    let mut studies = vec![both("a_alone").set("flows.low.count", "0")];
    studies.extend(pairs("a_small", &[("low_packet", "64B")]));
    studies.extend(pairs("a_full", &[]));
    studies.extend(pairs("a_ideal", &ideal));
    studies
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = choices();
    choices.push(Choice::new(
        "packets of 64 bytes when the window is one",
        "TCP-LP's packets are 64 bytes throughout: beside greedy TCP its window is one nearly always",
    ));
    let kept = |key, what| {
        Claim::statement(
            key,
            what,
            "%",
            (
                "TCP-LP remains TCP-transparent with many flows",
                Rule::AtLeast(97.3),
            ),
            PLACE,
        )
    };
    Experiment {
        id: "TB-A",
        paper: Paper::Tb,
        title: "As many TCP-LP flows as TCP flows, up to 20",
        question: "Does TCP stay undisturbed however many TCP-LP flows there are?",
        choices,
        claims: vec![
            kept(
                "one",
                "one TCP and one TCP-LP flow: what TCP keeps of what it gets alone",
            ),
            kept("twenty", "20 TCP and 20 TCP-LP flows: what TCP keeps"),
            kept("worst", "least that TCP keeps over all numbers of flows"),
        ],
        studies: studies(),
        evaluate,
    }
}

/// TCP's goodput in per cent of what as many flows get alone.
fn kept(measured: &Measured<'_>, study: &str, number: usize) -> Option<Estimate> {
    let alone = measured.study("tb_a_alone").points.get(number)?;
    let beside = measured.point(&format!("{study}_{}", FLOWS[number]));
    beside.paired(alone, |beside, alone| {
        Some(100.0 * mbps(beside, "tcp") / mbps(alone, "tcp"))
    })
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let last = FLOWS.len() - 1;
    let small = |number| kept(measured, "tb_a_small", number);
    findings.value("one", small(0));
    findings.value("twenty", small(last));
    let all: Option<Vec<Estimate>> = (0..FLOWS.len()).map(small).collect();
    let worst = all.and_then(|all| all.into_iter().min_by(|a, b| a.mean.total_cmp(&b.mean)));
    findings.value("worst", worst);
    let mut columns = vec!["flows of each"];
    columns.extend(VARIANTS.iter().map(|&(_, name, _)| name));
    let mut table = Table::new("What TCP keeps, %", &columns);
    let mut curves: Vec<Curve> = VARIANTS
        .iter()
        .map(|&(_, name, kind)| Curve::new(name, kind))
        .collect();
    let mut rows = Vec::new();
    for (number, flows) in FLOWS.iter().enumerate() {
        let mut row = Vec::new();
        for ((study, _, _), curve) in VARIANTS.iter().zip(&mut curves) {
            let value = kept(measured, study, number);
            curve.add(flows.parse().unwrap_or(f64::NAN), value);
            row.push(value);
        }
        rows.push(((*flows).to_owned(), row));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings.figures.push(Figure {
        name: "tb-a".to_owned(),
        title: "What TCP keeps beside as many TCP-LP flows".to_owned(),
        caption: "Throughput of n TCP flows beside n TCP-LP flows, of what they get alone."
            .to_owned(),
        kind: FigureKind::Lines,
        x: Axis::linear("flows of each kind", ""),
        y: Axis::linear("kept by TCP", "%"),
        curves,
    });
    findings
}
