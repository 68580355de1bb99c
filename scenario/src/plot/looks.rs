// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looks of curves and bars, and places of the labels beside them.

use plotters::style::{BLACK, Color, RGBAColor, RGBColor};

/// Colours that people with any colour vision tell apart (Okabe and Ito 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// Lengths of dashes and gaps in pixels; `None` for a solid line.
const DASHES: [Option<(u32, u32)>; 3] = [None, Some((8, 5)), Some((2, 4))];

/// Curves with looks of their own.
pub(super) const MOST_CURVES: usize = COLOURS.len() * DASHES.len();

/// How a curve or a group of bars looks. No two of the first [`MOST_CURVES`] look alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// Of the line, and of the words beside it.
    pub colour: RGBColor,
    /// Dashes of the line.
    pub dashes: Option<(u32, u32)>,
    /// Opacity of bars, which have no dashes.
    opacity: f64,
}

impl Look {
    /// The look of the curve with this index.
    pub(super) fn of(index: usize) -> Self {
        let round = (index / COLOURS.len()) % DASHES.len();
        Self {
            colour: COLOURS[index % COLOURS.len()],
            dashes: DASHES[round],
            opacity: 1.0 - 0.35 * round as f64,
        }
    }

    /// The colour of a bar or an area.
    pub(super) fn fill(self) -> RGBAColor {
        self.colour.mix(self.opacity)
    }
}

/// A light grey that curves are seen upon.
pub(super) fn grey() -> RGBAColor {
    BLACK.mix(0.1)
}

/// Places as near as possible to those wanted, at least `gap` apart, between `from` and `to` where there is room for all.
pub(super) fn spread(wanted: &[f64], gap: f64, from: f64, to: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut places = vec![0.0; wanted.len()];
    let mut least = from;
    for &index in &order {
        places[index] = wanted[index].max(least);
        least = places[index] + gap;
    }
    // Pushed beyond the end, they move back, and take those before them along.
    let mut most = to;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - gap;
    }
    // With more labels than room they begin at the start.
    let first = order.first().map_or(from, |&index| places[index]);
    let shift = (from - first).max(0.0);
    places.iter().map(|place| place + shift).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_curves_look_alike() {
        let looks: Vec<Look> = (0..MOST_CURVES).map(Look::of).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "{index}");
            let fills = looks[..index].iter().map(|other| other.fill());
            assert!(!fills.collect::<Vec<_>>().contains(&look.fill()), "{index}");
        }
    }

    #[test]
    fn labels_keep_their_distance() {
        // Room for all: only what is too near moves.
        assert_eq!(
            spread(&[50.0, 10.0, 52.0], 16.0, 0.0, 100.0),
            [50.0, 10.0, 66.0]
        );
        // At the end they move back.
        assert_eq!(spread(&[99.0, 98.0], 16.0, 0.0, 100.0), [100.0, 84.0]);
        // Too many begin at the start.
        assert_eq!(spread(&[5.0, 5.0, 5.0], 16.0, 0.0, 20.0), [0.0, 16.0, 32.0]);
        assert!(spread(&[], 16.0, 0.0, 20.0).is_empty());
    }
}
