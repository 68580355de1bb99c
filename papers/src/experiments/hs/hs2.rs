// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP's share of a path, beside that of other high-speed stacks.

use super::common::{Cross, bulk, choices, mbps, mbps_of, own_bursts};
use crate::claim::{Claim, Rule};
use crate::experiment::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::outcome::written;
use crate::table::Table;

const PLACE: &str = "slide: Utilizing Excess Bandwidth";
const REPORTED: &str = "80 to 127 %, and 127 % where the sender's own transmission queue is large";

pub(crate) fn experiment() -> Experiment {
    let claim = |cross: Cross| {
        let what = format!("{}: HSTCP-LP, of what HighSpeed TCP gets", cross.title());
        let range = Rule::Between {
            low: 80.0,
            high: 127.0,
        };
        Claim::statement(cross.name(), &what, "%", (REPORTED, range), PLACE).concluding(
            "more than half of what HighSpeed TCP gets",
            Rule::AtLeast(50.0),
        )
    };
    Experiment {
        id: "HS-2",
        paper: Paper::Hs,
        title: "Use of an idle or half-used path",
        question: "Does HSTCP-LP use what is left as other high-speed stacks do?",
        choices: choices(),
        claims: Cross::ALL.into_iter().map(claim).collect(),
        studies: Cross::ALL
            .into_iter()
            .flat_map(|cross| [bulk("hstcplp", cross), bulk("highspeed", cross)])
            .collect(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut table = Table::new("Mb/s", &["", "HSTCP-LP", "HighSpeed TCP"]);
    for cross in Cross::ALL {
        let [low, other] =
            ["hstcplp", "highspeed"].map(|control| measured.point(&bulk(control, cross).name));
        let ratio = low.paired(other, |low, other| {
            Some(100.0 * mbps_of(low, "bulk")? / mbps_of(other, "bulk")?)
        });
        match cross {
            Cross::Reverse => findings.value_or_reason(cross.name(), ratio, own_bursts(low)),
            _ => findings.value(cross.name(), ratio),
        }
        let words = [low, other]
            .map(|point| mbps(point, "bulk").map_or("-".to_owned(), |rate| written(&rate)));
        table
            .rows
            .push([&[cross.title().to_owned()], &words[..]].concat());
    }
    findings.tables.push(table);
    findings.notes.push(
        "More than 100 % came about where the sender's own queue made other stacks take local congestion for the path's. The \
         simulated host has no such queue."
            .to_owned(),
    );
    findings
}
