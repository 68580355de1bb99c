// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plots of the completion times of arriving transfers.

use std::collections::HashMap;

use netnice_chart::{AxisData, Chart, Kind, Plot, Point};

use super::curves::Curves;
use super::sweep::Sweep;
use crate::{ALL_SIZES, CompletionTimes, Estimate, PointSummary, Subject, Summary};

/// Cumulative distributions of the completion times of arriving transfers: without a sweep of all flows and classes of sizes in
/// one plot, else a plot for each class, with a curve for each flow at each point.
pub(super) fn completion_times(sweep: &Sweep) -> Vec<Plot> {
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

/// What the distributions of the classes `shown` leave out: transfers that had not ended.
fn finished(summary: &Summary, shown: impl Fn(&str) -> bool) -> String {
    let unfinished = summary.points.iter().map(|point| {
        let figures = point.figures.iter().filter(|figure| {
            figure.subject == Subject::Transfers && figure.quantity == "unfinished"
        });
        let of_class: HashMap<&str, &Estimate> =
            figures.map(|figure| (&*figure.of, &figure.value)).collect();
        let classes = point.completion_times.iter();
        let classes = classes.filter(|times| shown(&times.words()));
        let numbers = classes.filter_map(|times| {
            let of = format!("{} {}", times.flow, times.words());
            let value = of_class.get(of.as_str())?;
            Some(value.mean * value.runs as f64)
        });
        numbers.sum::<f64>()
    });
    match unfinished.sum::<f64>().round() {
        0.0 => "all transfers of all seeds".to_owned(),
        unfinished => format!("all transfers of all seeds but {unfinished} that had not ended"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::manifest;
    use super::*;
    use crate::{Distribution, Figure};

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
            unit: crate::Unit::None,
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
                unit: crate::Unit::None,
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
    fn completion_times_of_many_flows_are_in_their_order() {
        let flows = (0..10_000).map(|number| format!("flow{number}"));
        let flows: Vec<String> = flows.collect();
        let figures = flows.iter().flat_map(|flow| {
            ["transfers", "unfinished", "completion", "goodput"].map(|quantity| Figure {
                subject: Subject::Transfers,
                of: format!("{flow} {ALL_SIZES}").into(),
                quantity: quantity.into(),
                unit: crate::Unit::None,
                value: Estimate::of(&[3.0]).unwrap(),
            })
        });
        // All of them, in an order without runs.
        let mixed = (0..flows.len()).map(|number| &flows[number * 7919 % flows.len()]);
        let times = mixed.map(|flow| CompletionTimes {
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
        let plots = completion_times(&Sweep::new(&manifest, &Summary { points }));
        let curves = plots[0].chart.curves.iter();
        assert!(
            curves
                .zip(&flows)
                .all(|(curve, flow)| curve.name == format!("{flow}, all sizes"))
        );
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
}
