// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 10: the windows of TCP and TCP-LP over time, against ten flows in the reverse direction.

use netnice_results::RunResults;
use netnice_study::Scale;

use super::common::{Kind, tcp_choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, mean, series};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");
/// Slow start at the beginning goes higher, and is not what the figure shows.
const SETTLED_S: f64 = 20.0;

fn study(kind: Kind) -> Study {
    let scale = Scale::new(4, 220);
    let study = Study::new(format!("lp03_f10_{}", kind.name()), FILE, scale, scale).set(
        "sampling",
        "{ interval = \"100ms\", flows = [\"tcp\", \"low\"], links = [] }",
    );
    kind.apply(study, "low", &["bottleneck"])
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-A, Figure 10";
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "rate of the link",
        "1.5 Mb/s, fitted to the largest window: 9 packets of the path and 24 of the queue are about 30",
    ));
    choices.push(Choice::new(
        "the part of the run that is drawn",
        "20 to 220 s, a sample each 100 ms: the range is from the 0.5th to the 99.5th percentile of the samples",
    ));
    Experiment {
        id: "LP03-F10",
        paper: Paper::Lp03,
        title: "Windows of TCP and TCP-LP over time, against reverse traffic",
        question: "Does TCP-LP fill the valleys of TCP's window, and make room when it rises?",
        choices,
        claims: vec![
            Claim::value("max", "largest window of TCP", "packets", 30.0, place).fitted(),
            Claim::statement(
                "min",
                "smallest window of TCP",
                "packets",
                ("zero", Rule::AtMost(1.0)),
                place,
            ),
            Claim::statement(
                "high",
                "mean window of TCP-LP while TCP's is above 20",
                "packets",
                ("quickly backs off", Rule::AtMost(2.0)),
                place,
            ),
            Claim::statement(
                "low",
                "the same while TCP's is below 5, times that",
                "",
                (
                    "increases its window when TCP's decreases",
                    Rule::AtLeast(1.2),
                ),
                place,
            ),
        ],
        studies: vec![
            study(Kind::TcpLp),
            study(Kind::TcpLpEcn),
            study(Kind::Ideal),
        ],
        evaluate,
    }
}

/// Settled samples of a flow's window.
fn windows(run: &RunResults, flow: &str) -> Option<Vec<f64>> {
    let cwnd = series(run, "cwnd", flow)?;
    let samples = cwnd.time_s.iter().zip(cwnd.value.iter());
    let settled = samples.filter(|(time, cwnd)| **time >= SETTLED_S && cwnd.is_finite());
    Some(settled.map(|(_, &cwnd)| cwnd).collect())
}

/// The value below which a part of the samples lies.
fn percentile(mut samples: Vec<f64>, part: f64) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let place = part * samples.len().checked_sub(1)? as f64;
    samples.get(place.round() as usize).copied()
}

/// TCP-LP's mean window while TCP's is in a range.
fn low_while(run: &RunResults, range: impl Fn(f64) -> bool) -> Option<f64> {
    let tcp = windows(run, "tcp")?;
    let low = windows(run, "low")?;
    let pairs = tcp.iter().zip(&low).filter(|(tcp, _)| range(**tcp));
    let chosen: Vec<f64> = pairs.map(|(_, &low)| low).collect();
    (!chosen.is_empty()).then(|| mean(&chosen))
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = measured.point("lp03_f10_tcplp");
    let high = |run: &RunResults| low_while(run, |tcp| tcp > 20.0);
    findings.value(
        "max",
        point.estimate(|run| percentile(windows(run, "tcp")?, 0.995)),
    );
    findings.value(
        "min",
        point.estimate(|run| percentile(windows(run, "tcp")?, 0.005)),
    );
    findings.value("high", point.estimate(high));
    findings.value(
        "low",
        point.estimate(|run| Some(low_while(run, |tcp| tcp < 5.0)? / high(run)?)),
    );
    for (name, low, study) in [
        ("lp03-f10", Kind::TcpLp, "lp03_f10_tcplp"),
        ("lp03-f10-ecn", Kind::TcpLpEcn, "lp03_f10_tcplp_ecn"),
    ] {
        let run = measured.point(study).runs.first();
        let ideal = measured.point("lp03_f10_ideal").runs.first();
        let curves = [
            (run, "TCP", CurveKind::Ours, "tcp"),
            (run, low.title(), CurveKind::Ours, "low"),
            (ideal, Kind::Ideal.title(), Kind::Ideal.curve(), "low"),
        ]
        .map(|(run, title, kind, flow)| {
            let series = run.and_then(|run| series(run, "cwnd", flow));
            series.map(|series| Curve::over_time(title, kind, Some(series), SETTLED_S))
        });
        findings.figures.push(Figure {
            name: name.to_owned(),
            title: format!("Windows of TCP and {} over time", low.title()),
            caption:
                "Congestion windows of one run, against ten TCP flows in the reverse direction; the ideal is from another \
                 run, in which strict priority keeps the low class out of TCP's way."
                    .to_owned(),
            kind: FigureKind::TimeSeries,
            x: Axis::linear("time", "s"),
            y: Axis::linear("congestion window", "packets"),
            curves: curves.into_iter().flatten().collect(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_results::Series;

    #[test]
    fn percentiles_and_conditional_means_by_hand() {
        let samples: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(percentile(samples.clone(), 0.995), Some(100.0));
        assert_eq!(percentile(samples, 0.5), Some(50.0));
        assert_eq!(percentile(Vec::new(), 0.5), None);
        let series = |of: &str, value: &[f64]| Series {
            quantity: "cwnd".to_owned(),
            of: of.to_owned(),
            time_s: [10.0, 30.0, 31.0, 32.0].into(),
            value: value.to_vec().into(),
            ..Series::default()
        };
        let run = RunResults {
            series: vec![
                series("tcp", &[25.0, 25.0, 3.0, 22.0]),
                series("low", &[9.0, 1.0, 4.0, 2.0]),
            ],
            ..RunResults::default()
        };
        assert_eq!(low_while(&run, |tcp| tcp > 20.0), Some(1.5));
        assert_eq!(low_while(&run, |tcp| tcp < 5.0), Some(4.0));
        assert_eq!(low_while(&run, |tcp| tcp > 90.0), None);
    }
}
