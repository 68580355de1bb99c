// SPDX-License-Identifier: MIT OR Apache-2.0
//! A [`Scale`] with its ticks as an axis of the drawing library.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use crate::scale::{Scale, Tick};

/// An axis with ticks at round values, or at names.
#[derive(Debug, Clone)]
pub(super) struct TickedAxis {
    scale: Scale,
    ticks: Vec<Tick>,
}

impl TickedAxis {
    /// An axis from the first to the second value of `domain`, with about `wanted` ticks.
    pub(super) fn of_quantity(domain: (f64, f64), logarithmic: bool, wanted: f64) -> Self {
        let scale = Scale {
            domain: [domain.0, domain.1],
            logarithmic,
            from: 0.0,
            to: 1.0,
        };
        let ticks = scale.ticks(wanted);
        Self { scale, ticks }
    }

    /// An axis with the names at 0, 1, 2, …
    pub(super) fn of_names(names: &[String]) -> Self {
        let scale = Scale {
            domain: [-0.5, names.len() as f64 - 0.5],
            logarithmic: false,
            from: 0.0,
            to: 1.0,
        };
        let ticks = names.iter().enumerate().map(|(index, name)| Tick {
            value: index as f64,
            label: name.clone(),
        });
        let ticks = ticks.collect();
        Self { scale, ticks }
    }

    /// The label of the tick at a value that [`Ranged::key_points`] returned.
    pub(super) fn label(&self, value: f64) -> String {
        let at = self.ticks.iter().find(|tick| tick.value == value);
        at.map_or(String::new(), |tick| tick.label.clone())
    }
}

impl Ranged for TickedAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let [least, largest] = self.scale.domain;
        let place = self.scale.place(value.clamp(least, largest));
        from + (place * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.scale.domain[0]..self.scale.domain[1]
    }
}
