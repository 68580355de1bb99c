// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drawing: SVG as text, PNG with a font that comes along, so that no font has to be installed.

use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::element::{DashedPathElement, ErrorBar};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};

use super::axis::TickedAxis;
use super::looks::{Look, grey, spread};
use super::{Axis, Curve, Plot, Point};
use crate::scale::plain;

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 600);
/// Confidence intervals raise the top of the axis by at most this part of the largest mean; what is above is cut.
const MOST_ERROR: f64 = 0.25;
/// A PNG is drawn so many times as large and then reduced, which makes its edges smooth.
const OVERSAMPLING: u32 = 3;
/// Points of a sweep are so few at most. Dots and intervals of more, as in a time series, would hide the line.
const MOST_DOTS: usize = 60;
/// More bars have no figures above them.
const MOST_FIGURES: usize = 24;
/// Characters of a label beside a curve; of a longer one the end is cut off.
const LONGEST_LABEL: usize = 36;
const FONT: &str = "sans-serif";
/// Heights of letters in pixels.
const TITLE_LETTERS: u32 = 18;
const AXIS_LETTERS: u32 = 15;
const LETTERS: u32 = 13;
/// Width of a letter, in its height: the font's letters are all of one width.
const LETTER_WIDTH: f64 = 0.61;

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
        &SVGBackend::with_string(&mut text, SIZE).into_drawing_area(),
        1,
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
    write_smooth(&plot.name, path, SIZE, |area| {
        draw(plot, area, OVERSAMPLING)
    })
}

/// Width and height of each of several plots below each other, in pixels.
const STACKED: (u32, u32) = (960, 300);

/// Panels below each other as SVG, all with the same horizontal axis.
pub fn stacked_svg(panels: &[Panel]) -> Result<String, PlotError> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, stacked_size(panels)).into_drawing_area();
    draw_stacked(panels, &area, 1)?;
    drop(area);
    Ok(text)
}

/// As [`stacked_svg`], as PNG.
pub fn write_stacked_png(panels: &[Panel], path: &Path) -> Result<(), PlotError> {
    let name = panels.first().map_or("", |panel| &panel.plot.name);
    write_smooth(name, path, stacked_size(panels), |area| {
        draw_stacked(panels, area, OVERSAMPLING)
    })
}

fn stacked_size(panels: &[Panel]) -> (u32, u32) {
    (STACKED.0, STACKED.1 * panels.len() as u32)
}

/// Draws [`OVERSAMPLING`] times as large, and writes the mean of each square of pixels to a PNG of this size.
fn write_smooth(
    name: &str,
    path: &Path,
    (width, height): (u32, u32),
    draw: impl FnOnce(&DrawingArea<BitMapBackend<'_>, Shift>) -> Result<(), PlotError>,
) -> Result<(), PlotError> {
    let across = (width * OVERSAMPLING) as usize;
    let large = (width * OVERSAMPLING, height * OVERSAMPLING);
    let mut buffer = vec![0; across * large.1 as usize * 3];
    let area = BitMapBackend::with_buffer(&mut buffer, large).into_drawing_area();
    draw(&area)?;
    drop(area);

    let side = OVERSAMPLING as usize;
    let mean = |x: usize, y: usize, channel: usize| {
        let square = (0..side).flat_map(|down| (0..side).map(move |right| (down, right)));
        let values = square.map(|(down, right)| {
            let pixel = (y * side + down) * across + x * side + right;
            u32::from(buffer[pixel * 3 + channel])
        });
        ((values.sum::<u32>() + (side * side) as u32 / 2) / (side * side) as u32) as u8
    };
    let rows = 0..height as usize;
    let pixels = rows.flat_map(|y| (0..width as usize).map(move |x| (x, y)));
    let small = pixels.flat_map(|(x, y)| [mean(x, y, 0), mean(x, y, 1), mean(x, y, 2)]);
    let small: Vec<u8> = small.collect();
    let mut file = BitMapBackend::new(path, (width, height));
    let written = file.blit_bitmap((0, 0), (width, height), &small);
    let written = written.and_then(|()| file.present());
    written.map_err(|error| PlotError {
        name: name.to_owned(),
        message: error.to_string(),
    })
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The font is part of the program, so it is well-formed.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR);
    });
}

