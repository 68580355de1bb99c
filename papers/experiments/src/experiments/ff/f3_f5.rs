// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 3 to 5: the windows of Reno, TCP-LP and Vegas over time.

use netnice_results::RunResults;

use super::common::{SOURCES, choices, series, sources};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::Measured;

const FLOWS: [(&str, &str); 3] = [("reno", "Reno"), ("lp", "TCP-LP"), ("vegas", "Vegas")];

pub(crate) fn experiment() -> Experiment {
    let place = "V, Figures 3 to 5";
    let largest = |(flow, name): (&str, &str)| {
        let what = format!("{name}: largest window");
        Claim::value(flow, &what, "packets", 30.0, place)
    };
    let mut claims: Vec<Claim> = FLOWS.into_iter().map(largest).collect();
    claims.push(Claim::statement(
        "falls",
        "TCP-LP: least window after the first second",
        "packets",
        (
            "it falls and recovers like Reno, quickly to 1",
            Rule::AtMost(1.0),
        ),
        place,
    ));
    let mut choices = choices();
    choices.push(Choice::new("samples of the windows", "every 100 ms"));
    Experiment {
        id: "FF-F3-F5",
        paper: Paper::Ff,
        title: "The windows of Reno, TCP-LP and Vegas",
        question: "How do the three windows move?",
        choices,
        claims,
        studies: vec![sources()],
        evaluate,
    }
}

fn windows(run: &RunResults, flow: &str, from_s: f64) -> Vec<f64> {
    let Some(series) = series(run, "cwnd", flow) else {
        return Vec::new();
    };
    let samples = series.time_s.iter().zip(series.value.iter());
    let wanted = samples.filter(|(time, value)| **time >= from_s && value.is_finite());
    wanted.map(|(_, &value)| value).collect()
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = measured.point(SOURCES);
    for (flow, name) in FLOWS {
        let largest = point.estimate(|run| windows(run, flow, 0.0).into_iter().reduce(f64::max));
        findings.value(flow, largest);
        let first = point.runs.first().and_then(|run| series(run, "cwnd", flow));
        let curve = Curve::over_time(name, CurveKind::Ours, first, 0.0);
        findings.figures.push(Figure {
            name: format!("ff-cwnd-{flow}"),
            title: format!("Window of {name}"),
            caption: "One run.".to_owned(),
            kind: FigureKind::TimeSeries,
            x: Axis::linear("time", "s"),
            y: Axis::linear("window", "packets"),
            curves: vec![curve],
        });
    }
    let least = point.estimate(|run| windows(run, "lp", 1.0).into_iter().reduce(f64::min));
    findings.value("falls", least);
    findings
}
