// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves as SVG paths.

use std::fmt::Write;

use crate::chart::{Chart, Kind, Point, interval as ends, thinned};
use crate::palette::Marker;
use crate::scale::Scale;

/// A curve's paths.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shapes {
    /// The line, or the bars.
    pub body: String,
    /// 95 % intervals.
    pub intervals: String,
    /// Markers.
    pub markers: String,
}

/// Part of the room of a name that its bars fill.
const BARS: f64 = 0.74;

/// Writing to a String cannot fail.
macro_rules! add {
    ($path:expr, $($what:tt)*) => {
        let _ = write!($path, $($what)*);
    };
}

/// The paths of a curve.
pub fn of(data: &Chart, number: usize, x: &Scale, y: &Scale) -> Shapes {
    let curve = &data.curves[number];
    let mut shapes = Shapes::default();
    match data.kind {
        Kind::Bars => bars(&mut shapes, data, number, x, y),
        // Has neither axes nor curves: heat_map.rs.
        Kind::HeatMap => {}
        Kind::TimeSeries => {
            let column = |point: &Point| x.place(point.x).floor() as i64;
            let points = thinned(&curve.points, column);
            line(&mut shapes.body, &points, x, y);
        }
        Kind::Lines => {
            line(&mut shapes.body, &curve.points, x, y);
            for (number, point) in curve.points.iter().enumerate() {
                let (across, up) = (x.place(point.x), y.place(point.y));
                interval(&mut shapes.intervals, curve.ends(number), across, y);
                shapes.markers.push_str(&marker(curve.marker, across, up));
            }
        }
    }
    shapes
}

fn line(path: &mut String, points: &[Point], x: &Scale, y: &Scale) {
    for (number, point) in points.iter().enumerate() {
        let letter = if number == 0 { 'M' } else { 'L' };
        add!(
            path,
            "{letter}{:.1} {:.1}",
            x.place(point.x),
            y.place(point.y)
        );
    }
}

/// The line of a single run.
pub fn seed(samples: &[(f64, f64)], x: &Scale, y: &Scale) -> String {
    let points = samples.iter().map(|&(x, y)| Point { x, y, half: None });
    let points: Vec<Point> = points.collect();
    let mut path = String::new();
    let column = |point: &Point| x.place(point.x).floor() as i64;
    line(&mut path, &thinned(&points, column), x, y);
    path
}

/// The band of the intervals of a curve over time: of the points in a column of pixels the widest.
pub fn band(points: &[Point], x: &Scale, y: &Scale) -> String {
    if points.iter().all(|point| point.half.is_none()) {
        return String::new();
    }
    let column = |point: &Point| x.place(point.x).floor() as i64;
    let columns = points.chunk_by(|a, b| column(a) == column(b));
    let ends: Vec<(f64, f64, f64)> = columns
        .map(|points| {
            let ends = points.iter().map(ends);
            let widest = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            let (low, high) = widest.unwrap_or_default();
            (points[0].x, low, high)
        })
        .collect();
    let at = |x_value: f64, value: f64| {
        let low = if y.logarithmic {
            value.max(y.domain[0])
        } else {
            value
        };
        format!("{:.1} {:.1}", x.place(x_value), y.place(low))
    };
    let above = ends.iter().map(|&(x, _, high)| at(x, high));
    let below = ends.iter().rev().map(|&(x, low, _)| at(x, low));
    let corners: Vec<String> = above.chain(below).collect();
    format!("M{}Z", corners.join("L"))
}

fn interval(path: &mut String, ends: Option<(f64, f64)>, across: f64, y: &Scale) {
    let Some((low, high)) = ends else {
        return;
    };
    let low = match y.logarithmic && low <= 0.0 {
        true => y.domain[0],
        false => low,
    };
    let (top, bottom) = (y.place(high), y.place(low));
    let (left, right) = (across - 3.0, across + 3.0);
    add!(
        path,
        "M{left:.1} {top:.1}H{right:.1}M{across:.1} {top:.1}V{bottom:.1}M{left:.1} {bottom:.1}H{right:.1}"
    );
}

/// Width of a bar.
fn bar_width(data: &Chart, x: &Scale) -> f64 {
    let room = x.place(1.0) - x.place(0.0);
    // Few bars would be as wide as walls.
    (room * BARS / data.curves.len() as f64).min(64.0)
}

/// The middle of the bar that a curve has in the category `at`.
pub fn bar_middle(data: &Chart, number: usize, at: f64, x: &Scale) -> f64 {
    let curves = data.curves.len() as f64;
    x.place(at) + (number as f64 - (curves - 1.0) / 2.0) * bar_width(data, x)
}

fn bars(shapes: &mut Shapes, data: &Chart, number: usize, x: &Scale, y: &Scale) {
    let curve = &data.curves[number];
    for (at, point) in curve.points.iter().enumerate() {
        let middle = bar_middle(data, number, point.x, x);
        shapes.body.push_str(&bar(data, number, point, x, y));
        interval(&mut shapes.intervals, curve.ends(at), middle, y);
    }
}

/// The path of a bar.
pub fn bar(data: &Chart, number: usize, point: &Point, x: &Scale, y: &Scale) -> String {
    let width = bar_width(data, x);
    let middle = bar_middle(data, number, point.x, x);
    // A hair of paper between neighbours.
    let (left, right) = (middle - width / 2.0 + 0.5, middle + width / 2.0 - 0.5);
    let base = match y.logarithmic {
        true => y.from,
        false => y.place(0.0),
    };
    let top = y.place(point.y);
    format!("M{left:.1} {base:.1}V{top:.1}H{right:.1}V{base:.1}Z")
}

/// A marker's path, with its middle at a place.
pub fn marker(marker: Marker, x: f64, y: f64) -> String {
    match marker {
        Marker::Circle => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
        Marker::Square => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        Marker::Triangle => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        Marker::Wedge => format!("M{x:.1} {:.1}l4.5 -8h-9z", y + 5.0),
        Marker::Diamond => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
        Marker::Plus => format!("M{:.1} {y:.1}h10m-5 -5v10", x - 5.0),
        Marker::Reported => format!("M{x:.1} {:.1}l7 7l-7 7l-7 -7z", y - 7.0),
        Marker::ReportedSquare => format!("M{:.1} {:.1}h11v11h-11z", x - 5.5, y - 5.5),
        Marker::ReportedCircle => format!("M{:.1} {y:.1}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z", x - 6.0),
        Marker::None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_below_zero_ends_at_a_logarithmic_axis() {
        let y = Scale {
            domain: [1.0, 100.0],
            logarithmic: true,
            from: 200.0,
            to: 0.0,
        };
        let mut path = String::new();
        interval(&mut path, Some((-10.0, 30.0)), 50.0, &y);
        assert!(path.contains("V200.0"), "{path}");
    }
}
