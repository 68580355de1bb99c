// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options that set parameters of a control: one for each row of the table that has an option.

use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use netnice_kernel::control::Control;
use netnice_kernel::parameters::Parameters;
use netnice_parameters::PARAMETERS;
use netnice_parameters::{ControlParameters, Parameter, Unit, Value, listed};
use netnice_queue::{Rate, format_delay, parse_delay};

/// Heading of these options in the help.
pub const HEADING: &str = "Low priority";

/// Parameter options of a command line.
#[derive(Clone, Debug, Default)]
pub struct ParameterOptions {
    given: Vec<Given>,
}

/// A value given for a parameter, by an option of this name.
#[derive(Clone, Copy, Debug)]
struct Given {
    option: &'static str,
    row: &'static Parameter,
    value: Value,
}

impl ParameterOptions {
    /// Returns the first option given, without its hyphens.
    pub fn first(&self) -> Option<&'static str> {
        self.given.first().map(|given| given.option)
    }

    /// Converts the parameters to the form of a control's program.
    ///
    /// # Errors
    /// If an option has no effect on this control: wrong usage.
    pub fn of(&self, control: Control) -> Result<Parameters, clap::Error> {
        let mut parameters = ControlParameters::new();
        for given in &self.given {
            if !given.row.is_of(control.name()) {
                return Err(without_effect(given, control));
            }
            parameters.set(given.row.name, given.value);
        }
        control
            .parameters(&parameters)
            .map_err(|error| clap::Error::raw(ErrorKind::ArgumentConflict, format!("{error}\n")))
    }
}

fn without_effect(given: &Given, control: Control) -> clap::Error {
    let message = format!(
        "--{} has no effect with --control {}; it is for --control {}\n",
        given.option,
        control.name(),
        listed(&controls(given.row)),
    );
    clap::Error::raw(ErrorKind::ArgumentConflict, message)
}

/// Returns the controls of this binary that take a parameter.
fn controls(row: &Parameter) -> Vec<&'static str> {
    let controls = row.controls.iter().copied();
    controls
        .filter(|control| Control::find(control).is_ok())
        .collect()
}

/// Returns the names of the parameter options that a control takes, without hyphens before them.
pub fn names(control: Control) -> Vec<&'static str> {
    let options = options().filter(|(_, row)| row.is_of(control.name()));
    options.map(|(option, _)| option).collect()
}

/// Returns the options and the rows that they set.
fn options() -> impl Iterator<Item = (&'static str, &'static Parameter)> {
    PARAMETERS.iter().filter_map(|row| Some((row.option?, row)))
}

