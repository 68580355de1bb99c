// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environments that a search chooses from: a scenario whose parameters have ranges.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use netnice_scenario::network::not_simulated;
use netnice_scenario::{ControlFiles, ScenarioError, ScenarioFile};
use serde::Deserialize;
use toml::Value;

use crate::error::PlanError;

/// The environments of `netnice judge --search` unless a file is given.
pub const PUBLISHED: &str = include_str!("environments.toml");
/// The name of the value that is the control under test.
const CONTROL: &str = "control";

/// A value of each range, as TOML has it, in the order of [`Space::ranges`].
pub type Environment = Vec<String>;

/// A scenario with values and ranges for each `"$name"` in it.
#[derive(Debug, Clone)]
pub struct Space {
    /// Name of the file, for errors.
    file: String,
    /// Its text.
    pub(super) source: String,
    /// The scenario, with `"$name"` where a value is to stand.
    scenario: String,
    /// Values that have no range.
    fixed: Vec<(String, String)>,
    /// The ranges.
    pub ranges: Vec<Range>,
    /// The figures whose worst values are looked for, and whether these are the lowest or the highest.
    pub figures: Vec<(String, Worst)>,
}

/// The values that may stand for a name.
#[derive(Debug, Clone)]
pub struct Range {
    /// The name.
    pub name: String,
    /// Its value on the plain path.
    pub plain: String,
    values: Values,
}

/// The direction in which a figure gets worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worst {
    /// The lower the worse.
    Lowest,
    /// The higher the worse.
    Highest,
}

#[derive(Debug, Clone)]
enum Values {
    List(Vec<String>),
    Between {
        from: f64,
        to: f64,
        unit: String,
        or: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Between {
    from: String,
    to: String,
    or: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    #[serde(default)]
    lowest: Vec<String>,
    #[serde(default)]
    highest: Vec<String>,
    plain: BTreeMap<String, Value>,
    range: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct WithSearch {
    search: Search,
}

/// Rounds to so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(value)
}

/// Divides `10mbit` into number and unit.
fn with_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    number.parse().ok().map(|number: f64| (number, unit))
}

/// Reads the values of a range; an error is what is wrong with them.
fn values(given: &Value) -> Result<Values, String> {
    match given {
        Value::Array(values) if !values.is_empty() => {
            Ok(Values::List(values.iter().map(Value::to_string).collect()))
        }
        Value::Table(_) => {
            let Between { from, to, or } = given
                .clone()
                .try_into()
                .map_err(|error| error.to_string().trim().to_owned())?;
            match (with_unit(&from), with_unit(&to)) {
                (Some((low, unit)), Some((high, same)))
                    if unit == same && 0.0 < low && low < high =>
                {
                    Ok(Values::Between {
                        from: low,
                        to: high,
                        unit: unit.to_owned(),
                        or: or.map(|or| or.to_string()),
                    })
                }
                _ => Err(format!(
                    "`from` {from:?} and `to` {to:?} must be above zero, ascending and of one unit"
                )),
            }
        }
        _ => Err(
            "must be a list of values, or a table such as { from = \"1ms\", to = \"100ms\" }"
                .to_owned(),
        ),
    }
}

impl Range {
    /// The value at `at`, 0 to below 1.
    pub(super) fn at(&self, at: f64) -> String {
        match &self.values {
            Values::List(values) => {
                let number = (at * values.len() as f64) as usize;
                values[number.min(values.len() - 1)].clone()
            }
            Values::Between { or: Some(or), .. } if at < 0.5 => or.clone(),
            Values::Between { from, to, unit, or } => {
                let part = if or.is_some() { 2.0 * at - 1.0 } else { at };
                let value = rounded(from * (to / from).powf(part), 2);
                format!("\"{value}{unit}\"")
            }
        }
    }

    /// What a value is like: itself in a list, else on which side of the plain path's it is.
    pub(super) fn kind<'a>(&self, value: &'a str) -> &'a str {
        let number = |text: &str| with_unit(text.trim_matches('"')).map(|it| it.0);
        match &self.values {
            Values::List(_) => value,
            Values::Between { .. } if value == self.plain => "plain",
            Values::Between { .. } if number(value) < number(&self.plain) => "less",
            Values::Between { .. } => "more",
        }
    }

    /// The value with a single significant digit, where that is another.
    pub(super) fn rounder(&self, value: &str) -> Option<String> {
        let (number, unit) = with_unit(value.trim_matches('"'))?;
        let rounder = format!("\"{}{unit}\"", rounded(number, 1));
        (rounder != value && matches!(self.values, Values::Between { .. })).then_some(rounder)
    }
}

