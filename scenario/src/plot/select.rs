// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of plots: time series, the sweep, response times by size.

use netnice_queue::{Bytes, LossFraction, Rate};

use super::{Axis, Curve, Plot, Point};
use crate::model::TimeSpan;
use crate::results::{Manifest, PointSummary, RunResults, Subject, Summary};

/// More curves than this cannot be distinguished.
const MAX_CURVES: usize = 12;

/// The plots of these results, those that have something to show.
pub fn plots(manifest: &Manifest, runs: &[RunResults], summary: &Summary) -> Vec<Plot> {
    let mut plots = vec![
        goodput(manifest, summary),
        response_times(manifest, summary),
    ];
    if let Some(run) = runs.first() {
        for (quantity, label) in [
            ("cwnd", "congestion window (packets)"),
            ("goodput", "goodput (bit/s)"),
            ("queue_packets", "queue (packets)"),
            ("queue_delay", "queueing delay (s)"),
        ] {
            plots.push(time_series(manifest, run, quantity, label));
        }
    }
    plots.retain(|plot| plot.curves.iter().any(|curve| !curve.points.is_empty()));
    plots
}

/// One quantity of one run over time.
fn time_series(manifest: &Manifest, run: &RunResults, quantity: &str, label: &str) -> Plot {
    let series = run
        .series
        .iter()
        .filter(|series| series.quantity == quantity);
    let curves = series.take(MAX_CURVES).map(|series| {
        let points = series.time_s.iter().zip(&series.value);
        let points = points.filter(|(_, value)| value.is_finite());
        Curve {
            name: series.of.clone(),
            points: points
                .map(|(&x, &y)| Point {
                    x,
                    y,
                    half_width: 0.0,
                })
                .collect(),
        }
    });
    let settings = words(&run.settings);
    let settings = match settings.is_empty() {
        true => String::new(),
        false => format!(", {settings}"),
    };
    Plot {
        name: quantity.to_owned(),
        title: format!("{}: seed {}{settings}", manifest.scenario, run.seed),
        x: Axis::Quantity {
            label: "time (s)".to_owned(),
            logarithmic: false,
        },
        y_label: label.to_owned(),
        y_logarithmic: false,
        curves: curves.collect(),
    }
}

fn words(settings: &[(String, String)]) -> String {
    let words = settings
        .iter()
        .map(|(key, value)| format!("{key} = {value}"));
    words.collect::<Vec<_>>().join(", ")
}

/// Goodput of each entry of flows: along the last axis of the sweep that is a quantity, else as bars.
fn goodput(manifest: &Manifest, summary: &Summary) -> Plot {
    let along = (0..manifest.axes.len()).rev().find(|&axis| {
        let mut points = summary.points.iter();
        points.all(|point| quantity(&point.settings[axis].1).is_some())
    });
    let title = format!(
        "{}: goodput, mean and 95 % confidence interval",
        manifest.scenario
    );
    let y_label = "goodput (Mb/s)".to_owned();
    let mut curves: Vec<Curve> = Vec::new();
    let mut add =
        |name: String, point: Point| match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name,
                points: vec![point],
            }),
        };
    let x = match along {
        Some(axis) => {
            let mut values = Vec::new();
            let mut unit = "";
            for point in &summary.points {
                let (x, of) = quantity(&point.settings[axis].1).unwrap_or((0.0, ""));
                values.push(x);
                unit = of;
                let mut others = point.settings.clone();
                others.remove(axis);
                for (of, y, half_width) in goodputs(point) {
                    let others = others.iter().map(|(_, value)| value.as_str());
                    let name: Vec<&str> = std::iter::once(of.as_str()).chain(others).collect();
                    add(name.join(", "), Point { x, y, half_width });
                }
            }
            Axis::Quantity {
                label: match unit {
                    "" => manifest.axes[axis].clone(),
                    unit => format!("{} ({unit})", manifest.axes[axis]),
                },
                logarithmic: spans_decades(&values),
            }
        }
        None => {
            let mut names = Vec::new();
            for (index, point) in summary.points.iter().enumerate() {
                let values = point.settings.iter().map(|(_, value)| value.as_str());
                names.push(values.collect::<Vec<_>>().join(", "));
                for (of, y, half_width) in goodputs(point) {
                    let x = index as f64;
                    add(of, Point { x, y, half_width });
                }
            }
            Axis::Names {
                label: manifest.axes.join(", "),
                names,
            }
        }
    };
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    curves.truncate(MAX_CURVES);
    Plot {
        name: "goodput_by_flow".to_owned(),
        title,
        x,
        y_label,
        y_logarithmic: false,
        curves,
    }
}

