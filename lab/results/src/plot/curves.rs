// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves of which each has two names, such as a flow and a point of the sweep, and looks by them.

use std::collections::HashMap;

use netnice_chart::Curve;
use netnice_chart::palette::{MOST_COLOURS, MOST_DASHES};

/// The names in the order in which they came.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn place(&mut self, name: &str) -> usize {
        let new = self.0.len();
        match self.0.get(name) {
            Some(&place) => place,
            None => {
                self.0.insert(name.to_owned(), new);
                new
            }
        }
    }
}

/// The curves of a plot, as they are collected.
#[derive(Default)]
pub(super) struct Curves {
    first: Names,
    second: Names,
    /// The places of each curve's names.
    places: Vec<(usize, usize)>,
    curves: Vec<Curve>,
    known: HashMap<(usize, usize), usize>,
}

impl Curves {
    /// The curve with these names, which may be empty; a new one where there is none.
    pub fn curve(&mut self, first: &str, second: &str) -> &mut Curve {
        let places = (self.first.place(first), self.second.place(second));
        let number = *self.known.entry(places).or_insert_with(|| {
            let names = [first, second].into_iter().filter(|name| !name.is_empty());
            let name = names.collect::<Vec<_>>().join(", ");
            self.curves.push(Curve::new(name, Vec::new()));
            self.places.push(places);
            self.curves.len() - 1
        });
        &mut self.curves[number]
    }

    pub fn len(&self) -> usize {
        self.curves.len()
    }

    /// The curves, sorted by the first name and then by the second in the order in which these came. The first has the colour and the
    /// second the dashes, or the other way round where there are not as many looks, or there is one first name alone.
    pub fn finish(self) -> Vec<Curve> {
        let (firsts, seconds) = (self.first.0.len(), self.second.0.len());
        let straight = firsts <= MOST_COLOURS && seconds <= MOST_DASHES && firsts > 1;
        let swapped = seconds <= MOST_COLOURS && firsts <= MOST_DASHES;
        let mut curves: Vec<((usize, usize), Curve)> =
            self.places.into_iter().zip(self.curves).collect();
        curves.sort_by_key(|(places, _)| *places);
        let curves = curves.into_iter().map(|((first, second), mut curve)| {
            curve.look = match (straight, swapped) {
                (true, _) => Some(first + MOST_COLOURS * second),
                (false, true) => Some(second + MOST_COLOURS * first),
                (false, false) => None,
            };
            curve
        });
        curves.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(firsts: usize, seconds: usize) -> Vec<Option<usize>> {
        let mut curves = Curves::default();
        // The second changes slowest.
        for second in 0..seconds {
            for first in 0..firsts {
                curves.curve(&first.to_string(), &second.to_string());
            }
        }
        let curves = curves.finish().into_iter();
        curves.map(|curve| curve.look).collect()
    }

    #[test]
    fn colours_are_by_the_first_name_and_dashes_by_the_second() {
        assert_eq!(looks(2, 2), [Some(0), Some(6), Some(1), Some(7)]);
        // One flow at three points: a colour each.
        assert_eq!(looks(1, 3), [Some(0), Some(1), Some(2)]);
        // More points than dashes, and no more than colours.
        let swapped = looks(2, 5);
        assert_eq!(swapped[..2], [Some(0), Some(1)]);
        assert_eq!(swapped[5..7], [Some(6), Some(7)]);
        // More than there are looks: as they come.
        assert_eq!(looks(7, 7)[48], None);
    }

    #[test]
    fn curves_are_sorted_as_their_names_came() {
        let mut curves = Curves::default();
        for (first, second) in [
            ("web", "10p"),
            ("backup", "10p"),
            ("web", ""),
            ("backup", ""),
        ] {
            curves.curve(first, second);
        }
        let curves = curves.finish().into_iter();
        let names: Vec<String> = curves.map(|curve| curve.name).collect();
        assert_eq!(names, ["web, 10p", "web", "backup, 10p", "backup"]);
    }
}
