// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plots: a chart with title, caption and labels, as an SVG file of its own.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::axes::{Frame, LETTER_WIDTH, LETTERS, axes, elided};
use crate::chart::{AxisData, Chart, Kind, Point, interval};
use crate::drawing;
use crate::heat_map;
use crate::palette::{Look, Marker};
use crate::scale::{Scale, plain};
use crate::shapes;
use crate::spread::spread;

/// A plot, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Name for a file.
    pub name: String,
    /// Title.
    pub title: String,
    /// The meaning of lines, bands and error bars, in small letters below the title; may be empty.
    pub caption: String,
    /// The curves that are left out, with the reason: a sentence each.
    pub notes: Vec<String>,
    /// The vertical axis ends here at most, and what is above is cut off; in a heat map this value has the strongest colour.
    pub y_most: Option<f64>,
    /// Axes and curves.
    pub chart: Chart,
}

/// A plot with areas behind its curves.
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

/// Width and height of a plot in pixels.
const SIZE: (f64, f64) = (960.0, 600.0);
/// Of each of several plots below each other.
const STACKED: (f64, f64) = (960.0, 300.0);
/// More bars have no figures above them.
const MOST_FIGURES: usize = 24;
/// Characters of a label beside a curve; of a longer one a part is left out.
const LONGEST_LABEL: usize = 36;
/// Height of letters in pixels.
const TITLE_LETTERS: f64 = 17.0;
/// A label's piece of the curve, and the room until its words.
const SWATCH: f64 = 22.0;
const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
const SHEET: &str = include_str!("plot.css");
/// The rules for a dark page, which replace those above.
const DARK_SHEET: &str = include_str!("dark.css");

/// The plot as SVG.
pub fn svg(plot: &Plot) -> String {
    let (width, height) = size(plot, SIZE);
    let drawn = panel(plot, &[], (width, height), None, 0);
    document((width, height), &plot.title, &drawn)
}

/// Panels below each other as SVG, all with the same horizontal axis.
pub fn stacked_svg(panels: &[Panel]) -> String {
    let nothing = [f64::INFINITY, f64::NEG_INFINITY];
    let common = Common {
        x: panels
            .iter()
            .map(x_domain)
            .fold(nothing, |all, one| [all[0].min(one[0]), all[1].max(one[1])]),
        label_width: panels
            .iter()
            .map(|panel| label_width(&labels(&panel.plot, &panel.areas)))
            .fold(0.0, f64::max),
    };
    let (mut height, mut tops) = (0.0, Vec::new());
    for Panel { plot, .. } in panels {
        tops.push(height);
        height += size(plot, STACKED).1;
    }
    let drawn = html! {
        @for (number, (Panel { plot, areas }, top)) in panels.iter().zip(tops).enumerate() {
            g transform={"translate(0 " (top) ")"} {
                (panel(plot, areas, size(plot, STACKED), Some(common), number))
            }
        }
    };
    let title = panels.first().map_or("", |panel| &panel.plot.title);
    document((STACKED.0, height), title, &drawn)
}

/// Width and height: of a heat map the height is that of its rows.
fn size(plot: &Plot, (width, height): (f64, f64)) -> (f64, f64) {
    match plot.chart.kind {
        Kind::HeatMap => (width, heat_map::height(&plot.chart, top(plot))),
        Kind::Lines | Kind::TimeSeries | Kind::Bars => (width, height),
    }
}

fn document((width, height): (f64, f64), title: &str, content: &Markup) -> String {
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={"0 0 " (width) " " (height)} width=(width) height=(height)
            font-family=(FONTS) role="img" aria-label=(title) {
            style {
                (PreEscaped(SHEET)) (PreEscaped(dash_rules())) (PreEscaped(colour_rules(|look| look.colour)))
                "@media (prefers-color-scheme: dark) {\n"
                (PreEscaped(DARK_SHEET)) (PreEscaped(colour_rules(|look| look.dark)))
                "}\n"
            }
            rect.paper width=(width) height=(height) {}
            (content)
        }
    };
    svg.into_string()
}

/// The looks' colours as a style sheet.
fn colour_rules(colour: impl Fn(&Look) -> &'static str) -> String {
    let mut rules = String::new();
    // Writing to a String cannot fail.
    for index in 0..crate::palette::MOST_CURVES {
        let look = Look::of(index);
        let colour = colour(&look);
        let _ = writeln!(
            rules,
            ".look-{index} {{ stroke: {colour}; fill: {colour}; }}"
        );
        if look.marker == Marker::Plus {
            let _ = writeln!(
                rules,
                ".look-{index} .markers {{ stroke: {colour}; stroke-width: 2; fill: none; }}"
            );
        }
    }
    rules
}

