// SPDX-License-Identifier: MIT OR Apache-2.0
//! Section III-A.2: clocks that drift apart.

use netnice_results::Estimate;
use netnice_study::{Scale, Table};

use super::common::{Kind, tcp_choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, share_of_link};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");
const QUICK: Scale = Scale::new(5, 400);
const LINK: &str = "bottleneck";
const PLACE: &str = "III-A.2";

/// Of the receiver's clock against the sender's, in parts per million: none first.
const DRIFTS: [i32; 3] = [0, 200, -200];

/// The traffic beside TCP-LP.
const BESIDE: [(&str, &str); 2] = [("idle", "0"), ("tcp", "1")];

fn name(beside: &str, drift_ppm: i32) -> String {
    format!("lp03_clock_{beside}_{drift_ppm}")
}

fn study((beside, tcp): (&str, &str), drift_ppm: i32) -> Study {
    let study = Study::new(name(beside, drift_ppm), FILE, QUICK, Scale::LP03)
        .set("flows.reverse.count", "0")
        .set("flows.tcp.count", tcp)
        .set(
            "nodes.low_sink.clock",
            &format!(r#"{{ tick = "1us", drift_ppm = {drift_ppm} }}"#),
        );
    Kind::TcpLp.apply(study, "low", &[LINK])
}

fn key(beside: &str, drift_ppm: i32) -> String {
    format!("{beside}_{drift_ppm}")
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "the drift",
        "200 parts per million either way, more than quartz oscillators have; not significant is less than 2 %",
    ));
    let claim = |beside: &str, what: &str, drift_ppm: i32| {
        let what = format!("{what}: a drift of {drift_ppm} ppm, of none");
        let reported = ("a drift is not significant", Rule::AtLeast(98.0));
        Claim::statement(&key(beside, drift_ppm), &what, "%", reported, PLACE)
    };
    Experiment {
        id: "LP03-clock",
        paper: Paper::Lp03,
        title: "Clocks that drift apart",
        question: "Does a receiver whose clock is fast or slow change what TCP-LP gets, and what it leaves?",
        choices,
        claims: vec![
            claim("idle", "throughput of TCP-LP on an idle link", DRIFTS[1]),
            claim("idle", "throughput of TCP-LP on an idle link", DRIFTS[2]),
            claim("tcp", "throughput of TCP beside TCP-LP", DRIFTS[1]),
            claim("tcp", "throughput of TCP beside TCP-LP", DRIFTS[2]),
        ],
        studies: BESIDE
            .into_iter()
            .flat_map(|beside| DRIFTS.map(|drift_ppm| study(beside, drift_ppm)))
            .collect(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let columns = ["drift, ppm", "TCP-LP alone", "TCP", "TCP-LP beside it"];
    let mut table = Table::new("Per cent of the link", &columns);
    let share = |beside: &str, drift_ppm: i32, flow: &str| -> Option<Estimate> {
        let point = measured.point(&name(beside, drift_ppm));
        point.share_of_link(flow, LINK)
    };
    let row = |drift_ppm: i32| {
        let cells = [("idle", "low"), ("tcp", "tcp"), ("tcp", "low")]
            .map(|(beside, flow)| share(beside, drift_ppm, flow));
        (drift_ppm.to_string(), cells.to_vec())
    };
    table.fill(DRIFTS.map(row).to_vec());
    findings.tables.push(table);
    for (beside, flow) in [("idle", "low"), ("tcp", "tcp")] {
        let none = measured.point(&name(beside, 0));
        for drift_ppm in &DRIFTS[1..] {
            let point = measured.point(&name(beside, *drift_ppm));
            let of_none = point.paired(none, |run, none| {
                let share = |run| share_of_link(run, flow, LINK);
                Some(100.0 * share(run)? / share(none)?)
            });
            findings.value(&key(beside, *drift_ppm), of_none);
        }
    }
    findings
}
