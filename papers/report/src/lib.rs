// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a reproduction of the papers: one HTML file that needs nothing else.
//!
//! [`html`] is a function of [`Outcomes`] alone. Text, tables and figures are written here, so they are there without
//! JavaScript and in print; the scripts in `assets/` add zoom, read-outs and downloads to the figures, and show one paper
//! at a time. `maud` escapes all text; data for the scripts goes through [`json`].

mod chart;
mod experiment;
mod json;
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
