// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures as data, without their looks.

use netnice_results::{Estimate, Series};
use netnice_study::says_less_than_range;
use serde::{Deserialize, Serialize};

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name for files, unique in the experiment: `lp03-f11`.
    pub name: String,
    /// Title.
    pub title: String,
    /// The caption, in a sentence or two.
    pub caption: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// Along.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

/// How a figure is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Points with intervals, joined by lines.
    Lines,
    /// Thousands of points over time, to zoom into; no intervals.
    TimeSeries,
    /// Bars side by side; x counts these names from 0.
    Bars(Vec<String>),
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// In words, without the unit.
    pub label: String,
    /// Unit, or nothing.
    pub unit: String,
    /// How values are spread.
    pub scaling: Scaling,
}

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// Evenly.
    Linear,
    /// By their logarithms.
    Logarithmic,
}

/// A line, or the bars of one colour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name for the legend.
    pub name: String,
    /// Where it comes from.
    pub kind: CurveKind,
    /// The points, in the order of x.
    pub points: Vec<XY>,
}

/// Where a curve comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveKind {
    /// Measured by us, set up as in the paper.
    Ours,
    /// Measured by us in another setting than the paper's.
    Variant,
    /// Measured by us on a running kernel.
    Kernel,
    /// The ideal: the same under the strict-priority scheduler of the reference model (LP03 II).
    Reference,
    /// Given by a formula.
    Model,
    /// Read from the paper.
    Reported,
}

/// A point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct XY {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Half of the 95 % interval of y, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// The least and the largest of the runs, where there is an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// An evenly spread axis.
    pub fn linear(label: &str, unit: &str) -> Axis {
        Axis {
            label: label.to_owned(),
            unit: unit.to_owned(),
            scaling: Scaling::Linear,
        }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: &str, unit: &str) -> Axis {
        Axis {
            scaling: Scaling::Logarithmic,
            ..Axis::linear(label, unit)
        }
    }
}

impl Curve {
    /// A curve without points yet.
    pub fn new(name: &str, kind: CurveKind) -> Curve {
        Curve {
            name: name.to_owned(),
            kind,
            points: Vec::new(),
        }
    }

    /// A time series from `from_s` on, where there is one.
    pub fn over_time(name: &str, kind: CurveKind, series: Option<&Series>, from_s: f64) -> Curve {
        let mut curve = Curve::new(name, kind);
        let samples = series.map(|series| series.time_s.iter().zip(series.value.iter()));
        for (&time_s, &value) in samples.into_iter().flatten() {
            if time_s >= from_s && value.is_finite() {
                curve.add_exact(time_s, value);
            }
        }
        curve
    }

    /// Adds a mean, where there is one.
    pub fn add(&mut self, x: f64, y: Option<Estimate>) {
        if let Some(y) = y {
            self.points.push(XY {
                x,
                y: y.mean,
                half_width: y.half_width_95,
                range: y.half_width_95.map(|_| [y.min, y.max]),
            });
        }
    }

    /// Adds a number.
    pub fn add_exact(&mut self, x: f64, y: f64) {
        self.points.push(XY {
            x,
            y,
            half_width: None,
            range: None,
        });
    }

    /// Is an interval wider than its value, so that the curve is shown with the ranges of the runs, as in tables?
    pub fn shows_ranges(&self) -> bool {
        let mut points = self.points.iter();
        points.any(|point| {
            let wide = |range| says_less_than_range(point.y, point.half_width, range);
            point.range.is_some_and(wide)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_study::is_wide;

    #[test]
    fn curves_show_ranges_where_texts_do() {
        for (values, wide) in [
            (&[2.0, 4.0, 6.0][..], true),
            (&[-6.0, -4.0, -2.0], true),
            (&[3.0, 4.0, 5.0], false),
            (&[4.0, 4.0], false),
            (&[0.0, 0.0], false),
            (&[4.0], false),
        ] {
            let value = Estimate::of(values).unwrap();
            let mut curve = Curve::new("ours", CurveKind::Ours);
            curve.add(1.0, Some(value));
            assert_eq!(
                (curve.shows_ranges(), is_wide(&value)),
                (wide, wide),
                "{values:?}"
            );
        }
    }
}
