// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure's data as the scripts get it, and the spans of its axes.

use netnice_papers::{Figure, FigureKind, Scaling, XY};
use serde::Serialize;

use super::looks::{Looks, Marker};
use crate::json::rounded;

/// Of a curve over time at most so many steps of time are kept, with at most four points each.
const STEPS: usize = 5000;

/// A figure.
#[derive(Debug, Clone, Serialize)]
pub struct Data {
    /// `lines`, `time_series` or `bars`.
    pub kind: &'static str,
    /// The categories of bars.
    pub names: Vec<String>,
    pub x: AxisData,
    pub y: AxisData,
    pub curves: Vec<CurveData>,
}

/// An axis.
#[derive(Debug, Clone, Serialize)]
pub struct AxisData {
    /// With the unit.
    pub label: String,
    pub logarithmic: bool,
}

/// A curve.
#[derive(Debug, Clone, Serialize)]
pub struct CurveData {
    pub name: String,
    pub marker: Marker,
    /// x, y, and half of the interval where there is one.
    pub points: Vec<Point>,
}

/// `[x, y]` or `[x, y, half]`.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub half: Option<f64>,
}

impl Serialize for Point {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.half {
            Some(half) => [self.x, self.y, half].serialize(serializer),
            None => [self.x, self.y].serialize(serializer),
        }
    }
}

impl Data {
    /// The points of a figure that can be drawn: finite numbers, positive on logarithmic axes.
    pub fn new(figure: &Figure, looks: &[Looks]) -> Data {
        let fits = |value: f64, axis: &netnice_papers::Axis| {
            value.is_finite() && (value > 0.0 || !is_logarithmic(axis.scaling))
        };
        let point = |point: &XY| Point {
            x: rounded(point.x),
            y: rounded(point.y),
            half: point
                .half_width
                .filter(|half| half.is_finite())
                .map(rounded),
        };
        let time_series = matches!(figure.kind, FigureKind::TimeSeries);
        let curves = figure.curves.iter().zip(looks).map(|(curve, looks)| {
            let drawn = curve.points.iter();
            let drawn = drawn.filter(|point| fits(point.x, &figure.x) && fits(point.y, &figure.y));
            let mut points: Vec<Point> = drawn.map(point).collect();
            if time_series && points.len() > 4 * STEPS {
                let (first, last) = (points[0].x, points[points.len() - 1].x);
                let step = (last - first) / STEPS as f64;
                points = thinned(&points, |point| ((point.x - first) / step).floor() as i64);
            }
            CurveData {
                name: curve.name.clone(),
                marker: looks.marker,
                points,
            }
        });
        let axis = |axis: &netnice_papers::Axis| AxisData {
            label: label(&axis.label, &axis.unit),
            logarithmic: is_logarithmic(axis.scaling),
        };
        Data {
            kind: match figure.kind {
                FigureKind::Lines => "lines",
                FigureKind::TimeSeries => "time_series",
                FigureKind::Bars(_) => "bars",
            },
            names: match &figure.kind {
                FigureKind::Bars(names) => names.clone(),
                _ => Vec::new(),
            },
            x: axis(&figure.x),
            y: axis(&figure.y),
            curves: curves.collect(),
        }
    }

    /// Nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.curves.iter().all(|curve| curve.points.is_empty())
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// The span of the horizontal axis: all points, and a little room where they have markers.
    pub fn x_domain(&self) -> [f64; 2] {
        if self.kind == "bars" {
            return [-0.5, self.names.len().max(1) as f64 - 0.5];
        }
        let room = if self.kind == "lines" { 0.03 } else { 0.0 };
        let span = self
            .points()
            .fold(NOTHING, |span, point| with(span, point.x));
        widened(span, self.x.logarithmic, [room, room])
    }

    /// The span of the vertical axis: all points with their intervals, and zero where that is not far.
    pub fn y_domain(&self) -> [f64; 2] {
        let span = self.points().fold(NOTHING, |span, point| {
            let half = point.half.unwrap_or(0.0);
            let low = point.y - half;
            // An interval may reach below what a logarithmic axis can show.
            let low = if self.y.logarithmic && low <= 0.0 {
                point.y
            } else {
                low
            };
            with(with(span, low), point.y + half)
        });
        let [least, largest] = span;
        if self.y.logarithmic {
            return widened(span, true, [0.04, 0.04]);
        }
        if self.kind == "bars" || (least >= 0.0 && least <= 0.75 * largest) {
            let span = with(span, 0.0);
            let room = |negative: bool| if negative { 0.05 } else { 0.0 };
            return widened(span, false, [room(span[0] < 0.0), room(span[1] > 0.0)]);
        }
        widened(span, false, [0.05, 0.05])
    }
}

const NOTHING: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

fn with([least, largest]: [f64; 2], value: f64) -> [f64; 2] {
    [least.min(value), largest.max(value)]
}