/// Goodputs of a point in Mb/s, with half widths.
fn goodputs(point: &PointSummary) -> Vec<(String, f64, f64)> {
    let figures = point.figures.iter();
    let figures =
        figures.filter(|figure| figure.subject == Subject::Flows && figure.quantity == "goodput");
    let values = figures.map(|figure| {
        let value = figure.value;
        (
            figure.of.clone(),
            value.mean / 1e6,
            value.half_width_95.unwrap_or(0.0) / 1e6,
        )
    });
    values.collect()
}

/// Mean response times of web objects by size.
fn response_times(manifest: &Manifest, summary: &Summary) -> Plot {
    let mut curves: Vec<Curve> = Vec::new();
    for point in &summary.points {
        let objects = point.figures.iter();
        let objects = objects.filter(|figure| {
            figure.subject == Subject::Objects && figure.quantity == "response_time"
        });
        for figure in objects {
            let Some(size) = point.figure(Subject::Objects, &figure.of, "size") else {
                continue;
            };
            let flow = figure.of.rsplit_once(' ').map_or("", |(flow, _)| flow);
            let settings = words(&point.settings);
            let name = match settings.is_empty() {
                true => flow.to_owned(),
                false => format!("{flow}, {settings}"),
            };
            let value = Point {
                x: size.value.mean,
                y: figure.value.mean,
                half_width: figure.value.half_width_95.unwrap_or(0.0),
            };
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(value),
                None => curves.push(Curve {
                    name,
                    points: vec![value],
                }),
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    curves.truncate(MAX_CURVES);
    Plot {
        name: "response_times".to_owned(),
        title: format!("{}: response time by object size", manifest.scenario),
        x: Axis::Quantity {
            label: "object size (bytes)".to_owned(),
            logarithmic: true,
        },
        y_label: "mean response time (s)".to_owned(),
        y_logarithmic: true,
        curves,
    }
}

/// A value of a sweep as a number, with the unit that it is in.
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.parse() {
        return Some((number, ""));
    }
    if let Ok(time) = text.parse::<TimeSpan>() {
        return Some((time.get().as_secs_f64(), "s"));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_f64(), "bit/s"));
    }
    if let Ok(size) = text.parse::<Bytes>() {
        return Some((size.get() as f64, "bytes"));
    }
    if let Ok(loss) = text.parse::<LossFraction>() {
        return Some((loss.as_f64(), ""));
    }
    for (ending, unit) in [("bdp", "bandwidth-delay products"), ("p", "packets")] {
        if let Some(Ok(number)) = text.strip_suffix(ending).map(str::parse) {
            return Some((number, unit));
        }
    }
    None
}

/// A logarithmic axis serves better.
fn spans_decades(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    least > 0.0 && most / least >= 30.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_sweep_are_quantities() {
        for (text, expected) in [
            ("50ms", Some((0.05, "s"))),
            ("10mbit", Some((1e7, "bit/s"))),
            ("64kB", Some((64_000.0, "bytes"))),
            ("1%", Some((0.01, ""))),
            ("2.5bdp", Some((2.5, "bandwidth-delay products"))),
            ("20p", Some((20.0, "packets"))),
            ("7", Some((7.0, ""))),
            ("reno", None),
        ] {
            assert_eq!(quantity(text), expected, "{text}");
        }
    }

    #[test]
    fn wide_ranges_are_logarithmic() {
        assert!(spans_decades(&[0.05, 51.2]));
        assert!(!spans_decades(&[1.0, 10.0]));
        assert!(!spans_decades(&[0.0, 10.0]));
    }
}