/// The looks' dashes and opacities as a style sheet.
fn dash_rules() -> String {
    let mut rules = String::new();
    for index in 0..crate::palette::MOST_CURVES {
        let Look {
            dashes, opacity, ..
        } = Look::of(index);
        let _ = writeln!(
            rules,
            ".look-{index} .line {{ stroke-dasharray: {dashes}; }}"
        );
        let _ = writeln!(rules, ".look-{index} .bar {{ fill-opacity: {opacity}; }}");
    }
    rules
}

/// Measures that panels below each other share.
#[derive(Debug, Clone, Copy)]
struct Common {
    x: [f64; 2],
    label_width: f64,
}

/// The span of a panel's curves and areas along.
fn x_domain(panel: &Panel) -> [f64; 2] {
    let spans = panel.areas.iter().flat_map(|area| &area.spans);
    let ends = spans.flat_map(|span| [span.x.0, span.x.1]);
    let own = match panel.plot.chart.is_empty() && !panel.areas.is_empty() {
        true => [f64::INFINITY, f64::NEG_INFINITY],
        false => panel.plot.chart.x_domain(),
    };
    ends.fold(own, |all, end| [all[0].min(end), all[1].max(end)])
}

/// The words on the right of a plot.
fn labels<'a>(plot: &'a Plot, areas: &'a [Area]) -> Vec<&'a str> {
    let areas = areas.iter().map(|area| area.name.as_str());
    let curves = plot.chart.curves.iter().map(|curve| curve.name.as_str());
    let named = areas.chain(curves).filter(|name| !name.is_empty());
    named.collect()
}

/// Width of these labels in pixels.
fn label_width(labels: &[&str]) -> f64 {
    let lengths = labels
        .iter()
        .map(|label| label.chars().count().min(LONGEST_LABEL));
    match lengths.max() {
        None => 0.0,
        Some(longest) => SWATCH + 12.0 + longest as f64 * LETTERS * LETTER_WIDTH,
    }
}

/// The names as labels: of long ones the middle is left out, or where two would be the same, what all begin with.
fn labels_of(names: &[&str]) -> Vec<String> {
    let short = |name: &str| elided(name, LONGEST_LABEL);
    let labels: Vec<String> = names.iter().map(|name| short(name)).collect();
    let different = |labels: &[String]| labels.iter().collect::<HashSet<_>>().len();
    if different(&labels)
        == different(
            &names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>(),
        )
    {
        return labels;
    }
    let Some(first) = names.first() else {
        return labels;
    };
    let common = names.iter().map(|name| {
        let pairs = first.chars().zip(name.chars());
        pairs.take_while(|(a, b)| a == b).count()
    });
    // From a few letters before the first that differs.
    let from = common.min().unwrap_or(0).saturating_sub(3);
    let ends = names.iter().map(|name| {
        let end = name.chars().skip(from).collect::<String>();
        let kept = end.chars().take(LONGEST_LABEL - 1);
        std::iter::once('…').chain(kept).collect()
    });
    ends.collect()
}

/// The chart without what no axis can show, such as intervals that reach zero on a logarithmic axis, and without intervals of
/// no width; with the markers of its looks.
fn drawable(chart: &Chart) -> Chart {
    let fits =
        |value: f64, axis: &AxisData| value.is_finite() && (value > 0.0 || !axis.logarithmic);
    let mut drawn = chart.clone();
    for (index, curve) in drawn.curves.iter_mut().enumerate() {
        let (x, y) = (&chart.x, &chart.y);
        curve
            .points
            .retain(|point| fits(point.x, x) && fits(point.y, y));
        for point in &mut curve.points {
            let reaches_zero = |half: f64| y.logarithmic && half >= point.y;
            point.half = point
                .half
                .filter(|half| *half > 0.0 && !reaches_zero(*half));
        }
        for seed in &mut curve.seeds {
            seed.retain(|(along, up)| fits(*along, x) && fits(*up, y));
        }
        curve.marker = match chart.kind {
            Kind::Lines => Look::of(curve.look.unwrap_or(index)).marker,
            Kind::TimeSeries | Kind::Bars | Kind::HeatMap => Marker::None,
        };
    }
    drawn
}

