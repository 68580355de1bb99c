// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 6 and 7: throughput over time, TCP-LP beside Reno and beside Vegas.

use netnice_results::RunResults;

use super::common::{SOURCES, choices, series, sources};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, mean};

/// Samples of 100 ms in a second.
const SAMPLES: usize = 10;

/// The most that TCP can get of the bottleneck: 1000 of 1040 bytes.
const LINK_BPS: f64 = 1.5e6 * 1000.0 / 1040.0;

pub(crate) fn experiment() -> Experiment {
    let low = |key, what, place| {
        Claim::statement(
            key,
            what,
            "",
            ("low whenever the other is active", Rule::AtMost(0.5)),
            place,
        )
    };
    let less = |key, what, place| {
        Claim::statement(
            key,
            what,
            "",
            ("the other gets more", Rule::AtMost(1.0)),
            place,
        )
    };
    Experiment {
        id: "FF-F6-F7",
        paper: Paper::Ff,
        title: "Throughput over time, TCP-LP beside Reno and Vegas",
        question: "Does TCP-LP step back while the others send, and take the link when they do not?",
        choices: choices(),
        claims: vec![
            low(
                "reno",
                "TCP-LP's goodput in seconds in which Reno sends more than its mean, of that in the others",
                "V, Figure 6",
            ),
            low(
                "vegas",
                "TCP-LP's goodput in seconds in which Vegas sends more than its mean, of that in the others",
                "V, Figure 7",
            ),
            less(
                "reno_less",
                "TCP-LP's goodput in seconds in which Reno sends more than its mean, of Reno's then",
                "V, Figure 6",
            ),
            less(
                "vegas_less",
                "TCP-LP's goodput in seconds in which Vegas sends more than its mean, of Vegas's then",
                "V, Figure 7",
            ),
            Claim::statement(
                "all",
                "largest goodput of TCP-LP in a second",
                "% of the link",
                (
                    "all of the bottleneck at 7 and 15 to 16",
                    Rule::AtLeast(90.0),
                ),
                "V, Figure 7",
            ),
        ],
        studies: vec![sources()],
        evaluate,
    }
}

/// Goodput in each second, in bits per second.
fn seconds(run: &RunResults, flow: &str) -> Vec<f64> {
    let Some(series) = series(run, "goodput", flow) else {
        return Vec::new();
    };
    let finite = |value: &f64| if value.is_finite() { *value } else { 0.0 };
    let chunks = series.value.chunks_exact(SAMPLES);
    chunks
        .map(|chunk| chunk.iter().map(finite).sum::<f64>() / SAMPLES as f64)
        .collect()
}

/// The mean of `flow` over the seconds in which `other` is above its mean, or over the rest of them.
fn mean_while(active: bool, other: &[f64], flow: &[f64]) -> f64 {
    let threshold = mean(other);
    let pairs = flow.iter().zip(other);
    let chosen = pairs.filter(|&(_, &other)| (other > threshold) == active);
    mean(&chosen.map(|(&flow, _)| flow).collect::<Vec<_>>())
}

/// The mean of `low` where `other` is above its mean, over its mean elsewhere.
fn while_active(low: &[f64], other: &[f64]) -> Option<f64> {
    let ratio = mean_while(true, other, low) / mean_while(false, other, low);
    ratio.is_finite().then_some(ratio)
}

/// The mean of `low` where `other` is above its mean, over that of `other` there.
fn of_the_others(low: &[f64], other: &[f64]) -> Option<f64> {
    let ratio = mean_while(true, other, low) / mean_while(true, other, other);
    ratio.is_finite().then_some(ratio)
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = measured.point(SOURCES);
    for (flow, name) in [("reno", "Reno"), ("vegas", "Vegas")] {
        let ratio = point.estimate(|run| while_active(&seconds(run, "lp"), &seconds(run, flow)));
        findings.value(flow, ratio);
        let less = point.estimate(|run| of_the_others(&seconds(run, "lp"), &seconds(run, flow)));
        findings.value(&format!("{flow}_less"), less);
        let curve = |flow: &str, name: &str| {
            let mut curve = Curve::new(name, CurveKind::Ours);
            let goodput = point.runs.first().map(|run| seconds(run, flow));
            for (second, goodput) in goodput.unwrap_or_default().into_iter().enumerate() {
                curve.add_exact(second as f64 + 1.0, goodput / 1e3);
            }
            curve
        };
        findings.figures.push(Figure {
            name: format!("ff-throughput-{flow}"),
            title: format!("TCP-LP beside {name}"),
            caption: "Goodput in each second of one run.".to_owned(),
            kind: FigureKind::TimeSeries,
            x: Axis::linear("time", "s"),
            y: Axis::linear("goodput", "kb/s"),
            curves: vec![curve("lp", "TCP-LP"), curve(flow, name)],
        });
    }
    let all = point.estimate(|run| {
        let largest = seconds(run, "lp").into_iter().reduce(f64::max)?;
        Some(100.0 * largest / LINK_BPS)
    });
    findings.value("all", all);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_while_active_by_hand() {
        // The other's mean is 2: it is above in the last two seconds, where low has 1 of the 4 it has elsewhere.
        let ratio = while_active(&[4.0, 4.0, 1.0, 1.0], &[1.0, 1.0, 3.0, 3.0]);
        assert_eq!(ratio, Some(0.25));
        // Of the other's 3 in those seconds it has 1.
        let ratio = of_the_others(&[4.0, 4.0, 1.0, 1.0], &[1.0, 1.0, 3.0, 3.0]);
        assert_eq!(ratio, Some(1.0 / 3.0));
        assert_eq!(while_active(&[1.0, 1.0], &[2.0, 2.0]), None);
    }
}
