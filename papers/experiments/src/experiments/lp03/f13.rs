// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 13: fairness among ten flows of one kind beside a square wave, against its period.

use netnice_results::{Estimate, RunResults, jain_index};
use netnice_study::Scale;

use super::common::Kind;
use super::f11::{PERIODS, choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_square_wave.toml");
const QUICK: Scale = Scale::new(4, 300);
/// Up to here TCP-LP's index is slightly below one.
const SHORT_S: f64 = 0.4;

fn study(kind: Kind) -> Study {
    let study = Study::new(
        format!("lp03_f13_{}", kind.name()),
        FILE,
        QUICK,
        Scale::LP03,
    )
    .set("flows.bulk.count", "10")
    .sweep("period", PERIODS);
    kind.apply(study, "bulk", &["bottleneck"])
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-C, Figure 13";
    let one = |key, what| {
        Claim::statement(
            key,
            what,
            "",
            ("about 1 for all periods", Rule::AtLeast(0.95)),
            place,
        )
    };
    Experiment {
        id: "LP03-F13",
        paper: Paper::Lp03,
        title: "Fairness among ten flows of one kind beside a square wave",
        question: "Do low-priority flows share fairly what is left?",
        choices: choices(),
        claims: vec![
            one("tcp", "Jain's index of TCP, mean over the periods").central(),
            one("ecn", "Jain's index of TCP-LP/ECN, mean over the periods").central(),
            Claim::statement(
                "short",
                "Jain's index of TCP-LP, mean over periods up to 0.4 s",
                "",
                ("slightly below one", Rule::between(0.9, 0.99)),
                place,
            )
            .central(),
            Claim::statement(
                "long",
                "Jain's index of TCP-LP, mean over longer periods",
                "",
                ("about 1", Rule::AtLeast(0.95)),
                place,
            ),
        ],
        studies: Kind::ALL.map(study).to_vec(),
        evaluate,
    }
}

fn jain(run: &RunResults) -> Option<f64> {
    let flows = run.flows.iter().filter(|flow| flow.group == "bulk");
    jain_index(&flows.map(|flow| flow.goodput_bps).collect::<Vec<_>>())
}

/// The mean over the points of each seed's index.
fn mean(points: &[&MeasuredPoint<'_>]) -> Option<Estimate> {
    let seeds = points.iter().map(|point| point.runs.len()).min()?;
    let means = (0..seeds).map(|seed| {
        let of_seed = points.iter().map(|point| jain(point.runs[seed]));
        let all = of_seed.collect::<Option<Vec<f64>>>()?;
        Some(all.iter().sum::<f64>() / all.len() as f64)
    });
    Estimate::of(&means.collect::<Option<Vec<f64>>>()?)
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let over = |kind: Kind, wanted: &dyn Fn(f64) -> bool| {
        let points = measured
            .study(&format!("lp03_f13_{}", kind.name()))
            .points
            .iter();
        let points: Vec<_> = points
            .filter(|point| wanted(point.number("period")))
            .collect();
        mean(&points)
    };
    findings.value("tcp", over(Kind::Tcp, &|_| true));
    findings.value("ecn", over(Kind::TcpLpEcn, &|_| true));
    findings.value("short", over(Kind::TcpLp, &|period| period <= SHORT_S));
    findings.value("long", over(Kind::TcpLp, &|period| period > SHORT_S));
    let curves = Kind::ALL.map(|kind| {
        let study = measured.study(&format!("lp03_f13_{}", kind.name()));
        let looks = (kind.title(), kind.curve());
        study.curve(looks, "period", |point| point.jain("bulk"))
    });
    findings.figures.push(Figure {
        name: "lp03-f13".to_owned(),
        title: "Fairness among ten flows beside a square wave".to_owned(),
        caption:
            "Jain's index of the throughputs of ten flows of one kind, against the wave's period."
                .to_owned(),
        kind: FigureKind::Lines,
        x: Axis::logarithmic("period of the square wave", "s"),
        y: Axis::linear("Jain's index", ""),
        curves: curves.to_vec(),
    });
    findings
}
