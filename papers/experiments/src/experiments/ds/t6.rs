// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table 6: standard and modified TCP side by side.

use super::common::{Setup, choices};
use super::phases::{Row, claims, evaluate, studies};
use crate::definition::{Experiment, Paper};

const ROWS: [Row; 4] = [
    Row {
        setup: Setup::StandardRed,
        number: 1,
        flows: &[
            ("tcp0", [0.676768, 0.491638, 0.723149, 0.832894]),
            ("tcp3", [1.622382, 1.126404, 1.585279, 1.804911]),
            ("tcp5", [1.541346, 1.122553, 1.610749, 1.850088]),
        ],
        cbr: 1.978168,
    },
    Row {
        setup: Setup::MixedRed,
        number: 2,
        flows: &[
            ("tcp0", [0.851694, 0.499243, 0.898498, 0.90222]),
            ("tcp3", [0.950140, 0.584215, 0.792326, 1.3719]),
            ("tcp5", [1.893473, 1.462454, 1.845942, 2.018788]),
        ],
        cbr: 1.986283,
    },
    Row {
        setup: Setup::ModifiedRio,
        number: 3,
        flows: &[
            ("tcp0", [2.02678, 1.89689, 2.02658, 2.36111]),
            ("tcp3", [1.04109, 0.91049, 1.04853, 1.33992]),
            ("tcp5", [0.659625, 0.533941, 0.629245, 0.969653]),
        ],
        cbr: 1.00350,
    },
    Row {
        setup: Setup::MixedRio,
        number: 4,
        flows: &[
            ("tcp0", [1.984425, 1.917876, 1.991106, 2.18545]),
            ("tcp3", [0.993548, 0.924187, 0.991756, 1.182006]),
            ("tcp5", [0.602984, 0.424578, 0.591179, 0.940206]),
        ],
        cbr: 1.151985,
    },
];

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "DS-T6",
        paper: Paper::Ds,
        title: "Standard and modified TCP side by side",
        question: "Does a host lose by taking the fair algorithm before others do, and do the routers' mechanisms mend that?",
        choices: choices(),
        claims: claims(&ROWS, "6.2, Table 6"),
        studies: studies(&ROWS),
        evaluate: |measured| evaluate(&ROWS, measured),
    }
}
