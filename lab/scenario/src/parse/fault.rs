// SPDX-License-Identifier: MIT OR Apache-2.0
//! Problems of a scenario before their places in the text are known in lines.

use std::fmt;
use std::ops::Range;

use serde::de::{self, Expected, Unexpected};

use crate::did_you_mean::among;
use crate::network::{Place, Problem, Step};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The scenario's file, from this byte to that.
    File(Range<usize>),
    /// Outside, such as an option on the command line, in the words of whoever gave it.
    Outside(String),
}

/// A problem, and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    /// `None` until a value that knows its place has been passed on the way up.
    pub(super) origin: Option<Origin>,
    /// From the inside to the outside.
    steps: Vec<Step>,
    message: String,
}

impl Fault {
    pub(super) fn new(origin: Origin, message: impl Into<String>) -> Fault {
        Fault {
            origin: Some(origin),
            steps: Vec::new(),
            message: message.into(),
        }
    }

    /// Moves the fault into the enclosing table or list.
    pub(super) fn inside(mut self, step: Step) -> Fault {
        self.steps.push(step);
        self
    }

    /// Places the fault at `origin` unless a narrower place is known.
    pub(super) fn at(mut self, origin: &Origin) -> Fault {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }

    pub(super) fn problem(self) -> (Option<Origin>, Problem) {
        let steps = self.steps.into_iter().rev().collect();
        let problem = Problem {
            place: Place(steps),
            message: self.message,
        };
        (self.origin, problem)
    }

    fn unplaced(message: String) -> Fault {
        Fault {
            origin: None,
            steps: Vec::new(),
            message,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Fault {
        Fault::unplaced(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        let expected = in_words(&expected.to_string());
        let number = matches!(
            unexpected,
            Unexpected::Signed(_) | Unexpected::Unsigned(_) | Unexpected::Float(_)
        );
        let hint = match unexpected {
            _ if number && expected.contains('"') => " in quotes, with its unit".to_owned(),
            Unexpected::Str(text) if expected == A_LIST => {
                format!(", such as [\"{}\"]", text.escape_debug())
            }
            Unexpected::Map if expected == A_LIST => {
                "; a list of tables is [{ ... }, ...]".to_owned()
            }
            Unexpected::Seq if expected != A_TABLE => SWEEPS.to_owned(),
            _ => String::new(),
        };
        Fault::unplaced(format!(
            "is {}, but must be {expected}{hint}",
            given(unexpected)
        ))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        let expected = expected.to_string();
        let given = given(unexpected);
        // What is allowed from 0 on or from 1 on is checked with the values, and both are of the same type.
        Fault::unplaced(match (unexpected, largest(&expected)) {
            (Unexpected::Signed(..0), Some(_)) => format!("{given} must not be negative"),
            (_, Some(largest)) => format!("{given} is too large; at most {largest} is allowed"),
            (_, None) => format!("{given} is not allowed; allowed is {}", in_words(&expected)),
        })
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Fault {
        Fault::unplaced(format!("is empty, but must be {expected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Fault {
        let allowed = among(variant, expected.iter().copied());
        Fault::unplaced(format!("`{variant}` is unknown; {allowed}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Fault {
        let allowed = among(field, expected.iter().copied());
        Fault::unplaced(format!("unknown key `{field}`; {allowed}"))
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::unplaced(format!("the key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault::unplaced(format!("the key `{field}` is given twice"))
    }
}

fn given(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(switch) => format!("{switch}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Str(text) => format!("the text \"{}\"", text.escape_debug()),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

const A_LIST: &str = "a list";
const A_TABLE: &str = "a table";
/// The advice to whoever writes a list where one value is expected.
pub(super) const SWEEPS: &str =
    "; to run with one value after the other, put the list into [sweep]";

/// The largest value of a type of whole numbers that are not negative, as TOML can have it.
fn largest(expected: &str) -> Option<i64> {
    match expected {
        "u8" => Some(u8::MAX.into()),
        "u32" => Some(u32::MAX.into()),
        "u64" => Some(i64::MAX),
        _ => None,
    }
}

/// Replaces the Rust types that serde names by words.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" | "u32" | "u64" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => A_LIST.to_owned(),
        "a map" => A_TABLE.to_owned(),
        // Those that may be written short.
        "struct JitterConfig" => "a table, or a time such as \"5ms\"".to_owned(),
        "struct Reference" => "a table, or a rate such as \"10mbit\"".to_owned(),
        other => match other.strip_prefix("struct ") {
            Some(_) => A_TABLE.to_owned(),
            None => other.to_owned(),
        },
    }
}
