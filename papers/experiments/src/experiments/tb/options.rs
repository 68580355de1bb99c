// SPDX-License-Identifier: MIT OR Apache-2.0
//! Window scaling and time stamps on real paths, which cannot be surveyed from here; and what one-way delays are for.

use netnice_study::Table;

use super::common::{choices, mbps, testbed};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;

const PLACE: &str = "Modules Description";

fn against_reverse(name: &str) -> Study {
    testbed(name)
        .set("flows.tcp.count", "0")
        .set("flows.reverse.count", "1")
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "TB-E",
        paper: Paper::Tb,
        title: "TCP's options on real paths, and one-way delays",
        question: "Do hosts offer the options that TCP-LP needs, and does it need them?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "survey",
                "paths on which window scaling and time stamps can be used",
                "%",
                ("TCP-LP uses both options on real paths", Rule::Nothing),
                PLACE,
            ),
            Claim::statement(
                "round_trip",
                "TCP-LP by round-trip times against reverse traffic, of what it gets by one-way delays",
                "%",
                (
                    "one-way delays are an essential requirement for low priority",
                    Rule::AtMost(50.0),
                ),
                PLACE,
            ),
        ],
        studies: vec![
            against_reverse("e_one_way"),
            against_reverse("e_round_trip").set("flows.low.tcp.timestamps", "false"),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    findings.value_or_reason(
        "survey",
        None,
        "needs the Internet of the paper's day: a survey of hosts cannot be simulated".to_owned(),
    );
    let (one_way, round_trip) = (
        measured.point("tb_e_one_way"),
        measured.point("tb_e_round_trip"),
    );
    let part = round_trip.paired(one_way, |round_trip, one_way| {
        Some(100.0 * mbps(round_trip, "low") / mbps(one_way, "low"))
    });
    findings.value("round_trip", part);
    let mut table = Table::new("TCP-LP against reverse traffic", &["", "Mb/s of 10"]);
    let mut rows = Vec::new();
    for (title, point) in [
        ("by one-way delays", one_way),
        ("by round-trip times", round_trip),
    ] {
        let rate = point.estimate(|run| Some(mbps(run, "low")));
        rows.push((title.to_owned(), vec![rate]));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings
}
