// SPDX-License-Identifier: MIT OR Apache-2.0
//! A chart's curves as SVG, which have their looks from the style sheet around them.

use maud::{Markup, html};

use crate::chart::{Chart, Kind};
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

/// Invisible circles around the points of a curve, or on top of its bars, each with its numbers as a title, which a browser shows
/// under the pointer. A curve over time, of thousands of points, has none.
pub fn readings(chart: &Chart, number: usize, x: &Scale, y: &Scale) -> Markup {
    let curve = &chart.curves[number];
    let at = |along: f64| match chart.kind {
        Kind::Bars => shapes::bar_middle(chart, number, along, x),
        _ => x.place(along),
    };
    let along = |along: f64| match chart.kind {
        Kind::Bars => chart.names.get(along as usize).cloned().unwrap_or_default(),
        _ => plain(along),
    };
    html! {
        @if chart.kind != Kind::TimeSeries {
            @for (place, point) in curve.points.iter().enumerate() {
                circle.reading cx=(format!("{:.1}", at(point.x))) cy=(format!("{:.1}", y.place(point.y))) r="7" {
                    title {
                        (curve.name) ", " (along(point.x)) ": " (plain(point.y))
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
}
