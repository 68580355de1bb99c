// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table 3: the mechanisms in end hosts and in routers, apart and together.

use super::common::{Setup, choices};
use super::phases::{CONGESTED, Row, START_UP, claims, evaluate, studies, throughput_mbps_of};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;

const ROWS: [Row; 4] = [
    Row {
        setup: Setup::StandardRed,
        number: 1,
        flows: &[
            ("tcp0", [0.676768, 0.491638, 0.723149, 0.832894]),
            ("tcp3", [1.622382, 1.126404, 1.585279, 1.804911]),
        ],
        cbr: 1.978168,
    },
    Row {
        setup: Setup::ModifiedRed,
        number: 2,
        flows: &[
            ("tcp0", [1.86133, 1.31369, 1.81553, 2.30319]),
            ("tcp3", [1.11268, 0.84987, 1.12360, 1.42987]),
        ],
        cbr: 1.92003,
    },
    Row {
        setup: Setup::StandardRio,
        number: 3,
        flows: &[
            ("tcp0", [1.43707, 1.32511, 1.40382, 1.49129]),
            ("tcp3", [1.05836, 0.90249, 1.11443, 1.37187]),
        ],
        cbr: 1.78891,
    },
    Row {
        setup: Setup::ModifiedRio,
        number: 4,
        flows: &[
            ("tcp0", [2.02678, 1.89689, 2.02658, 2.36111]),
            ("tcp3", [1.04109, 0.91049, 1.04853, 1.33992]),
        ],
        cbr: 1.00350,
    },
];

/// The scenarios in which the text says by how much TCP0 and TCP3 drop when the CBR source starts.
const DROPS: [Setup; 2] = [Setup::StandardRed, Setup::ModifiedRed];

fn drop_key(setup: Setup) -> String {
    format!("{}_drop", setup.name())
}

fn all_claims() -> Vec<Claim> {
    let drop = |setup: Setup| {
        let what = format!(
            "{}: drop of TCP0 and TCP3 when CBR starts, mean of both",
            setup.title()
        );
        Claim::value(&drop_key(setup), &what, "%", 30.0, "4.2")
            // The rounding of the text: its table's are 29.0 and 26.5.
            .judged_by(Rule::between(25.0, 35.0))
            .fitted()
    };
    let mut all = claims(&ROWS, "4.2, Table 3");
    all.extend(DROPS.map(drop));
    all
}

fn evaluated(measured: &Measured<'_>) -> Findings {
    let mut findings = evaluate(&ROWS, measured);
    for setup in DROPS {
        let point = measured.point(&setup.study().name);
        let drop = point.estimate(|run| {
            let mbps = |flow, phase| throughput_mbps_of(run, flow, phase);
            let part = |flow| Some(1.0 - mbps(flow, CONGESTED)? / mbps(flow, START_UP)?);
            Some(50.0 * (part("tcp0")? + part("tcp3")?))
        });
        findings.value(&drop_key(setup), drop);
    }
    findings
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "DS-T3",
        paper: Paper::Ds,
        title: "Throughput by mechanisms of end hosts and routers",
        question: "What do target rates give to six TCP flows when end hosts know them, when routers do, and when both do?",
        choices: choices(),
        claims: all_claims(),
        studies: studies(&ROWS),
        evaluate: evaluated,
    }
}
