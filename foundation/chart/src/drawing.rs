// SPDX-License-Identifier: MIT OR Apache-2.0
//! A chart's curves as SVG, which have their looks from the style sheet around them.

use maud::{Markup, html};

use crate::chart::{Chart, Kind};
use crate::scale::Scale;
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
