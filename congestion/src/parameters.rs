// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a control can be told, by name: a scenario's keys, checked against what the control takes.

use std::collections::BTreeMap;

/// One thing that can be set of a control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The key in a scenario.
    pub name: &'static str,
    /// What it does, with its unit and where it comes from.
    pub description: &'static str,
    /// What it may be.
    pub kind: Kind,
}

/// The values that a parameter may have, and the one it has unless told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number, ends included.
    Number {
        /// Smallest value allowed.
        least: f64,
        /// Largest value allowed.
        most: f64,
        /// Unless told.
        default: f64,
    },
    /// A whole number, ends included.
    Whole {
        /// Smallest value allowed.
        least: u32,
        /// Largest value allowed.
        most: u32,
        /// Unless told.
        default: u32,
    },
    /// On or off.
    Switch {
        /// Unless told.
        default: bool,
    },
}

impl Kind {
    /// What is allowed, for an error or a help text.
    pub fn allowed(self) -> String {
        match self {
            Kind::Number { least, most, .. } => format!("a number from {least} to {most}"),
            Kind::Whole { least, most, .. } => format!("a whole number from {least} to {most}"),
            Kind::Switch { .. } => "true or false".to_string(),
        }
    }

    /// The value unless told.
    pub fn default(self) -> Value {
        match self {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Whole { default, .. } => Value::Number(default.into()),
            Kind::Switch { default } => Value::Switch(default),
        }
    }

    fn allows(self, value: Value) -> bool {
        match (self, value) {
            (Kind::Number { least, most, .. }, Value::Number(number)) => {
                (least..=most).contains(&number)
            }
            (Kind::Whole { least, most, .. }, Value::Number(number)) => {
                number.fract() == 0.0 && (f64::from(least)..=f64::from(most)).contains(&number)
            }
            (Kind::Switch { .. }, Value::Switch(_)) => true,
            _ => false,
        }
    }
}

/// What a parameter is set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A number, whole or not.
    Number(f64),
    /// On or off.
    Switch(bool),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Number(number.into())
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Value::Switch(on)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Switch(on) => on.fmt(f),
        }
    }
}

/// What is set for one connection's control; everything else has the control's own default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlParameters {
    values: BTreeMap<String, Value>,
}

impl ControlParameters {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a parameter by its name. Name and value are checked when a control is created.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.values.insert(name.into(), value.into());
    }

    /// The same, to be chained.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// What is set, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Value)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }
}

/// Checked parameters, with the defaults where nothing is set: what a control is built from.
pub(crate) struct Settings<'a> {
    parameters: &'static [Parameter],
    given: &'a ControlParameters,
}

/// A parameter that a control cannot take.
pub(crate) enum Refusal {
    Unknown {
        name: String,
    },
    NotAllowed {
        parameter: &'static Parameter,
        value: Value,
    },
}

impl<'a> Settings<'a> {
    pub(crate) fn check(
        parameters: &'static [Parameter],
        given: &'a ControlParameters,
    ) -> Result<Self, Refusal> {
        for (name, value) in given.iter() {
            let Some(parameter) = parameters.iter().find(|p| p.name == name) else {
                return Err(Refusal::Unknown {
                    name: name.to_string(),
                });
            };
            if !parameter.kind.allows(value) {
                return Err(Refusal::NotAllowed { parameter, value });
            }
        }
        Ok(Self { parameters, given })
    }

    fn value(&self, name: &str) -> Value {
        let parameter = self.parameters.iter().find(|p| p.name == name);
        let kind = parameter
            .unwrap_or_else(|| panic!("the control's own list has no parameter {name}"))
            .kind;
        self.given
            .values
            .get(name)
            .copied()
            .unwrap_or(kind.default())
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(number) => number,
            Value::Switch(_) => panic!("{name} is a switch"),
        }
    }

    /// Of a [`Kind::Whole`].
    pub(crate) fn whole(&self, name: &str) -> u32 {
        self.number(name) as u32
    }

    pub(crate) fn switch(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Switch(on) => on,
            Value::Number(_) => panic!("{name} is a number"),
        }
    }
}
