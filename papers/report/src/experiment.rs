// SPDX-License-Identifier: MIT OR Apache-2.0
//! An experiment: its question, values, figures, tables, choices, and the commands that run it again.

use maud::{Markup, html};
use netnice_papers::{Counts, LabOutcome, Outcome, StudyRecord, Table};

use crate::chart;
use crate::values::{of_all, summary, table};

/// The article of an experiment.
pub fn article(outcome: &Outcome) -> Markup {
    let title = format!("{}-title", outcome.id);
    html! {
        article.experiment id=(outcome.id) aria-labelledby=(title) {
            header {
                h3 id=(title) {
                    a.id href={"#" (outcome.id)} { (outcome.id) }
                    " " (outcome.title)
                }
                p.question { (outcome.question) }
                p.verdict {
                    (of_all(&Counts::of([outcome])))
                    " " (summary(&Counts::of([outcome])))
                }
            }
            @for figure in &outcome.figures {
                (chart::figure(&format!("{}-{}", outcome.id, figure.name), figure))
            }
            @if !outcome.values.is_empty() {
                (table(outcome))
            }
            @for table in &outcome.tables {
                (plain_table(table))
            }
            @if !outcome.notes.is_empty() {
                section.notes {
                    h4 { "Findings" }
                    @for note in &outcome.notes { p { (note) } }
                }
            }
            @if !outcome.choices.is_empty() {
                details.choices {
                    summary { "Parameters that the paper leaves open, and the chosen values" }
                    dl {
                        @for choice in &outcome.choices {
                            div { dt { (choice.open) } dd { (choice.chosen) } }
                        }
                    }
                }
            }
            (commands(outcome))
            @if let Some(lab) = outcome.lab.as_ref().filter(|lab| !lab.studies.is_empty()) {
                (on_kernel(lab))
            }
        }
    }
}

/// Longer tables are folded.
const ROWS: usize = 14;

/// A table of an experiment; columns of numbers stand at the right.
fn plain_table(table: &Table) -> Markup {
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|column| {
            let mut cells = table.rows.iter().filter_map(|row| row.get(column));
            column > 0 && cells.all(|cell| is_number(cell))
        })
        .collect();
    let class = |column: usize| numeric.get(column).is_some_and(|&n| n).then_some("number");
    let drawn = html! {
        div.scroll tabindex="0" role="region" aria-label=(table.title) {
            table.plain {
                caption { (table.title) }
                thead {
                    tr {
                        @for (column, heading) in table.columns.iter().enumerate() {
                            th scope="col" class=[class(column)] { (heading) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (cell) } }
                                @else { td class=[class(column)] { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    };
    // A search over all open parameters would bury the rest of the article.
    html! {
        @if table.search || table.rows.len() > ROWS {
            details.folded { summary { (table.title) } (drawn) }
        } @else {
            (drawn)
        }
    }
}

/// A number, with its interval or without, or a dash for none.
fn is_number(cell: &str) -> bool {
    let cell = cell.trim().trim_end_matches('%').trim();
    matches!(cell, "" | "-" | "–")
        || cell
            .trim_end_matches(')')
            .replace(" (", "±")
            .replace(" to ", "±")
            .split('±')
            .all(|part| part.trim().parse::<f64>().is_ok())
}

fn commands(outcome: &Outcome) -> Markup {
    let runs: usize = outcome.studies.iter().map(StudyRecord::runs).sum();
    let effort = outcome.effort.argument();
    html! {
        section.commands {
            h4 { "Run it again" }
            (command(&format!("netnice reproduce {} {effort}", outcome.id)))
            @if !outcome.studies.is_empty() {
                details {
                    summary {
                        @match outcome.studies.len() { 1 => "1 study, ", count => { (count) " studies, " } }
                        @match runs { 1 => "1 run", count => { (count) " runs" } }
                        ", and a command for each"
                    }
                    @for study in &outcome.studies {
                        p.study { b { (study.name) } ": " (study.effort()) }
                        (command(&study.command))
                    }
                }
            }
        }
    }
}

/// The runs on a running kernel, and where they differ slightly from the scenarios.
fn on_kernel(lab: &LabOutcome) -> Markup {
    html! {
        section.commands {
            h4 { "Measured on Linux " (lab.kernel) }
            details {
                summary {
                    (lab.studies.iter().map(StudyRecord::runs).sum::<usize>())
                    " runs in real time, and a command for each study"
                }
                @for study in &lab.studies {
                    p.study { b { (study.name) } ": " (study.effort()) }
                    (command(&study.command))
                }
                @if !lab.notes.is_empty() {
                    p { "Only nearly as the scenarios say:" }
                    ul { @for note in &lab.notes { li { (note) } } }
                }
            }
        }
    }
}

fn command(command: &str) -> Markup {
    html! {
        div.command {
            pre tabindex="0" { code { (command) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_from_words() {
        for number in ["2.7", "2.71 ± 0.12", "103 (21 to 221)", "-", "12 %", "-3"] {
            assert!(is_number(number), "{number}");
        }
        for words in ["1.5mbit", "reno", "2.7 ± ?"] {
            assert!(!is_number(words), "{words}");
        }
    }
}
