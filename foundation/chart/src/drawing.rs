// SPDX-License-Identifier: MIT OR Apache-2.0
//! A chart's curves as SVG, which have their looks from the style sheet around them.

use maud::{Markup, html};

use crate::chart::{Chart, Kind, Point};
use crate::palette::Marker;
use crate::scale::{Scale, plain};
use crate::shapes;

/// The paths of a curve, and its name: `line` or `bar`, `intervals`, `markers`.
pub fn curve(chart: &Chart, number: usize, x: &Scale, y: &Scale) -> Markup {
    let shapes = shapes::of(chart, number, x, y);
    html! {
        @if chart.kind == Kind::Bars {
            path.bar d=(shapes.body) {}
        } @else {
            path.line d=(shapes.body) {}
        }
        path.intervals d=(shapes.intervals) {}
        path.markers d=(shapes.markers) {}
        title { (chart.curves[number].name) }
    }
}

/// Points of a curve over time that have titles.
const MOST_READINGS: usize = 100;

/// Invisible shapes over a curve's points or bars, each with its numbers as a title, which a browser shows under the pointer. Of a
/// curve over time, which may have thousands of points, they are some that lie evenly among all.
pub fn readings(chart: &Chart, number: usize, x: &Scale, y: &Scale) -> Markup {
    let curve = &chart.curves[number];
    let step = match chart.kind {
        Kind::TimeSeries => curve.points.len().div_ceil(MOST_READINGS).max(1),
        Kind::Lines | Kind::Bars | Kind::HeatMap => 1,
    };
    let shape = |point: &Point| match chart.kind {
        Kind::Bars => shapes::bar(chart, number, point, x, y),
        _ => shapes::marker(Marker::ReportedCircle, x.place(point.x), y.place(point.y)),
    };
    html! {
        @for (place, point) in curve.points.iter().enumerate().step_by(step) {
            path.reading d=(shape(point)) {
                title {
                    (curve.name) ", " (chart.along(point.x)) ": " (plain(point.y))
                    @match (curve.ends(place), point.half) {
                        (_, Some(half)) => { " ± " (plain(half)) },
                        (Some((least, most)), None) => { " (" (plain(least)) " to " (plain(most)) ")" },
                        (None, None) => {}
                    }
                }
            }
        }
    }
}
