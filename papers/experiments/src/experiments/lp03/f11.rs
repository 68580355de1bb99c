// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 11: the part of the excess beside a square wave that one flow uses, against the wave's period.

use netnice_results::Estimate;
use netnice_study::Scale;

use super::common::{Kind, TODAY, tcp_choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::figure::{Axis, Curve, CurveKind, Figure, FigureKind};
use crate::findings::{Findings, exact};
use crate::measured::{Measured, MeasuredPoint, throughput};
use crate::study::{Study, scenario};
use netnice_study::{Table, written_or_dash};

const FILE: (&str, &str) = scenario!("lp03_square_wave.toml");
const QUICK: Scale = Scale::new(5, 300);
const LINK: &str = "bottleneck";

/// LP03 IV-B: from one to 1000 round-trip times, 50 ms to 50 s.
pub(super) const PERIODS: &[&str] = &[
    "50ms", "100ms", "200ms", "400ms", "800ms", "1.6s", "3.2s", "6.4s", "12.8s", "25.6s", "51.2s",
];

/// LP03 V-B.1: the average excess, to which throughputs are normalised.
pub(super) const EXCESS_BPS: f64 = 6.6e6;

fn study(name: &str) -> Study {
    Study::new(format!("lp03_f11_{name}"), FILE, QUICK, Scale::LP03).sweep("period", PERIODS)
}

/// Throughput of the bulk transfers in parts of the excess.
pub(super) fn of_excess(point: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.estimate(|run| Some(throughput(run, "bulk")? / EXCESS_BPS))
}

/// Pearson's correlation of two curves' values at the same x.
fn correlation(a: &Curve, b: &Curve) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = a
        .points
        .iter()
        .zip(&b.points)
        .map(|(a, b)| (a.y, b.y))
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let (mean_a, mean_b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let product = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let both = product(&|(a, b)| (a - mean_a) * (b - mean_b));
    let squares_a = product(&|(a, _)| (a - mean_a).powi(2));
    let squares_b = product(&|(_, b)| (b - mean_b).powi(2));
    let correlation = both / (squares_a * squares_b).sqrt();
    correlation.is_finite().then_some(correlation)
}

/// The parameters that the paper leaves open beside square waves.
pub(super) fn choices() -> Vec<Choice> {
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "phase of the square wave",
        "random within its period, by seed",
    ));
    choices.push(Choice::new(
        "packets of the square wave",
        "210 bytes, the default of ns-2's source of a constant rate; the queue counts packets, as in ns-2",
    ));
    choices
}

/// The search over the open parameters, at the period that the text gives a figure for.
fn search(kind: Kind) -> Study {
    let study = kind.apply(study(kind.name()), "bulk", &[LINK]);
    let mut study = study.renamed(&format!("lp03_f11_search_{}", kind.name()));
    study.sweep.clear();
    study.quick = Scale::new(3, 200);
    study.full = Scale::new(10, 1000);
    study
        .set("period", "200ms")
        .sweep("queue", &["157p", "2.5bdp", "120p", "62p"])
        .sweep("wave_packet", &["210B", "1000B"])
        .sweep("min_rto", &["200ms", "1s"])
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-B.1, Figure 11";
    let about_half = Rule::between(0.45, 0.55);
    let half = |key, what| {
        Claim::statement(
            key,
            what,
            "of the excess",
            ("about 50 %", about_half),
            place,
        )
    };
    let more = |key, what| {
        Claim::statement(
            key,
            what,
            "times TCP's",
            ("more than TCP", Rule::AtLeast(1.0)),
            place,
        )
    };
    let shape =
        |key, what| Claim::statement(key, what, "", ("similar shape", Rule::AtLeast(0.8)), place);
    let kind = |kind: Kind| kind.apply(study(kind.name()), "bulk", &[LINK]);
    Experiment {
        id: "LP03-F11",
        paper: Paper::Lp03,
        title: "One flow beside a square wave, against its period",
        question: "How much of the bandwidth that comes and goes does one flow use, over TCP, TCP-LP and TCP-LP/ECN?",
        choices: choices(),
        claims: vec![
            half("tcp", "TCP at a period of 0.2 s").central(),
            half("tcplp", "TCP-LP at a period of 0.2 s").central(),
            half("ecn", "TCP-LP/ECN at a period of 0.2 s").central(),
            more("tcplp_over_tcp", "TCP-LP at a period of 0.2 s, over TCP").central(),
            more("ecn_over_tcp", "TCP-LP/ECN at a period of 0.2 s, over TCP").central(),
            shape("tcplp_shape", "correlation of TCP-LP's curve with TCP's"),
            shape("ecn_shape", "correlation of TCP-LP/ECN's curve with TCP's"),
        ],
        studies: vec![
            kind(Kind::Tcp),
            kind(Kind::TcpLp),
            kind(Kind::TcpLpEcn),
            kind(Kind::Ideal),
            kind(Kind::Tcp).renamed("lp03_f11_tcp_today").set_all(TODAY),
            kind(Kind::TcpLp)
                .renamed("lp03_f11_tcplp_today")
                .set_all(TODAY),
            kind(Kind::Tcp)
                .renamed("lp03_f11_tcp_short_rto")
                .set("min_rto", "200ms"),
            kind(Kind::TcpLp)
                .renamed("lp03_f11_tcplp_short_rto")
                .set("min_rto", "200ms"),
            search(Kind::Tcp),
            search(Kind::TcpLp),
            search(Kind::TcpLpEcn),
        ],
        evaluate,
    }
}

