// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table III: packets sent and received, delivery ratio and throughput.

use netnice_results::{Estimate, FlowResult};
use netnice_study::Scale;

use super::common::{SOURCES, choices, flow, sources};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::experiments::search::search;
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint};
use crate::study::Study;

const PLACE: &str = "V, Table III";

/// Group, name, and the reported values: delivery ratio in per cent, kb/s, packets sent and received.
const REPORTED: [(&str, &str, f64, f64, f64, f64); 3] = [
    ("lp", "TCP-LP", 98.72, 377.194, 704.0, 695.0),
    ("vegas", "Vegas", 99.90, 717.102, 971.0, 970.0),
    ("reno", "Reno", 97.58, 224.591, 413.0, 403.0),
];
const SYSTEM_KBPS: f64 = 1362.54;
/// By how many per cent Vegas's throughput is said to exceed Reno's.
const VEGAS_MORE: f64 = 31.3;

/// A figure of a flow.
type Figure = fn(&FlowResult) -> f64;

fn searched() -> Study {
    let mut study = sources()
        .sweep("reno_rate", &["229kbit", "458kbit", "916kbit"])
        .sweep("vegas_rate", &["538kbit", "1077kbit", "1400kbit"])
        .sweep("mean_on", &["100ms", "500ms", "2s"])
        .sweep("min_rto", &["200ms", "1s"]);
    study.name.push_str("_search");
    study.quick = Scale::new(10, 15);
    study.full = Scale::new(40, 15);
    study
}

fn value(
    point: &MeasuredPoint<'_>,
    group: &str,
    of: impl Fn(&FlowResult) -> f64,
) -> Option<Estimate> {
    point.estimate(|run| flow(run, group).map(&of))
}

fn delivered(flow: &FlowResult) -> f64 {
    100.0 * flow.packets_received as f64 / (flow.packets_sent.max(1)) as f64
}

fn kbps(flow: &FlowResult) -> f64 {
    flow.throughput_bps / 1e3
}

fn system(point: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.estimate(|run| Some(run.flows.iter().map(kbps).sum()))
}

fn claims() -> Vec<Claim> {
    let mut claims = Vec::new();
    for (group, name, ratio, throughput, sent, received) in REPORTED {
        let claim = |key: &str, what: &str, unit: &str, value: f64| {
            Claim::value(
                &format!("{group}_{key}"),
                &format!("{name}: {what}"),
                unit,
                value,
                PLACE,
            )
        };
        // So many lost packets of one run are uncertain by their square root.
        let uncertain = 100.0 * (sent - received).sqrt() / sent;
        claims.push(
            claim("ratio", "packets received of those sent", "%", ratio)
                .judged_by(Rule::within(ratio, uncertain)),
        );
        let throughput = claim("throughput", "throughput", "kb/s", throughput);
        // The rates of the bursts are by what Reno and Vegas send, the length of a run by what TCP-LP receives.
        claims.push(match group {
            "lp" => throughput,
            _ => throughput.fitted(),
        });
        claims.push(claim("sent", "packets sent", "", sent).fitted());
        claims.push(claim("received", "packets received", "", received).fitted());
    }
    claims.push(Claim::value(
        "more",
        "Vegas: throughput over Reno's, less one",
        "%",
        VEGAS_MORE,
        "Table III and VII",
    ));
    claims.push(Claim::value(
        "system",
        "throughput of all",
        "kb/s",
        SYSTEM_KBPS,
        PLACE,
    ));
    claims
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "FF-T3",
        paper: Paper::Ff,
        title: "A long TCP-LP transfer beside bursts of Reno and Vegas",
        question: "How do TCP-LP, Vegas and Reno divide 1.5 Mb/s when the other two send in bursts?",
        choices: choices(),
        claims: claims(),
        studies: vec![sources(), searched()],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = measured.point(SOURCES);
    let searched = measured.study("ff_sources_search");
    for (group, name, ratio, throughput, sent, received) in REPORTED {
        let of: [(&str, f64, Figure); 4] = [
            ("ratio", ratio, delivered),
            ("throughput", throughput, kbps),
            ("sent", sent, |flow| flow.packets_sent as f64),
            ("received", received, |flow| flow.packets_received as f64),
        ];
        for (key, reported, of) in of {
            let (mut table, nearest) =
                search(searched, key, reported, |point| value(point, group, of));
            findings.value_or_reason(&format!("{group}_{key}"), value(point, group, of), nearest);
            if group == "lp" && key == "throughput" {
                table.title = format!("{name}, kb/s: {}", table.title);
                findings.tables.push(table);
            }
        }
    }
    let more = point.estimate(|run| {
        let [vegas, reno] = ["vegas", "reno"].map(|group| flow(run, group).map(kbps));
        Some(100.0 * (vegas? / reno? - 1.0))
    });
    let printed = |group| {
        let row = REPORTED.iter().find(|row| row.0 == group);
        row.map_or(f64::NAN, |row| row.3)
    };
    let (vegas, reno) = (printed("vegas"), printed("reno"));
    findings.value_or_reason(
        "more",
        more,
        format!(
            "the table's own {vegas} kb/s exceed its {reno} by {:.0} %; Reno's throughput is {:.2} % of Vegas's, which the text \
             takes for what Vegas has more",
            100.0 * (vegas / reno - 1.0),
            100.0 * reno / vegas
        ),
    );
    let (_, nearest) = search(searched, "system", SYSTEM_KBPS, system);
    findings.value_or_reason("system", system(point), nearest);
    findings.notes.push(
        "How much Reno and Vegas send is put in, by the rates of their bursts: that these figures agree says nothing about the \
         protocols. What TCP-LP makes of the rest, and what is lost, comes out."
            .to_owned(),
    );
    findings.notes.push(
        "The runs must have lasted about 15 s, and packets on the link must have been of 1000 bytes: only then do packets \
         received and throughputs belong together. The generators' packets of 280 and 210 bytes would make the runs 4 and 2.3 s \
         long; the figures' axis of 15 minutes can only be seconds."
            .to_owned(),
    );
    findings.notes.push(
        "The table's throughputs are not over the same time: 970 packets of 1000 bytes at 717 kb/s last 10.8 s, 695 at 377 kb/s \
         14.7 s. So its three throughputs do not add up to that of the system, and ours for Vegas, over all 15 s, is lower."
            .to_owned(),
    );
    findings
}
