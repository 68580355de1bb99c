// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP's share of a path, beside that of other high-speed stacks.

use netnice_study::Table;

use super::common::{Cross, bulk, choices, mbps, own_bursts, part_of};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;

const PLACE: &str = "slide: Utilizing Excess Bandwidth";
const REPORTED: &str = "80 to 127 %, and 127 % where the sender's own transmission queue is large";

/// Queues of the way back, and how they are called.
const WAY_BACK: [(&str, &str); 3] = [
    ("{ queue = \"30ms\" }", "way back: 30 ms"),
    ("{ queue = \"10ms\" }", "way back: 10 ms"),
    (
        "{ queue = { discipline = \"fq_codel\" } }",
        "way back: fq_codel, with a queue for each flow",
    ),
];
const CONTROLS: [&str; 2] = ["hstcplp", "highspeed"];

/// Reverse traffic, with another queue on the way back.
fn way_back(control: &str) -> Study {
    let queues = WAY_BACK.map(|(queue, _)| queue);
    let study = bulk(control, Cross::Reverse).sweep("links.bottleneck.reverse", &queues);
    let name = format!("{}_way_back", study.name);
    study.renamed(&name)
}

/// Reverse traffic, with a long queue on the way there.
fn way_there(control: &str) -> Study {
    let study = bulk(control, Cross::Reverse)
        .set("links.bottleneck.queue", "\"1s\"")
        .set("links.bottleneck.reverse", "{ queue = \"100ms\" }");
    let name = format!("{}_way_there", study.name);
    study.renamed(&name)
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = choices();
    choices.push(Choice::new(
        "the queue of the way back",
        "that of the way there: drop-tail, 100 ms; a table has others",
    ));
    let claim = |cross: Cross| {
        let what = format!("{}: HSTCP-LP, of what HighSpeed TCP gets", cross.title());
        let range = Rule::between(80.0, 127.0);
        Claim::statement(cross.name(), &what, "%", (REPORTED, range), PLACE)
    };
    Experiment {
        id: "HS-2",
        paper: Paper::Hs,
        title: "Use of an idle or half-used path",
        question: "Does HSTCP-LP use what is left as other high-speed stacks do?",
        choices,
        claims: Cross::ALL.into_iter().map(claim).collect(),
        studies: Cross::ALL
            .into_iter()
            .flat_map(|cross| CONTROLS.map(|control| bulk(control, cross)))
            .chain(CONTROLS.map(way_back))
            .chain(CONTROLS.map(way_there))
            .collect(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut table = Table::new("Mb/s", &["", "HSTCP-LP", "HighSpeed TCP"]);
    let mut rows = Vec::new();
    for cross in Cross::ALL {
        let [low, other] = CONTROLS.map(|control| measured.point(&bulk(control, cross).name));
        let ratio = part_of(low, other);
        match cross {
            Cross::Reverse => findings.value_or_reason(cross.name(), ratio, own_bursts(low)),
            _ => findings.value(cross.name(), ratio),
        }
        let rates = [low, other].map(|point| mbps(point, "bulk"));
        rows.push((cross.title().to_owned(), rates.to_vec()));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings.tables.push(other_queues(measured));
    findings.notes.push(
        "With reverse traffic all ACKs of a window wait together behind the data of the way back, and leave together: the window \
         is one burst, and a burst as long as the threshold, 15 % of the queue, is an early indication. So the window stays \
         below 15 ms of the link's rate, 562 packets, in each round trip of 142 ms. HSTCP-LP gets 80 % where ACKs do not wait: \
         with a queue of 10 ms or one for each flow on the way back, as where the hosts, and not the link, limit the rate. \
         So the testbed had no long queue on the way back, or one ten times as long on the way there; the slides say neither."
            .to_owned(),
    );
    findings.notes.push(
        "More than 100 % came about where the sender's own queue made other stacks take local congestion for the path's. The \
         simulated host has no such queue."
            .to_owned(),
    );
    findings
}

/// The use of the path against reverse traffic, with other queues.
fn other_queues(measured: &Measured<'_>) -> Table {
    let head = [
        "reverse traffic, queue",
        "HSTCP-LP, Mb/s",
        "HighSpeed TCP, Mb/s",
        "%",
    ];
    let mut table = Table::new("What 80 % would take", &head);
    let [back, there] = [way_back, way_there]
        .map(|study| CONTROLS.map(|control| &measured.study(&study(control).name).points));
    let backs = back[0].iter().zip(back[1]);
    let rows = WAY_BACK.iter().map(|(_, words)| *words).zip(backs);
    let long = ["way there: 1 s"]
        .into_iter()
        .zip(there[0].iter().zip(there[1]));
    let mut filled = Vec::new();
    for (words, (low, other)) in rows.chain(long) {
        let ratio = part_of(low, other);
        let cells = vec![mbps(low, "bulk"), mbps(other, "bulk"), ratio];
        filled.push((words.to_owned(), cells));
    }
    table.fill(filled);
    table
}
