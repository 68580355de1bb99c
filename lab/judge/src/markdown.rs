// SPDX-License-Identifier: MIT OR Apache-2.0
//! The judgement as tables of Markdown.

use std::fmt::Write as _;

use crate::figure::FIGURES;
use crate::judgement::Judgement;
use crate::question::QUESTIONS;

/// Returns the answers, and a table for each figure; the best value of a row is bold.
pub fn markdown(judgement: &Judgement) -> String {
    let mut text = String::new();
    let head = |text: &mut String, first: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {first} | {} |", judgement.controls.join(" | "));
        let _ = writeln!(
            text,
            "| --- |{}",
            " ---: |".repeat(judgement.controls.len())
        );
    };
    let _ = writeln!(
        text,
        "Cells in which the answer is yes, of those measured:\n"
    );
    head(&mut text, "question");
    for question in QUESTIONS {
        let answers = judgement
            .answers
            .iter()
            .filter(|answer| answer.question == question.title);
        let answers: Vec<String> = answers
            .map(|answer| format!("{} of {}", answer.yes, answer.cells))
            .collect();
        let _ = writeln!(
            text,
            "| {}: {} | {} |",
            question.title,
            question.asks,
            answers.join(" | ")
        );
    }
    for figure in FIGURES {
        let rows = judgement.rows();
        let rows: Vec<_> = rows
            .iter()
            .filter_map(|(path, rival)| {
                let values: Vec<Option<f64>> = judgement
                    .controls
                    .iter()
                    .map(|control| {
                        let cell = judgement.cell(path, rival, control)?;
                        Some(cell.figures.get(figure.name)?.mean)
                    })
                    .collect();
                values
                    .iter()
                    .any(Option::is_some)
                    .then_some((path, rival, values))
            })
            .collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n## {}\n\n{}.\n",
            figure.title,
            capitalised(figure.meaning)
        );
        head(&mut text, "path, rival");
        for (path, rival, values) in rows {
            let best = values
                .iter()
                .flatten()
                .map(|value| figure.badness(*value))
                .fold(f64::INFINITY, f64::min);
            let values: Vec<String> = values
                .iter()
                .map(|value| match value {
                    Some(value) if figure.badness(*value) <= best => {
                        format!("**{}**", figure.format(*value))
                    }
                    Some(value) => figure.format(*value),
                    None => String::new(),
                })
                .collect();
            let _ = writeln!(text, "| {path}, {rival} | {} |", values.join(" | "));
        }
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
