// SPDX-License-Identifier: MIT OR Apache-2.0
//! Charts: what a figure shows, and how it is drawn as SVG.
//!
//! - [`chart`]: what is drawn: curves, bars or the cells of a heat map, their points and axes.
//! - [`scale`]: places of values on an axis, and ticks.
//! - [`drawing`]: axes and curves within a frame, which have their looks from a style sheet.
//! - [`palette`]: colours, and markers.
//! - [`plot`]: a chart with title and labels, and several below each other, as an SVG file of its own, for light and dark pages.
//! - `png` (with the feature of that name): that file as pixels.
//!
//! The report on the papers draws a chart into its page; `netnice plot` writes files. Both have axes, ticks and shapes from
//! here.

pub mod axes;
pub mod chart;
pub mod drawing;
mod heat_map;
pub mod palette;
pub mod plot;
#[cfg(feature = "png")]
pub mod png;
pub mod scale;
pub mod shapes;
mod spread;

pub use chart::{AxisData, Chart, Curve, Kind, Point};
pub use palette::Marker;
pub use plot::{Area, Panel, Plot, Span, stacked_svg, svg};
