// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 12: the part of the excess beside a square wave of 6.4 s that several flows use.

use netnice_results::Estimate;
use netnice_study::Scale;

use super::common::Kind;
use super::f11::{choices, of_excess};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, throughput};
use crate::study::{Study, scenario};
use netnice_study::written_or_dash;

const FILE: (&str, &str) = scenario!("lp03_square_wave.toml");
const QUICK: Scale = Scale::new(5, 300);
const COUNT: &str = "flows.bulk.count";

fn study(kind: Kind) -> Study {
    let study = Study::new(
        format!("lp03_f12_{}", kind.name()),
        FILE,
        QUICK,
        Scale::LP03,
    )
    .set("period", "6.4s")
    .sweep(COUNT, &["1", "2", "3", "5", "7", "10", "15", "20"]);
    kind.apply(study, "bulk", &["bottleneck"])
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-B.2, Figure 12";
    Experiment {
        id: "LP03-F12",
        paper: Paper::Lp03,
        title: "Several flows beside a square wave of 6.4 s",
        question: "Do several low-priority flows use more of the excess than one?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "tcp",
                "five TCP flows",
                "of the excess",
                ("quickly overcome the problem", Rule::AtLeast(0.9)),
                place,
            ),
            Claim::statement(
                "slower",
                "five TCP-LP flows, of what five TCP flows use",
                "",
                ("utilization increases more slowly", Rule::AtMost(0.98)),
                place,
            ),
            Claim::statement(
                "rises",
                "twenty TCP-LP flows, of what one uses",
                "",
                (
                    "utilization increases with the aggregation level",
                    Rule::AtLeast(1.05),
                ),
                place,
            ),
        ],
        studies: Kind::ALL.map(study).to_vec(),
        evaluate,
    }
}

/// The goodput of the flows of one point, divided by that of another.
fn ratio(of: Option<&MeasuredPoint<'_>>, to: Option<&MeasuredPoint<'_>>) -> Option<Estimate> {
    of?.paired(to?, |of, to| {
        Some(throughput(of, "bulk")? / throughput(to, "bulk")?)
    })
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let study = |kind: Kind| measured.study(&format!("lp03_f12_{}", kind.name()));
    let at = |kind: Kind, count: &str| study(kind).at(COUNT, count);
    findings.value("tcp", at(Kind::Tcp, "5").and_then(of_excess));
    let five = [Kind::Tcp, Kind::TcpLp].map(|kind| {
        let excess = at(kind, "5").and_then(of_excess);
        written_or_dash(excess)
    });
    findings.value_or_reason(
        "slower",
        ratio(at(Kind::TcpLp, "5"), at(Kind::Tcp, "5")),
        format!(
            "five TCP flows use {} of the excess and five TCP-LP flows {}: how much more slowly it rises is within what seeds differ by",
            five[0], five[1]
        ),
    );
    findings.value("rises", ratio(at(Kind::TcpLp, "20"), at(Kind::TcpLp, "1")));
    let curves = Kind::ALL.map(|kind| {
        let looks = (kind.title(), kind.curve());
        study(kind).curve(looks, COUNT, of_excess)
    });
    findings.figures.push(Figure {
        name: "lp03-f12".to_owned(),
        title: "Several flows beside a square wave of 6.4 s".to_owned(),
        caption: "Throughput of all flows together, in parts of the average excess of 6.6 Mb/s, against their number.".to_owned(),
        kind: FigureKind::Lines,
        x: Axis::linear("flows", ""),
        y: Axis::linear("throughput", "of the excess"),
        curves: curves.to_vec(),
    });
    findings
}
