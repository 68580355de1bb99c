// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round-trip times in place of one-way delays, against reverse traffic.

use netnice_study::Scale;

use super::common::{Cross, bulk, choices, mbps, mbps_of, own_bursts, part_of};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;
use netnice_study::Table;

const PLACE: &str = "slide: Reverse Cross-Traffic";
const FAST: Scale = Scale::new(1, 90);
const FAST_FULL: Scale = Scale::new(5, 300);

/// Without time stamps HSTCP-LP goes by round-trip times.
fn by_round_trip(mut study: Study) -> Study {
    study.name.push_str("_rtt");
    study.set("flows.bulk.tcp.timestamps", "false")
}

/// A path on which gigabits per second can be lost.
fn fast() -> Study {
    let mut study = bulk("hstcplp", Cross::Reverse).set("rate", "2.5gbit");
    // Nothing of 2.5 Gb/s can be lost on less.
    study.on_kernel = None;
    study.name.push_str("_fast");
    study.quick = FAST;
    study.full = FAST_FULL;
    study
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = choices();
    choices.push(Choice::new(
        "HSTCP-LP by round-trip times",
        "HSTCP-LP without time stamps: it then takes the round trip in place of the one-way delay in equation (2)",
    ));
    choices.push(Choice::new(
        "a path of which Gb/s can be lost",
        "one of 2.5 Gb/s beside that of 450 Mb/s; 90 s",
    ));
    Experiment {
        id: "HS-4",
        paper: Paper::Hs,
        title: "Round-trip times in place of one-way delays",
        question: "What does low priority by round-trip times lose to traffic in the other direction?",
        choices,
        claims: vec![
            Claim::statement(
                "eliminated",
                "450 Mb/s: goodput by one-way delays against reverse traffic, of that without",
                "%",
                (
                    "one-way delay eliminates the impact of reverse traffic",
                    Rule::AtLeast(95.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "part",
                "450 Mb/s: goodput by round-trip times, of that by one-way delays",
                "%",
                ("round-trip times can lose it", Rule::AtMost(50.0)),
                PLACE,
            ),
            Claim::statement(
                "lost",
                "2.5 Gb/s: lost by going by round-trip times",
                "Gb/s",
                ("Gb/s can be lost", Rule::AtLeast(1.0)),
                PLACE,
            ),
        ],
        studies: vec![
            bulk("hstcplp", Cross::None),
            bulk("hstcplp", Cross::Reverse),
            by_round_trip(bulk("hstcplp", Cross::Reverse)),
            fast(),
            by_round_trip(fast()),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let slow = bulk("hstcplp", Cross::Reverse);
    let mut table = Table::new(
        "Mb/s against reverse traffic",
        &["", "by one-way delays", "by round-trip times"],
    );
    let mut points = Vec::new();
    let mut rows = Vec::new();
    for (title, study) in [("450 Mb/s", slow), ("2.5 Gb/s", fast())] {
        let pair = [study.clone(), by_round_trip(study)].map(|study| measured.point(&study.name));
        let rates = pair.map(|point| mbps(point, "bulk"));
        rows.push((title.to_owned(), rates.to_vec()));
        points.push(pair);
    }
    table.fill(rows);
    findings.tables.push(table);
    let [one_way, round_trip] = points[0];
    let alone = measured.point(&bulk("hstcplp", Cross::None).name);
    findings.value_or_reason("eliminated", part_of(one_way, alone), own_bursts(one_way));
    findings.value("part", part_of(round_trip, one_way));
    let [one_way, round_trip] = points[1];
    let lost = one_way.paired(round_trip, |one_way, round_trip| {
        Some((mbps_of(one_way, "bulk")? - mbps_of(round_trip, "bulk")?) / 1e3)
    });
    findings.value("lost", lost);
    findings
}
