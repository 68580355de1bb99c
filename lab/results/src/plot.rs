// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of plots of results: quantities over the sweep, time series, response times by size, completion times. The crate
//! `netnice-chart` draws them.

mod completion_times;
mod curves;
mod sweep;
mod time_series;

use std::borrow::Cow;
use std::collections::HashSet;

use netnice_chart::palette::MOST_CURVES;
use netnice_chart::{AxisData, Chart, Kind, Plot, Point};

use crate::{ALL_SIZES, Figure, Manifest, PointSummary, RunResults, Subject, Summary};
use completion_times::completion_times;
use curves::Curves;
use sweep::Sweep;
use time_series::time_series;

pub use sweep::{Wanted, choose};

/// The plots of these results, those that have something to show. Time series are of the first point of the sweep, or where the
/// points are `chosen` of all of them together.
pub fn plots(
    manifest: &Manifest,
    runs: &[RunResults],
    summary: &Summary,
    chosen: bool,
) -> Vec<Plot> {
    let sweep = Sweep::new(manifest, summary);
    let mut plots = figures(&sweep);
    plots.extend(BY_FLOW.iter().map(|kind| by_flow(&sweep, kind)));
    plots.push(response_times(&sweep));
    plots.extend(completion_times(&sweep));
    plots.retain(|plot| !plot.chart.is_empty());
    let first = Summary {
        points: summary.points.iter().take(1).cloned().collect(),
    };
    let drawn = match chosen {
        true => &sweep,
        false => &Sweep::new(manifest, &first),
    };
    let mut in_time: Vec<Plot> = SERIES
        .iter()
        .map(|&(quantity, label, scale)| time_series(drawn, runs, quantity, label, scale))
        .collect();
    in_time.retain(|plot| !plot.chart.is_empty());
    let points = summary.points.len();
    if let (false, true, Some(first)) = (chosen, points > 1, in_time.first_mut()) {
        first.notes.push(format!(
            "time series are of the first of {points} points of the sweep; --point KEY=VALUE chooses others"
        ));
    }
    plots.extend(in_time);
    for plot in &mut plots {
        keep_distinguishable(plot);
    }
    plots
}

/// Time series: quantity, label of the axis, and what its values are multiplied by.
const SERIES: [(&str, &str, f64); 4] = [
    ("cwnd", "congestion window (packets)", 1.0),
    ("goodput", "goodput (Mb/s)", 1e-6),
    ("queue_packets", "queue (packets)", 1.0),
    (
        "queue_delay",
        "queueing delay: backlog divided by rate (ms)",
        1e3,
    ),
];

/// A figure of each entry of flows.
struct ByFlow {
    subject: Subject,
    quantity: &'static str,
    title: &'static str,
}

const BY_FLOW: [ByFlow; 6] = [
    ByFlow {
        subject: Subject::Flows,
        quantity: "goodput",
        title: "goodput",
    },
    ByFlow {
        subject: Subject::Calls,
        quantity: "mos",
        title: "mean opinion score of calls",
    },
    ByFlow {
        subject: Subject::Pages,
        quantity: "page_time",
        title: "load time of pages",
    },
    ByFlow {
        subject: Subject::Transfers,
        quantity: "completion",
        title: "completion time of transfers",
    },
    ByFlow {
        subject: Subject::Videos,
        quantity: "bit_rate",
        title: "bit rate of videos",
    },
    ByFlow {
        subject: Subject::Videos,
        quantity: "stall_time",
        title: "time in which videos stalled",
    },
];

/// Removes the curves beyond those with looks of their own, and says so in the title.
fn keep_distinguishable(plot: &mut Plot) {
    let all = plot.chart.curves.len();
    if all > MOST_CURVES {
        plot.chart.curves.truncate(MOST_CURVES);
        plot.title += &format!(" ({MOST_CURVES} of {all} curves)");
        let left_out = all - MOST_CURVES;
        plot.notes.push(format!(
            "{left_out} of {all} curves are left out: no more than {MOST_CURVES} can be told apart"
        ));
    }
}

