// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two sets of results side by side: simulated and measured, or of two versions.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::summary::Settings;
use crate::{Estimate, Figure, PointSummary, Subject, Summary};
use netnice_scenario::parse::Difference;

/// A relative difference that is worth an explanation.
const NOTABLE: f64 = 0.1;

/// The comparison of two sets of results.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Comparison {
    /// Fields of the sweep that have one value in each set, not the same: they are in no point's settings.
    pub differences: Vec<Difference>,
    /// Points that are in both, in the order of the first.
    pub points: Vec<PointComparison>,
    /// Settings of points that are only in the first.
    pub only_in_a: Vec<Vec<(String, String)>>,
    /// Settings of points that are only in the second.
    pub only_in_b: Vec<Vec<(String, String)>>,
}

/// One point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointComparison {
    /// The swept names and values.
    pub settings: Vec<(String, String)>,
    /// Figures that are in both.
    pub rows: Vec<Row>,
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The object of the quantity.
    pub subject: Subject,
    /// Name of that.
    pub of: String,
    /// Which figure.
    pub quantity: String,
    /// Unit of both values.
    pub unit: String,
    /// In the first.
    pub a: Estimate,
    /// In the second.
    pub b: Estimate,
    /// The second's mean over the first's; `None` where the first's is zero.
    pub ratio: Option<f64>,
    /// The 95 % confidence intervals do not overlap; `None` where one of them is not known.
    pub intervals_apart: Option<bool>,
    /// The means differ by more than 10 % of the first.
    pub notable: bool,
}

impl Comparison {
    /// The figures of `a` and `b`, point by point. What has one value in each set is not swept: points are matched by the rest.
    pub fn of(a: &Summary, b: &Summary) -> Comparison {
        let differences = single_values(a, b);
        let swept = |point: &PointSummary| -> Settings {
            let settings = point.settings.iter();
            let swept = settings.filter(|(key, _)| differences.iter().all(|it| it.key != *key));
            swept.cloned().collect()
        };
        let sorted = |mut settings: Settings| {
            settings.sort();
            settings
        };
        let mut others: HashMap<Settings, &PointSummary> = HashMap::new();
        for point in &b.points {
            others.entry(sorted(swept(point))).or_insert(point);
        }
        let mut comparison = Comparison::default();
        let mut in_a = HashSet::new();
        for point in &a.points {
            let settings = swept(point);
            let key = sorted(settings.clone());
            match others.get(&key) {
                Some(other) => {
                    let point = PointComparison::of(settings, point, other);
                    comparison.points.push(point);
                }
                None => comparison.only_in_a.push(settings),
            }
            in_a.insert(key);
        }
        let alone = b.points.iter().map(swept);
        let alone = alone.filter(|settings| !in_a.contains(&sorted(settings.clone())));
        comparison.only_in_b = alone.collect();
        comparison.differences = differences;
        comparison
    }
}

/// What has at most one value in each set, and not the same in both.
fn single_values(a: &Summary, b: &Summary) -> Vec<Difference> {
    /// The only value of `key`; an error where there are several.
    fn only<'a>(summary: &'a Summary, key: &str) -> Result<Option<&'a str>, ()> {
        let mut values = summary.points.iter().map(|point| {
            let mut settings = point.settings.iter();
            let found = settings.find(|(other, _)| other == key);
            found.map(|(_, value)| value.as_str())
        });
        let first = values.next().flatten();
        match values.all(|value| value == first) {
            true => Ok(first),
            false => Err(()),
        }
    }
    let keys = [a, b].into_iter().filter_map(|it| it.points.first());
    let keys = keys.flat_map(|point| point.settings.iter().map(|(key, _)| key));
    let mut differences: Vec<Difference> = Vec::new();
    for key in keys {
        if let (Ok(of_a), Ok(of_b)) = (only(a, key), only(b, key)) {
            let known = differences.iter().any(|it| it.key == *key);
            if of_a != of_b && !known {
                differences.push(Difference {
                    key: key.clone(),
                    a: of_a.map(str::to_owned),
                    b: of_b.map(str::to_owned),
                });
            }
        }
    }
    differences
}

