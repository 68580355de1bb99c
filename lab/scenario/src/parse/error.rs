// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of a scenario file, as people read them.

use std::fmt;

use super::fault::Origin;
use crate::network::Problem;

/// All problems of a scenario file, a line each: file, line and column, field, problem, and allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The problems, at least one.
    pub problems: Vec<ScenarioProblem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioProblem {
    /// Name of the file, or the setting from outside that is wrong.
    pub source: String,
    /// Line and column, from 1; none for a problem without a place in the file.
    pub line_and_column: Option<(usize, usize)>,
    /// The field, such as `links[0].rate`; empty for the file as a whole.
    pub field: String,
    /// The problem, and what is allowed.
    pub message: String,
}

impl ScenarioError {
    pub(super) fn new(
        file: &str,
        text: &str,
        problems: Vec<(Option<Origin>, Problem)>,
    ) -> ScenarioError {
        let problems = problems.into_iter().map(|(origin, problem)| {
            let (source, line_and_column) = match origin {
                Some(Origin::File(span)) => (file.to_owned(), Some(place(text, span.start))),
                Some(Origin::Outside(setting)) => (setting, None),
                None => (file.to_owned(), None),
            };
            ScenarioProblem {
                source,
                line_and_column,
                field: problem.place.to_string(),
                message: problem.message,
            }
        });
        let mut different: Vec<ScenarioProblem> = Vec::new();
        for problem in problems {
            // A default that is wrong is so for each link or flow that has it.
            let is_same = |other: &ScenarioProblem| {
                problem.line_and_column.is_some()
                    && other.line_and_column == problem.line_and_column
                    && other.source == problem.source
                    && other.message == problem.message
            };
            if !different.iter().any(is_same) {
                different.push(problem);
            }
        }
        ScenarioError {
            problems: different,
        }
    }

    pub(super) fn unreadable(file: &str, message: String) -> ScenarioError {
        ScenarioError {
            problems: vec![ScenarioProblem {
                source: file.to_owned(),
                line_and_column: None,
                field: String::new(),
                message,
            }],
        }
    }
}

/// Line and column of a byte, from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}

impl fmt::Display for ScenarioProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some((line, column)) = self.line_and_column {
            write!(f, ":{line}:{column}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A reader mends the first few and tries again.
        const MOST: usize = 10;
        for (number, problem) in self.problems.iter().take(MOST).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        match self.problems.len().checked_sub(MOST) {
            Some(more @ 1..) => write!(f, "\nand {more} more"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}
