// SPDX-License-Identifier: MIT OR Apache-2.0
//! Section 4.4: RIO with three drop precedences, as the Diff-Serv working group's standard has it.

use netnice_results::{Estimate, RunResults};
use netnice_study::{Table, written_or_dash};

use super::common::{Setup, TARGETS_BPS, choices};
use super::phases::{CONGESTED, throughput_mbps};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, queue};
use crate::study::Study;

const PLACE: &str = "4.4";
const STUDY: &str = "ds_three_precedences";
const COLOURS: [&str; 3] = ["green", "yellow", "red"];

/// The paper's thresholds, and half of those for OUT packets for red ones, with the same probability.
const RIO: &str = r#"{ discipline = "rio", limit = "100p", in = { min_threshold = "10p", max_threshold = "20p", max_probability = 0.02 }, out = { min_threshold = "5p", max_threshold = "10p", max_probability = 0.5 }, red = { min_threshold = "3p", max_threshold = "5p", max_probability = 0.5 }, gentle = false, wait = false, weight = 0.002 }"#;

/// Standard TCP: its packets are dropped, where the modified one's are marked. Up to the target packets are green, up to
/// one and a half of it yellow.
fn study() -> Study {
    let markers = TARGETS_BPS.iter().enumerate();
    let study = markers.fold(Setup::StandardRio.study(), |study, (flow, target)| {
        let marker = format!(
            r#"{{ kind = "trtcm", rate = "{target}bit", burst = "{burst}B", peak_rate = "{peak}bit", peak_burst = "{burst}B" }}"#,
            burst = target / 8 / 5,
            peak = target + target / 2
        );
        study.set(&format!("links.tcp{flow}_source-left.marker"), &marker)
    });
    let none =
        r#"{ kind = "trtcm", rate = "1bit", burst = "1B", peak_rate = "1bit", peak_burst = "1B" }"#;
    study
        .set("links.bottleneck.queue", RIO)
        .set("links.cbr_source-left.marker", none)
        .renamed(STUDY)
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = choices();
    choices.push(Choice::new(
        "the meter, and the thresholds of the third precedence",
        "two rates (RFC 2698): green up to the target, yellow up to one and a half of it, with bursts of 200 ms of the target; the CBR source is red; half of the thresholds of OUT packets",
    ));
    let order =
        "conforming to the Diff-Serv standard (RFC 2597): a higher precedence is dropped more";
    Experiment {
        id: "DS-precedence",
        paper: Paper::Ds,
        title: "RIO with three drop precedences",
        question: "Are red packets dropped before yellow ones, and yellow before green?",
        choices,
        claims: vec![
            Claim::statement(
                "yellow",
                "part of the yellow packets that is dropped, less that of the red ones",
                "points",
                (order, Rule::AtMost(0.0)),
                PLACE,
            ),
            Claim::statement(
                "green",
                "part of the green packets that is dropped, less that of the yellow ones",
                "points",
                (order, Rule::AtMost(0.0)),
                PLACE,
            ),
            Claim::statement(
                "protected",
                "green packets that are dropped",
                "%",
                (
                    "IN packets are shielded: of them 2 % at most are dropped below the maximum threshold",
                    Rule::AtMost(2.0),
                ),
                PLACE,
            ),
        ],
        studies: vec![study()],
        evaluate,
    }
}

/// Per cent of a colour's packets that the bottleneck drops.
fn dropped(run: &RunResults, colour: &str) -> Option<f64> {
    let mut colours = queue(run, "bottleneck")?.colours.iter();
    let of_colour = colours.find(|counted| counted.colour == colour)?;
    Some(100.0 * of_colour.dropped as f64 / of_colour.arrived.max(1) as f64)
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = measured.point(STUDY);
    let less = |colour: &str, other: &str| {
        point.estimate(|run| Some(dropped(run, colour)? - dropped(run, other)?))
    };
    findings.value("yellow", less("yellow", "red"));
    findings.value("green", less("green", "yellow"));
    let parts = COLOURS.map(|colour| point.estimate(|run| dropped(run, colour)));
    findings.value("protected", parts[0]);
    let mut table = Table::new("Dropped, %", &COLOURS);
    table.rows.push(parts.map(written_or_dash).to_vec());
    findings.tables.push(table);
    let mut table = Table::new(
        "Congested phase, Mb/s",
        &["flow", "target", "three precedences"],
    );
    for (flow, target) in TARGETS_BPS.iter().enumerate() {
        let ours: Option<Estimate> = throughput_mbps(point, &format!("tcp{flow}"), CONGESTED);
        table.rows.push(vec![
            format!("TCP{flow}"),
            format!("{:.1}", f64::from(*target) / 1e6),
            written_or_dash(ours),
        ]);
    }
    findings.tables.push(table);
    findings
}