/// What the points of a sweep are: the largest number of seeds is that of a complete one.
fn of_seeds(summary: &Summary) -> String {
    let seeds = summary.points.iter().map(|point| point.seeds.len());
    match seeds.max() {
        None | Some(0) => String::new(),
        Some(1) => "one seed".to_owned(),
        Some(seeds) => format!("mean of {seeds} seeds with its 95 % confidence interval"),
    }
}

/// The label of an axis, and what values of this quantity are multiplied by.
fn axis_of(quantity: &str, unit: &str, largest: f64) -> (String, f64) {
    let words = quantity.replace('_', " ");
    match (unit, quantity) {
        ("bit/s", _) if largest < 1e6 => (format!("{words} (kb/s)"), 1e-3),
        ("bit/s", _) if largest < 1e10 => (format!("{words} (Mb/s)"), 1e-6),
        ("bit/s", _) => (format!("{words} (Gb/s)"), 1e-9),
        ("s", _) if largest < 1.0 => (format!("{words} (ms)"), 1e3),
        ("s", _) => (format!("{words} (s)"), 1.0),
        (_, "loss" | "ratio") => (format!("{words} (%)"), 100.0),
        (_, "mos") => ("mean opinion score".to_owned(), 1.0),
        ("", _) => (words, 1.0),
        (unit, _) => (format!("{words} ({unit})"), 1.0),
    }
}

/// The figures that the scenario asks for, a plot for each quantity.
fn figures(sweep: &Sweep) -> Vec<Plot> {
    let own = || {
        let figures = sweep.points().iter().flat_map(|point| &point.figures);
        figures.filter(|figure| figure.subject == Subject::Figure)
    };
    let mut quantities: Vec<&str> = Vec::new();
    for figure in own() {
        if !quantities.contains(&&*figure.quantity) {
            quantities.push(&figure.quantity);
        }
    }
    let plots = quantities.into_iter().map(|quantity| {
        let of_quantity = own().filter(|figure| figure.quantity == quantity);
        let names: HashSet<&str> = of_quantity.map(|figure| &*figure.of).collect();
        let title = match names.len() {
            1 => names.into_iter().collect(),
            _ => format!("figures ({})", quantity.replace('_', " ")),
        };
        let name = format!("figures_{quantity}");
        over_sweep(sweep, name, &title, |figure| {
            let wanted = figure.subject == Subject::Figure && figure.quantity == quantity;
            wanted.then_some(Cow::Borrowed(&*figure.of))
        })
    });
    plots.collect()
}

fn by_flow(sweep: &Sweep, kind: &ByFlow) -> Plot {
    let name = format!("{}_by_flow", kind.quantity);
    over_sweep(sweep, name, kind.title, |figure| {
        if figure.subject != kind.subject || figure.quantity != kind.quantity {
            return None;
        }
        match kind.subject {
            // Of classes of sizes the one that has all.
            Subject::Transfers => {
                let flow = figure.of.strip_suffix(ALL_SIZES)?;
                Some(Cow::Borrowed(flow.trim_end()))
            }
            _ => Some(Cow::Borrowed(&*figure.of)),
        }
    })
}

