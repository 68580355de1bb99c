// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 6: the largest ratio of round-trip times at which TCP-LP yields in time, by the fluid model and the simulator.

use netnice_results::RunResults;
use netnice_study::Scale;

use super::common::tcp_choices;
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::{Findings, exact};
use crate::fluid;
use crate::measured::{Measured, series};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");

/// Q: 2.5 bandwidth-delay products of 1.5 Mb/s and 48 ms.
const QUEUE: f64 = 22.0;
/// TCP's round-trip time; TCP-LP's is longer by the delay of its access link.
const RTT_TCP_S: f64 = 0.048;
/// When TCP begins at the earliest.
const TCP_BEGINS_S: f64 = 40.0;
const DELTAS: &[&str] = &["0.05", "0.15", "0.3", "0.5"];
/// One-way delays of TCP-LP's access link: round-trip times of 1, 2, 3, 4, 6 and 10 times TCP's.
const DELAYS: &[&str] = &["2ms", "26ms", "50ms", "74ms", "122ms", "218ms"];

fn study() -> Study {
    // Sampling makes these runs large: a minute of ten of them says enough.
    Study::new("lp03_f6", FILE, Scale::new(4, 55), Scale::new(10, 55))
        .set("flows.reverse.count", "0")
        .set("queue", "24p")
        .set("sampling", "{ interval = \"50ms\", links = [] }")
        .set("flows.tcp.start", "40s")
        // The model has both in congestion avoidance.
        .set("flows.tcp.tcp.initial_ssthresh", "2.0")
        .sweep("flows.low.congestion_control.delta", DELTAS)
        .sweep("links.low_source-left.delay", DELAYS)
}

pub(crate) fn experiment() -> Experiment {
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "queue Q of the figure",
        "24 packets, as on all links of 1.5 Mb/s",
    ));
    choices.push(Choice::new(
        "how the model is held against a simulation",
        "TCP-LP fills the link; TCP joins it after 40 s in congestion avoidance; TCP-LP is in time if its window is cut before \
         TCP's window is for the first time",
    ));
    let place = "III-C, Figure 6";
    Experiment {
        id: "LP03-F6",
        paper: Paper::Lp03,
        title: "The largest ratio of round-trip times at which TCP-LP yields in time",
        question: "How much longer may TCP-LP's round-trip time be than TCP's, so that it still yields before TCP loses a packet?",
        choices,
        claims: vec![
            Claim::statement(
                "delta",
                "largest ratio at a threshold of 0.05, times that at 0.5 (fluid model)",
                "",
                (
                    "small thresholds tolerate larger ratios",
                    Rule::AtLeast(1.0),
                ),
                place,
            ),
            Claim::statement(
                "longer",
                "largest ratio at the threshold of 0.15 (fluid model)",
                "",
                (
                    "TCP-LP may have a much longer round-trip time: V-E.1 has three times TCP's",
                    Rule::AtLeast(3.0),
                ),
                place,
            ),
            Claim::statement(
                "simulator",
                "simulations in time, of those below the model's ratio",
                "%",
                ("inequality (4) is sufficient", Rule::AtLeast(100.0)),
                "III-C",
            ),
        ],
        studies: vec![study()],
        evaluate,
    }
}

/// Is TCP-LP's window cut before TCP's? `None` where neither is.
fn in_time(run: &RunResults) -> Option<bool> {
    let first_cut = |flow: &str, to: f64| {
        let cwnd = series(run, "cwnd", flow)?;
        let pairs = cwnd.value.windows(2).zip(cwnd.time_s.windows(2));
        let mut after = pairs.filter(|(_, time)| time[0] >= TCP_BEGINS_S);
        after
            .find(|(cwnd, _)| cwnd[1] < to * cwnd[0])
            .map(|(_, time)| time[1])
    };
    let (low, tcp) = (first_cut("low", 0.7), first_cut("tcp", 0.7));
    match (low, tcp) {
        (Some(low), Some(tcp)) => Some(low <= tcp),
        (Some(_), None) => Some(true),
        (None, Some(_)) => Some(false),
        (None, None) => None,
    }
}

