// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a reproduction of the papers: one HTML file that needs nothing else.
//!
//! [`html`] is a function of [`Outcomes`] alone. Figures are SVG, in which a point has its numbers as a title, and their data is
//! a link; no script runs. `maud` escapes all text.

mod chart;
mod experiment;
mod overview;
mod page;
mod paper;
mod strip;
mod values;

use netnice_papers::Outcomes;

/// The report as HTML.
pub fn html(outcomes: &Outcomes) -> String {
    page::page(outcomes).into_string()
}
