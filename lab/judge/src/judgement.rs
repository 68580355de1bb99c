// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of all cells, and the answers to the questions.

use serde::Serialize;

use crate::cell::Cell;
use crate::question::{Answer, QUESTIONS};

/// The outcome of a plan.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// Version of netnice.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// `simulation` or `lab`.
    pub backend: &'static str,
    /// The controls, in the order of the command line.
    pub controls: Vec<String>,
    /// Cells, by path, rival and control; those whose runs were not finished are left out.
    pub cells: Vec<Cell>,
    /// Answers to RFC 9743's questions, by question and control.
    pub answers: Vec<Answer>,
}

impl Judgement {
    /// Answers all questions.
    pub(crate) fn answers(controls: &[String], cells: &[Cell]) -> Vec<Answer> {
        let all = QUESTIONS.iter();
        all.flat_map(|question| {
            controls
                .iter()
                .map(|control| question.answer(control, cells))
        })
        .collect()
    }

    /// Returns a cell by its names.
    pub fn cell(&self, path: &str, rival: &str, control: &str) -> Option<&Cell> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.path == path && cell.rival == rival && cell.control == control)
    }

    /// The paths and rivals that have cells, each once, in order.
    pub fn rows(&self) -> Vec<(&str, &str)> {
        let mut rows: Vec<(&str, &str)> = Vec::new();
        for cell in &self.cells {
            let row = (cell.path.as_str(), cell.rival.as_str());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }
}