/// The figures that `name_of` names: along the last axis of the sweep whose values are quantities of one unit, else as bars.
fn over_sweep(
    sweep: &Sweep,
    name: String,
    title: &str,
    name_of: impl for<'a> Fn(&'a Figure) -> Option<Cow<'a, str>>,
) -> Plot {
    let wanted = |point: &'_ PointSummary| -> Vec<(String, Figure)> {
        let figures = point.figures.iter();
        let wanted =
            figures.filter_map(|figure| Some((name_of(figure)?.into_owned(), figure.clone())));
        wanted.collect()
    };
    let values: Vec<Vec<(String, Figure)>> = sweep.points().iter().map(wanted).collect();
    let all = || values.iter().flatten().map(|(_, figure)| figure);
    let largest = all()
        .map(|figure| figure.value.mean.abs())
        .fold(0.0, f64::max);
    let (label, scale) = all().next().map_or((String::new(), 1.0), |first| {
        axis_of(&first.quantity, first.unit.name(), largest)
    });
    let scaled = |x: f64, figure: &Figure| Point {
        x,
        y: figure.value.mean * scale,
        half: figure.value.half_width_95.map(|half| half * scale),
    };
    let mut curves = Curves::default();
    let points = || sweep.points().iter().zip(&values);
    let (kind, names, x) = match sweep.along() {
        Some(along) => {
            let mut places = Vec::new();
            for (point, values) in points() {
                let x = along.value(point);
                places.push(x);
                let others = sweep.values(point, Some(along));
                for (of, figure) in values {
                    curves.curve(of, &others).points.push(scaled(x, figure));
                }
            }
            let x = AxisData {
                label: along.label(),
                logarithmic: spans_decades(&places),
            };
            (Kind::Lines, Vec::new(), x)
        }
        // Without a sweep there is one group of bars: the flows' names stand along.
        None if sweep.points().len() < 2 => {
            let mut names = Vec::new();
            for (of, figure) in values.iter().flatten() {
                let x = names.len() as f64;
                curves.curve("", "").points.push(scaled(x, figure));
                names.push(of.clone());
            }
            (Kind::Bars, names, AxisData::linear(""))
        }
        None => {
            let mut names = Vec::new();
            for (number, (point, values)) in points().enumerate() {
                names.push(sweep.values(point, None));
                for (of, figure) in values {
                    let x = number as f64;
                    curves.curve(of, "").points.push(scaled(x, figure));
                }
            }
            (Kind::Bars, names, AxisData::linear(sweep.keys()))
        }
    };
    let mut curves = curves.finish();
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    Plot {
        name,
        title: sweep.title(title),
        caption: of_seeds(sweep.summary),
        notes: Vec::new(),
        y_most: None,
        chart: Chart {
            kind,
            names,
            x,
            y: AxisData::linear(label),
            curves,
        },
    }
}

/// Mean response times of web objects by size.
fn response_times(sweep: &Sweep) -> Plot {
    let mut curves = Curves::default();
    for point in sweep.points() {
        let objects = point.figures.iter();
        let objects = objects.filter(|figure| {
            figure.subject == Subject::Objects && figure.quantity == "response_time"
        });
        let values = sweep.values(point, None);
        for figure in objects {
            let Some(size) = point.figure(Subject::Objects, &figure.of, "size") else {
                continue;
            };
            let flow = figure.of.rsplit_once(' ').map_or("", |(flow, _)| flow);
            curves.curve(flow, &values).points.push(Point {
                x: size.value.mean / 1e3,
                y: figure.value.mean,
                half: figure.value.half_width_95,
            });
        }
    }
    let mut curves = curves.finish();
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    Plot {
        name: "response_times".to_owned(),
        title: sweep.title("response time by object size"),
        caption: of_seeds(sweep.summary),
        notes: Vec::new(),
        y_most: None,
        chart: Chart {
            kind: Kind::Lines,
            names: Vec::new(),
            x: AxisData {
                label: "object size (kB)".to_owned(),
                logarithmic: true,
            },
            y: AxisData {
                label: "mean response time (s)".to_owned(),
                logarithmic: true,
            },
            curves,
        },
    }
}

/// A logarithmic axis serves better.
fn spans_decades(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    least > 0.0 && most / least >= 30.0
}

#[cfg(test)]
mod tests {
    use netnice_chart::Curve;

    use super::*;
    use crate::Estimate;

