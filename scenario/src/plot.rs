// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of plots of results: time series, the sweep, response times by size, completion times. The crate `netnice-chart` draws them.

use std::collections::{HashMap, HashSet};

use netnice_chart::palette::MOST_CURVES;
use netnice_chart::{AxisData, Chart, Curve, Kind, Plot, Point};
use netnice_queue::{Bytes, LossFraction, Rate};

use crate::model::TimeSpan;
use crate::results::{Estimate, Manifest, PointSummary, RunResults, Series, Subject, Summary};

/// The plots of these results, those that have something to show.
pub fn plots(manifest: &Manifest, runs: &[RunResults], summary: &Summary) -> Vec<Plot> {
    let mut plots = vec![
        goodput(manifest, summary),
        response_times(manifest, summary),
    ];
    plots.extend(completion_times(manifest, summary));
    for (quantity, label, scale) in [
        ("cwnd", "congestion window (packets)", 1.0),
        ("goodput", "goodput (Mb/s)", 1e-6),
        ("queue_packets", "queue (packets)", 1.0),
        ("queue_delay", "queueing delay (ms)", 1e3),
    ] {
        plots.push(time_series(manifest, runs, quantity, label, scale));
    }
    plots.retain(|plot| !plot.chart.is_empty());
    for plot in &mut plots {
        keep_distinguishable(plot);
    }
    plots
}

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

/// A confidence interval of fewer seeds is mostly wider than the values are apart: the seeds themselves say more.
const LEAST_SEEDS: usize = 5;
/// With more curves over time, bands and single seeds would hide the means.
const MOST_SPREADS: usize = 6;

/// Queues that hold packets in at most one sample of each run, or in 1 % of the samples, and whose mean is below 1 % of
/// the largest mean.
fn idle<'a>(series: impl Iterator<Item = &'a Series>) -> HashSet<&'a str> {
    #[derive(Default)]
    struct Use {
        runs: usize,
        samples: usize,
        positive: usize,
        sum: f64,
    }
    let mut queues: HashMap<&str, Use> = HashMap::new();
    for series in series {
        let queue = queues.entry(&series.of).or_default();
        queue.runs += 1;
        for value in series.value.iter().filter(|value| value.is_finite()) {
            queue.samples += 1;
            queue.positive += usize::from(*value > 0.0);
            queue.sum += value;
        }
    }
    let mean = |queue: &Use| queue.sum / queue.samples.max(1) as f64;
    let largest = queues.values().map(mean).fold(0.0, f64::max);
    let idle = queues.iter().filter(|(_, queue)| {
        queue.positive == 0
            || (queue.positive <= queue.runs.max(queue.samples / 100)
                && mean(queue) < 0.01 * largest)
    });
    idle.map(|(name, _)| *name).collect()
}

