// SPDX-License-Identifier: MIT OR Apache-2.0
//! A parameter of a control: a row of the table ([`crate::parameter_table`]).

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