/// A span with room at its ends, in parts of it; never empty.
fn widened([least, largest]: [f64; 2], logarithmic: bool, [below, above]: [f64; 2]) -> [f64; 2] {
    if least > largest {
        return if logarithmic { [1.0, 10.0] } else { [0.0, 1.0] };
    }
    if logarithmic {
        if least == largest {
            return [least / 2.0, largest * 2.0];
        }
        let ratio = largest / least;
        return [least / ratio.powf(below), largest * ratio.powf(above)];
    }
    if least == largest {
        let room = if least == 0.0 { 1.0 } else { least.abs() / 2.0 };
        return [least - room, largest + room];
    }
    let span = largest - least;
    [least - below * span, largest + above * span]
}

/// Of the points that share a column the first, the least, the largest and the last: a line through them looks as one
/// through all.
pub fn thinned(points: &[Point], column: impl Fn(&Point) -> i64) -> Vec<Point> {
    let mut kept = Vec::new();
    let mut begin = 0;
    while begin < points.len() {
        let same = |point: &&Point| column(point) == column(&points[begin]);
        let count = points[begin..].iter().take_while(same).count();
        let end = begin + count - 1;
        let (mut least, mut largest) = (begin, begin);
        for at in begin..=end {
            if points[at].y < points[least].y {
                least = at;
            }
            if points[at].y > points[largest].y {
                largest = at;
            }
        }
        let mut places = [begin, least.min(largest), least.max(largest), end].to_vec();
        places.dedup();
        kept.extend(places.into_iter().map(|at| points[at]));
        begin = end + 1;
    }
    kept
}

/// A label with its unit.
pub fn label(label: &str, unit: &str) -> String {
    match unit {
        "" => label.to_owned(),
        unit => format!("{label} ({unit})"),
    }
}

fn is_logarithmic(scaling: Scaling) -> bool {
    scaling == Scaling::Logarithmic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_extremes() {
        let values = [1.0, 5.0, 0.0, 3.0, 2.0, 7.0];
        let points: Vec<Point> = values
            .iter()
            .enumerate()
            .map(|(at, &y)| Point {
                x: at as f64,
                y,
                half: None,
            })
            .collect();
        let of = |width: f64| -> Vec<f64> {
            let kept = thinned(&points, |point| (point.x / width).floor() as i64);
            kept.iter().map(|point| point.y).collect()
        };
        assert_eq!(of(1.0), values);
        assert_eq!(of(4.0), [1.0, 5.0, 0.0, 3.0, 2.0, 7.0]);
        assert_eq!(of(6.0), [1.0, 0.0, 7.0]);
        assert!(thinned(&[], |_| 0).is_empty());
    }

    fn data(kind: &'static str, logarithmic: bool, points: &[(f64, f64, Option<f64>)]) -> Data {
        let axis = |logarithmic| AxisData {
            label: String::new(),
            logarithmic,
        };
        Data {
            kind,
            names: vec!["a".to_owned(), "b".to_owned()],
            x: axis(false),
            y: axis(logarithmic),
            curves: vec![CurveData {
                name: String::new(),
                marker: Marker::None,
                points: points
                    .iter()
                    .map(|&(x, y, half)| Point { x, y, half })
                    .collect(),
            }],
        }
    }

    #[test]
    fn axes_span_the_points_and_their_intervals_by_hand() {
        let lines = data(
            "lines",
            false,
            &[(0.0, 1.0, Some(0.5)), (100.0, 9.0, Some(1.0))],
        );
        assert_eq!(lines.x_domain(), [-3.0, 103.0]);
        assert_eq!(lines.y_domain(), [0.0, 10.5]);
        // Far from zero: without it.
        let high = data("lines", false, &[(0.0, 90.0, None), (1.0, 100.0, None)]);
        assert_eq!(high.y_domain(), [89.5, 100.5]);
        assert_eq!(
            data("bars", false, &[(0.0, 90.0, None)]).x_domain(),
            [-0.5, 1.5]
        );
        let negative = data("bars", false, &[(0.0, -10.0, None)]);
        assert_eq!(negative.y_domain(), [-10.5, 0.0]);
        let logarithmic = data("lines", true, &[(0.0, 1.0, Some(2.0)), (0.0, 100.0, None)]);
        let [least, largest] = logarithmic.y_domain();
        assert!(least > 0.8 && least < 1.0 && largest > 100.0);
    }

    #[test]
    fn no_span_is_empty() {
        for logarithmic in [false, true] {
            for points in [
                &[][..],
                &[(1.0, 3.0, None)],
                &[(1.0, 3.0, None), (1.0, 3.0, None)],
            ] {
                for kind in ["lines", "time_series", "bars"] {
                    let data = data(kind, logarithmic, points);
                    for [least, largest] in [data.x_domain(), data.y_domain()] {
                        assert!(least < largest && (largest - least).is_finite());
                    }
                }
            }
        }
    }
}