/// One quantity over time at the first point of the sweep: its mean over the seeds, times `scale`.
fn time_series(
    manifest: &Manifest,
    runs: &[RunResults],
    quantity: &str,
    label: &str,
    scale: f64,
) -> Plot {
    let settings = runs.first().map_or(&[][..], |run| &run.settings);
    let runs: Vec<&RunResults> = runs.iter().filter(|run| run.settings == settings).collect();
    let all = || {
        let series = runs.iter().flat_map(|run| &run.series);
        series.filter(|series| series.quantity == quantity)
    };
    let mut names: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for series in all() {
        if seen.insert(series.of.as_str()) {
            names.push(&series.of);
        }
    }
    let mut notes = Vec::new();
    // Most queues of a large network are empty all the time, and would hide the others.
    if quantity.starts_with("queue") && names.len() > 1 {
        let mut idle = idle(all());
        if idle.len() == names.len() {
            // Where all are idle, that is what there is to see.
            idle.clear();
        }
        names.retain(|name| !idle.contains(name));
        match idle.len() {
            0 => {}
            1 => notes.push("1 idle queue is left out".to_owned()),
            more => notes.push(format!("{more} idle queues are left out")),
        }
    }
    let spread = names.len() <= MOST_SPREADS;
    let caption = match (&runs[..], spread) {
        ([], _) => String::new(),
        ([run], _) => format!("seed {}", run.seed),
        (_, false) => format!("mean of {} seeds", runs.len()),
        (_, true) if runs.len() < LEAST_SEEDS => {
            format!(
                "mean of {} seeds, and each of them as a thin line",
                runs.len()
            )
        }
        (_, true) => format!(
            "mean of {} seeds; band: 95 % confidence interval of the mean",
            runs.len()
        ),
    };
    let settings = match settings.is_empty() {
        true => String::new(),
        false => format!(", {}", words(settings)),
    };
    let curves = names.into_iter().map(|name| Curve::new(name, Vec::new()));
    let mut plot = Plot {
        name: quantity.to_owned(),
        title: format!(
            "{}: {}{settings}",
            manifest.scenario,
            quantity_words(quantity)
        ),
        caption,
        notes,
        chart: Chart {
            kind: Kind::TimeSeries,
            names: Vec::new(),
            x: AxisData::linear("time (s)"),
            y: AxisData::linear(label),
            curves: curves.collect(),
        },
    };
    // Means take time: only those of the curves that are drawn.
    keep_distinguishable(&mut plot);
    for curve in &mut plot.chart.curves {
        let of_seeds: Vec<&Series> = all().filter(|series| series.of == curve.name).collect();
        curve.points = mean_over_time(&of_seeds, scale);
        let few = of_seeds.len() < LEAST_SEEDS;
        if few || !spread {
            let points = curve.points.iter_mut();
            points.for_each(|point| point.half = None);
        }
        if few && spread && of_seeds.len() > 1 {
            let seeds = of_seeds.iter().map(|series| {
                let samples = series.time_s.iter().zip(series.value.iter());
                let finite = samples.filter(|(_, value)| value.is_finite());
                finite
                    .map(|(&time, &value)| (time, value * scale))
                    .collect()
            });
            curve.seeds = seeds.collect();
        }
    }
    plot
}

/// A quantity of a time series in words.
fn quantity_words(quantity: &str) -> &str {
    match quantity {
        "cwnd" => "congestion window",
        "queue_packets" => "queue",
        "queue_delay" => "queueing delay",
        other => other,
    }
}

/// The mean of these series at each time at which one of them has a value, times `scale`.
fn mean_over_time(series: &[&Series], scale: f64) -> Vec<Point> {
    let samples = series.iter().flat_map(|series| {
        let samples = series.time_s.iter().zip(series.value.iter());
        samples.filter(|(_, value)| value.is_finite())
    });
    let mut samples: Vec<(f64, f64)> = samples.map(|(&time, &value)| (time, value)).collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at_once = samples.chunk_by(|a, b| a.0 == b.0);
    let points = at_once.filter_map(|samples| {
        let values: Vec<f64> = samples.iter().map(|(_, value)| value * scale).collect();
        let estimate = Estimate::of(&values)?;
        Some(Point {
            x: samples[0].0,
            y: estimate.mean,
            half: estimate.half_width_95,
        })
    });
    points.collect()
}

fn words(settings: &[(String, String)]) -> String {
    let words = settings
        .iter()
        .map(|(key, value)| format!("{key} = {value}"));
    words.collect::<Vec<_>>().join(", ")
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

/// The unit of all values of an axis of the sweep; `None` where they have none, or several.
fn unit_of(summary: &Summary, axis: usize) -> Option<&'static str> {
    let mut units = summary
        .points
        .iter()
        .map(|point| quantity(&point.settings[axis].1).map(|(_, unit)| unit));
    let first = units.next()??;
    units.all(|unit| unit == Some(first)).then_some(first)
}