impl PointComparison {
    fn of(settings: Settings, a: &PointSummary, b: &PointSummary) -> PointComparison {
        let others: HashMap<_, _> = b.figures.iter().map(|it| (key(it), it)).collect();
        let rows = a.figures.iter().filter_map(|figure| {
            let other = others.get(&key(figure))?;
            Some(Row::of(figure, other))
        });
        let mut rows: Vec<Row> = rows.collect();
        order(&mut rows);
        PointComparison { settings, rows }
    }
}

fn key(figure: &Figure) -> (Subject, &str, &str) {
    (figure.subject, &*figure.of, &*figure.quantity)
}

/// The order of the report: the scenario's own figures, then by subject; all figures of an object together, objects of a
/// flow's web traffic by size. A figure that the first seeds lack is measured late, but has no place of its own for that.
fn order(rows: &mut [Row]) {
    fn flow(row: &Row) -> (&str, u64) {
        let sizes = row.of.rsplit_once(' ');
        let sizes = sizes.filter(|_| row.subject == Subject::Objects);
        let (flow, sizes) = sizes.unwrap_or((&row.of, ""));
        let from = sizes.split('-').next().and_then(|from| from.parse().ok());
        (flow, from.unwrap_or(0))
    }
    let mut first: HashMap<(Subject, String), usize> = HashMap::new();
    for (number, row) in rows.iter().enumerate() {
        let object = (row.subject, flow(row).0.to_owned());
        first.entry(object).or_insert(number);
    }
    rows.sort_by_cached_key(|row| {
        let (name, size) = flow(row);
        let appeared = first[&(row.subject, name.to_owned())];
        let is_own = row.subject == Subject::Figure;
        (!is_own, row.subject, appeared, size)
    });
}

