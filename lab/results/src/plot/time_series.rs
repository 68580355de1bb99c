// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plots of quantities over time: which curves there are, their means over the seeds, and where the axis ends.

use std::collections::{HashMap, HashSet};

use netnice_chart::scale::plain;
use netnice_chart::{AxisData, Chart, Curve, Kind, Plot, Point};

use super::curves::Curves;
use super::keep_distinguishable;
use super::sweep::Sweep;
use crate::{Estimate, RunResults, Series};

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
pub(super) fn time_series(
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

#[cfg(test)]
mod tests {
    use super::super::plots;
    use super::super::tests::manifest;
    use super::*;
    use crate::Summary;

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

    fn series_of(axes: &[&str], runs: &[RunResults], quantity: &str) -> Plot {
        let (manifest, summary) = (manifest(axes), Summary::of(runs));
        let sweep = Sweep::new(&manifest, &summary);
        time_series(&sweep, runs, quantity, quantity, 1.0)
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
}
