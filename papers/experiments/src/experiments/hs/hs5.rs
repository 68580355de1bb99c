// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fairness among HSTCP-LP flows.

use netnice_study::Table;

use super::common::{choices, mbps, path};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;

const PLACE: &str = "slides: Problem Formulation, Fairness Among LP Flows";
const COUNT: &str = "flows.bulk.count";
const FLOWS: [&str; 2] = ["2", "4"];

fn study() -> Study {
    path("fairness", "hstcplp").sweep(COUNT, &FLOWS)
}

pub(crate) fn experiment() -> Experiment {
    let claims = FLOWS.map(|flows| {
        Claim::statement(
            flows,
            &format!("Jain's index of {flows} HSTCP-LP flows"),
            "",
            (
                "inter-LP flow fairness: a fair share of the available bandwidth",
                Rule::AtLeast(0.95),
            ),
            PLACE,
        )
    });
    Experiment {
        id: "HS-5",
        paper: Paper::Hs,
        title: "Fairness among HSTCP-LP flows",
        question: "Do HSTCP-LP flows that have the path to themselves share it fairly?",
        choices: choices(),
        claims: claims.to_vec(),
        studies: vec![study()],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut table = Table::new("HSTCP-LP flows", &["flows", "Jain's index", "Mb/s of all"]);
    let mut rows = Vec::new();
    for (flows, point) in FLOWS.iter().zip(&measured.study(&study().name).points) {
        let jain = point.jain("bulk");
        findings.value(flows, jain);
        rows.push(((*flows).to_owned(), vec![jain, mbps(point, "bulk")]));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings
}