/// The table of the search, and in words in how many of its settings the flows over TCP-LP get more than TCP.
fn searched(measured: &Measured<'_>) -> (Table, String) {
    let points = |kind: Kind| {
        let study = format!("lp03_f11_search_{}", kind.name());
        &measured.study(&study).points
    };
    let mut table = Table::new(
        "Search over what is open, at a period of 0.2 s: parts of the excess; reported about 0.5, TCP-LP and TCP-LP/ECN above TCP",
        &[
            "queue",
            "packet of the wave",
            "minimum RTO",
            "TCP",
            "TCP-LP",
            "TCP-LP/ECN",
        ],
    );
    let mut above = Vec::new();
    let lines = points(Kind::Tcp)
        .iter()
        .zip(points(Kind::TcpLp))
        .zip(points(Kind::TcpLpEcn));
    for ((tcp, low), ecn) in lines {
        let values = [tcp, low, ecn].map(of_excess);
        let cells = values.map(written_or_dash);
        table.rows.push(tcp.values().chain(cells).collect());
        if let [Some(tcp), Some(low), Some(ecn)] = values {
            if low.mean > tcp.mean && ecn.mean > tcp.mean {
                above.push(format!(
                    "{} (TCP {:.2}, TCP-LP {:.2}, TCP-LP/ECN {:.2})",
                    low_words(low_settings(&table)),
                    tcp.mean,
                    low.mean,
                    ecn.mean
                ));
            }
        }
    }
    let words = match above.as_slice() {
        [] => format!(
            "of {} settings of what is open none has both above TCP",
            table.rows.len()
        ),
        some => format!("both are above TCP with {}", some.join("; ")),
    };
    (table, words)
}

/// The settings of the last row.
fn low_settings(table: &Table) -> &[String] {
    table.rows.last().map_or(&[], |row| &row[..3])
}

fn low_words(settings: &[String]) -> String {
    let names = ["queue", "packets of", "minimum RTO"];
    let words = names
        .iter()
        .zip(settings)
        .map(|(name, value)| format!("{name} {value}"));
    words.collect::<Vec<_>>().join(", ")
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let study = |name: &str| measured.study(&format!("lp03_f11_{name}"));
    let curve = |study_name: &str, looks| study(study_name).curve(looks, "period", of_excess);
    let curves = Kind::ALL.map(|kind| curve(kind.name(), (kind.title(), kind.curve())));
    let at_200ms = |name: &str| study(name).at("period", "200ms");
    let (table, nearest) = searched(measured);
    findings.tables.push(table);
    for (key, kind) in [
        ("tcp", Kind::Tcp),
        ("tcplp", Kind::TcpLp),
        ("ecn", Kind::TcpLpEcn),
    ] {
        findings.value(key, at_200ms(kind.name()).and_then(of_excess));
    }
    for (key, kind) in [
        ("tcplp_over_tcp", Kind::TcpLp),
        ("ecn_over_tcp", Kind::TcpLpEcn),
    ] {
        let ratio = at_200ms(kind.name()).and_then(|low| {
            low.paired(at_200ms("tcp")?, |low, tcp| {
                Some(throughput(low, "bulk")? / throughput(tcp, "bulk")?)
            })
        });
        findings.value_or_reason(key, ratio, nearest.clone());
    }
    let [tcp, tcplp, ecn, _] = &curves;
    findings.value("tcplp_shape", correlation(tcp, tcplp).and_then(exact));
    findings.value("ecn_shape", correlation(tcp, ecn).and_then(exact));
    let mut figure = Figure {
        name: "lp03-f11".to_owned(),
        title: "One flow beside a square wave".to_owned(),
        caption: "Throughput of one flow, in parts of the average excess of 6.6 Mb/s that the square wave leaves, \
                  against the wave's period."
            .to_owned(),
        kind: FigureKind::Lines,
        x: Axis::logarithmic("period of the square wave", "s"),
        y: Axis::linear("throughput", "of the excess"),
        curves: curves.to_vec(),
    };
    for (name, study_name) in [
        ("TCP, today's", "tcp_today"),
        ("TCP-LP, today's", "tcplp_today"),
        ("TCP, minimum RTO of 0.2 s", "tcp_short_rto"),
        ("TCP-LP, minimum RTO of 0.2 s", "tcplp_short_rto"),
    ] {
        figure
            .curves
            .push(curve(study_name, (name, CurveKind::Variant)));
    }
    let mut reported = Curve::new("the paper, about", CurveKind::Reported);
    reported.add_exact(0.2, 0.5);
    figure.curves.push(reported);
    findings.figures.push(figure);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_by_hand() {
        let curve = |values: &[f64]| {
            let mut curve = Curve::new("", CurveKind::Ours);
            values
                .iter()
                .enumerate()
                .for_each(|(x, &y)| curve.add_exact(x as f64, y));
            curve
        };
        let rising = curve(&[1.0, 2.0, 3.0]);
        assert!((correlation(&rising, &curve(&[5.0, 7.0, 9.0])).unwrap() - 1.0).abs() < 1e-12);
        assert!((correlation(&rising, &curve(&[3.0, 2.0, 1.0])).unwrap() + 1.0).abs() < 1e-12);
        // Deviations -1, 0, 1 and -1/3, 2/3, -1/3: the products add up to 0.
        assert!(
            correlation(&rising, &curve(&[1.0, 2.0, 1.0]))
                .unwrap()
                .abs()
                < 1e-12
        );
        assert_eq!(correlation(&rising, &curve(&[1.0, 1.0, 1.0])), None);
    }
}
