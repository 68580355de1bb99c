// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of a text that is no quantity.

/// A quantity that could not be read: one line that names the text given, the problem, and the form to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{quantity} `{given}` {problem}; {advice}")]
pub struct UnitError {
    quantity: &'static str,
    given: String,
    problem: String,
    advice: String,
}

impl UnitError {
    pub(crate) fn new(
        quantity: &'static str,
        given: &str,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) -> UnitError {
        UnitError {
            quantity,
            given: given.to_owned(),
            problem: problem.into(),
            advice: advice.into(),
        }
    }
}