impl Space {
    /// Reads a scenario with a last table `[search]`.
    ///
    /// # Errors
    /// If the text is not TOML, if a range or a figure of `[search]` does not fit the scenario, or if the scenario of the
    /// plain path is refused.
    pub fn parse(file: &str, text: &str) -> Result<Space, PlanError> {
        let wrong = |line: usize, message: &str| {
            let message = message.trim().replace('\n', " ");
            PlanError::Space(format!("{file}:{line}: {message}"))
        };
        let number = |upto: usize| text[..upto].matches('\n').count() + 1;
        let Some(start) = text.find("\n[search]") else {
            return Err(wrong(
                number(text.len()),
                "the table [search] is missing; it has `lowest`, `highest`, `plain` and `range`",
            ));
        };
        let (scenario, of_search) = text.split_at(start + 1);
        let whole: WithSearch = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            wrong(number(at), error.message())
        })?;
        let Search {
            lowest,
            highest,
            mut plain,
            range,
        } = whole.search;
        let search_error = |message: &str| wrong(number(start + 1), &format!("search: {message}"));
        if plain.get(CONTROL).and_then(Value::as_str).is_none() {
            return Err(search_error("`plain` needs a `control`, the name of one"));
        }
        let mut ranges = Vec::new();
        for (name, given) in range {
            let error = |message: &str| {
                let of_range = of_search.find("[search.range]").unwrap_or(0);
                let at = of_search[of_range..]
                    .find(&format!("\n{name} "))
                    .unwrap_or(0);
                wrong(
                    number(start + 1 + of_range + at + 1),
                    &format!("search.range.{name}: {message}"),
                )
            };
            let allowed = plain.keys().cloned().collect::<Vec<_>>().join(", ");
            let own = plain.remove(&name).filter(|_| name != CONTROL);
            let own = own.ok_or_else(|| {
                error(&format!(
                    "search.plain has no such value that may change; it has {allowed}"
                ))
            })?;
            let values = values(&given).map_err(|message| error(&message))?;
            ranges.push(Range {
                name,
                plain: own.to_string(),
                values,
            });
        }
        let lowest = lowest.into_iter().map(|name| (name, Worst::Lowest));
        let highest = highest.into_iter().map(|name| (name, Worst::Highest));
        let space = Space {
            file: file.to_owned(),
            source: text.to_owned(),
            scenario: scenario
                .lines()
                .filter(|line| !line.starts_with("seeds ="))
                .map(|line| format!("{line}\n"))
                .collect(),
            fixed: plain
                .into_iter()
                .map(|(name, value)| (name, value.to_string()))
                .collect(),
            ranges,
            figures: lowest.chain(highest).collect(),
        };
        let control = space.fixed.iter().find(|(name, _)| name == CONTROL);
        let control = control.map_or("", |(_, value)| value.trim_matches('"'));
        let plain = space.scenario(control, &space.plain(), &[1])?;
        let figures: Vec<&str> = (plain.scenario().figures.iter())
            .map(|figure| figure.name.as_str())
            .collect();
        if let Some((name, _)) = space
            .figures
            .iter()
            .find(|(name, _)| !figures.contains(&name.as_str()))
        {
            return Err(search_error(&format!(
                "there is no figure {name:?}; there are {}",
                figures.join(", ")
            )));
        }
        if plain.points.len() != 1 || space.figures.is_empty() || space.ranges.is_empty() {
            return Err(search_error(
                "needs a figure in `lowest` or `highest`, a range, and a scenario without a sweep",
            ));
        }
        Ok(space)
    }

    /// The plain path.
    pub fn plain(&self) -> Environment {
        self.ranges
            .iter()
            .map(|range| range.plain.clone())
            .collect()
    }

    /// The values by which an environment differs from the plain path.
    pub fn differs(&self, environment: &Environment) -> BTreeMap<String, String> {
        let all = self.ranges.iter().zip(environment);
        let differing = all.filter(|(range, value)| range.plain != **value);
        differing
            .map(|(range, value)| (range.name.clone(), value.trim_matches('"').to_owned()))
            .collect()
    }

    /// The environment as a scenario file, and whether each range is used in it.
    fn written(
        &self,
        control: &str,
        environment: &Environment,
        seeds: &[u64],
    ) -> (String, Vec<bool>) {
        let control = (CONTROL, format!("\"{control}\""));
        let ranged = self.ranges.iter().zip(environment);
        let ranged = ranged.map(|(range, value)| (range.name.as_str(), value.clone()));
        let fixed = self.fixed.iter().filter(|(name, _)| name != CONTROL);
        let fixed = fixed.map(|(name, value)| (name.as_str(), value.clone()));
        let values: Vec<(&str, String)> = ranged.chain(fixed).chain([control]).collect();
        let mut used = vec![false; values.len()];
        let mut text = self.scenario.trim_end().to_owned();
        // Values may have others within, but not themselves.
        for _ in &values {
            for ((name, value), used) in values.iter().zip(&mut used) {
                let place = format!("\"${name}\"");
                if text.contains(&place) {
                    text = text.replace(&place, value);
                    *used = true;
                }
            }
        }
        used.truncate(self.ranges.len());
        (format!("seeds = {seeds:?}\n{text}\n"), used)
    }

    /// The environment with the plain path's values where it does not use its own.
    pub(super) fn used(&self, mut environment: Environment) -> Environment {
        let (_, used) = self.written("", &environment, &[]);
        for ((range, value), used) in self.ranges.iter().zip(&mut environment).zip(used) {
            if !used {
                value.clone_from(&range.plain);
            }
        }
        environment
    }

    /// The environment as a scenario file.
    pub fn text(&self, control: &str, environment: &Environment, seeds: &[u64]) -> String {
        self.written(control, environment, seeds).0
    }

    /// The same, read and checked.
    pub(super) fn scenario(
        &self,
        control: &str,
        environment: &Environment,
        seeds: &[u64],
    ) -> Result<ScenarioFile, ScenarioError> {
        let text = self.text(control, environment, seeds);
        let files = ControlFiles::OfScenario;
        ScenarioFile::parse_for(
            &self.file,
            &text,
            &[],
            None::<&FilePath>,
            files,
            &not_simulated,
        )
    }
}
