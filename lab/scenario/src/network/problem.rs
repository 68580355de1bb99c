// SPDX-License-Identifier: MIT OR Apache-2.0
//! Problems of a scenario, and their places.

use std::fmt;

/// A field of a scenario: `links[0].rate`, `flows[2].from`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place(pub Vec<Step>);

/// A step to a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The key of a table.
    Key(String),
    /// The place in a list.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

impl Place {
    /// The field one step further.
    #[must_use]
    pub fn at(&self, step: impl Into<Step>) -> Place {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Place(steps)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The problem, its place, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Problem {
    /// The field.
    pub place: Place,
    /// The problem, and what is allowed.
    pub message: String,
}

/// All problems of a scenario, a line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

impl Place {
    /// A key of the whole file.
    pub fn key(key: &str) -> Place {
        Place::default().at(key)
    }

    /// The problem at this place.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem {
            place: self.clone(),
            message: message.into(),
        }
    }
}
