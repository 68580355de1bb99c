// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table 4: the constant c, on the testbed.

use netnice_results::Estimate;
use netnice_study::Scale;

use super::common::deviation_row;
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::experiments::search::search;
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, throughput};
use crate::study::{Study, scenario};
use netnice_study::Table;
use netnice_study::written_or_dash;

const FILE: (&str, &str) = scenario!("ds_testbed.toml");
const QUICK: Scale = Scale::new(8, 130);
const SEARCH: Scale = Scale::new(2, 130);
const FULL: Scale = Scale::new(50, 130);

/// TCP1's c, where it is not Reno, and the reported Mb/s of TCP0 and TCP1.
const ROWS: [(Option<u32>, f64, f64); 6] = [
    (None, 2.7, 2.0),
    (Some(50), 2.7, 2.0),
    (Some(100), 2.5, 2.3),
    (Some(200), 2.4, 2.4),
    (Some(500), 2.3, 2.6),
    (Some(1000), 2.2, 2.7),
];

fn row_name(c: Option<u32>) -> String {
    c.map_or("reno".to_owned(), |c| format!("c{c}"))
}

fn row_title(c: Option<u32>) -> String {
    c.map_or("both Reno".to_owned(), |c| format!("c = {c}"))
}

fn study(c: Option<u32>, scale: (Scale, Scale)) -> Study {
    let study = Study::new(format!("ds_t4_{}", row_name(c)), FILE, scale.0, scale.1);
    match c {
        None => study,
        Some(c) => study.set(
            "flows.tcp1.congestion_control",
            &format!(r#"{{ name = "dstcp", c = {c} }}"#),
        ),
    }
}

fn searched(c: Option<u32>) -> Study {
    let mut study = study(c, (SEARCH, SEARCH));
    study.name.push_str("_search");
    study
        .sweep("receiver_window", &["32kB", "48kB", "64kB"])
        .sweep("min_threshold", &["10ms", "20ms", "30ms"])
        .sweep("max_threshold", &["40ms", "60ms", "80ms"])
}

fn mbps(point: &MeasuredPoint<'_>, flow: &str) -> Option<Estimate> {
    point.estimate(|run| Some(throughput(run, flow)? / 1e6))
}

fn claims(&(c, tcp0, tcp1): &(Option<u32>, f64, f64)) -> [Claim; 2] {
    let claim = |flow: &str, value: f64, conclusion: (&str, Rule)| {
        let key = format!("{}_{flow}", row_name(c));
        let what = format!("{}: {}", row_title(c), flow.to_uppercase());
        Claim::value(&key, &what, "Mb/s", value, "4.4, Table 4")
            .concluding(conclusion.0, conclusion.1)
            .fitted()
    };
    let small = c.is_none_or(|c| c <= 100);
    if small {
        [
            claim(
                "tcp0",
                tcp0,
                (
                    "the short round trip gets more than half",
                    Rule::AtLeast(2.5),
                ),
            ),
            claim(
                "tcp1",
                tcp1,
                ("the long round trip gets less than half", Rule::AtMost(2.5)),
            ),
        ]
    } else {
        [
            claim(
                "tcp0",
                tcp0,
                (
                    "a large c takes the advantage of the short round trip away",
                    Rule::AtMost(2.5),
                ),
            ),
            claim(
                "tcp1",
                tcp1,
                (
                    "a large c lets the long round trip overcome the bias: it gets as much as the short one, 2.4 of 4.8",
                    Rule::AtLeast(2.4),
                ),
            ),
        ]
    }
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "DS-T4",
        paper: Paper::Ds,
        title: "The constant c beside standard TCP",
        question: "What does c do for a modified flow of 80 ms beside a standard one of 30 ms?",
        choices: vec![
            Choice::new(
                "thresholds of the routers, receiver windows",
                "fitted, the setting under which most of the 12 values agree: RED of 30 and 80 ms, 48 kB; that the receiver's window limits TCP1 at c = 1000 is said in the text",
            ),
            Choice::new(
                "target rates, and so tags and mechanism 2",
                "none are given: all packets are alike to the router, and ssthresh is halved as in Reno",
            ),
            Choice::new(
                "end hosts",
                "as Linux 2.3: selective acknowledgements, delayed ACKs, a minimum RTO of 0.2 s, time stamps of 10 ms; packets of 1500 bytes",
            ),
            Choice::new("length of a run", "120 s after 10 s of warm-up"),
        ],
        claims: ROWS.iter().flat_map(claims).collect(),
        studies: ROWS
            .iter()
            .flat_map(|&(c, _, _)| [study(c, (QUICK, FULL)), searched(c)])
            .collect(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut table = Table::new(
        "Mb/s",
        &[
            "",
            "TCP0 (30 ms)",
            "TCP1 (80 ms)",
            "paper: TCP0",
            "paper: TCP1",
        ],
    );
    let mut curves = [
        Curve::new("TCP0 (30 ms), standard", CurveKind::Ours),
        Curve::new("TCP1 (80 ms), modified", CurveKind::Ours),
        Curve::new("the paper, TCP0", CurveKind::Reported),
        Curve::new("the paper, TCP1", CurveKind::Reported),
    ];
    for (c, tcp0, tcp1) in ROWS {
        let name = study(c, (QUICK, FULL)).name;
        let searched = measured.study(&format!("{name}_search"));
        let mut row = vec![row_title(c)];
        for (number, (flow, reported)) in [("tcp0", tcp0), ("tcp1", tcp1)].into_iter().enumerate() {
            let value = mbps(measured.point(&name), flow);
            let (_, nearest) = search(searched, "Mb/s", reported, |point| mbps(point, flow));
            findings.value_or_reason(&format!("{}_{flow}", row_name(c)), value, nearest);
            row.push(written_or_dash(value));
            if let Some(c) = c {
                curves[number].add(f64::from(c), value);
                curves[number + 2].add_exact(f64::from(c), reported);
            }
        }
        row.extend([tcp0.to_string(), tcp1.to_string()]);
        table.rows.push(row);
    }
    findings.tables.push(table);
    findings.tables.push(agreement(measured));
    findings.figures.push(Figure {
        name: "ds-t4".to_owned(),
        title: "The constant c beside standard TCP".to_owned(),
        caption: "Throughput of a standard flow of 30 ms and a modified one of 80 ms that share 5 Mb/s, against the modified flow's c.".to_owned(),
        kind: FigureKind::Lines,
        x: Axis::logarithmic("c", ""),
        y: Axis::linear("throughput", "Mb/s"),
        curves: curves.to_vec(),
    });
    findings.notes.push(
        "For both flows being Reno the paper's table has 2.0 Mb/s for TCP1 and its text 2.2; it is judged by the table."
            .to_owned(),
    );
    findings
}

/// For each setting the number of the 12 values that it comes near to.
fn agreement(measured: &Measured<'_>) -> Table {
    let title = "Search over what is open: of 12 reported values, how many ours are within 10 % of";
    let columns = [
        "receiver window",
        "min_th",
        "max_th",
        "within 10 %",
        "mean deviation, %",
    ];
    let mut table = Table::search(title, &columns);
    let study = |c| measured.study(&searched(c).name);
    for (number, point) in study(None).points.iter().enumerate() {
        let deviations: Vec<f64> = ROWS
            .iter()
            .flat_map(|&(c, tcp0, tcp1)| {
                let point = &study(c).points[number];
                let deviation = |flow: &str, reported: f64| {
                    mbps(point, flow).map(|ours| (ours.mean / reported - 1.0).abs())
                };
                [deviation("tcp0", tcp0), deviation("tcp1", tcp1)]
            })
            .flatten()
            .collect();
        let (row, _) = deviation_row(point, &deviations);
        table.rows.push(row);
    }
    table
}
