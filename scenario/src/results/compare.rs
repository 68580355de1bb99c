// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two sets of results side by side: simulated and measured, or of two versions.

use serde::Serialize;

use super::{Estimate, Figure, PointSummary, Subject, Summary};

/// A relative difference that is worth an explanation.
const NOTABLE: f64 = 0.1;

/// The comparison of two sets of results.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Comparison {
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
    /// The 95 % confidence intervals have nothing in common; `None` where one of them is not known.
    pub intervals_apart: Option<bool>,
    /// The means differ by more than 10 % of the first.
    pub notable: bool,
}

impl Comparison {
    /// The figures of `a` and `b`, point by point. Two sets without a sweep, or with a single point each, are compared
    /// whatever that point is.
    pub fn of(a: &Summary, b: &Summary) -> Comparison {
        if let ([one], [other]) = (&a.points[..], &b.points[..]) {
            return Comparison {
                points: vec![PointComparison::of(one, other)],
                ..Comparison::default()
            };
        }
        let mut comparison = Comparison::default();
        for point in &a.points {
            match b
                .points
                .iter()
                .find(|other| other.settings == point.settings)
            {
                Some(other) => comparison.points.push(PointComparison::of(point, other)),
                None => comparison.only_in_a.push(point.settings.clone()),
            }
        }
        let others = b.points.iter().map(|point| &point.settings);
        let alone =
            others.filter(|&settings| !a.points.iter().any(|point| point.settings == *settings));
        comparison.only_in_b = alone.cloned().collect();
        comparison
    }
}

impl PointComparison {
    fn of(a: &PointSummary, b: &PointSummary) -> PointComparison {
        let rows = a.figures.iter().filter_map(|figure| {
            let other = b.figure(figure.subject, &figure.of, &figure.quantity)?;
            Some(Row::of(figure, other))
        });
        PointComparison {
            settings: a.settings.clone(),
            rows: rows.collect(),
        }
    }
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
}