fn panel(
    plot: &Plot,
    areas: &[Area],
    (width, height): (f64, f64),
    common: Option<Common>,
    number: usize,
) -> Markup {
    if plot.chart.kind == Kind::HeatMap {
        let cells = heat_map::cells(&plot.chart, plot.y_most, width, top(plot));
        return html! { (heading(plot, width, "")) (cells) };
    }
    let chart = drawable(&plot.chart);
    let own_width = label_width(&labels(plot, areas));
    let frame = Frame {
        width,
        height,
        left: 72.0,
        right: 16.0 + common.map_or(own_width, |common| common.label_width),
        top: top(plot),
        bottom: 54.0,
    };
    let spans = areas.iter().flat_map(|area| &area.spans);
    let heights = spans
        .filter_map(|span| span.y)
        .flat_map(|(low, high)| [low, high]);
    let x_domain = common.map_or_else(|| chart.x_domain(), |common| common.x);
    let mut y_domain = chart.y_domain_of_values(heights);
    if let Some(most) = plot.y_most.filter(|most| *most > y_domain[0]) {
        y_domain[1] = y_domain[1].min(most);
    }
    let (x, mut y) = frame.scales(&chart, x_domain, y_domain);
    let upright = upright_figures(&chart, &x);
    if upright {
        y.domain[1] += UPRIGHT_ROOM * (y.domain[1] - y.domain[0]);
    }
    let clip = format!("{}-clip-{number}", plot.name);
    html! {
        (heading(plot, width, &remarks(&plot.chart, &chart, &y)))
        clipPath id=(clip) {
            rect x=(frame.left) y=(frame.top) width=(x.to - x.from) height=(y.from - y.to) {}
        }
        g.areas clip-path={"url(#" (clip) ")"} {
            @for (index, area) in areas.iter().enumerate() {
                path class=(area_class(area, index)) d=(rectangles(area, &x, &y)) {}
            }
        }
        g.axes { (axes(&chart, &x, &y, &frame)) }
        g class={"curves " (chart.kind.name())} clip-path={"url(#" (clip) ")"} {
            @for (index, curve) in chart.curves.iter().enumerate() {
                g class={"curve " (look_class(curve.look.unwrap_or(index)))} {
                    @for seed in &curve.seeds {
                        path.seed d=(shapes::seed(seed, &x, &y)) {}
                    }
                    @if chart.kind == Kind::TimeSeries {
                        path.band d=(shapes::band(&curve.points, &x, &y)) {}
                    }
                    (drawing::curve(&chart, index, &x, &y))
                }
            }
        }
        @if chart.kind == Kind::Bars { (figures(&chart, upright, &x, &y)) }
        @if chart.is_empty() && areas.is_empty() {
            text.label x=((x.from + x.to) / 2.0) y=((y.from + y.to) / 2.0) text-anchor="middle" { "Nothing was measured." }
        }
        (legend(&chart, areas, &x, &y))
    }
}

/// Room for title and caption.
fn top(plot: &Plot) -> f64 {
    if plot.caption.is_empty() { 40.0 } else { 60.0 }
}

fn heading(plot: &Plot, width: f64, remarks: &str) -> Markup {
    let title_letters = ((width - 32.0) / TITLE_LETTERS / LETTER_WIDTH) as usize;
    html! {
        text.title x="16" y="25" { (elided(&plot.title, title_letters)) }
        @if !plot.caption.is_empty() {
            text.caption x="16" y="45" { (plot.caption) (remarks) }
        }
    }
}

fn look_class(index: usize) -> String {
    format!("look-{}", index % crate::palette::MOST_CURVES)
}

fn area_class(area: &Area, index: usize) -> String {
    match area.grey {
        true => "area grey".to_owned(),
        false => format!("area {}", look_class(index)),
    }
}

fn rectangles(area: &Area, x: &Scale, y: &Scale) -> String {
    let rectangles = area.spans.iter().map(|span| {
        let (low, high) = span.y.unwrap_or((y.domain[0], y.domain[1]));
        let (left, right) = (x.place(span.x.0), x.place(span.x.1));
        let (bottom, top) = (y.place(low), y.place(high));
        format!("M{left:.1} {bottom:.1}V{top:.1}H{right:.1}V{bottom:.1}Z")
    });
    rectangles.collect()
}

/// Returns the words of the caption about intervals that are left out or cut.
fn remarks(whole: &Chart, drawn: &Chart, y: &Scale) -> String {
    fn points(chart: &Chart) -> impl Iterator<Item = &Point> {
        chart.curves.iter().flat_map(|curve| &curve.points)
    }
    let mut remarks = String::new();
    if points(drawn).any(|point| point.half.is_some() && interval(point).1 > y.domain[1]) {
        remarks.push_str(", cut at the top");
    }
    let reaches_zero = |point: &Point| {
        let half = point.half.filter(|half| half.is_finite());
        point.y > 0.0 && half.is_some_and(|half| half >= point.y)
    };
    if drawn.y.logarithmic && points(whole).any(reaches_zero) {
        remarks.push_str(", where that does not reach zero");
    }
    remarks
}

/// Do bars have their values above them?
fn has_figures(chart: &Chart) -> bool {
    let bars: usize = chart.curves.iter().map(|curve| curve.points.len()).sum();
    chart.kind == Kind::Bars && bars <= MOST_FIGURES
}