impl Row {
    fn of(a: &Figure, b: &Figure) -> Row {
        let (mean_a, mean_b) = (a.value.mean, b.value.mean);
        let intervals_apart = match (a.value.half_width_95, b.value.half_width_95) {
            (Some(wide_a), Some(wide_b)) => Some((mean_a - mean_b).abs() > wide_a + wide_b),
            _ => None,
        };
        Row {
            subject: a.subject,
            of: a.of.to_string(),
            quantity: a.quantity.to_string(),
            unit: a.unit.name().to_owned(),
            a: a.value,
            b: b.value,
            ratio: (mean_a != 0.0).then(|| mean_b / mean_a),
            intervals_apart,
            notable: (mean_b - mean_a).abs() > NOTABLE * mean_a.abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;

    fn figure(of: &str, quantity: &str, values: &[f64]) -> Figure {
        Figure {
            subject: Subject::Flows,
            of: of.into(),
            quantity: quantity.to_owned().into(),
            unit: Unit::BitsPerSecond,
            value: Estimate::of(values).unwrap(),
        }
    }

    fn point(settings: &[(&str, &str)], figures: Vec<Figure>) -> PointSummary {
        let settings = settings.iter();
        PointSummary {
            settings: settings
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            seeds: vec![1],
            figures,
            completion_times: Vec::new(),
        }
    }

    #[test]
    fn a_comparison_by_hand() {
        let one = Summary {
            points: vec![point(
                &[],
                vec![
                    figure("reno", "goodput", &[9.0, 10.0, 11.0]),
                    figure("reno", "loss", &[0.0]),
                    figure("gone", "goodput", &[1.0]),
                ],
            )],
        };
        let other = Summary {
            points: vec![point(
                &[],
                vec![
                    figure("reno", "loss", &[0.5]),
                    figure("reno", "goodput", &[10.2, 10.5, 10.8]),
                ],
            )],
        };
        let comparison = Comparison::of(&one, &other);
        let [goodput, loss] = &comparison.points[0].rows[..] else {
            panic!("{comparison:?}");
        };
        // 4.303 * 1 / sqrt 3 = 2.48 is wider than the difference, which is 5 %.
        assert_eq!((goodput.ratio, goodput.notable), (Some(1.05), false));
        assert_eq!(goodput.intervals_apart, Some(false));
        assert_eq!(
            (loss.ratio, loss.notable, loss.intervals_apart),
            (None, true, None)
        );
    }

    #[test]
    fn intervals_that_do_not_meet_are_apart() {
        let a = figure("f", "goodput", &[10.0, 10.1, 10.2]);
        let b = figure("f", "goodput", &[8.0, 8.1, 8.2]);
        let row = Row::of(&a, &b);
        assert_eq!((row.intervals_apart, row.notable), (Some(true), true));
    }

    #[test]
    fn points_are_matched_by_their_swept_values() {
        let of = |value| point(&[("period", value)], vec![figure("f", "goodput", &[1.0])]);
        let a = Summary {
            points: vec![of("50ms"), of("100ms")],
        };
        let b = Summary {
            points: vec![of("100ms"), of("1s")],
        };
        let comparison = Comparison::of(&a, &b);
        assert_eq!(comparison.points.len(), 1);
        assert_eq!(comparison.points[0].settings[0].1, "100ms");
        assert_eq!(comparison.only_in_a[0][0].1, "50ms");
        assert_eq!(comparison.only_in_b[0][0].1, "1s");
    }

    #[test]
    fn an_axis_of_one_value_on_each_side_is_none() {
        let of = |control, queue| {
            let settings = [("control", control), ("queue", queue)];
            point(&settings, vec![figure("f", "goodput", &[1.0])])
        };
        let a = Summary {
            points: vec![of("cubic", "1s"), of("cubic", "2s")],
        };
        let mut b = Summary {
            points: vec![of("netnice", "2s"), of("netnice", "1s")],
        };
        let difference = Difference {
            key: "control".to_owned(),
            a: Some("cubic".to_owned()),
            b: Some("netnice".to_owned()),
        };
        let comparison = Comparison::of(&a, &b);
        assert_eq!(comparison.differences, [difference]);
        let queues = |comparison: &Comparison| -> Vec<Settings> {
            let points = comparison.points.iter();
            points.map(|point| point.settings.clone()).collect()
        };
        let queue = |value: &str| vec![("queue".to_owned(), value.to_owned())];
        assert_eq!(queues(&comparison), [queue("1s"), queue("2s")]);
        assert!(comparison.only_in_a.is_empty() && comparison.only_in_b.is_empty());
        // The axis is not there at all.
        for point in &mut b.points {
            point.settings.remove(0);
        }
        let comparison = Comparison::of(&a, &b);
        assert_eq!(comparison.differences[0].b, None);
        assert_eq!(queues(&comparison), [queue("1s"), queue("2s")]);
        // Several values on one side are an axis.
        b.points = vec![of("netnice", "1s"), of("ledbat", "1s")];
        let comparison = Comparison::of(&a, &b);
        assert!(comparison.points.is_empty() && comparison.differences.is_empty());
    }

    #[test]
    fn rows_are_in_the_order_of_the_report() {
        let of = |subject, of: &str, quantity: &str| Figure {
            subject,
            ..figure(of, quantity, &[1.0, 2.0])
        };
        let figures = vec![
            of(Subject::Flows, "web", "goodput"),
            of(Subject::Objects, "web 8192-11586", "size"),
            of(Subject::Objects, "web 65536-92682", "size"),
            of(Subject::Objects, "a 4096-5792", "size"),
            of(Subject::Calls, "call", "mos"),
            of(Subject::Figure, "own", "ratio"),
            // What appears with a later seed.
            of(Subject::Flows, "web", "completion"),
            of(Subject::Objects, "web 11586-16384", "size"),
            of(Subject::Objects, "web 8192-11586", "response_time"),
            of(Subject::Queue, "line", "drops"),
        ];
        let one = Summary {
            points: vec![point(&[], figures)],
        };
        let comparison = Comparison::of(&one, &one);
        let rows = comparison.points[0].rows.iter();
        let rows: Vec<String> = rows
            .map(|row| format!("{} {}", row.of, row.quantity))
            .collect();
        assert_eq!(
            rows,
            [
                "own ratio",
                "web goodput",
                "web completion",
                "line drops",
                "web 8192-11586 size",
                "web 8192-11586 response_time",
                "web 11586-16384 size",
                "web 65536-92682 size",
                "a 4096-5792 size",
                "call mos"
            ]
        );
    }
}
