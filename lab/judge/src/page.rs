// SPDX-License-Identifier: MIT OR Apache-2.0
//! The judgement as one HTML page: the answers, a heat map for each figure, and each cell with its time series and the
//! command that makes it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::cell::Cell;
use crate::figure::{FIGURES, Figure};
use crate::judgement::Judgement;
use crate::path::PATHS;
use crate::question::QUESTIONS;
use crate::rival::RIVALS;

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: .5rem 0 1.5rem } th, td { padding: .2rem .6rem; border: 1px solid #ddd }
td { text-align: right } th { text-align: left; font-weight: 500 } thead th { font-weight: 700 }
td a { color: inherit; text-decoration: none } td small { color: #444 } .wide { overflow-x: auto }
details { border-top: 1px solid #ddd; padding: .3rem 0 } code { background: #f3f3f3; padding: 0 .2rem }
svg { max-width: 100%; height: auto } .distrust { color: #a00 }";

/// Nothing is fetched: everything is in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 120.0;

/// Returns the page.
pub fn page(judgement: &Judgement) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "netnice judge: " (judgement.controls.join(", ")) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Congestion controls, judged by what others lose" }
                p { "Made by " code { (judgement.command.join(" ")) } ", version " (judgement.version) ", " (judgement.backend) "." }
                (answers(judgement))
                @for figure in FIGURES { (heat_map(judgement, figure)) }
                (grid())
                h2 { "Cells" }
                p { "Goodput over time of the first seed: the control in blue, the rival in grey." }
                @for cell in &judgement.cells { (details(cell)) }
            }
        }
    };
    document.into_string()
}

fn answers(judgement: &Judgement) -> Markup {
    html! {
        h2 { "RFC 9743's questions" }
        p { "Cells in which the answer is yes, of those measured, and the worst value." }
        div.wide { table {
            thead { tr { th { "question" } @for control in &judgement.controls { th { (control) } } } }
            tbody {
                @for question in QUESTIONS {
                    tr {
                        th { (question.title) ": " (question.asks) }
                        @for answer in judgement.answers.iter().filter(|answer| answer.question == question.title) {
                            @let part = if answer.cells == 0 { 0.5 } else { 1.0 - answer.yes as f64 / answer.cells as f64 };
                            td style=(colour(part)) {
                                (answer.yes) " of " (answer.cells)
                                @if let (Some(worst), Some(figure)) = (answer.worst, figure_of(answer.figure)) {
                                    br; small { (figure.format(worst)) ", " (answer.worst_cell) }
                                }
                            }
                        }
                    }
                }
            }
        } }
    }
}

fn figure_of(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

/// A background from green, 0, to red, 1.
fn colour(badness: f64) -> String {
    format!("background: hsl({:.0} 70% 80%)", 120.0 * (1.0 - badness))
}

fn heat_map(judgement: &Judgement, figure: &Figure) -> Markup {
    let rows = judgement.rows();
    let has = |cell: &Cell| cell.figures.contains_key(figure.name);
    let rows = rows.into_iter().filter(|(path, rival)| {
        let mut cells = judgement.cells.iter();
        cells.any(|cell| cell.path == *path && cell.rival == *rival && has(cell))
    });
    html! {
        h2 { (figure.title) }
        p { (figure.meaning) "; mean over the seeds, ± half of the 95 % confidence interval." }
        div.wide { table {
            thead { tr { th { "path" } th { "rival" } @for control in &judgement.controls { th { (control) } } } }
            tbody {
                @for (path, rival) in rows {
                    tr {
                        th { (path) }
                        th { (rival) }
                        @for control in &judgement.controls { (value(judgement.cell(path, rival, control), figure)) }
                    }
                }
            }
        } }
    }
}

fn value(cell: Option<&Cell>, figure: &Figure) -> Markup {
    let found = cell.and_then(|cell| Some((cell, cell.figures.get(figure.name)?)));
    html! {
        @if let Some((cell, estimate)) = found {
            td style=(colour(figure.badness(estimate.mean))) {
                a href={"#" (id(cell))} {
                    (figure.format(estimate.mean))
                    @if let Some(half) = estimate.half_width_95 { " " small { "± " (figure.format(half)) } }
                }
            }
        } @else { td {} }
    }
}

fn grid() -> Markup {
    html! {
        h2 { "Paths and rivals" }
        table { tbody {
            @for path in PATHS { tr { th { (path.name) } th { (path.describe()) } } }
            @for rival in RIVALS { tr { th { (rival.name) } th { (rival.describe) } } }
        } }
    }
}

fn id(cell: &Cell) -> String {
    format!("{}.{}.{}", cell.path, cell.rival, cell.control)
}

fn details(cell: &Cell) -> Markup {
    html! {
        details id=(id(cell)) open {
            summary { (cell.control) " on " (cell.path) ", rival: " (cell.rival) }
            p {
                @for figure in FIGURES {
                    @if let Some(estimate) = cell.figures.get(figure.name) {
                        (figure.title) ": " (figure.format(estimate.mean)) ". "
                    }
                }
            }
            @if let Some(reason) = &cell.distrust { p.distrust { "NOT TRUSTWORTHY: " (reason) } }
            (chart(cell))
            p { code { (cell.run) } }
        }
    }
}

fn chart(cell: &Cell) -> Markup {
    let all = cell.own_series.iter().chain(&cell.rival_series);
    let highest = all.copied().fold(1.0, f64::max);
    html! {
        svg viewBox={"0 0 " (WIDTH) " " (HEIGHT + 16.0)} width=(WIDTH) role="img" aria-label="Goodput over time" {
            line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) stroke="#888" {}
            (curve(&cell.rival_series, highest, "#999"))
            (curve(&cell.own_series, highest, "#06c"))
            text x="2" y="12" font-size="11" { (format!("{:.3} Mb/s", highest / 1e6)) }
            text x=(WIDTH - 60.0) y=(HEIGHT + 13.0) font-size="11" { (format!("{:.0} s", cell.end_s)) }
        }
    }
}

fn curve(values: &[f64], highest: f64, colour: &str) -> Markup {
    let step = WIDTH / values.len().max(1) as f64;
    let points = values.iter().enumerate().map(|(number, value)| {
        let (x, y) = (
            (number as f64 + 0.5) * step,
            HEIGHT * (1.0 - value / highest),
        );
        format!("{x:.0},{y:.0}")
    });
    html! {
        polyline fill="none" stroke=(colour) stroke-width="1.5" points=(points.collect::<Vec<_>>().join(" ")) {}
    }
}