/// Part of a chart's height that upright values want above the bars.
const UPRIGHT_ROOM: f64 = 0.06;
/// Width of a value's digit, in pixels.
const DIGIT: f64 = 7.0;

/// Values are written upright where one is wider than the room from a bar to the next: beside each other they would overlap.
fn upright_figures(chart: &Chart, x: &Scale) -> bool {
    if !has_figures(chart) || chart.y.logarithmic {
        return false;
    }
    let room = match chart.curves.len() {
        0 | 1 => x.place(1.0) - x.place(0.0),
        _ => shapes::bar_middle(chart, 1, 0.0, x) - shapes::bar_middle(chart, 0, 0.0, x),
    };
    let mut points = chart.curves.iter().flat_map(|curve| &curve.points);
    points.any(|point| (plain(point.y).chars().count() + 1) as f64 * DIGIT > room)
}

/// The begin of an upright value: above the interval, or beside one that leaves no room above.
fn upright_place(point: &Point, middle: f64, y: &Scale) -> (f64, f64) {
    let length = plain(point.y).chars().count() as f64 * DIGIT;
    let end = y.place(interval(point).1) - 5.0;
    match end - length < y.to - 8.0 {
        true => (middle + 8.0, y.to + length),
        false => (middle, end),
    }
}

/// Values above bars.
fn figures(chart: &Chart, upright: bool, x: &Scale, y: &Scale) -> Markup {
    html! {
        @if has_figures(chart) {
            @for (number, curve) in chart.curves.iter().enumerate() {
                @for point in &curve.points {
                    @let middle = shapes::bar_middle(chart, number, point.x, x);
                    @let end = y.place(interval(point).1).max(y.to);
                    @if upright {
                        @let (across, up) = upright_place(point, middle, y);
                        text.figure transform={"translate(" (format!("{across:.1} {up:.1}")) ") rotate(-90)"} dy="0.34em" {
                            (plain(point.y))
                        }
                    } @else {
                        text.figure x=(format!("{middle:.1}")) y=(format!("{:.1}", end - 4.0)) text-anchor="middle" {
                            (plain(point.y))
                        }
                    }
                }
            }
        }
    }
}

/// Names in a column on the right: of areas and bars from the top on, of lines beside their ends.
fn legend(chart: &Chart, areas: &[Area], x: &Scale, y: &Scale) -> Markup {
    let step = LETTERS + 4.0;
    let column = x.to + 8.0;
    let named = |name: &str| !name.is_empty();
    let mut swatches: Vec<(&str, String)> = Vec::new();
    for (index, area) in areas
        .iter()
        .enumerate()
        .filter(|(_, area)| named(&area.name))
    {
        swatches.push((&area.name, area_class(area, index)));
    }
    let curves = chart.curves.iter().enumerate();
    let curves: Vec<_> = curves.filter(|(_, curve)| named(&curve.name)).collect();
    let names: Vec<&str> = curves
        .iter()
        .map(|(_, curve)| curve.name.as_str())
        .collect();
    let shown: HashMap<&str, String> = names.iter().copied().zip(labels_of(&names)).collect();
    let label = |name: &str| {
        let known = shown.get(name).cloned();
        known.unwrap_or_else(|| elided(name, LONGEST_LABEL))
    };
    let mut lines = Vec::new();
    for (index, curve) in curves {
        let look = curve.look.unwrap_or(index);
        match (chart.kind, curve.points.last()) {
            (Kind::Bars, _) => swatches.push((&curve.name, look_class(look))),
            (_, Some(last)) => lines.push((look, curve, y.place(last.y))),
            (_, None) => {}
        }
    }
    let first = y.to + step / 2.0;
    let wanted: Vec<f64> = lines.iter().map(|(_, _, place)| *place).collect();
    let from = first + step * swatches.len() as f64;
    let places = spread(&wanted, step, from, y.from);
    let at = |place: f64| format!("{place:.1}");
    let words = at(column + SWATCH);
    html! {
        g class={"legend " (chart.kind.name())} {
            @for (row, (name, class)) in swatches.iter().enumerate() {
                @let place = first + step * row as f64;
                g class=(class) { path.bar d={"M" (at(column)) " " (at(place - 5.0)) "h16v10h-16z"} {} }
                text.name x=(words) y=(at(place)) dy="0.34em" { (label(name)) }
            }
            @for ((look, curve, _), place) in lines.iter().zip(places) {
                g class=(look_class(*look)) {
                    path.line d={"M" (at(column)) " " (at(place)) "h18"} {}
                    path.markers d=(shapes::marker(curve.marker, column + 9.0, place)) {}
                    text.name x=(words) y=(at(place)) dy="0.34em" { (label(&curve.name)) }
                }
            }
        }
    }
}