fn draw<B: DrawingBackend>(
    plot: &Plot,
    area: &DrawingArea<B, Shift>,
    zoom: u32,
) -> Result<(), PlotError> {
    register();
    let drawn = draw_all(plot, &[], None, area, zoom).and_then(|()| area.present());
    drawn.map_err(|error| PlotError::new(plot, &error))
}

fn draw_stacked<B: DrawingBackend>(
    panels: &[Panel],
    area: &DrawingArea<B, Shift>,
    zoom: u32,
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
    let xs = panels
        .iter()
        .flat_map(|panel| [of_curves(panel), of_areas(panel)].concat());
    let labels = panels
        .iter()
        .map(|panel| label_width(&labels(&panel.plot, &panel.areas)));
    let common = Common {
        x: range(xs),
        label_width: labels.max().unwrap_or(0),
    };
    for (panel, part) in panels.iter().zip(area.split_evenly((panels.len(), 1))) {
        let drawn = draw_all(&panel.plot, &panel.areas, Some(common), &part, zoom);
        drawn.map_err(|error| PlotError::new(&panel.plot, &error))?;
    }
    let presented = area.present();
    presented.map_err(|error| PlotError::new(&first.plot, &error))
}

/// Measures that panels below each other share.
#[derive(Debug, Clone, Copy)]
struct Common {
    /// Least and largest value along.
    x: (f64, f64),
    /// Width of the labels on the right, in pixels.
    label_width: u32,
}

/// The words on the right of a plot.
fn labels<'a>(plot: &'a Plot, areas: &'a [Area]) -> Vec<&'a str> {
    let areas = areas.iter().map(|area| area.name.as_str());
    let curves = plot.curves.iter().map(|curve| curve.name.as_str());
    let named = areas.chain(curves).filter(|name| !name.is_empty());
    named.collect()
}

/// Width of these labels in pixels.
fn label_width(labels: &[&str]) -> u32 {
    let longest = labels.iter().map(|label| shortened(label).chars().count());
    match labels.len() {
        0 => 0,
        _ => 34 + (longest.max().unwrap_or(0) as f64 * f64::from(LETTERS) * LETTER_WIDTH) as u32,
    }
}

