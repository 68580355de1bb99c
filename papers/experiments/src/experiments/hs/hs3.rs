// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP's own increase at high speed: the reason for HSTCP-LP.

use netnice_study::Table;

use super::common::{Cross, bulk, choices, mbps, own_bursts, part_of};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;

const PLACE: &str = "slide: HSTCP-LP, a congestion control protocol";

pub(crate) fn experiment() -> Experiment {
    let claim = |cross: Cross| {
        let what = format!("{}: TCP-LP, of what HSTCP-LP gets", cross.title());
        let reported = (
            "not suitable for high speeds: a cross where low speeds have a tick",
            Rule::AtMost(50.0),
        );
        Claim::statement(cross.name(), &what, "%", reported, PLACE)
    };
    Experiment {
        id: "HS-3",
        paper: Paper::Hs,
        title: "TCP-LP at high speed",
        question: "What does TCP-LP's increase of one packet per round trip make of a path of high bandwidth and delay?",
        choices: choices(),
        claims: Cross::ALL.into_iter().map(claim).collect(),
        studies: Cross::ALL
            .into_iter()
            .flat_map(|cross| [bulk("tcplp", cross), bulk("hstcplp", cross)])
            .collect(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut table = Table::new("Mb/s of 450", &["", "TCP-LP", "HSTCP-LP"]);
    let mut rows = Vec::new();
    for cross in Cross::ALL {
        let [low, high] =
            ["tcplp", "hstcplp"].map(|control| measured.point(&bulk(control, cross).name));
        let ratio = part_of(low, high);
        match cross {
            Cross::Reverse => findings.value_or_reason(cross.name(), ratio, own_bursts(high)),
            _ => findings.value(cross.name(), ratio),
        }
        let rates = [low, high].map(|point| mbps(point, "bulk"));
        rows.push((cross.title().to_owned(), rates.to_vec()));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings
}
