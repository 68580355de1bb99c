// SPDX-License-Identifier: MIT OR Apache-2.0
//! The judgement as tables of Markdown.

use netnice_study::markdown_rows;

use crate::figure::FIGURES;
use crate::judgement::Judgement;
use crate::question::QUESTIONS;

/// Returns the answers, and a table for each figure; the best value of a row is bold.
pub fn markdown(judgement: &Judgement) -> String {
    let table = |first: &str, rows: Vec<Vec<String>>| {
        let columns = [&[first.to_owned()][..], &judgement.controls].concat();
        markdown_rows(&columns, &rows, true)
    };
    let questions = QUESTIONS.iter().map(|question| {
        let answers = judgement.answers.iter();
        let answers = answers.filter(|answer| answer.question == question.title);
        let cells = answers.map(|answer| format!("{} of {}", answer.yes, answer.cells));
        let first = format!("{}: {}", question.title, question.asks);
        [first].into_iter().chain(cells).collect()
    });
    let mut text = format!(
        "Cells in which the answer is yes, of those measured:\n\n{}",
        table("question", questions.collect())
    );
    for figure in FIGURES {
        let rows = judgement.rows().into_iter().filter_map(|(path, rival)| {
            let values = judgement.controls.iter().map(|control| {
                let cell = judgement.cell(path, rival, control)?;
                Some(cell.figures.get(figure.name)?.mean)
            });
            let values: Vec<Option<f64>> = values.collect();
            let badness = values.iter().flatten().map(|&value| figure.badness(value));
            let best = badness.reduce(f64::min)?;
            let cells = values.iter().map(|value| match *value {
                Some(value) if figure.badness(value) <= best => {
                    format!("**{}**", figure.format(value))
                }
                Some(value) => figure.format(value),
                None => String::new(),
            });
            let first = format!("{path}, {rival}");
            Some([first].into_iter().chain(cells).collect())
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if !rows.is_empty() {
            let (title, meaning) = (figure.title, capitalised(figure.meaning));
            let table = table("path, rival", rows);
            text += &format!("\n## {title}\n\n{meaning}.\n\n{table}");
        }
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
