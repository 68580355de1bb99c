// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters of the controls: what a row of the table ([`crate::parameter_table`]) says, and values checked against it.

use std::collections::BTreeMap;

use crate::parameter_table::PARAMETERS;
use crate::policy;

/// A row of the table: one thing that a user may set of some controls.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    /// The key in a scenario. Controls that use one name for different things have a row each.
    pub name: &'static str,
    /// The unit of a number.
    pub unit: Unit,
    /// Range and default.
    pub kind: Kind,
    /// The controls that take it.
    pub controls: &'static [&'static str],
    /// Help text: one line, without range and default.
    pub help: &'static str,
    /// The option of the command line, without its hyphens.
    pub option: Option<&'static str>,
    /// Its member of `struct policy_parameters`; `None` where it is only simulated.
    pub member: Option<Member>,
    /// The name of a parameter that has no effect once this switch is changed. On the command line this row's name is
    /// then a value of the other's option.
    pub instead_of: Option<&'static str>,
}

/// A member of `struct policy_parameters` (`policy/parameters.h`). Zero stands for the policy's own default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Name in C.
    pub name: &'static str,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// The member counts so many to the parameter's unit. A switch is 1 where it differs from its default.
    pub per_unit: f64,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number as it is.
    None,
    /// A part of a whole.
    Fraction,
    /// Packets.
    Packets,
    /// Round-trip times.
    RoundTrips,
    /// Microseconds; a time with its unit on the command line.
    Microseconds,
    /// Bits per second; a rate with its unit on the command line.
    BitsPerSecond,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// In the plural, to go with a number; empty where there is none.
    pub fn name(self) -> &'static str {
        match self {
            Unit::None | Unit::Fraction => "",
            Unit::Packets => "packets",
            Unit::RoundTrips => "round-trip times",
            Unit::Microseconds => "microseconds",
            Unit::BitsPerSecond => "bits per second",
            Unit::Bytes => "bytes",
        }
    }
}

/// The values that a parameter may have, and its default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number, ends included.
    Number {
        /// Smallest value allowed.
        least: f64,
        /// Largest value allowed.
        most: f64,
        /// Value where nothing is set.
        default: f64,
    },
    /// A whole number, ends included.
    Whole {
        /// Smallest value allowed.
        least: u32,
        /// Largest value allowed.
        most: u32,
        /// Value where nothing is set.
        default: u32,
    },
    /// On or off.
    Switch {
        /// Value where nothing is set.
        default: bool,
    },
}

impl Kind {
    /// The value where nothing is set.
    pub fn default(self) -> Value {
        match self {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Whole { default, .. } => Value::Number(default.into()),
            Kind::Switch { default } => Value::Switch(default),
        }
    }

    /// Smallest and largest value; `None` of a switch.
    pub fn range(self) -> Option<(f64, f64)> {
        match self {
            Kind::Number { least, most, .. } => Some((least, most)),
            Kind::Whole { least, most, .. } => Some((least.into(), most.into())),
            Kind::Switch { .. } => None,
        }
    }

    /// True for a value within the range.
    pub fn allows(self, value: Value) -> bool {
        match (self.range(), value) {
            (Some((least, most)), Value::Number(number)) => {
                let whole = matches!(self, Kind::Whole { .. });
                (!whole || number.fract() == 0.0) && (least..=most).contains(&number)
            }
            (None, Value::Switch(_)) => true,
            _ => false,
        }
    }
}

impl Parameter {
    /// The range in words, for an error or a help text.
    pub fn allowed(&self) -> String {
        let number = match self.kind {
            Kind::Switch { .. } => return "true or false".to_owned(),
            Kind::Whole { least, most, .. } if most == least + 1 => {
                return format!("{least} or {most}");
            }
            Kind::Whole { .. } => "a whole number",
            Kind::Number { .. } => "a number",
        };
        let (least, most) = self.kind.range().unwrap_or_default();
        match self.unit.name() {
            "" => format!("{number} from {least} to {most}"),
            unit => format!("{number} of {unit} from {least} to {most}"),
        }
    }

    /// True for a control that reads it.
    pub fn is_of(&self, control: &str) -> bool {
        self.controls.contains(&control)
    }

    /// The value in its member's unit; 0 stands for the default.
    fn in_member(&self, member: Member, value: Value) -> u64 {
        match value {
            Value::Switch(_) => (value != self.kind.default()).into(),
            Value::Number(number) => (number * member.per_unit).round() as u64,
        }
    }

    /// Puts a value that is allowed into its member, where it has one.
    pub(crate) fn put(&self, value: Value, into: &mut policy::Parameters) {
        if let Some(member) = self.member {
            into.put(member, self.in_member(member, value));
        }
    }
}

/// The parameters that a control takes.
pub fn of(control: &str) -> impl Iterator<Item = &'static Parameter> + Clone {
    PARAMETERS.iter().filter(move |row| row.is_of(control))
}

/// The controls that take a parameter of this name, as "tcplp and hstcplp"; empty where none does.
pub fn takers(name: &str) -> String {
    let rows = PARAMETERS.iter().filter(|row| row.name == name);
    let controls: Vec<&str> = rows.flat_map(|row| row.controls).copied().collect();
    listed(&controls)
}

/// Names as in a sentence: "a", "a and b", "a, b and c".
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
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

/// Why a control does not take a parameter.
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
        /// The value given.
        value: Value,
        /// The range allowed.
        allowed: String,
    },
    /// Another parameter, also set, takes its place.
    #[error(
        "{name} of congestion control {control} has no effect with {by} = {value}: leave one of the two out"
    )]
    Replaced {
        /// The control.
        control: &'static str,
        /// The parameter without effect.
        name: &'static str,
        /// The parameter that takes its place.
        by: &'static str,
        /// Value of that parameter.
        value: Value,
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
    /// The parameter that is wrong.
    pub fn parameter(&self) -> &str {
        match self {
            ParameterError::Unknown { name, .. } => name,
            ParameterError::NotAllowed { name, .. }
            | ParameterError::Replaced { name, .. }
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

/// Checked parameters, with the defaults where nothing is set: what a control is built from.
pub(crate) struct Settings<'a> {
    control: &'static str,
    given: &'a ControlParameters,
}

impl<'a> Settings<'a> {
    /// An error for the first parameter, by name, that the control does not take or that has no effect.
    pub(crate) fn check(
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

    /// Those that the policy reads, as it reads them.
    pub(crate) fn policy_parameters(&self) -> policy::Parameters {
        let mut parameters = policy::Parameters::default();
        for (row, value) in self.given() {
            row.put(value, &mut parameters);
        }
        parameters
    }

    /// As above, with an error for a parameter that is only simulated.
    pub(crate) fn kernel_parameters(&self) -> Result<policy::Parameters, ParameterError> {
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
