// SPDX-License-Identifier: MIT OR Apache-2.0
//! Problems of a scenario as checks find them.

use std::time::Duration;

use super::problem::{Place, Problem};

/// Gathers problems.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
}

impl Findings {
    pub(super) fn add(&mut self, place: &Place, message: impl Into<String>) {
        self.problems.push(place.problem(message));
    }

    /// Complains unless `holds`.
    pub(super) fn require(&mut self, holds: bool, place: &Place, message: &str) {
        if !holds {
            self.add(place, message);
        }
    }

    pub(super) fn above_zero(&mut self, time: Duration, place: &Place) {
        self.require(
            !time.is_zero(),
            place,
            "is zero; it must be longer, such as 100ms",
        );
    }

    /// Names stand in paths of fields, in files and in plots.
    pub(super) fn name(&mut self, name: &str, place: &Place) {
        let problem = match name.chars().find(|&c| !is_of_name(c)) {
            _ if name.is_empty() => "is empty".to_owned(),
            Some(c) => format!("`{}` has a `{}`", name.escape_debug(), c.escape_debug()),
            None => return,
        };
        let text = format!("{problem}; allowed in names are letters, digits, spaces and _ - + : /");
        self.add(place, text);
    }
}

/// Returns true if names of nodes, links, flows, phases and figures may have the character.
pub(crate) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_-+:/ ".contains(c)
}