/// One-way delay of an access link as the ratio of TCP-LP's round-trip time to TCP's.
fn ratio(delay_s: f64) -> f64 {
    (RTT_TCP_S + 2.0 * (delay_s * 1e3 - 2.0) * 1e-3) / RTT_TCP_S
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let largest = |delta| fluid::largest_rtt_ratio(delta, QUEUE);
    findings.value("delta", exact(largest(0.05) / largest(0.5)));
    findings.value("longer", exact(largest(0.15)));
    let mut model = Curve::new("fluid model", CurveKind::Model);
    for step in 1..=60 {
        let delta = f64::from(step) / 100.0;
        model.add_exact(delta, largest(delta));
    }
    let mut simulated = Curve::new("simulator: largest in time in every run", CurveKind::Ours);
    let (mut below, mut in_time_below) = (0, 0);
    let mut found: Vec<(f64, f64)> = Vec::new();
    for point in &measured.study("lp03_f6").points {
        let delta = point.number("flows.low.congestion_control.delta");
        let k = ratio(point.number("links.low_source-left.delay"));
        let timely: Vec<bool> = point.runs.iter().filter_map(|run| in_time(run)).collect();
        if k <= largest(delta) {
            below += timely.len();
            in_time_below += timely.iter().filter(|&&timely| timely).count();
        }
        if !timely.is_empty() && timely.iter().all(|&timely| timely) {
            match found.iter_mut().find(|(other, _)| *other == delta) {
                Some((_, largest)) => *largest = largest.max(k),
                None => found.push((delta, k)),
            }
        }
    }
    found
        .iter()
        .for_each(|&(delta, k)| simulated.add_exact(delta, k));
    let part =
        (below > 0).then(|| 100.0 * f64::from(in_time_below as u32) / f64::from(below as u32));
    findings.value("simulator", part.and_then(exact));
    findings.figures.push(Figure {
        name: "lp03-f6".to_owned(),
        title: "Ratios of round-trip times at which TCP-LP yields in time".to_owned(),
        caption: "The largest ratio of TCP-LP's round-trip time to TCP's against the threshold, with a queue of 24 packets."
            .to_owned(),
        kind: FigureKind::Lines,
        x: Axis::linear("threshold delta", ""),
        y: Axis::linear("largest ratio of round-trip times", ""),
        curves: vec![model, simulated],
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_results::Series;

    #[test]
    fn delays_of_the_access_link_make_ratios() {
        assert_eq!(ratio(0.002), 1.0);
        assert!((ratio(0.026) - 2.0).abs() < 1e-12);
        assert!((ratio(0.218) - 10.0).abs() < 1e-12);
    }

    #[test]
    fn whose_window_is_cut_first() {
        let run = |low: &[f64], tcp: &[f64]| {
            let series = |of: &str, value: &[f64]| Series {
                quantity: "cwnd".to_owned(),
                of: of.to_owned(),
                time_s: (0..value.len())
                    .map(|second| 40.0 + second as f64)
                    .collect(),
                value: value.to_vec().into(),
                ..Series::default()
            };
            RunResults {
                series: vec![series("low", low), series("tcp", tcp)],
                ..RunResults::default()
            }
        };
        assert_eq!(
            in_time(&run(&[8.0, 4.0, 4.0], &[9.0, 9.0, 4.5])),
            Some(true)
        );
        assert_eq!(
            in_time(&run(&[8.0, 8.0, 4.0], &[9.0, 4.5, 4.5])),
            Some(false)
        );
        assert_eq!(
            in_time(&run(&[8.0, 8.0, 8.0], &[9.0, 4.5, 4.5])),
            Some(false)
        );
        assert_eq!(in_time(&run(&[8.0, 8.0, 8.0], &[9.0, 9.0, 9.0])), None);
    }
}