/// Goodput of each entry of flows: along the last axis of the sweep whose values are quantities of one unit, else as bars.
fn goodput(manifest: &Manifest, summary: &Summary) -> Plot {
    let axes = (0..manifest.axes.len()).rev();
    let along = axes
        .filter_map(|axis| Some((axis, unit_of(summary, axis)?)))
        .next();
    let title = format!("{}: goodput", manifest.scenario);
    let mut curves: Vec<Curve> = Vec::new();
    let mut add =
        |name: String, point: Point| match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve::new(name, vec![point])),
        };
    let (kind, names, x) = match along {
        Some((axis, unit)) => {
            let mut values = Vec::new();
            for point in &summary.points {
                let (x, _) = quantity(&point.settings[axis].1).unwrap_or((0.0, ""));
                values.push(x);
                let mut others = point.settings.clone();
                others.remove(axis);
                for (of, y, half) in goodputs(point) {
                    let others = others.iter().map(|(_, value)| value.as_str());
                    let name: Vec<&str> = std::iter::once(of.as_str()).chain(others).collect();
                    add(name.join(", "), Point { x, y, half });
                }
            }
            let x = AxisData {
                label: match unit {
                    "" => manifest.axes[axis].clone(),
                    unit => format!("{} ({unit})", manifest.axes[axis]),
                },
                logarithmic: spans_decades(&values),
            };
            (Kind::Lines, Vec::new(), x)
        }
        // Without a sweep there is one group of bars: the flows' names stand along.
        None if manifest.axes.is_empty() => {
            let mut names = Vec::new();
            for (of, y, half) in summary.points.iter().flat_map(goodputs) {
                let x = names.len() as f64;
                add(String::new(), Point { x, y, half });
                names.push(of);
            }
            (Kind::Bars, names, AxisData::linear(""))
        }
        None => {
            let mut names = Vec::new();
            for (index, point) in summary.points.iter().enumerate() {
                let values = point.settings.iter().map(|(_, value)| value.as_str());
                names.push(values.collect::<Vec<_>>().join(", "));
                for (of, y, half) in goodputs(point) {
                    let x = index as f64;
                    add(of, Point { x, y, half });
                }
            }
            (
                Kind::Bars,
                names,
                AxisData::linear(manifest.axes.join(", ")),
            )
        }
    };
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    Plot {
        name: "goodput_by_flow".to_owned(),
        title,
        caption: of_seeds(summary),
        notes: Vec::new(),
        chart: Chart {
            kind,
            names,
            x,
            y: AxisData::linear("goodput (Mb/s)"),
            curves,
        },
    }
}

