// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors, as Python raises them.

use std::fmt::Display;

use netnice_scenario::parse;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    _native,
    ScenarioError,
    PyValueError,
    "A scenario has mistakes. The message has a line for each: file, line and column, field, mistake, allowed values."
);

/// The error of a scenario that was read from a text.
pub(crate) fn of_scenario(error: &netnice_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// The error of a scenario that was built in Python: its text's lines would tell nothing.
pub(crate) fn of_built_scenario(mut error: netnice_scenario::ScenarioError) -> PyErr {
    for parse::ScenarioProblem {
        line_and_column, ..
    } in &mut error.problems
    {
        *line_and_column = None;
    }
    of_scenario(&error)
}

/// The error of a run or of the file system.
pub(crate) fn of_run(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
