// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plots of results: their contents are computed here, their looks in `draw.rs`.

mod axis;
mod draw;
mod looks;
mod select;

pub use draw::{Area, Panel, PlotError, Span, stacked_svg, svg, write_png, write_stacked_png};
pub use select::plots;

/// A plot, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Name for a file.
    pub name: String,
    /// Title.
    pub title: String,
    /// What lines, bands and error bars are, in small letters below the title; may be empty.
    pub caption: String,
    /// What is not drawn, and why: a sentence each.
    pub notes: Vec<String>,
    /// The quantity on the horizontal axis.
    pub x: Axis,
    /// The quantity on the vertical axis, in words with its unit.
    pub y_label: String,
    /// The y axis is logarithmic.
    pub y_logarithmic: bool,
    /// Lines, or groups of bars.
    pub curves: Vec<Curve>,
}

/// The horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Axis {
    /// A quantity.
    Quantity {
        /// In words with its unit.
        label: String,
        /// The axis is logarithmic.
        logarithmic: bool,
    },
    /// Names side by side; x counts them from 0. Curves are drawn as bars.
    Names {
        /// In words.
        label: String,
        /// The names.
        names: Vec<String>,
    },
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name for the legend, which has none of a curve without a name.
    pub name: String,
    /// The points, in the order of x.
    pub points: Vec<Point>,
    /// `(x, y)` of single runs, drawn as thin lines behind the curve.
    pub seeds: Vec<Vec<(f64, f64)>>,
}

impl Curve {
    /// A curve through these points, without single runs.
    pub fn new(name: String, points: Vec<Point>) -> Self {
        Self {
            name,
            points,
            seeds: Vec::new(),
        }
    }
}

/// A point with the half width of its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Half of the 95 % confidence interval; 0 where there is none.
    pub half_width: f64,
}
