// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures as SVG, drawn by `netnice-chart`.

mod data;
mod looks;

use maud::{Markup, html};
use netnice_chart::axes::{Frame, axes};
use netnice_chart::{Chart, Kind, drawing, scale, shapes};
use netnice_papers::{Curve, Figure, FigureKind, XY};

use data::label;
use looks::Looks;

/// The figure's size; a style fits it to the screen.
const FRAME: Frame = Frame {
    width: 760.0,
    height: 400.0,
    left: 66.0,
    right: 16.0,
    top: 12.0,
    bottom: 54.0,
};

/// A figure: caption, legend, drawing, its numbers, and a link to them. `id` is unique in the page.
pub fn figure(id: &str, figure: &Figure) -> Markup {
    let looks = looks::of(figure);
    let data = data::of(figure, &looks);
    let title = format!("{id}-title");
    html! {
        figure.chart id=(id) data-kind=(data.kind.name()) {
            figcaption {
                h4 id=(title) { (figure.title) }
                p { (figure.caption) (ranges(figure).unwrap_or_default()) }
            }
            (legend(figure, &looks))
            div.plot {
                (drawn(&looks, &data, &title))
            }
            (numbers(figure, &data))
            @if !data.is_empty() {
                p.download { a download={(figure.name) ".csv"} href=(data::link(&data)) { "Data (CSV)" } }
            }
        }
    }
}

/// The curves whose bars are not intervals, in a sentence.
fn ranges(figure: &Figure) -> Option<String> {
    let curves = figure.curves.iter().filter(|curve| curve.shows_ranges());
    let names: Vec<&str> = curves.map(|curve| curve.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let names = names.join("; ");
        format!(" Bars reach from the least to the largest run in place of 95 % intervals, which are wider than values: {names}.")
    })
}

fn legend(figure: &Figure, looks: &[Looks]) -> Markup {
    html! {
        ul.legend {
            @for (curve, looks) in figure.curves.iter().zip(looks) {
                li {
                    (swatch(figure, looks))
                    span { (curve.name) }
                }
            }
        }
    }
}

/// A piece of the curve beside its name.
fn swatch(figure: &Figure, looks: &Looks) -> Markup {
    let bars = matches!(figure.kind, FigureKind::Bars(_));
    let markers = matches!(figure.kind, FigureKind::Lines);
    html! {
        svg.swatch viewBox="0 0 28 14" width="28" height="14" aria-hidden="true" {
            g class=(looks.class()) style=[looks.style()] {
                @if bars {
                    path.bar d="M8 1.5h12v11h-12z" {}
                } @else {
                    path.line d="M1 7H27" {}
                    @if markers {
                        path.markers d=(shapes::marker(looks.marker, 14.0, 7.0)) {}
                    }
                }
            }
        }
    }
}

fn drawn(looks: &[Looks], data: &Chart, title: &str) -> Markup {
    let Frame { width, height, .. } = FRAME;
    let (x, y) = FRAME.scales(data, data.x_domain(), data.y_domain());
    let clip = format!("{title}-clip");
    html! {
        svg.drawing viewBox={"0 0 " (width) " " (height)} role="img" aria-labelledby=(title) {
            clipPath id=(clip) {
                rect x=(FRAME.left) y=(FRAME.top) width=(width - FRAME.left - FRAME.right) height=(height - FRAME.top - FRAME.bottom) {}
            }
            g.axes { (axes(data, &x, &y, &FRAME)) }
            g.curves clip-path={"url(#" (clip) ")"} {
                @for (number, looks) in looks.iter().enumerate() {
                    g class={"curve " (looks.class())} style=[looks.style()] {
                        (drawing::curve(data, number, &x, &y))
                    }
                }
                @for number in 0..looks.len() { (drawing::readings(data, number, &x, &y)) }
            }
            @if data.is_empty() {
                text.nothing x=(width / 2.0) y=(height / 2.0) text-anchor="middle" { "Nothing was measured." }
            }
        }
    }
}

/// More numbers than this are left to the link.
const ROWS: usize = 200;

/// The figure as a table, for those who do not see it, and for print.
fn numbers(figure: &Figure, data: &Chart) -> Markup {
    if data.kind == Kind::TimeSeries {
        return html! {};
    }
    let mut at: Vec<f64> = Vec::new();
    for point in figure.curves.iter().flat_map(|curve| &curve.points) {
        if !at.contains(&point.x) {
            at.push(point.x);
            if at.len() > ROWS {
                return html! {};
            }
        }
    }
    at.sort_by(f64::total_cmp);
    html! {
        details.numbers {
            summary { "Numbers" }
            div.scroll tabindex="0" role="region" aria-label={"Numbers of: " (figure.title)} {
                table {
                    thead {
                        tr {
                            th scope="col" { (label(&figure.x.label, &figure.x.unit)) }
                            @for curve in &figure.curves { th scope="col" { (curve.name) } }
                        }
                    }
                    tbody {
                        @for &x in &at {
                            tr {
                                th scope="row" { (data.along(x)) }
                                @for curve in &figure.curves {
                                    @let found = curve.points.iter().find(|point| point.x == x);
                                    td {
                                        @if let Some(point) = found {
                                            (scale::plain(point.y))
                                            (interval(curve, point))
                                        } @else { "–" }
                                    }
                                }
                            }
                        }
                    }
                }
                p.unit {
                    "Values: " (label(&figure.y.label, &figure.y.unit)) ". ± is half of the 95 % confidence interval."
                    @if figure.curves.iter().any(Curve::shows_ranges) {
                        " In brackets are the least and the largest of the runs, for a curve of which an interval is wider than its value."
                    }
                }
            }
        }
    }
}

/// The interval of a point, or the range of its runs.
fn interval(curve: &Curve, point: &XY) -> Markup {
    html! {
        @match (point.half_width, point.range) {
            (Some(_), Some([least, largest])) if curve.shows_ranges() => {
                span.interval { " (" (scale::plain(least)) " to " (scale::plain(largest)) ")" }
            }
            (Some(half), _) => span.interval { " ± " (scale::plain(half)) },
            (None, _) => {}
        }
    }
}
