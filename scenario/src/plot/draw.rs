// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drawing: SVG as text, PNG with a font that comes along, so that no font has to be installed.

use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::element::ErrorBar;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::{Axis, Curve, Plot, Point};

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 600);
/// Confidence intervals take at most this times the height of the largest mean.
const MOST_ERROR: f64 = 1.5;
const FONT: &str = "sans-serif";

/// Colours that people with any colour vision tell apart (Okabe and Ito 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
];

/// A plot that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("drawing {name}: {message}")]
pub struct PlotError {
    name: String,
    message: String,
}

impl PlotError {
    fn new(plot: &Plot, error: &impl std::error::Error) -> Self {
        Self {
            name: plot.name.clone(),
            message: error.to_string(),
        }
    }
}

/// The plot as SVG.
pub fn svg(plot: &Plot) -> Result<String, PlotError> {
    let mut text = String::new();
    draw(
        plot,
        SVGBackend::with_string(&mut text, SIZE).into_drawing_area(),
    )?;
    Ok(text)
}

/// A plot of time series with areas behind its curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The plot.
    pub plot: Plot,
    /// The areas.
    pub areas: Vec<Area>,
}

/// Rectangles of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Area {
    /// Name for the legend.
    pub name: String,
    /// True for a light grey that curves are seen upon; else it has the next of the curves' colours.
    pub grey: bool,
    /// The rectangles.
    pub spans: Vec<Span>,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// From and to along the horizontal axis.
    pub x: (f64, f64),
    /// From and to along the vertical axis; `None` for all of it.
    pub y: Option<(f64, f64)>,
}

/// Writes the plot as PNG.
pub fn write_png(plot: &Plot, path: &Path) -> Result<(), PlotError> {
    draw(plot, BitMapBackend::new(path, SIZE).into_drawing_area())
}

/// Width and height of each of several plots below each other, in pixels.
const STACKED: (u32, u32) = (960, 300);

/// Panels below each other as SVG, all with the same horizontal axis.
pub fn stacked_svg(panels: &[Panel]) -> Result<String, PlotError> {
    let mut text = String::new();
    let (width, height) = (STACKED.0, STACKED.1 * panels.len() as u32);
    let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
    draw_stacked(panels, &area)?;
    drop(area);
    Ok(text)
}

/// As [`stacked_svg`], as PNG.
pub fn write_stacked_png(panels: &[Panel], path: &Path) -> Result<(), PlotError> {
    let (width, height) = (STACKED.0, STACKED.1 * panels.len() as u32);
    let area = BitMapBackend::new(path, (width, height)).into_drawing_area();
    draw_stacked(panels, &area)
}

/// An axis that may be logarithmic: `of` puts a value on it, `back` reads it off.
#[derive(Clone, Copy)]
struct Scale {
    logarithmic: bool,
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self.logarithmic {
            true => value.max(1e-12).log10(),
            false => value,
        }
    }

    fn words(self, place: f64) -> String {
        let value = match self.logarithmic {
            true => 10f64.powf(place),
            false => place,
        };
        number(value)
    }
}

/// A number with three digits and, if it is large, a prefix.
fn number(value: f64) -> String {
    let (value, prefix) = match value.abs() {
        1e9.. => (value / 1e9, "G"),
        1e6.. => (value / 1e6, "M"),
        1e4.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{prefix}")
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The font is part of the program, so it is well-formed.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR);
    });
}

fn draw<B: DrawingBackend>(plot: &Plot, area: DrawingArea<B, Shift>) -> Result<(), PlotError> {
    register();
    let drawn = draw_all(plot, &[], None, &area).and_then(|()| area.present());
    drawn.map_err(|error| PlotError::new(plot, &error))
}

fn draw_stacked<B: DrawingBackend>(
    panels: &[Panel],
    area: &DrawingArea<B, Shift>,
) -> Result<(), PlotError> {
    register();
    let Some(first) = panels.first() else {
        return Ok(());
    };
    let of_curves = |panel: &Panel| {
        let points = panel.plot.curves.iter().flat_map(|curve| &curve.points);
        points.map(|point| point.x).collect::<Vec<_>>()
    };
    let of_areas = |panel: &Panel| {
        let spans = panel.areas.iter().flat_map(|area| &area.spans);
        spans
            .flat_map(|span| [span.x.0, span.x.1])
            .collect::<Vec<_>>()
    };
    let curves = panels.iter().flat_map(of_curves);
    let common = range(curves.chain(panels.iter().flat_map(of_areas)));
    for (panel, part) in panels.iter().zip(area.split_evenly((panels.len(), 1))) {
        let drawn = draw_all(&panel.plot, &panel.areas, Some(common), &part);
        drawn.map_err(|error| PlotError::new(&panel.plot, &error))?;
    }
    let presented = area.present();
    presented.map_err(|error| PlotError::new(&first.plot, &error))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match low < high {
        true => (low, high),
        // A single value, or none, has room around it.
        false if low.is_finite() => (low - 0.5, low + 0.5),
        false => (0.0, 1.0),
    }
}

