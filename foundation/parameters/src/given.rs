// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters set for a connection's control, checked against the table ([`crate::PARAMETERS`]).

use std::collections::BTreeMap;

use crate::exchange;
use crate::parameter::{Parameter, Value};
use crate::table::PARAMETERS;

/// Returns the parameters that a control takes.
pub fn of(control: &str) -> impl Iterator<Item = &'static Parameter> + Clone {
    PARAMETERS.iter().filter(move |row| row.is_of(control))
}

/// Returns the controls that take a parameter of this name, as "tcplp and hstcplp"; empty if none does.
pub fn takers(name: &str) -> String {
    let rows = PARAMETERS.iter().filter(|row| row.name == name);
    let controls: Vec<&str> = rows.flat_map(|row| row.controls).copied().collect();
    listed(&controls)
}

/// Joins names as in a sentence: "a", "a and b", "a, b and c".
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Parameters set for one connection's control; all others have the control's own defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlParameters {
    values: BTreeMap<String, Value>,
}

impl ControlParameters {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a parameter by name. The creation of a control checks name and value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.values.insert(name.into(), value.into());
    }

    /// Chainable form of [`set`](Self::set).
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Iterates over the parameters set, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Value)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }
}

/// Reason why a control rejects a parameter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The control takes no parameter of this name.
    #[error("congestion control {control} takes no parameter \"{name}\"{}; {control} takes {}", taken_by(.name), names_of(.control))]
    Unknown {
        /// The control.
        control: &'static str,
        /// Name of the parameter.
        name: String,
    },
    /// The value is not allowed.
    #[error("{name} = {value} of congestion control {control} is not allowed: {name} is {allowed}")]
    NotAllowed {
        /// The control.
        control: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value set.
        value: Value,
        /// The range allowed.
        allowed: String,
    },
    /// Another parameter that is also set replaces it.
    #[error(
        "{name} of congestion control {control} has no effect with {by} = {value}: leave one of the two out"
    )]
    Replaced {
        /// The control.
        control: &'static str,
        /// The parameter without effect.
        name: &'static str,
        /// The parameter that replaces it.
        by: &'static str,
        /// Value of that parameter.
        value: Value,
    },
    /// The parameter has no effect at a receiver.
    #[error("{name} of {control} is for senders and has no effect at a receiver: leave it out")]
    OfSenders {
        /// The control.
        control: &'static str,
        /// The parameter.
        name: &'static str,
    },
    /// The kernel's control has no such parameter.
    #[error(
        "{name} of congestion control {control} is for simulations and cannot be set in a kernel: leave it out"
    )]
    OnlySimulated {
        /// The control.
        control: &'static str,
        /// The parameter.
        name: &'static str,
    },
}

impl ParameterError {
    /// Returns the name of the rejected parameter.
    pub fn parameter(&self) -> &str {
        match self {
            ParameterError::Unknown { name, .. } => name,
            ParameterError::NotAllowed { name, .. }
            | ParameterError::Replaced { name, .. }
            | ParameterError::OfSenders { name, .. }
            | ParameterError::OnlySimulated { name, .. } => name,
        }
    }
}

fn taken_by(name: &str) -> String {
    match takers(name) {
        none if none.is_empty() => none,
        takers => format!(", which is of {takers}"),
    }
}

fn names_of(control: &str) -> String {
    let names: Vec<&str> = of(control).map(|row| row.name).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Returns the parameters of a control as its program in the kernel reads them.
///
/// # Errors
/// If it does not take what is `given`, or if the kernel's control does not; the error names the allowed values.
pub fn kernel_parameters(
    control: &'static str,
    given: &ControlParameters,
) -> Result<exchange::Parameters, ParameterError> {
    Settings::check(control, given)?.kernel_parameters()
}

/// Checked parameters, with defaults for those not set, from which a control is built.
#[derive(Debug)]
pub struct Settings<'a> {
    control: &'static str,
    given: &'a ControlParameters,
}

impl<'a> Settings<'a> {
    /// Returns an error for the first parameter, by name, that the control does not take or that has no effect.
    pub fn check(
        control: &'static str,
        given: &'a ControlParameters,
    ) -> Result<Self, ParameterError> {
        for (name, value) in given.iter() {
            let Some(row) = of(control).find(|row| row.name == name) else {
                return Err(ParameterError::Unknown {
                    control,
                    name: name.to_owned(),
                });
            };
            if !row.kind.allows(value) {
                return Err(ParameterError::NotAllowed {
                    control,
                    name: row.name,
                    value,
                    allowed: row.allowed(),
                });
            }
            match row.instead_of {
                Some(other) if value != row.kind.default() && given.values.contains_key(other) => {
                    return Err(ParameterError::Replaced {
                        control,
                        name: other,
                        by: row.name,
                        value,
                    });
                }
                _ => {}
            }
        }
        Ok(Self { control, given })
    }

    fn given(&self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        of(self.control).filter_map(|row| Some((row, *self.given.values.get(row.name)?)))
    }

    /// Converts the parameters that the policy reads to its struct.
    pub fn policy_parameters(&self) -> exchange::Parameters {
        let mut parameters = exchange::Parameters::default();
        for (row, value) in self.given() {
            parameters.set(row, value);
        }
        parameters
    }

    /// Converts like [`policy_parameters`](Self::policy_parameters), with an error for a parameter that exists only in
    /// simulations.
    pub fn kernel_parameters(&self) -> Result<exchange::Parameters, ParameterError> {
        match self.given().find(|(row, _)| row.member.is_none()) {
            None => Ok(self.policy_parameters()),
            Some((row, _)) => Err(ParameterError::OnlySimulated {
                control: self.control,
                name: row.name,
            }),
        }
    }

    fn value(&self, name: &str) -> Value {
        let row = of(self.control).find(|row| row.name == name);
        let row = row.unwrap_or_else(|| panic!("{} has no parameter {name}", self.control));
        let given = self.given.values.get(name);
        given.copied().unwrap_or(row.kind.default())
    }

    /// Returns the value of a number.
    ///
    /// # Panics
    /// If the control has no number of this name.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(number) => number,
            Value::Switch(_) => panic!("{name} is a switch"),
        }
    }

    /// Returns the value of a whole number.
    ///
    /// # Panics
    /// If the control has no number of this name.
    pub fn whole(&self, name: &str) -> u32 {
        self.number(name) as u32
    }

    /// Returns the value of a switch.
    ///
    /// # Panics
    /// If the control has no switch of this name.
    pub fn switch(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Switch(on) => on,
            Value::Number(_) => panic!("{name} is a number"),
        }
    }
}
