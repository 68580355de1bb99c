// SPDX-License-Identifier: MIT OR Apache-2.0
//! A parameter of a control: a row of the table ([`crate::PARAMETERS`]).

/// A row of the table: a parameter that a user may set for some controls.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    /// Key in a scenario. Controls that use one name for different parameters have a row each.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Range and default.
    pub kind: Kind,
    /// Controls that take the parameter.
    pub controls: &'static [&'static str],
    /// Help text: one line, without range and default.
    pub help: &'static str,
    /// Option on the command line, without its hyphens.
    pub option: Option<&'static str>,
    /// Its member of `struct policy_parameters`; `None` if the parameter exists only in simulations.
    pub member: Option<Member>,
    /// Name of a parameter that has no effect once this switch changes. If that has an option on the command line, this
    /// row's name is a value of it.
    pub instead_of: Option<&'static str>,
}

/// A member of `struct policy_parameters` (`policies/parameters.h`). Zero selects the policy's own default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Name in C.
    pub name: &'static str,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// Value of the member for one unit of the parameter. A switch is 1 if it differs from its default.
    pub per_unit: f64,
}

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number without a unit.
    None,
    /// A fraction of a whole.
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
    /// Returns the plural to follow a number; empty for a number without a unit.
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
    /// A number in an inclusive range.
    Number {
        /// Smallest value allowed.
        least: f64,
        /// Largest value allowed.
        most: f64,
        /// Value if none is set.
        default: f64,
    },
    /// A whole number in an inclusive range.
    Whole {
        /// Smallest value allowed.
        least: u32,
        /// Largest value allowed.
        most: u32,
        /// Value if none is set.
        default: u32,
    },
    /// On or off.
    Switch {
        /// Value if none is set.
        default: bool,
    },
}

impl Kind {
    /// Returns the value if none is set.
    pub fn default(self) -> Value {
        match self {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Whole { default, .. } => Value::Number(default.into()),
            Kind::Switch { default } => Value::Switch(default),
        }
    }

    /// Returns the smallest and largest value; `None` for a switch.
    pub fn range(self) -> Option<(f64, f64)> {
        match self {
            Kind::Number { least, most, .. } => Some((least, most)),
            Kind::Whole { least, most, .. } => Some((least.into(), most.into())),
            Kind::Switch { .. } => None,
        }
    }

    /// Returns whether `value` is within the range.
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
    /// Returns the range in words, for an error or a help text.
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

    /// Returns whether `control` takes the parameter.
    pub fn is_of(&self, control: &str) -> bool {
        self.controls.contains(&control)
    }
}

/// The value of a parameter.
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
