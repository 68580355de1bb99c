// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of plots of results: quantities over the sweep, time series, response times by size, completion times. The crate
//! `netnice-chart` draws them.

mod curves;
mod sweep;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use netnice_chart::palette::MOST_CURVES;
use netnice_chart::scale::plain;
use netnice_chart::{AxisData, Chart, Curve, Kind, Plot, Point};

use crate::results::{
    CompletionTimes, Estimate, Figure, Manifest, PointSummary, RunResults, Series, Subject, Summary,
};
use curves::Curves;
use sweep::Sweep;

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
    let mut in_time: Vec<Plot> = SERIES
        .iter()
        .map(|&(quantity, label, scale)| match chosen {
            true => time_series(&sweep, runs, quantity, label, scale),
            false => {
                let first = summary.points.iter().take(1).cloned().collect();
                let first = Summary { points: first };
                time_series(&Sweep::new(manifest, &first), runs, quantity, label, scale)
            }
        })
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

/// One quantity over time at each point of `sweep`: its mean over the seeds, times `scale`.
fn time_series(
    sweep: &Sweep,
    runs: &[RunResults],
    quantity: &str,
    label: &str,
    scale: f64,
) -> Plot {
    let places: HashMap<&[(String, String)], usize> = sweep
        .points()
        .iter()
        .enumerate()
        .map(|(place, point)| (&point.settings[..], place))
        .collect();
    let runs = runs.iter();
    let runs: Vec<(usize, &RunResults)> = runs
        .filter_map(|run| Some((*places.get(&run.settings[..])?, run)))
        .collect();
    let all = || {
        let series = runs.iter().flat_map(|(_, run)| &run.series);
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
    let seeds: Vec<usize> = (0..sweep.points().len())
        .map(|place| runs.iter().filter(|(of, _)| *of == place).count())
        .collect();
    let mut curves = Curves::default();
    // What each curve is of.
    let mut sources: HashMap<String, (&str, usize)> = HashMap::new();
    for &name in &names {
        for (place, point) in sweep.points().iter().enumerate() {
            let curve = curves.curve(name, &sweep.values(point, None));
            sources.insert(curve.name.clone(), (name, place));
        }
    }
    let spread = curves.len() <= MOST_SPREADS;
    let seeds = seeds.into_iter().max().unwrap_or(0);
    let caption = match (seeds, spread) {
        (0, _) => String::new(),
        (1, _) if runs.len() == 1 => format!("seed {}", runs[0].1.seed),
        (1, _) => "one seed".to_owned(),
        (seeds, false) => format!("mean of {seeds} seeds"),
        (seeds, true) if seeds < LEAST_SEEDS => {
            format!("mean of {seeds} seeds, and each of them as a thin line")
        }
        (seeds, true) => {
            format!("mean of {seeds} seeds; band: 95 % confidence interval of the mean")
        }
    };
    let mut plot = Plot {
        name: quantity.to_owned(),
        title: sweep.title(quantity_words(quantity)),
        caption,
        notes,
        y_most: None,
        chart: Chart {
            kind: Kind::TimeSeries,
            names: Vec::new(),
            x: AxisData::linear("time (s)"),
            y: AxisData::linear(label),
            curves: curves.finish(),
        },
    };
    // Means take time: only those of the curves that are drawn.
    keep_distinguishable(&mut plot);
    for curve in &mut plot.chart.curves {
        let (name, place) = sources[&curve.name];
        let of_point = runs.iter().filter(|(of, _)| *of == place);
        let series = of_point.flat_map(|(_, run)| &run.series);
        let of_seeds: Vec<&Series> = series
            .filter(|series| series.quantity == quantity && series.of == name)
            .collect();
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
    if quantity == "goodput" {
        cut_peaks(&mut plot);
    }
    plot
}

/// The axis of goodputs ends at so many times their 99th percentile, if the largest is more than so many times that percentile.
const ROOM: f64 = 1.25;
const PEAK: f64 = 2.0;
/// Of fewer values so few are above the 99th percentile that the usual rate of a short transfer would be cut off.
const LEAST_CUT: usize = 200;

/// Ends the axis below goodputs that stand out. A retransmission that fills a hole brings all data behind it into order at once, so that
/// a sample may be many times the link's rate. The percentile is the largest of those of the curves, of values above zero; of a curve of
/// few values nothing is cut.
fn cut_peaks(plot: &mut Plot) {
    let values = |curve: &Curve| -> Vec<f64> {
        let means = curve.points.iter().map(|point| point.y);
        let seeds = curve.seeds.iter().flatten().map(|(_, value)| *value);
        means.chain(seeds).filter(|value| *value > 0.0).collect()
    };
    let (mut usual, mut largest) = (0.0f64, 0.0f64);
    for curve in &plot.chart.curves {
        let mut values = values(curve);
        values.sort_by(f64::total_cmp);
        let Some(last) = values.last() else {
            continue;
        };
        largest = largest.max(*last);
        usual = usual.max(match values.len() {
            LEAST_CUT.. => values[(values.len() - 1) * 99 / 100],
            _ => *last,
        });
    }
    if largest <= PEAK * usual {
        return;
    }
    let most = ROOM * usual;
    plot.y_most = Some(most);
    let beyond = format!("values up to {} Mb/s are beyond the axis", plain(largest));
    plot.caption = format!("{beyond}; {}", plot.caption);
    plot.notes.push(format!(
        "{beyond}, which ends at {}, {ROOM} times the 99th percentile: the cause may be a retransmission \
         that fills a hole, and brings all data behind it into order at once",
        plain(most)
    ));
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

/// Cumulative distributions of the completion times of arriving transfers: without a sweep of all flows and classes of sizes in
/// one plot, else a plot for each class, with a curve for each flow at each point.
fn completion_times(sweep: &Sweep) -> Vec<Plot> {
    let apart = sweep.points().len() > 1;
    let all = || {
        sweep
            .points()
            .iter()
            .flat_map(|point| &point.completion_times)
    };
    // The first has all sizes.
    let mut classes: Vec<(u64, Option<u64>)> = all()
        .map(|times| (times.above_bytes, times.to_bytes))
        .collect();
    classes.sort_by_key(|&(above, to)| ((above, to) != (0, None), above, to));
    classes.dedup();
    // A class without a transfer in the first run is measured late, but figures have all in the scenario's order.
    let places = sweep.points().iter().map(places);
    let places: Vec<HashMap<&str, usize>> = places.collect();
    let of_classes: Vec<Vec<_>> = match apart {
        true => classes.into_iter().map(|class| vec![class]).collect(),
        false => vec![classes],
    };
    let plots = of_classes
        .into_iter()
        .filter(|of| !of.is_empty())
        .map(|of| {
            let shown = |times: &CompletionTimes| of.contains(&(times.above_bytes, times.to_bytes));
            let mut curves = Curves::default();
            let mut words = String::new();
            for (point, places) in sweep.points().iter().zip(&places) {
                let mut chosen: Vec<&CompletionTimes> = point
                    .completion_times
                    .iter()
                    .filter(|it| shown(it))
                    .collect();
                chosen.sort_by_cached_key(|times| {
                    let of = format!("{} {}", times.flow, times.words());
                    places.get(of.as_str()).copied()
                });
                for times in chosen {
                    words = times.words();
                    let beside = match apart {
                        true => sweep.values(point, None),
                        false => words.clone(),
                    };
                    let share = |x, y| Point { x, y, half: None };
                    let bins = times.times.cumulative();
                    let points = bins.map(|(up_to_s, _, part)| share(up_to_s, part));
                    let curve = curves.curve(&times.flow, &beside);
                    curve.points = points.collect();
                    if let Some(first) = curve.points.first() {
                        curve.points.insert(0, share(first.x, 0.0));
                    }
                }
            }
            let all_sizes = words == ALL_SIZES;
            Plot {
                name: match apart && !all_sizes {
                    true => format!("completion_times_{}", words.replace(' ', "_")),
                    false => "completion_times".to_owned(),
                },
                title: sweep.title(&match apart {
                    true => format!("completion times, {words}"),
                    false => "completion times".to_owned(),
                }),
                caption: finished(sweep.summary, |of| match apart {
                    true => of == words,
                    false => of == ALL_SIZES,
                }),
                notes: Vec::new(),
                y_most: None,
                chart: Chart {
                    kind: Kind::TimeSeries,
                    names: Vec::new(),
                    x: AxisData {
                        label: "completion time (s)".to_owned(),
                        logarithmic: true,
                    },
                    y: AxisData::linear("share of transfers that take no longer"),
                    curves: curves.finish(),
                },
            }
        });
    plots.collect()
}

/// The first place of each class of transfers among the figures of a point.
fn places(point: &PointSummary) -> HashMap<&str, usize> {
    let mut places = HashMap::new();
    for (place, figure) in point.figures.iter().enumerate() {
        if figure.subject == Subject::Transfers {
            places.entry(&*figure.of).or_insert(place);
        }
    }
    places
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
        let plot = series_of(&[], &[run(1), run(2)], "queue_packets");
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

    pub(super) fn manifest(axes: &[&str]) -> Manifest {
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

    fn series_of(axes: &[&str], runs: &[RunResults], quantity: &str) -> Plot {
        let (manifest, summary) = (manifest(axes), Summary::of(runs));
        let sweep = Sweep::new(&manifest, &summary);
        time_series(&sweep, runs, quantity, quantity, 1.0)
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
    fn completion_times_have_the_scenarios_order_and_looks() {
        // Of the first class of `gold` and the second of `silver` there was none at first, so that they come last.
        let class = |flow: &str, to_bytes: Option<u64>, above_bytes: u64| CompletionTimes {
            flow: flow.to_owned(),
            above_bytes,
            to_bytes,
            times: Distribution {
                up_to_s: vec![1.0],
                count: vec![3],
            },
        };
        let (small, large) = ((Some(100), 0), (None, 100));
        let classes = [(None, 0), small, large];
        let figures = ["gold", "silver"].into_iter().flat_map(|flow| {
            classes.map(|(to_bytes, above_bytes)| Figure {
                subject: Subject::Transfers,
                of: format!("{flow} {}", class(flow, to_bytes, above_bytes).words()).into(),
                quantity: "transfers".into(),
                unit: crate::results::Unit::None,
                value: Estimate::of(&[3.0]).unwrap(),
            })
        });
        let point = PointSummary {
            settings: Vec::new(),
            seeds: vec![1],
            figures: figures.collect(),
            completion_times: vec![
                class("silver", None, 0),
                class("silver", small.0, small.1),
                class("gold", None, 0),
                class("gold", large.0, large.1),
                class("silver", large.0, large.1),
                class("gold", small.0, small.1),
            ],
        };
        let (manifest, summary) = (
            manifest(&[]),
            Summary {
                points: vec![point],
            },
        );
        let plots = completion_times(&Sweep::new(&manifest, &summary));
        let curves = plots[0].chart.curves.iter();
        let curves: Vec<(&str, Option<usize>)> =
            curves.map(|curve| (&curve.name[..], curve.look)).collect();
        assert_eq!(
            curves,
            [
                ("gold, all sizes", Some(0)),
                ("gold, up to 100B", Some(6)),
                ("gold, above 100B", Some(12)),
                ("silver, all sizes", Some(1)),
                ("silver, up to 100B", Some(7)),
                ("silver, above 100B", Some(13)),
            ]
        );
    }

    #[test]
    fn completion_times_of_many_flows_are_drawn_soon() {
        let flows = (0..4_000).map(|number| format!("flow{number}"));
        let flows: Vec<String> = flows.collect();
        let figures = flows.iter().flat_map(|flow| {
            ["transfers", "unfinished", "completion", "goodput"].map(|quantity| Figure {
                subject: Subject::Transfers,
                of: format!("{flow} {ALL_SIZES}").into(),
                quantity: quantity.into(),
                unit: crate::results::Unit::None,
                value: Estimate::of(&[3.0]).unwrap(),
            })
        });
        let times = flows.iter().rev().map(|flow| CompletionTimes {
            flow: flow.clone(),
            above_bytes: 0,
            to_bytes: None,
            times: Distribution {
                up_to_s: vec![1.0],
                count: vec![3],
            },
        });
        let point = PointSummary {
            settings: Vec::new(),
            seeds: vec![1],
            figures: figures.collect(),
            completion_times: times.collect(),
        };
        let (manifest, points) = (manifest(&[]), vec![point]);
        let started = std::time::Instant::now();
        let plots = completion_times(&Sweep::new(&manifest, &Summary { points }));
        // A search through all figures for each flow would take many times that.
        assert!(started.elapsed().as_secs_f64() < 2.0);
        let curves = plots[0].chart.curves.iter();
        assert!(
            curves
                .zip(&flows)
                .all(|(curve, flow)| curve.name == format!("{flow}, all sizes"))
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
        use crate::results::Unit;
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
    fn time_series_of_several_points_stand_together() {
        let run = |control: &str, seed: u64| RunResults {
            seed,
            settings: vec![
                ("control".to_owned(), control.to_owned()),
                ("delay".to_owned(), "1ms".to_owned()),
            ],
            series: ["a", "b"]
                .into_iter()
                .map(|of| Series {
                    of: of.to_owned(),
                    ..series([(0.0, seed as f64), (1.0, 4.0), (2.0, f64::NAN)])
                })
                .collect(),
            ..RunResults::default()
        };
        let runs = [run("reno", 1), run("reno", 3), run("cubic", 5)];
        let axes = ["control", "delay"];
        let plot = series_of(&axes, &runs, "cwnd");
        assert_eq!(plot.title, "a: congestion window, delay = 1ms");
        let curves = plot.chart.curves.iter();
        let curves: Vec<(&str, Option<usize>, f64)> = curves
            .map(|curve| (&curve.name[..], curve.look, curve.points[0].y))
            .collect();
        assert_eq!(
            curves,
            [
                ("a, reno", Some(0), 2.0),
                ("a, cubic", Some(6), 5.0),
                ("b, reno", Some(1), 2.0),
                ("b, cubic", Some(7), 5.0)
            ]
        );
        // Unless points are chosen, those of the first.
        let all = |chosen| plots(&manifest(&axes), &runs, &Summary::of(&runs), chosen);
        let (first, chosen) = (all(false), all(true));
        assert_eq!(first[0].chart.curves.len(), 2);
        assert!(first[0].title.ends_with("control = reno, delay = 1ms"));
        assert!(first[0].notes[0].contains("the first of 2 points of the sweep"));
        assert_eq!(
            (chosen[0].chart.curves.len(), chosen[0].notes.len()),
            (4, 0)
        );
    }

    /// A series of goodputs of 8, with one `peak`.
    fn goodput_with(of: &str, samples: usize, peak: f64) -> Series {
        let value = |at: usize| if at == 1 { peak } else { 8.0 };
        Series {
            quantity: "goodput".to_owned(),
            of: of.to_owned(),
            time_s: (0..samples).map(|at| at as f64).collect(),
            value: (0..samples).map(value).collect::<Vec<_>>().into(),
            ..Series::default()
        }
    }

    fn goodputs(series: Vec<Series>) -> Plot {
        let run = RunResults {
            series,
            ..RunResults::default()
        };
        series_of(&[], &[run], "goodput")
    }

    #[test]
    fn goodputs_that_stand_out_are_beyond_the_axis() {
        let of = |peak| goodputs(vec![goodput_with("a", 300, peak)]);
        let usual = of(15.0);
        assert_eq!((usual.y_most, usual.notes.len()), (None, 0));
        let cut = of(44.0);
        assert_eq!(cut.y_most, Some(10.0));
        assert_eq!(
            cut.caption,
            "values up to 44 Mb/s are beyond the axis; seed 0"
        );
        let note = &cut.notes[0];
        assert!(note.contains("ends at 10, 1.25 times the 99th percentile: the cause may be"));
    }

    #[test]
    fn peaks_of_short_transfers_are_drawn() {
        let of = |samples| goodputs(vec![goodput_with("a", samples, 44.0)]);
        for samples in [2, 20, 199] {
            let short = of(samples);
            assert_eq!((short.y_most, short.notes.len()), (None, 0), "{samples}");
            assert_eq!(short.caption, "seed 0");
        }
        assert!(of(200).y_most.is_some());
        // Beside a long one that is cut, too.
        let (long, short) = (goodput_with("a", 300, 44.0), goodput_with("b", 20, 16.0));
        assert_eq!(goodputs(vec![long, short]).y_most, Some(20.0));
    }

    #[test]
    fn completion_times_are_cumulative_shares() {
        let points = vec![transfers_at("10mbit"), transfers_at("20mbit")];
        let (swept, summary) = (manifest(&["rate"]), Summary { points });
        let plots = completion_times(&Sweep::new(&swept, &summary));
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
        let (one, summary) = (
            manifest(&[]),
            Summary {
                points: vec![point],
            },
        );
        let plots = completion_times(&Sweep::new(&one, &summary));
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
        let plot = series_of(&[], &[run], "queue_packets");
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
        let of = |seeds: u64| series_of(&[], &runs(seeds), "cwnd");
        let three = of(3);
        assert_eq!(three.chart.curves[0].seeds.len(), 3);
        assert_eq!(three.chart.curves[0].seeds[2], [(0.0, 3.0), (1.0, 4.0)]);
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
