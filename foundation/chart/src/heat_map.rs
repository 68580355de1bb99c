// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heat maps: rows of cells, each with its value in digits, and a colour that is the stronger the larger the value is.

use maud::{Markup, html};

use crate::axes::{LETTER_WIDTH, LETTERS, elided, wrapped};
use crate::chart::Chart;
use crate::scale::plain;

/// Height of a row in pixels.
const ROW: f64 = 30.0;
/// Room for the names of the columns.
const HEADS: f64 = 34.0;
/// Room below the last row.
const BELOW: f64 = 16.0;
/// Characters of a row's name; of a longer one a part is left out.
const LONGEST_NAME: usize = 60;
/// Digits stay readable upon the strongest colour.
const MOST_OPAQUE: f64 = 0.85;

/// The height of the picture in pixels, of which `top` are above the names of the columns.
pub(crate) fn height(chart: &Chart, top: f64) -> f64 {
    top + HEADS + ROW * chart.curves.len() as f64 + BELOW
}

/// The cells with the names of rows and columns. A value of `most`, else the largest, has the strongest colour; one of zero or
/// less has none.
pub(crate) fn cells(chart: &Chart, most: Option<f64>, width: f64, top: f64) -> Markup {
    let rows = || chart.curves.iter();
    let names = rows().map(|row| elided(&row.name, LONGEST_NAME));
    let names: Vec<String> = names.collect();
    let longest = names.iter().map(|name| name.chars().count()).max();
    let left = 28.0 + longest.unwrap_or(0) as f64 * LETTERS * LETTER_WIDTH;
    let column = (width - left - 16.0) / chart.names.len().max(1) as f64;
    let from = top + HEADS;
    let values = rows().flat_map(|row| &row.points).map(|point| point.y);
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let full = most.unwrap_or(largest).max(f64::MIN_POSITIVE);
    let middle = |at: usize| left + column * (at as f64 + 0.5);
    html! {
        g.heat_map {
            @for (at, name) in chart.names.iter().enumerate() {
                @let lines = wrapped(name, column);
                @for (line, words) in lines.iter().enumerate() {
                    @let up = from - 10.0 - 13.0 * (lines.len() - 1 - line) as f64;
                    text.tick x=(place(middle(at))) y=(place(up)) text-anchor="middle" { (words) }
                }
            }
            @for (number, (row, name)) in rows().zip(&names).enumerate() {
                @let middle_y = from + ROW * (number as f64 + 0.5);
                text.label x=(place(left - 12.0)) y=(place(middle_y)) dy="0.34em" text-anchor="end" { (name) }
                @for point in row.points.iter().filter(|point| point.y.is_finite() && chart.names.get(point.x as usize).is_some()) {
                    @let part = (point.y / full).clamp(0.0, 1.0);
                    // A hair of paper between neighbours.
                    rect.cell x=(place(left + column * point.x + 1.0)) y=(place(middle_y - ROW / 2.0 + 1.0))
                        width=(place(column - 2.0)) height=(place(ROW - 2.0)) fill-opacity=(format!("{:.2}", part * MOST_OPAQUE)) {
                        title { (row.name) ", " (chart.along(point.x)) ": " (plain(point.y)) }
                    }
                    text.label x=(place(middle(point.x as usize))) y=(place(middle_y)) dy="0.34em" text-anchor="middle" {
                        (plain(point.y))
                    }
                }
            }
        }
    }
}

fn place(place: f64) -> String {
    format!("{place:.1}")
}