    pub(super) fn manifest(axes: &[&str]) -> Manifest {
        Manifest {
            scenario: "a".to_owned(),
            scenario_hash: String::new(),
            backend: crate::Backend::Simulation,
            version: String::new(),
            command: Vec::new(),
            settings: Vec::new(),
            axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
            seeds: vec![1, 2],
            runs: 2,
            series: None,
        }
    }

    #[test]
    fn an_axis_has_the_unit_of_its_largest_value() {
        let label = |quantity, unit, largest| axis_of(quantity, unit, largest).0;
        assert_eq!(label("goodput", "bit/s", 2_935.0), "goodput (kb/s)");
        assert_eq!(label("bit_rate", "bit/s", 9.5e6), "bit rate (Mb/s)");
        assert_eq!(label("goodput", "bit/s", 4e10), "goodput (Gb/s)");
        assert_eq!(label("page_time", "s", 0.9), "page time (ms)");
        assert_eq!(label("stall_time", "s", 3.0), "stall time (s)");
        assert_eq!(label("mos", "", 4.4), "mean opinion score");
    }

    /// The plot of two entries of flows, of 1 and 3 Mb/s at each point of a sweep.
    fn goodput_of(axes: &[&str], points: &[&[&str]]) -> Plot {
        let figure = |of: &str, bits: f64| Figure {
            subject: Subject::Flows,
            of: of.into(),
            quantity: "goodput".into(),
            unit: crate::Unit::BitsPerSecond,
            value: Estimate::of(&[bits, bits]).unwrap(),
        };
        let points = points.iter().map(|values| PointSummary {
            settings: axes
                .iter()
                .zip(*values)
                .map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned()))
                .collect(),
            seeds: vec![1, 2],
            figures: vec![figure("web", 1e6), figure("backup", 3e6)],
            completion_times: Vec::new(),
        });
        let points = points.collect();
        let (manifest, summary) = (manifest(axes), Summary { points });
        by_flow(&Sweep::new(&manifest, &summary), &BY_FLOW[0])
    }

    #[test]
    fn values_of_several_units_are_categories() {
        let sizes = ["10p", "631p", "1bdp"];
        let plot = goodput_of(&["queue"], &[&["10p"], &["631p"], &["1bdp"]]);
        let (label, names) = (&plot.chart.x.label, &plot.chart.names);
        assert_eq!(plot.chart.kind, Kind::Bars);
        assert_eq!(
            (label.as_str(), names.as_slice()),
            ("queue", &sizes.map(str::to_owned)[..])
        );
        let web: Vec<(f64, f64)> = plot.chart.curves[0]
            .points
            .iter()
            .map(|p| (p.x, p.y))
            .collect();
        assert_eq!(web, [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]);

        // One unit stays a quantity, also beside an axis of several.
        let plot = goodput_of(
            &["delay", "queue"],
            &[
                &["10ms", "10p"],
                &["20ms", "10p"],
                &["10ms", "1bdp"],
                &["20ms", "1bdp"],
            ],
        );
        assert_eq!(plot.chart.kind, Kind::Lines);
        assert_eq!(plot.chart.x.label, "delay (s)");
        let names: Vec<&str> = plot
            .chart
            .curves
            .iter()
            .map(|curve| &curve.name[..])
            .collect();
        assert_eq!(
            names,
            ["web, 10p", "web, 1bdp", "backup, 10p", "backup, 1bdp"]
        );
    }

    #[test]
    fn bars_without_a_sweep_have_the_flows_names() {
        let plot = goodput_of(&[], &[&[]]);
        assert_eq!(plot.chart.names, ["web", "backup"]);
        let bars: Vec<(f64, f64)> = plot.chart.curves[0]
            .points
            .iter()
            .map(|p| (p.x, p.y))
            .collect();
        assert_eq!(
            (plot.chart.curves.len(), bars),
            (1, vec![(0.0, 1.0), (1.0, 3.0)])
        );
        assert_eq!(
            plot.caption,
            "mean of 2 seeds with its 95 % confidence interval"
        );
    }

    #[test]
    fn figures_of_a_quantity_share_a_plot_over_the_sweep() {
        let figure = |subject, of: &str, quantity: &str, unit, mean: f64| Figure {
            subject,
            of: of.into(),
            quantity: quantity.to_owned().into(),
            unit,
            value: Estimate::of(&[mean, mean + 0.02]).unwrap(),
        };
        use crate::Unit;
        let points = ["10ms", "20ms"]
            .into_iter()
            .enumerate()
            .map(|(number, delay)| {
                let more = number as f64 / 10.0;
                PointSummary {
                    settings: vec![("delay".to_owned(), delay.to_owned())],
                    seeds: vec![1, 2],
                    figures: vec![
                        figure(Subject::Calls, "call", "mos", Unit::None, 4.0 + more),
                        figure(
                            Subject::Transfers,
                            "web all sizes",
                            "completion",
                            Unit::Seconds,
                            2.0,
                        ),
                        figure(
                            Subject::Transfers,
                            "web up to 1kB",
                            "completion",
                            Unit::Seconds,
                            1.0,
                        ),
                        figure(Subject::Figure, "share", "ratio", Unit::None, 0.5 + more),
                        figure(Subject::Figure, "pages", "page_time", Unit::Seconds, 0.25),
                        figure(Subject::Figure, "rest", "ratio", Unit::None, 0.1),
                    ],
                    completion_times: Vec::new(),
                }
            });
        let summary = Summary {
            points: points.collect(),
        };
        let plots = plots(&manifest(&["delay"]), &[], &summary, false);
        let drawn: Vec<(&str, &str, &str)> = plots
            .iter()
            .map(|plot| (&plot.name[..], &plot.title[..], &plot.chart.y.label[..]))
            .collect();
        assert_eq!(
            drawn,
            [
                ("figures_ratio", "a: figures (ratio)", "ratio (%)"),
                ("figures_page_time", "a: pages", "page time (ms)"),
                (
                    "mos_by_flow",
                    "a: mean opinion score of calls",
                    "mean opinion score"
                ),
                (
                    "completion_by_flow",
                    "a: completion time of transfers",
                    "completion (s)"
                ),
            ]
        );
        let ratios = &plots[0].chart.curves;
        let names: Vec<&str> = ratios.iter().map(|curve| &curve.name[..]).collect();
        assert_eq!(names, ["share", "rest"]);
        let along: Vec<(f64, f64)> = ratios[0].points.iter().map(|it| (it.x, it.y)).collect();
        assert_eq!(along, [(0.01, 51.0), (0.02, 61.0)]);
        // Two values 0.02 apart: 12.706 times the standard error of 0.01, in per cent.
        assert!((ratios[0].points[0].half.unwrap() - 12.706).abs() < 1e-3);
        assert_eq!(plots[3].chart.curves.len(), 1);
        assert_eq!(plots[3].chart.curves[0].name, "web");
    }

    #[test]
    fn curves_beyond_the_looks_are_counted_in_the_title() {
        let curve = |index: usize| Curve::new(index.to_string(), Vec::new());
        let mut plot = Plot {
            name: "goodput".to_owned(),
            title: "a".to_owned(),
            caption: String::new(),
            notes: Vec::new(),
            y_most: None,
            chart: Chart {
                kind: Kind::TimeSeries,
                names: Vec::new(),
                x: AxisData::linear("time (s)"),
                y: AxisData::linear("goodput (Mb/s)"),
                curves: (0..30).map(curve).collect(),
            },
        };
        keep_distinguishable(&mut plot);
        assert_eq!(
            (plot.chart.curves.len(), plot.title.as_str()),
            (24, "a (24 of 30 curves)")
        );
    }

    #[test]
    fn wide_ranges_are_logarithmic() {
        assert!(spans_decades(&[0.05, 51.2]));
        assert!(!spans_decades(&[1.0, 10.0]));
        assert!(!spans_decades(&[0.0, 10.0]));
    }
}