/// Goodputs of a point in Mb/s, with half widths.
fn goodputs(point: &PointSummary) -> Vec<(String, f64, Option<f64>)> {
    let figures = point.figures.iter();
    let figures =
        figures.filter(|figure| figure.subject == Subject::Flows && figure.quantity == "goodput");
    let values = figures.map(|figure| {
        let value = figure.value;
        (
            figure.of.to_string(),
            value.mean / 1e6,
            value.half_width_95.map(|half| half / 1e6),
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
            let values = point.settings.iter().map(|(_, value)| value.as_str());
            let name: Vec<&str> = std::iter::once(flow).chain(values).collect();
            let name = name.join(", ");
            let value = Point {
                x: size.value.mean / 1e3,
                y: figure.value.mean,
                half: figure.value.half_width_95,
            };
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(value),
                None => curves.push(Curve::new(name, vec![value])),
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    Plot {
        name: "response_times".to_owned(),
        title: format!("{}: response time by object size", manifest.scenario),
        caption: of_seeds(summary),
        notes: Vec::new(),
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

/// Cumulative distributions of the completion times of arriving transfers: without a sweep of all flows and classes of sizes in
/// one plot, else a plot for each class, with a curve for each flow at each point.
fn completion_times(manifest: &Manifest, summary: &Summary) -> Vec<Plot> {
    let apart = summary.points.len() > 1;
    let mut plots: Vec<Plot> = Vec::new();
    for point in &summary.points {
        for times in &point.completion_times {
            let words = times.words();
            let name = match apart && words != ALL_SIZES {
                true => format!("completion_times_{}", words.replace(' ', "_")),
                false => "completion_times".to_owned(),
            };
            let at = plots.iter().position(|plot| plot.name == name);
            let at = at.unwrap_or_else(|| {
                let sizes = if apart {
                    format!(", {words}")
                } else {
                    String::new()
                };
                let shown = |of: &str| !apart && of == ALL_SIZES || apart && of == words;
                plots.push(Plot {
                    name,
                    title: format!("{}: completion times{sizes}", manifest.scenario),
                    caption: finished(summary, shown),
                    notes: Vec::new(),
                    chart: Chart {
                        kind: Kind::TimeSeries,
                        names: Vec::new(),
                        x: AxisData {
                            label: "completion time (s)".to_owned(),
                            logarithmic: true,
                        },
                        y: AxisData::linear("share of transfers that take no longer"),
                        curves: Vec::new(),
                    },
                });
                plots.len() - 1
            });
            let settings = point.settings.iter().map(|(_, value)| value.as_str());
            let mut name: Vec<&str> = std::iter::once(times.flow.as_str())
                .chain(settings)
                .collect();
            if !apart {
                name.push(&words);
            }
            let share = |x, y| Point { x, y, half: None };
            let bins = times.times.cumulative();
            let mut points: Vec<Point> = bins
                .map(|(up_to_s, _, part)| share(up_to_s, part))
                .collect();
            if let Some(first) = points.first() {
                points.insert(0, share(first.x, 0.0));
            }
            plots[at]
                .chart
                .curves
                .push(Curve::new(name.join(", "), points));
        }
    }
    plots
}

/// The class that has all transfers, in words.
const ALL_SIZES: &str = "all sizes";

/// What the distributions of the classes `shown` leave out: transfers that had not ended.
fn finished(summary: &Summary, shown: impl Fn(&str) -> bool) -> String {
    let unfinished = summary.points.iter().flat_map(|point| {
        let classes = point.completion_times.iter();
        classes
            .filter(|times| shown(&times.words()))
            .filter_map(|times| {
                let of = format!("{} {}", times.flow, times.words());
                let figure = point.figure(Subject::Transfers, &of, "unfinished")?;
                Some(figure.value.mean * figure.value.runs as f64)
            })
    });
    match unfinished.sum::<f64>().round() {
        0.0 => "all transfers of all seeds".to_owned(),
        unfinished => format!("all transfers of all seeds but {unfinished} that had not ended"),
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
        return Some((rate.as_f64() / 1e6, "Mb/s"));
    }
    if let Ok(size) = text.parse::<Bytes>() {
        return Some((size.get() as f64 / 1e3, "kB"));
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
    use crate::results::{CompletionTimes, Distribution, Figure};

    #[test]
    fn values_of_a_sweep_are_quantities() {
        for (text, expected) in [
            ("50ms", Some((0.05, "s"))),
            ("10mbit", Some((10.0, "Mb/s"))),
            ("64kB", Some((64.0, "kB"))),
            ("1%", Some((0.01, ""))),
            ("2.5bdp", Some((2.5, "bandwidth-delay products"))),
            ("20p", Some((20.0, "packets"))),
            ("7", Some((7.0, ""))),
            ("reno", None),
        ] {
            assert_eq!(quantity(text), expected, "{text}");
        }
    }

    fn series(values: [(f64, f64); 3]) -> Series {
        Series {
            quantity: "cwnd".to_owned(),
            unit: "packets".to_owned(),
            of: "a".to_owned(),
            time_s: values.map(|(time, _)| time).into(),
            value: values.map(|(_, value)| value).to_vec().into(),
        }
    }

    #[test]
    fn time_series_are_means_of_seeds() {
        let (a, b) = (
            series([(0.0, 1.0), (1.0, 4.0), (2.0, f64::NAN)]),
            series([(0.0, 3.0), (1.0, 4.0), (2.0, 5.0)]),
        );
        let points = mean_over_time(&[&a, &b], 10.0);
        let means: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(means, [(0.0, 20.0), (1.0, 40.0), (2.0, 50.0)]);
        // Two values one apart from their mean: 12.706 times the standard error of 1.
        assert!((points[0].half.unwrap() - 127.06).abs() < 1e-9);
        assert_eq!((points[1].half, points[2].half), (Some(0.0), None));
    }

    #[test]
    fn time_series_draw_queues_that_were_used() {
        // Of 60 queues every second holds packets, and only with the second seed.
        let run = |seed: u64| RunResults {
            seed,
            series: (0..60)
                .map(|queue| Series {
                    quantity: "queue_packets".to_owned(),
                    of: queue.to_string(),
                    ..series([
                        (0.0, 0.0),
                        (1.0, ((seed - 1) * (queue % 2)) as f64),
                        (2.0, f64::NAN),
                    ])
                })
                .collect(),
            ..RunResults::default()
        };
        let plot = time_series(
            &manifest(&[]),
            &[run(1), run(2)],
            "queue_packets",
            "packets",
            1.0,
        );
        assert!(
            plot.title.ends_with("queue (24 of 30 curves)"),
            "{}",
            plot.title
        );
        assert_eq!(plot.caption, "mean of 2 seeds");
        assert_eq!(plot.notes[0], "30 idle queues are left out");
        assert!(
            plot.notes[1].starts_with("6 of 30 curves"),
            "{}",
            plot.notes[1]
        );
        for (number, curve) in plot.chart.curves.iter().enumerate() {
            assert_eq!(curve.name, (2 * number + 1).to_string());
            let means: Vec<f64> = curve.points.iter().map(|point| point.y).collect();
            assert_eq!(means, [0.0, 0.5]);
        }
        assert_eq!(plot.chart.curves.len(), 24);
    }

    fn manifest(axes: &[&str]) -> Manifest {
        Manifest {
            scenario: "a".to_owned(),
            scenario_hash: String::new(),
            backend: crate::results::Backend::Simulation,
            version: String::new(),
            command: Vec::new(),
            settings: Vec::new(),
            axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
            seeds: vec![1, 2],
            runs: 2,
            series: None,
        }
    }

    /// The plot of two entries of flows, of 1 and 3 Mb/s at each point of a sweep.
    fn goodput_of(axes: &[&str], points: &[&[&str]]) -> Plot {
        let figure = |of: &str, bits: f64| Figure {
            subject: Subject::Flows,
            of: of.into(),
            quantity: "goodput".into(),
            unit: crate::results::Unit::BitsPerSecond,
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
        goodput(&manifest(axes), &Summary { points })
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
            ["web, 10p", "backup, 10p", "web, 1bdp", "backup, 1bdp"]
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

    /// A point of two classes of sizes, with 10 and 30 transfers of which the second has not ended.
    fn transfers_at(value: &str) -> PointSummary {
        let times = |above_bytes, to_bytes| CompletionTimes {
            flow: "web".to_owned(),
            above_bytes,
            to_bytes,
            times: Distribution {
                up_to_s: vec![0.5, 2.0],
                count: vec![10, 30],
            },
        };
        let unfinished = |of: &str, number: f64| Figure {
            subject: Subject::Transfers,
            of: of.into(),
            quantity: "unfinished".into(),
            unit: crate::results::Unit::None,
            value: Estimate::of(&[number, 0.0]).unwrap(),
        };
        PointSummary {
            settings: vec![("rate".to_owned(), value.to_owned())],
            seeds: vec![1, 2],
            figures: vec![
                unfinished("web all sizes", 5.0),
                unfinished("web up to 100kB", 0.0),
            ],
            completion_times: vec![times(0, None), times(0, Some(100_000))],
        }
    }

    #[test]
    fn completion_times_are_cumulative_shares() {
        let points = vec![transfers_at("10mbit"), transfers_at("20mbit")];
        let plots = completion_times(&manifest(&["rate"]), &Summary { points });
        let names: Vec<&str> = plots.iter().map(|plot| &plot.name[..]).collect();
        assert_eq!(names, ["completion_times", "completion_times_up_to_100kB"]);
        let captions: Vec<&str> = plots.iter().map(|plot| &plot.caption[..]).collect();
        let all = "all transfers of all seeds";
        // Five at each point.
        assert_eq!(captions, [&format!("{all} but 10 that had not ended"), all]);
        let curves = &plots[0].chart.curves;
        let names: Vec<&str> = curves.iter().map(|curve| &curve.name[..]).collect();
        assert_eq!(names, ["web, 10mbit", "web, 20mbit"]);
        let line: Vec<(f64, f64)> = curves[0].points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(line, [(0.5, 0.0), (0.5, 0.25), (2.0, 1.0)]);

        // Without a sweep all classes stand in one plot.
        let mut point = transfers_at("");
        point.settings.clear();
        let plots = completion_times(
            &manifest(&[]),
            &Summary {
                points: vec![point],
            },
        );
        assert_eq!(plots.len(), 1);
        let curves = plots[0].chart.curves.iter();
        let names: Vec<&str> = curves.map(|curve| &curve.name[..]).collect();
        assert_eq!(names, ["web, all sizes", "web, up to 100kB"]);
        assert_eq!(plots[0].caption, format!("{all} but 5 that had not ended"));
    }

    #[test]
    fn queues_that_hold_a_packet_once_are_left_out() {
        let queue = |of: &str, value: &dyn Fn(usize) -> f64| Series {
            quantity: "queue_packets".to_owned(),
            unit: "packets".to_owned(),
            of: of.to_owned(),
            time_s: (0..50).map(f64::from).collect(),
            value: (0..50).map(value).collect::<Vec<_>>().into(),
        };
        let once = |packets: f64| move |at: usize| if at == 7 { packets } else { 0.0 };
        let run = RunResults {
            seed: 1,
            series: vec![
                queue("bottleneck", &|_| 100.0),
                queue("access", &once(2.0)),
                // A burst into a large queue, and a short queue that is always in use, are not idle.
                queue("burst", &once(1000.0)),
                queue("short", &|at| if at % 2 == 0 { 1.0 } else { 0.0 }),
                queue("empty", &|_| 0.0),
            ],
            ..RunResults::default()
        };
        let plot = time_series(&manifest(&[]), &[run], "queue_packets", "packets", 1.0);
        let names: Vec<&str> = plot
            .chart
            .curves
            .iter()
            .map(|curve| &curve.name[..])
            .collect();
        assert_eq!(names, ["bottleneck", "burst", "short"]);
        assert_eq!(plot.notes, ["2 idle queues are left out"]);
    }

    #[test]
    fn few_seeds_are_drawn_themselves() {
        let runs = |seeds: u64| -> Vec<RunResults> {
            let run = |seed| RunResults {
                seed,
                series: vec![series([(0.0, seed as f64), (1.0, 4.0), (2.0, f64::NAN)])],
                ..RunResults::default()
            };
            (1..=seeds).map(run).collect()
        };
        let of = |seeds: u64| time_series(&manifest(&[]), &runs(seeds), "cwnd", "cwnd", 10.0);
        let three = of(3);
        assert_eq!(three.chart.curves[0].seeds.len(), 3);
        assert_eq!(three.chart.curves[0].seeds[2], [(0.0, 30.0), (1.0, 40.0)]);
        assert!(
            three.chart.curves[0]
                .points
                .iter()
                .all(|point| point.half.is_none())
        );
        assert_eq!(
            three.caption,
            "mean of 3 seeds, and each of them as a thin line"
        );
        let five = of(5);
        assert!(
            five.chart.curves[0].seeds.is_empty() && five.chart.curves[0].points[0].half.is_some()
        );
        assert!(five.caption.contains("band: 95 % confidence interval"));
        assert!(of(1).chart.curves[0].seeds.is_empty());
    }

    #[test]
    fn curves_beyond_the_looks_are_counted_in_the_title() {
        let curve = |index: usize| Curve::new(index.to_string(), Vec::new());
        let mut plot = Plot {
            name: "goodput".to_owned(),
            title: "a".to_owned(),
            caption: String::new(),
            notes: Vec::new(),
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