fn draw_all<B: DrawingBackend>(
    plot: &Plot,
    areas: &[Area],
    common: Option<(f64, f64)>,
    area: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let x = Scale {
        logarithmic: matches!(
            plot.x,
            Axis::Quantity {
                logarithmic: true,
                ..
            }
        ),
    };
    let y = Scale {
        logarithmic: plot.y_logarithmic,
    };
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let (left, right) = match &plot.x {
        Axis::Names { names, .. } => (-0.5, names.len() as f64 - 0.5),
        Axis::Quantity { .. } => {
            let common = common.map(|(left, right)| (x.of(left), x.of(right)));
            common.unwrap_or_else(|| range(points().map(|point| x.of(point.x))))
        }
    };
    let heights = areas.iter().flat_map(|area| &area.spans);
    let heights: Vec<f64> = heights.filter_map(|span| Some(span.y?.1)).collect();
    let (bottom, top) = match y.logarithmic {
        true => range(points().map(|point| y.of(point.y))),
        false => {
            let highest = points().map(|point| point.y).fold(0.0, f64::max);
            // An interval of few seeds may be many times the mean; the means must still be distinguishable.
            let ends = points().map(|point| point.y + point.half_width);
            let end = ends.fold(highest, f64::max).min(highest * MOST_ERROR);
            let heights = heights.iter().copied();
            range(
                [0.0, end]
                    .into_iter()
                    .chain(points().map(|point| point.y))
                    .chain(heights),
            )
        }
    };
    let room = (top - bottom) * 0.05;

    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(area)
        .caption(&plot.title, (FONT, 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(left..right, bottom..top + room)?;
    let (label, count) = match &plot.x {
        Axis::Quantity { label, .. } => (label, 10),
        Axis::Names { label, names } => (label, names.len() + 2),
    };
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(count)
        .x_desc(label)
        .y_desc(&plot.y_label)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 15))
        .x_label_formatter(&|&place| match &plot.x {
            Axis::Quantity { .. } => x.words(place),
            Axis::Names { names, .. } => name_at(names, place),
        })
        .y_label_formatter(&|&place| y.words(place))
        .draw()?;

    for (index, area) in areas.iter().enumerate() {
        let colour = match area.grey {
            true => BLACK.mix(0.1),
            false => COLOURS[index % COLOURS.len()].mix(1.0),
        };
        let rectangles = area.spans.iter().map(|span| {
            let (low, high) = span.y.unwrap_or((bottom, top + room));
            let corners = [(x.of(span.x.0), y.of(low)), (x.of(span.x.1), y.of(high))];
            Rectangle::new(corners, colour.filled())
        });
        chart
            .draw_series(rectangles)?
            .label(&area.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 16, y + 4)], colour.filled()));
    }
    for (index, curve) in plot.curves.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let place = |point: &Point| (x.of(point.x), y.of(point.y));
        match &plot.x {
            Axis::Names { .. } => {
                let width = 0.8 / plot.curves.len() as f64;
                let offset = -0.4 + width * index as f64;
                chart
                    .draw_series(curve.points.iter().map(|point| {
                        let from = point.x + offset;
                        let corners = [(from, 0.0), (from + width * 0.9, point.y)];
                        Rectangle::new(corners, colour.filled())
                    }))?
                    .label(&curve.name)
                    .legend(move |(x, y)| {
                        Rectangle::new([(x, y - 4), (x + 16, y + 4)], colour.filled())
                    });
                let bars = error_bars(curve, y).map(|(point, low, high)| {
                    let middle = point.x + offset + width * 0.45;
                    ErrorBar::new_vertical(middle, low, y.of(point.y), high, BLACK.filled(), 8)
                });
                chart.draw_series(bars)?;
            }
            Axis::Quantity { .. } => {
                let line = curve.points.iter().map(place);
                chart
                    .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
                    .label(&curve.name)
                    .legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
                    });
                // Points of a sweep are few; those of a time series would hide the line.
                if curve.points.len() <= 60 {
                    let dots = curve.points.iter();
                    let dots = dots.map(|point| Circle::new(place(point), 3, colour.filled()));
                    chart.draw_series(dots)?;
                }
                let bars = error_bars(curve, y).map(|(point, low, high)| {
                    let (middle, height) = place(point);
                    ErrorBar::new_vertical(middle, low, height, high, colour.filled(), 8)
                });
                chart.draw_series(bars)?;
            }
        }
    }
    if plot.curves.len() > 1 || !areas.is_empty() {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, 13))
            .draw()?;
    }
    Ok(())
}

/// Points that have a confidence interval, with its ends on the axis.
fn error_bars(curve: &Curve, y: Scale) -> impl Iterator<Item = (&Point, f64, f64)> {
    let points = curve.points.iter().filter(|point| point.half_width > 0.0);
    points.map(move |point| {
        let low = y.of((point.y - point.half_width).max(0.0));
        (point, low, y.of(point.y + point.half_width))
    })
}

fn name_at(names: &[String], place: f64) -> String {
    let index = place.round();
    let near = (place - index).abs() < 0.01 && index >= 0.0;
    match near {
        true => names.get(index as usize).cloned().unwrap_or_default(),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, expected) in [
            (0.0, "0"),
            (0.031_6, "0.0316"),
            (1.0, "1"),
            (2.5, "2.5"),
            (150.0, "150"),
            (9999.0, "9999"),
            (10_000.0, "10k"),
            (6.666e6, "6.67M"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn a_range_is_never_empty() {
        assert_eq!(range([].into_iter()), (0.0, 1.0));
        assert_eq!(range([3.0].into_iter()), (2.5, 3.5));
        assert_eq!(range([3.0, f64::NAN, 1.0].into_iter()), (1.0, 3.0));
    }
}
