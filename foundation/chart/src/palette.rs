// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colours, dashes and markers of curves.

use std::fmt::Write;

/// A colour for curves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// On white.
    pub light: &'static str,
    /// On black.
    pub dark: &'static str,
    /// Dashes and gaps that a line of this colour has in the report, in pixels; `none` for a solid line.
    pub dashes: &'static str,
}

const fn colour(light: &'static str, dark: &'static str, dashes: &'static str) -> Colour {
    Colour {
        light,
        dark,
        dashes,
    }
}

/// Readers with any kind of colour vision can distinguish them, and they differ in lightness.
pub const COLOURS: [Colour; 6] = [
    colour("#08548a", "#7fbdf0", "none"),
    colour("#d1570a", "#ff9d5c", "none"),
    colour("#00775a", "#55d3ab", "9 3"),
    colour("#8b4a9c", "#d3a4e6", "3 3"),
    colour("#6d6200", "#dccb52", "10 3 2 3"),
    colour("#b23a6e", "#f58fba", "1.5 3"),
];

/// A marker's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square on its side.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A triangle that points down.
    Wedge,
    /// A square on its corner.
    Diamond,
    /// A plus sign.
    Plus,
    /// A diamond, larger, for the papers' values.
    Reported,
    /// A square, larger, for the papers' values of a second curve.
    ReportedSquare,
    /// A disc, larger, for those of a third.
    ReportedCircle,
    /// No marker.
    None,
}

/// The marker of each colour.
pub const MARKERS: [Marker; COLOURS.len()] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Wedge,
    Marker::Diamond,
    Marker::Plus,
];

/// The markers of the papers' values.
pub const REPORTED: [Marker; 3] = [
    Marker::Reported,
    Marker::ReportedSquare,
    Marker::ReportedCircle,
];

/// The colours as a style sheet: the class `colour-0` sets `--c` and `--dash`, and so on.
pub fn style_sheet() -> String {
    let mut sheet = String::from(":root {\n");
    // Writing to a String cannot fail.
    for (number, Colour { light, dark, .. }) in COLOURS.iter().enumerate() {
        let _ = writeln!(sheet, "  --colour-{number}: light-dark({light}, {dark});");
    }
    sheet.push_str("}\n");
    for (number, colour) in COLOURS.iter().enumerate() {
        let _ = writeln!(
            sheet,
            ".colour-{number} {{ --c: var(--colour-{number}); --dash: {}; }}",
            colour.dashes
        );
    }
    sheet
}

/// Dashes and gaps of lines in a plot with more curves than colours.
const DASHES: [&str; 4] = ["none", "8 4", "2 3", "12 3 2 3"];
/// Opacities of bars in such a plot.
const OPACITIES: [f64; DASHES.len()] = [1.0, 0.65, 0.4, 0.2];

/// Colours of curves, and for each colour kinds of dashes: the look of an index has colour `index % MOST_COLOURS`.
pub const MOST_COLOURS: usize = COLOURS.len();
/// Kinds of dashes.
pub const MOST_DASHES: usize = DASHES.len();

/// Curves of a plot with looks of their own.
pub const MOST_CURVES: usize = COLOURS.len() * DASHES.len();

/// How a curve of a plot looks. No two of the first [`MOST_CURVES`] look alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Of the line, and of the words beside it, on white.
    pub colour: &'static str,
    /// The same on black.
    pub dark: &'static str,
    /// Dashes of the line.
    pub dashes: &'static str,
    /// Opacity of bars, which have no dashes.
    pub opacity: f64,
    /// Marker.
    pub marker: Marker,
}

impl Look {
    /// The look of the curve with this index.
    pub fn of(index: usize) -> Self {
        let round = (index / COLOURS.len()) % DASHES.len();
        Self {
            colour: COLOURS[index % COLOURS.len()].light,
            dark: COLOURS[index % COLOURS.len()].dark,
            dashes: DASHES[round],
            opacity: OPACITIES[round],
            marker: MARKERS[(index + round) % MARKERS.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_curves_look_alike() {
        let looks: Vec<Look> = (0..MOST_CURVES).map(Look::of).collect();
        for (index, look) in looks.iter().enumerate() {
            for other in &looks[..index] {
                let lines = (look.colour, look.dashes) == (other.colour, other.dashes);
                let bars = (look.colour, look.opacity) == (other.colour, other.opacity);
                assert!(!lines && !bars, "{index}");
            }
        }
    }
}
