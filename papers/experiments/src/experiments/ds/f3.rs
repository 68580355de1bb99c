// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 3: window and threshold of TCP0 over the four phases, standard and modified.

use netnice_results::{RunResults, Series};
use netnice_study::Scale;

use super::common::{Setup, choices};
use super::phases::PHASES;
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, mean};
use crate::study::Study;

/// The runs of the tables, with the window of TCP0 over time.
fn study(setup: Setup) -> Study {
    let mut study = setup
        .study()
        .set("sampling", r#"{ interval = "50ms", flows = ["tcp0"] }"#);
    study.name = format!("ds_f3_{}", setup.name());
    study.quick = Scale::new(3, 100);
    study.full = Scale::new(10, 100);
    study
}

pub(crate) fn experiment() -> Experiment {
    let place = "4.3, Figure 3";
    let mut choices = choices();
    choices.push(Choice::new(
        "samples of window and threshold",
        "every 50 ms",
    ));
    let packets = |key, what, reported| Claim::value(key, what, "packets", reported, place);
    Experiment {
        id: "DS-F3",
        paper: Paper::Ds,
        title: "Window and threshold of TCP0 over the phases",
        question: "What do the mechanisms change in the window of a flow with a long round trip and a high target?",
        choices,
        claims: vec![
            packets(
                "low",
                "modified TCP: least ssthresh after the start (5 % of the samples are below)",
                40.0,
            ),
            packets(
                "high",
                "modified TCP: largest ssthresh after the start (5 % of the samples are above)",
                50.0,
            ),
            Claim::statement(
                "steady",
                "modified TCP: largest over least ssthresh",
                "",
                (
                    "a few discrete values: 40, 45 and 50 packets",
                    Rule::AtMost(1.25),
                ),
                place,
            ),
            Claim::statement(
                "drastic",
                "standard TCP: largest over least ssthresh",
                "",
                ("drastic and unpredictable", Rule::AtLeast(3.0)),
                place,
            ),
            Claim::statement(
                "congested",
                "standard TCP: mean ssthresh in the congested phase, of that when over-provisioned",
                "",
                (
                    "a much reduced operating point while congested; high from 80 s on",
                    Rule::AtMost(0.75),
                ),
                place,
            ),
            Claim::statement(
                "slow_start",
                "modified TCP: samples with cwnd below ssthresh in the first three phases",
                "%",
                (
                    "most of the time it is in slow start after a drop",
                    Rule::AtLeast(50.0),
                ),
                place,
            ),
        ],
        studies: vec![study(Setup::StandardRed), study(Setup::ModifiedRio)],
        evaluate,
    }
}

fn series<'a>(run: &'a RunResults, quantity: &str) -> Option<&'a Series> {
    let mut series = run.series.iter();
    series.find(|series| series.quantity == quantity && series.of == "tcp0")
}

/// Samples of TCP0 from `from` to `to` seconds.
fn samples(run: &RunResults, quantity: &str, from: f64, to: f64) -> Option<Vec<f64>> {
    let series = series(run, quantity)?;
    let samples = series.time_s.iter().zip(series.value.iter());
    let within = samples.filter(|(time, _)| (from..to).contains(*time));
    let values: Vec<f64> = within
        .map(|(_, &value)| value)
        .filter(|value| value.is_finite())
        .collect();
    (!values.is_empty()).then_some(values)
}

/// The value that `part` of them lie below.
fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(part * (values.len() - 1) as f64).round() as usize]
}

/// The threshold after the start: the first seconds lead from its default to where it stays.
fn threshold(run: &RunResults, part: f64) -> Option<f64> {
    Some(quantile(samples(run, "ssthresh", 5.0, 100.0)?, part))
}

fn spread(point: &MeasuredPoint<'_>) -> Option<netnice_results::Estimate> {
    point.estimate(|run| Some(threshold(run, 0.95)? / threshold(run, 0.05)?))
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let standard = measured.point("ds_f3_standard_red");
    let modified = measured.point("ds_f3_modified_rio");
    let unit = || {
        "2 Mb/s times 80 to 100 ms is 20 to 25 packets of 1000 bytes; 40, 45 and 50 is what it is in packets of 500 bytes, which the text does not say it counts in".to_owned()
    };
    findings.value_or_reason("low", modified.estimate(|run| threshold(run, 0.05)), unit());
    findings.value_or_reason(
        "high",
        modified.estimate(|run| threshold(run, 0.95)),
        unit(),
    );
    findings.value("steady", spread(modified));
    findings.value("drastic", spread(standard));
    let congested = standard.estimate(|run| {
        let congested = samples(run, "ssthresh", 25.0, 50.0)?;
        Some(mean(&congested) / mean(&samples(run, "ssthresh", 80.0, 100.0)?))
    });
    findings.value("congested", congested);
    let slow_start = modified.estimate(|run| {
        let cwnd = samples(run, "cwnd", 0.0, 75.0)?;
        let ssthresh = samples(run, "ssthresh", 0.0, 75.0)?;
        let below = cwnd
            .iter()
            .zip(&ssthresh)
            .filter(|(cwnd, ssthresh)| cwnd < ssthresh);
        Some(100.0 * below.count() as f64 / cwnd.len() as f64)
    });
    findings.value("slow_start", slow_start);
    findings.notes.push(
        "The figure's thresholds of 40 to 50 packets fit packets of 500 bytes, or a target of 4 Mb/s: 2 Mb/s times the round \
         trips of 80 to 100 ms is 20 to 25 packets of 1000 bytes."
            .to_owned(),
    );
    for (point, setup) in [
        (standard, Setup::StandardRed),
        (modified, Setup::ModifiedRio),
    ] {
        findings.figures.push(figure(point, setup));
    }
    findings
}

fn figure(point: &MeasuredPoint<'_>, setup: Setup) -> Figure {
    let curve = |quantity: &str| {
        let series = point.runs.first().and_then(|run| series(run, quantity));
        Curve::over_time(quantity, CurveKind::Ours, series, 0.0)
    };
    Figure {
        name: format!("ds-f3-{}", setup.name()),
        title: format!("TCP0: {}", setup.title()),
        caption: format!(
            "Window and threshold of TCP0 (80 ms, target 2 Mb/s) in one run. Phases of 25 s: {}.",
            PHASES.join(", ")
        ),
        kind: FigureKind::TimeSeries,
        x: Axis::linear("time", "s"),
        y: Axis::linear("window, threshold", "packets"),
        curves: vec![curve("cwnd"), curve("ssthresh")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let values = vec![5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(values.clone(), 0.0), 1.0);
        assert_eq!(quantile(values.clone(), 0.5), 3.0);
        assert_eq!(quantile(values, 1.0), 5.0);
    }
}
