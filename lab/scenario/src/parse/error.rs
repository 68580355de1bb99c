// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of a scenario file, as people read them.

use std::collections::HashSet;
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
        let lines = Lines::of(text);
        let problems = problems.into_iter().map(|(origin, problem)| {
            let (source, line_and_column) = match origin {
                Some(Origin::File(span)) => (file.to_owned(), Some(lines.place(span.start))),
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
        // A default that is wrong is so for each link or flow that has it.
        let mut known = HashSet::new();
        let different = problems.filter(|problem| {
            let ScenarioProblem {
                source, message, ..
            } = problem;
            problem
                .line_and_column
                .is_none_or(|place| known.insert((place, source.clone(), message.clone())))
        });
        ScenarioError {
            problems: different.collect(),
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

/// The lines of a text.
struct Lines<'a> {
    text: &'a str,
    /// The bytes at which they begin.
    begins: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let begins = std::iter::once(0).chain(ends).collect();
        Self { text, begins }
    }

    /// Line and column of a byte, from 1.
    fn place(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.begins.partition_point(|&begin| begin <= offset);
        let before = self.text.get(self.begins[line - 1]..offset);
        (line, before.unwrap_or_default().chars().count() + 1)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_line_and_a_column_in_characters() {
        let lines = Lines::of("ab\nüc\n");
        for (offset, place) in [
            (0, (1, 1)),
            (2, (1, 3)),
            (3, (2, 1)),
            (5, (2, 2)),
            (99, (3, 1)),
        ] {
            assert_eq!(lines.place(offset), place, "{offset}");
        }
    }
}