/// Returns the rows that the option of `row` sets by their name.
fn words(row: &'static Parameter) -> impl Iterator<Item = &'static Parameter> {
    PARAMETERS
        .iter()
        .filter(|word| word.instead_of == Some(row.name) && word.controls == row.controls)
}

impl Args for ParameterOptions {
    fn augment_args(command: Command) -> Command {
        options().fold(command, |command, (option, row)| {
            command.arg(argument(option, row))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParameterOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = options().filter_map(|(option, _)| matches.get_one::<Given>(option).copied());
        Ok(Self {
            given: given.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(option: &'static str, row: &'static Parameter) -> Arg {
    let low_priority =
        |name: &&str| Control::find(name).is_ok_and(|control| control.is_low_priority());
    let heading = match controls(row).iter().any(low_priority) {
        true => HEADING,
        false => "With --control dstcp, which is not of low priority",
    };
    Arg::new(option)
        .long(option)
        .value_name(value_name(row))
        .value_parser(move |text: &str| parse(option, row, text))
        .help(help(row))
        .help_heading(heading)
}

fn value_name(row: &'static Parameter) -> &'static str {
    match row.unit {
        Unit::None if words(row).next().is_some() => "NUMBER|WORD",
        Unit::None => "NUMBER",
        Unit::Fraction => "FRACTION",
        Unit::Packets => "PACKETS",
        Unit::RoundTrips => "RTTS",
        Unit::Microseconds => "TIME",
        Unit::BitsPerSecond => "RATE",
        Unit::Bytes => "BYTES",
    }
}

/// Returns the help of an option: its effect, range, controls and default.
fn help(row: &'static Parameter) -> String {
    let mut help = format!("{} ({})", capitalised(row.help), allowed(row));
    for word in words(row) {
        help += &format!("; {}: {}", word.name, word.help);
    }
    help += &format!(" [{}", controls(row).join(", "));
    match row.kind.default() {
        Value::Number(0.0) => {}
        default => help += &format!("; default: {}", in_words(row, default)),
    }
    help + "]"
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Formats the range as on the command line.
fn allowed(row: &'static Parameter) -> String {
    let (least, most) = row.kind.range().unwrap_or_default();
    let [least, most] = [least, most].map(|end| in_words(row, Value::Number(end)));
    let number = match row.unit {
        Unit::Microseconds => format!("a time with its unit, as 2ms, from {least} to {most}"),
        Unit::BitsPerSecond => format!("a rate with its unit, as 2mbit, up to {most}"),
        _ => row.allowed(),
    };
    words(row).fold(number, |allowed, word| {
        format!("{allowed} or `{}`", word.name)
    })
}

/// Formats a value as on the command line.
fn in_words(row: &Parameter, value: Value) -> String {
    match (row.unit, value) {
        (Unit::Microseconds, Value::Number(microseconds)) => {
            format_delay(Duration::from_micros(microseconds as u64))
        }
        (Unit::BitsPerSecond, Value::Number(rate)) => Rate::from_bits_per_second(rate as u64)
            .map_or_else(|_| rate.to_string(), |rate| rate.to_string()),
        _ => value.to_string(),
    }
}

fn parse(option: &'static str, row: &'static Parameter, text: &str) -> Result<Given, String> {
    if let Some(word) = words(row).find(|word| word.name == text) {
        return Ok(Given {
            option,
            row: word,
            value: Value::Switch(word.kind.default() != Value::Switch(true)),
        });
    }
    let wrong = || format!("give {}", allowed(row));
    let number = match row.unit {
        Unit::Microseconds => {
            let time = parse_delay(text).map_err(|_| wrong())?;
            time.as_nanos() as f64 / 1e3
        }
        Unit::BitsPerSecond => {
            let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
            rate.as_f64()
        }
        _ => text.parse().map_err(|_| wrong())?,
    };
    let value = Value::Number(number);
    match row.kind.allows(value) {
        true => Ok(Given { option, row, value }),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(option: &'static str, text: &str) -> Result<(&'static str, Value), String> {
        let (_, row) = options().find(|(name, _)| *name == option).unwrap();
        parse(option, row, text).map(|given| (given.row.name, given.value))
    }

    #[test]
    fn times_need_a_unit_and_a_place_in_the_range() {
        for (text, microseconds) in [("2ms", 2000.0), ("250us", 250.0), ("0.5s", 500_000.0)] {
            let expected = ("threshold_us", microseconds.into());
            assert_eq!(value("threshold", text), Ok(expected), "{text}");
        }
        for wrong in [
            "2", "ms", "2m", "-2ms", "2s", "50us", "1e400s", "0.25us", "",
        ] {
            let error = value("threshold", wrong).unwrap_err();
            assert!(error.ends_with("from 100us to 1s"), "{wrong}: {error}");
        }
    }

    #[test]
    fn rates_need_a_unit_and_a_place_in_the_range() {
        for (text, rate) in [("2mbit", 2e6), ("100gbit", 1e11)] {
            let expected = ("target_rate_bps", rate.into());
            assert_eq!(value("target", text), Ok(expected), "{text}");
        }
        for wrong in ["2", "0mbit", "-2mbit", "101gbit", "2mbps", ""] {
            assert!(value("target", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_constant_is_a_number_or_goes_by_classes() {
        assert_eq!(value("c", "1000000"), Ok(("c", 1e6.into())));
        assert_eq!(value("c", "classes"), Ok(("classes", true.into())));
        for wrong in ["0", "1000001", "1.5", "-1", "class", "nan", ""] {
            let error = value("c", wrong).unwrap_err();
            assert_eq!(
                error, "give a whole number from 1 to 1000000 or `classes`",
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_ends_of_each_range_are_accepted_as_written() {
        for (option, row) in options() {
            let (least, most) = row.kind.range().unwrap();
            for end in [least, most].into_iter().filter(|end| *end > 0.0) {
                let text = in_words(row, end.into());
                assert_eq!(value(option, &text), Ok((row.name, end.into())), "{text}");
            }
        }
    }

    #[test]
    fn help_names_range_controls_and_default() {
        let help_of = |option| help(options().find(|(name, _)| *name == option).unwrap().1);
        let delta = help_of("delta");
        assert!(delta.starts_with("Threshold, from 0"), "{delta}");
        assert!(
            delta.ends_with("(a number from 0.001 to 1) [tcplp, hstcplp; default: 0.15]"),
            "{delta}"
        );
        let inference = help_of("inference-rtts");
        assert!(
            inference.ends_with("[tcplp, hstcplp, tcplp_ecn; default: 3]"),
            "{inference}"
        );
        assert!(help_of("threshold").ends_with("[netnice; default: 1ms]"));
        assert!(help_of("target").ends_with("up to 100gbit) [dstcp]"));
        assert!(help_of("c").contains("or `classes`); classes: c by the smallest"));
    }
}
