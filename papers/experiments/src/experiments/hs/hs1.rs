// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP beside another high-speed stack, by length of the queue.

use netnice_study::Table;

use super::common::{choices, mbps, path};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::Study;

const PLACE: &str = "slide: Low-Priority Background Data Transfer";
const SHORT: &str = "20ms";
const LONG: &str = "200ms";

fn beside(name: &str, control: &str) -> Study {
    path(name, control)
        .set("flows.other.count", "1")
        .sweep("queue", &["20ms", "50ms", "100ms", "200ms"])
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "HS-1",
        paper: Paper::Hs,
        title: "HSTCP-LP beside HighSpeed TCP",
        question: "How much does a low-priority transfer take from another high-speed stack, and does the queue matter?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "strict",
                "share of HSTCP-LP beside HighSpeed TCP, queue of 200 ms",
                "% of both",
                ("strict prioritization for larger queues", Rule::AtMost(5.0)),
                PLACE,
            ),
            Claim::statement(
                "lighter",
                "share of HSTCP-LP with a queue of 20 ms, less that with 200 ms",
                "points",
                ("lighter prioritization below 50 ms", Rule::AtLeast(2.0)),
                PLACE,
            ),
            Claim::statement(
                "non_intrusive",
                "share of HSTCP-LP beside HighSpeed TCP, queue of 20 ms",
                "% of both",
                (
                    "highly non-intrusive to other advanced TCP stacks",
                    Rule::AtMost(10.0),
                ),
                PLACE,
            ),
        ],
        studies: vec![
            beside("beside_hstcplp", "hstcplp"),
            beside("beside_highspeed", "highspeed"),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let share = |study: &str, queue: &str| {
        let point = measured.study(study).at("queue", queue)?;
        point.estimate(|run| {
            let [bulk, other] = ["bulk", "other"].map(|flow| super::common::mbps_of(run, flow));
            let (bulk, other) = (bulk?, other?);
            Some(100.0 * bulk / (bulk + other))
        })
    };
    findings.value("strict", share("hs_beside_hstcplp", LONG));
    findings.value("non_intrusive", share("hs_beside_hstcplp", SHORT));
    let by_queue = |queue: &str| share("hs_beside_hstcplp", queue).map(|share| share.mean);
    let lighter = by_queue(SHORT)
        .zip(by_queue(LONG))
        .map(|(short, long)| short - long);
    findings.value_or_reason(
        "lighter",
        lighter.and_then(crate::findings::exact),
        "15 % of 20 ms is 3 ms, which time stamps of 1 ms resolve: HSTCP-LP sees the short queue, too".to_owned(),
    );
    findings.notes.push(
        "The slides speak of a minimum queue of 50 ms below which delay tells less. In the simulator nothing else delays packets, \
         so a queue of 20 ms is seen as well as one of 200 ms; noise of several milliseconds in real hosts would hide the threshold \
         of a short queue."
            .to_owned(),
    );
    let mut table = Table::new(
        "Mb/s",
        &[
            "queue",
            "HSTCP-LP",
            "HighSpeed TCP beside it",
            "HighSpeed TCP",
            "HighSpeed TCP beside it",
        ],
    );
    let mut rows = Vec::new();
    let mut curves = [
        Curve::new("HSTCP-LP", CurveKind::Ours),
        Curve::new("HighSpeed TCP in its place", CurveKind::Variant),
    ];
    let points = measured.study("hs_beside_hstcplp").points.iter();
    for (low, equal) in points.zip(&measured.study("hs_beside_highspeed").points) {
        let queue = low.setting("queue");
        let cells = [
            (low, "bulk"),
            (low, "other"),
            (equal, "bulk"),
            (equal, "other"),
        ];
        let rates = cells.map(|(point, flow)| mbps(point, flow));
        rows.push((queue.to_owned(), rates.to_vec()));
        let milliseconds = low.number("queue") * 1e3;
        curves[0].add(milliseconds, share("hs_beside_hstcplp", queue));
        curves[1].add(milliseconds, share("hs_beside_highspeed", queue));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings.figures.push(Figure {
        name: "hs-1".to_owned(),
        title: "Share beside HighSpeed TCP".to_owned(),
        caption: "Share of a bulk transfer beside one of HighSpeed TCP at 450 Mb/s, against the length of the queue.".to_owned(),
        kind: FigureKind::Lines,
        x: Axis::logarithmic("largest queueing delay", "ms"),
        y: Axis::linear("share", "%"),
        curves: curves.to_vec(),
    });
    findings
}