fn shortened(label: &str) -> String {
    match label.chars().count() > LONGEST_LABEL {
        true => label.chars().take(LONGEST_LABEL - 1).chain(['…']).collect(),
        false => label.to_owned(),
    }
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

/// As [`range`], of an axis by logarithms: values above zero alone, with a little room at both ends.
fn logarithmic_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let positive = values.filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = positive.fold((f64::INFINITY, 0f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match low <= high {
        true => (low / 1.15, high * 1.15),
        false => (1.0, 10.0),
    }
}

/// The axis along.
fn horizontal(plot: &Plot, common: Option<Common>) -> TickedAxis {
    let xs = plot.curves.iter().flat_map(|curve| &curve.points);
    let xs = xs.map(|point| point.x);
    match &plot.x {
        Axis::Names { names, .. } => TickedAxis::of_names(names),
        Axis::Quantity { logarithmic, .. } => {
            let domain = match (common, *logarithmic) {
                (Some(common), _) => common.x,
                (None, true) => logarithmic_range(xs),
                (None, false) => range(xs),
            };
            TickedAxis::of_quantity(domain, *logarithmic, 9.0)
        }
    }
}

/// The axis up.
fn vertical(plot: &Plot, areas: &[Area]) -> TickedAxis {
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let ys = || points().map(|point| point.y);
    if plot.y_logarithmic {
        return TickedAxis::of_quantity(logarithmic_range(ys()), true, 7.0);
    }
    let highest = ys().fold(0.0, f64::max);
    // An interval of few seeds may be many times the mean; the means must still be distinguishable.
    let ends = points().map(|point| point.y + point.half_width);
    let end = ends
        .fold(highest, f64::max)
        .min(highest * (1.0 + MOST_ERROR));
    let seeds = plot.curves.iter().flat_map(|curve| &curve.seeds).flatten();
    let seeds = seeds.map(|(_, y)| *y).filter(|y| y.is_finite());
    let end = seeds.fold(end, f64::max);
    let spans = areas.iter().flat_map(|area| &area.spans);
    let heights = spans.filter_map(|span| Some(span.y?.1));
    let (bottom, top) = range([0.0, end].into_iter().chain(ys()).chain(heights));
    TickedAxis::of_quantity((bottom, top + (top - bottom) * 0.05), false, 6.0)
}

fn letters<'a>(height: u32, zoom: u32) -> TextStyle<'a> {
    (FONT, height * zoom).into_text_style(&(1, 1))
}

fn draw_all<B: DrawingBackend>(
    plot: &Plot,
    areas: &[Area],
    common: Option<Common>,
    area: &DrawingArea<B, Shift>,
    zoom: u32,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let own_width = label_width(&labels(plot, areas));
    let width = common.map_or(own_width, |common| common.label_width);
    let (x, y) = (horizontal(plot, common), vertical(plot, areas));
    let right = x.range().end;
    let (low, high) = (y.range().start, y.range().end);

    area.fill(&WHITE)?;
    let title = match plot.caption.is_empty() {
        true => plot.title.clone(),
        false => format!("{} ({}{})", plot.title, plot.caption, cut_words(plot, high)),
    };
    let mut chart = ChartBuilder::on(area)
        .caption(&title, letters(TITLE_LETTERS, zoom))
        .margin(12 * zoom)
        .margin_right((16 + width) * zoom)
        .x_label_area_size(44 * zoom)
        .y_label_area_size(72 * zoom)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let (Axis::Quantity { label, .. } | Axis::Names { label, .. }) = &plot.x;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(BLACK.mix(0.12).stroke_width(zoom))
        .axis_style(BLACK.stroke_width(zoom))
        .set_all_tick_mark_size(5 * zoom)
        .x_desc(label)
        .y_desc(&plot.y_label)
        .label_style(letters(LETTERS, zoom))
        .axis_desc_style(letters(AXIS_LETTERS, zoom))
        .x_label_formatter(&|&value| x.label(value))
        .y_label_formatter(&|&value| y.label(value))
        .draw()?;

    // Swatches stand at the top of the column on the right, names of lines beside their ends.
    let mut swatches = Vec::new();
    let mut ends = Vec::new();
    for (index, area) in areas.iter().enumerate() {
        let colour = match area.grey {
            true => grey(),
            false => Look::of(index).fill(),
        };
        chart.draw_series(area.spans.iter().map(|span| {
            let (bottom, top) = span.y.unwrap_or((low, high));
            Rectangle::new([(span.x.0, bottom), (span.x.1, top)], colour.filled())
        }))?;
        swatches.push((area.name.as_str(), colour));
    }
    let bars: usize = plot.curves.iter().map(|curve| curve.points.len()).sum();
    for (index, curve) in plot.curves.iter().enumerate() {
        let look = Look::of(index);
        match &plot.x {
            Axis::Names { .. } => {
                let width = 0.8 / plot.curves.len() as f64;
                let offset = -0.4 + width * index as f64;
                chart.draw_series(curve.points.iter().map(|point| {
                    let from = point.x + offset;
                    let corners = [(from, low), (from + width * 0.9, point.y)];
                    Rectangle::new(corners, look.fill().filled())
                }))?;
                chart.draw_series(error_bars(curve).map(|(point, low, high)| {
                    let middle = point.x + offset + width * 0.45;
                    let style = BLACK.stroke_width(zoom);
                    ErrorBar::new_vertical(middle, low, point.y, high, style, 8 * zoom)
                }))?;
                if bars <= MOST_FIGURES {
                    let centred = Pos::new(HPos::Center, VPos::Bottom);
                    let style = letters(LETTERS, zoom).pos(centred);
                    chart.draw_series(curve.points.iter().map(|point| {
                        let at = (
                            point.x + offset + width * 0.45,
                            (point.y + point.half_width).min(high),
                        );
                        EmptyElement::at(at)
                            + Text::new(plain(point.y), (0, -3 * zoom as i32), style.clone())
                    }))?;
                }
                swatches.push((curve.name.as_str(), look.fill()));
            }
            Axis::Quantity { .. } => {
                for seed in &curve.seeds {
                    let thin = look.colour.mix(0.35).stroke_width(zoom);
                    chart.draw_series(LineSeries::new(seed.iter().copied(), thin))?;
                }
                let style = look.colour.stroke_width(2 * zoom);
                let line = curve.points.iter().map(|point| (point.x, point.y));
                if curve.points.len() > MOST_DOTS {
                    let (upper, lower): (Vec<_>, Vec<_>) = error_bars(curve)
                        .map(|(point, low, high)| ((point.x, high), (point.x, low)))
                        .unzip();
                    let outline = upper.into_iter().chain(lower.into_iter().rev());
                    let band = Polygon::new(outline.collect::<Vec<_>>(), look.colour.mix(0.2));
                    chart.draw_series([band])?;
                } else {
                    chart.draw_series(error_bars(curve).map(|(point, low, high)| {
                        let style = look.colour.stroke_width(zoom);
                        ErrorBar::new_vertical(point.x, low, point.y, high, style, 8 * zoom)
                    }))?;
                    chart.draw_series(curve.points.iter().map(|point| {
                        Circle::new((point.x, point.y), 3 * zoom, look.colour.filled())
                    }))?;
                }
                match look.dashes {
                    None => chart.draw_series(LineSeries::new(line, style))?,
                    Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(
                        line.collect::<Vec<_>>(),
                        dash * zoom,
                        gap * zoom,
                        style,
                    ))?,
                };
                if let Some(last) = curve.points.last() {
                    ends.push((curve.name.as_str(), look, last.y));
                }
            }
        }
    }
    if own_width == 0 {
        return Ok(());
    }

    let origin = area.get_base_pixel();
    let pixel = |value: f64| {
        let (x, y) = chart.backend_coord(&(right, value));
        (x - origin.0, y - origin.1)
    };
    let step = (LETTERS as i32 + 4) * zoom as i32;
    let column = pixel(high).0 + 6 * zoom as i32;
    let words = column + 22 * zoom as i32;
    let beside = letters(LETTERS, zoom).pos(Pos::new(HPos::Left, VPos::Center));
    let first = pixel(high).1 + step / 2;
    let half = LETTERS as i32 * zoom as i32 / 3;
    for (index, (name, colour)) in swatches.iter().enumerate() {
        let at = first + step * index as i32;
        let corners = [(column, at - half), (column + 16 * zoom as i32, at + half)];
        area.draw(&Rectangle::new(corners, colour.filled()))?;
        area.draw(&Text::new(shortened(name), (words, at), beside.clone()))?;
    }
    let wanted: Vec<f64> = ends.iter().map(|end| f64::from(pixel(end.2).1)).collect();
    let from = first + step * swatches.len() as i32;
    let places = spread(
        &wanted,
        f64::from(step),
        f64::from(from),
        f64::from(pixel(low).1),
    );
    for ((name, look, _), place) in ends.iter().zip(places) {
        let at = place as i32;
        let style = look.colour.stroke_width(2 * zoom);
        let line = [(column, at), (column + 16 * zoom as i32, at)];
        match look.dashes {
            None => area.draw(&PathElement::new(line, style))?,
            Some((dash, gap)) => area.draw(&DashedPathElement::new(
                line,
                dash * zoom,
                gap * zoom,
                style,
            ))?,
        }
        let style = beside.clone().color(&look.colour);
        area.draw(&Text::new(shortened(name), (words, at), style))?;
    }
    Ok(())
}

/// Points that have a confidence interval, with its ends.
fn error_bars(curve: &Curve) -> impl Iterator<Item = (&Point, f64, f64)> {
    let points = curve.points.iter().filter(|point| point.half_width > 0.0);
    points.map(move |point| {
        let low = (point.y - point.half_width).max(0.0);
        (point, low, point.y + point.half_width)
    })
}

/// What the caption has to say about intervals that end above the axis.
fn cut_words(plot: &Plot, top: f64) -> &'static str {
    let points = plot.curves.iter().flat_map(|curve| &curve.points);
    let mut above =
        points.filter(|point| point.half_width > 0.0 && point.y + point.half_width > top);
    match above.next() {
        Some(_) => ", cut at the top",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_never_empty() {
        assert_eq!(range([].into_iter()), (0.0, 1.0));
        assert_eq!(range([3.0].into_iter()), (2.5, 3.5));
        assert_eq!(range([3.0, f64::NAN, 1.0].into_iter()), (1.0, 3.0));
    }
}
