// SPDX-License-Identifier: MIT OR Apache-2.0
//! The configuration file: which units, cgroups and users of a machine have low priority, and with what options.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::{self, Display};
use std::ops::Range;

use netnice_kernel::control::Control;
use netnice_kernel::settings::Settings;
use serde::Deserialize;
use toml::{Spanned, Value};

use crate::clock_time::Hours;
use crate::low_priority::settings_of;
use crate::parameter_options;
use crate::presets::Preset;

/// The checked content of a file.
#[derive(Debug, Default)]
pub struct Configuration {
    /// Tables `[[attach]]`, in the order of the file.
    pub groups: Vec<Group>,
}

/// Everything that is to be attached with the same options.
pub struct Group {
    /// The settings.
    pub settings: Settings,
    /// The settings as options of `netnice attach`.
    pub options: Vec<String>,
    /// The only hours in which it is in effect; `None` for always.
    pub only: Option<Hours>,
    /// Each thing named, and the line where it is.
    pub targets: Vec<(Target, usize)>,
}

impl fmt::Debug for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {:?}", self.options, self.targets)
    }
}

/// A thing that the file names.
#[derive(Clone, Debug)]
pub enum Target {
    /// A unit of systemd, with its suffix.
    Unit(String),
    /// The absolute path of a cgroup.
    Cgroup(String),
    /// A user, by name.
    User(String),
    /// A user, by number.
    UserNumber(u32),
    /// The services and cgroups of a program.
    Preset(&'static Preset),
}

impl Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(name) | Self::Cgroup(name) => formatter.write_str(name),
            Self::User(name) => write!(formatter, "user {name}"),
            Self::UserNumber(number) => write!(formatter, "user {number}"),
            Self::Preset(preset) => formatter.write_str(preset.name),
        }
    }
}

/// Mistakes in a file, a line of text for each: file, line, column, field, mistake, and what is allowed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{}", .0.join("\nnetnice: "))]
pub struct Mistakes(Vec<String>);

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    attach: Vec<Spanned<WrittenGroup>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGroup {
    #[serde(default)]
    units: Vec<Spanned<String>>,
    #[serde(default)]
    cgroups: Vec<Spanned<String>>,
    #[serde(default)]
    users: Vec<Spanned<Value>>,
    #[serde(default)]
    presets: Vec<Spanned<String>>,
    control: Option<Spanned<String>>,
    direction: Option<Spanned<String>>,
    udp: Option<Spanned<String>>,
    no_dscp: Option<Spanned<bool>>,
    #[serde(default)]
    no_quic: bool,
    only: Option<Spanned<String>>,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<Value>>,
}

/// Types of units that have a cgroup.
const SUFFIXES: [&str; 3] = [".service", ".slice", ".scope"];

impl Configuration {
    /// Parses and checks a text; `file` is its name in messages.
    ///
    /// # Errors
    /// All mistakes that were found; a mistake in TOML's syntax or a value of a wrong type hides the ones after it.
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistakes> {
        let mut checker = Checker {
            file,
            text,
            mistakes: Vec::new(),
            lines: BTreeMap::new(),
        };
        let written = match written(text) {
            Ok(written) => written,
            Err((span, field, problem)) => {
                checker.mistake(span, &field, &problem);
                return Err(Mistakes(checker.mistakes));
            }
        };
        let mut groups = Vec::new();
        for (index, group) in written.attach.into_iter().enumerate() {
            groups.extend(checker.group(index, group));
        }
        match checker.mistakes.is_empty() {
            true => Ok(Self { groups }),
            false => Err(Mistakes(checker.mistakes)),
        }
    }
}

/// Reads the TOML; an error is its place, field and text.
fn written(text: &str) -> Result<Written, (Range<usize>, String, String)> {
    let one_line = |error: &toml::de::Error| {
        let words: Vec<&str> = error.message().split_whitespace().collect();
        words.join(" ")
    };
    let parser = toml::Deserializer::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        (span, String::new(), one_line(&error))
    })?;
    serde_path_to_error::deserialize(parser).map_err(|error| {
        let span = error.inner().span().unwrap_or_default();
        // Spanned is a struct of its own to serde.
        let path: Vec<String> = error
            .path()
            .iter()
            .map(ToString::to_string)
            .filter(|step| !step.starts_with('$'))
            .collect();
        let path = path.join(".").replace(".[", "[");
        let mut problem = one_line(error.inner());
        if problem.ends_with("expected a sequence") {
            problem.push_str(match path.as_str() {
                "attach" => ": write [[attach]], with two brackets on each side",
                _ => ": write a list, as in [\"NAME\"]",
            });
        }
        (span, path, problem)
    })
}

struct Checker<'a> {
    file: &'a str,
    text: &'a str,
    mistakes: Vec<String>,
    /// Where each thing was named.
    lines: BTreeMap<String, usize>,
}

impl Checker<'_> {
    fn mistake(&mut self, span: Range<usize>, field: &str, problem: &str) {
        let before = self.text.get(..span.start).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default();
        let column = column.chars().count() + 1;
        let field = match field {
            "" | "." => String::new(),
            field => format!("{field}: "),
        };
        let (file, line) = (self.file, self.line(span.start));
        self.mistakes
            .push(format!("{file}:{line}:{column}: {field}{problem}"));
    }

    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1
    }

    fn group(&mut self, index: usize, group: Spanned<WrittenGroup>) -> Option<Group> {
        let span = group.span();
        let group = group.into_inner();
        let field = format!("attach[{index}]");
        let before = self.mistakes.len();
        let targets = self.targets(&field, &group);
        if targets.is_empty() && self.mistakes.len() == before {
            let problem = "names nothing: give units, cgroups, users or presets";
            self.mistake(span, &field, problem);
        }
        let (mut options, settings) = self.settings(&field, &group)?;
        let settings = settings.with_no_quic(group.no_quic);
        if group.no_quic {
            options.push("--no-quic".to_owned());
        }
        let only = group.only.as_ref().map(|only| {
            Hours::parse(only.get_ref()).map_err(|problem| {
                self.mistake(only.span(), &format!("{field}.only"), &problem);
            })
        });
        Some(Group {
            settings,
            options,
            only: only.transpose().ok()?,
            targets,
        })
    }

    fn targets(&mut self, field: &str, group: &WrittenGroup) -> Vec<(Target, usize)> {
        let mut targets = Vec::new();
        let mut add = |checker: &mut Self,
                       span: Range<usize>,
                       list: &str,
                       at: usize,
                       target: Result<Target, String>| {
            let field = format!("{field}.{list}[{at}]");
            let line = checker.line(span.start);
            match target {
                Ok(target) => {
                    if checker.is_new(span, &field, &target) {
                        targets.push((target, line));
                    }
                }
                Err(problem) => checker.mistake(span, &field, &problem),
            }
        };
        for (at, name) in group.units.iter().enumerate() {
            add(self, name.span(), "units", at, unit(name.get_ref()));
        }
        for (at, path) in group.cgroups.iter().enumerate() {
            add(self, path.span(), "cgroups", at, cgroup(path.get_ref()));
        }
        for (at, name) in group.users.iter().enumerate() {
            add(self, name.span(), "users", at, user(name.get_ref()));
        }
        for (at, name) in group.presets.iter().enumerate() {
            let preset = Preset::find(name.get_ref()).map(Target::Preset);
            let preset = preset.ok_or_else(|| {
                let all = Preset::all().join(", ");
                format!("there is no preset `{}`; allowed: {all}", name.get_ref())
            });
            add(self, name.span(), "presets", at, preset);
        }
        targets
    }

    /// Returns false, and reports a mistake, if the file has named the target before.
    fn is_new(&mut self, span: Range<usize>, field: &str, target: &Target) -> bool {
        let line = self.line(span.start);
        let first = match self.lines.entry(format!("{target:?}")) {
            Entry::Vacant(entry) => {
                entry.insert(line);
                return true;
            }
            Entry::Occupied(entry) => *entry.get(),
        };
        let problem = format!("{target} is in line {first} already: name it once");
        self.mistake(span, field, &problem);
        false
    }

    /// Returns the options of a group and what they mean. The first option that spoils them is the mistake.
    fn settings(&mut self, field: &str, group: &WrittenGroup) -> Option<(Vec<String>, Settings)> {
        let mut given: Vec<(Range<usize>, String, Result<String, String>)> = Vec::new();
        for (name, value) in [
            ("control", &group.control),
            ("direction", &group.direction),
            ("udp", &group.udp),
        ] {
            if let Some(value) = value {
                let option = format!("--{name}={}", value.get_ref());
                given.push((value.span(), name.to_owned(), Ok(option)));
            }
        }
        if let Some(no_dscp) = group.no_dscp.as_ref().filter(|no_dscp| *no_dscp.get_ref()) {
            let option = Ok("--no-dscp".to_owned());
            given.push((no_dscp.span(), "no_dscp".to_owned(), option));
        }
        let control = group.control.as_ref().map(|name| name.get_ref().as_str());
        let control = control.map_or(Ok(Control::default_control()), Control::find);
        let known: Vec<String> = control.map_or(Vec::new(), |control| {
            let names = parameter_options::names(control).into_iter();
            names.map(|name| name.replace('-', "_")).collect()
        });
        for (name, value) in &group.parameters {
            let option = match value.get_ref() {
                _ if name.contains('-') => Err(format!("write {}", name.replace('-', "_"))),
                Value::String(text) => Ok(text.clone()),
                Value::Integer(number) => Ok(number.to_string()),
                Value::Float(number) => Ok(number.to_string()),
                _ => Err("give a number or a text".to_owned()),
            };
            let option = option.map(|text| format!("--{}={text}", name.replace('_', "-")));
            given.push((value.span(), format!("parameters.{name}"), option));
        }
        let mut options = Vec::new();
        let mut settings = settings_of(&options).expect("the defaults are valid");
        for (span, name, option) in given {
            let tried = option.and_then(|option| {
                options.push(option);
                settings_of(&options).map_err(|error| in_terms_of_file(&error.to_string(), &known))
            });
            match tried {
                Ok(fine) => settings = fine,
                Err(problem) => {
                    self.mistake(span, &format!("{field}.{name}"), &problem);
                    return None;
                }
            }
        }
        Some((options, settings))
    }
}

/// Rewords a message on options for somebody who has written a file.
fn in_terms_of_file(message: &str, known: &[String]) -> String {
    if message.starts_with("unexpected argument") {
        let all = match known.is_empty() {
            true => "none".to_owned(),
            false => known.join(", "),
        };
        return format!("there is no such parameter; allowed with this control: {all}");
    }
    if !message.starts_with("invalid value") {
        return message.replace("--", "");
    }
    // The field has been named. The value, which comes before, may contain anything.
    match message.rsplit_once(" for '--") {
        Some((before, after)) => {
            let after = after.split_once('\'').map_or("", |(_, after)| after);
            format!("{before}{after}")
        }
        None => message.to_owned(),
    }
}

fn unit(name: &str) -> Result<Target, String> {
    let suffix = SUFFIXES.iter().find(|suffix| name.ends_with(**suffix));
    match suffix {
        Some(suffix)
            if name.len() > suffix.len() && !name.contains('/') && !name.starts_with('-') =>
        {
            Ok(Target::Unit(name.to_owned()))
        }
        _ => Err(format!(
            "`{name}` is not the full name of a service, slice or scope: write it as in backup.service"
        )),
    }
}

fn cgroup(path: &str) -> Result<Target, String> {
    let is_path = path.starts_with('/') && !path.trim_matches('/').is_empty();
    let is_plain = !path.split('/').any(|part| matches!(part, "." | ".."));
    match is_path && is_plain {
        true => Ok(Target::Cgroup(path.to_owned())),
        false => Err(format!(
            "`{path}` is not the path of a cgroup: write it as in /backups or /sys/fs/cgroup/backups"
        )),
    }
}

fn user(value: &Value) -> Result<Target, String> {
    match value {
        Value::Integer(number) => u32::try_from(*number)
            .map(Target::UserNumber)
            .map_err(|_| format!("{number} is not the number of a user: 0 to {}", u32::MAX)),
        Value::String(name) if !name.is_empty() => Ok(Target::User(name.clone())),
        _ => Err("give the name or the number of a user".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use netnice_kernel::settings::Direction;

    use super::*;

    fn mistakes(text: &str) -> Vec<String> {
        let parsed = Configuration::parse("netnice.toml", text);
        parsed.map(|_| ()).unwrap_err().0
    }

    #[test]
    fn a_file_names_groups_with_options() {
        let text = r#"
            [[attach]]
            units = ["backup.service", "bulk.slice"]
            users = ["alice", 1000]

            [[attach]]
            cgroups = ["/sync"]
            presets = ["docker"]
            control = "tcplp"
            direction = "send"
            no_dscp = true
            no_quic = true
            parameters = { delta = 0.2, inference_rtts = 5 }
        "#;
        let configuration = Configuration::parse("netnice.toml", text).unwrap();
        let [first, second] = &configuration.groups[..] else {
            panic!("{configuration:?}");
        };
        let named = |group: &Group| {
            let targets = group.targets.iter();
            let targets = targets.map(|(target, line)| format!("{target} {line}"));
            targets.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            named(first),
            "backup.service 3, bulk.slice 3, user alice 4, user 1000 4"
        );
        assert!(first.options.is_empty() && first.settings.mark && !first.settings.no_quic);
        assert_eq!(named(second), "/sync 7, docker 8");
        assert_eq!(
            second.options.join(" "),
            "--control=tcplp --direction=send --no-dscp --delta=0.2 --inference-rtts=5 --no-quic"
        );
        let settings = &second.settings;
        assert_eq!(settings.control.name(), "tcplp");
        assert_eq!(settings.direction, Direction::Send);
        assert!(!settings.mark && settings.no_quic && !settings.parameters.is_default());
    }

    #[test]
    fn an_empty_file_names_nothing() {
        let configuration = Configuration::parse("netnice.toml", "# later\n").unwrap();
        assert!(configuration.groups.is_empty());
    }

    #[test]
    fn mistakes_name_line_field_and_what_is_allowed() {
        let group = "[[attach]]\nunits = [\"a.service\"]\n";
        for (text, expected) in [
            ("[[attach]", "1:"),
            (
                "attach = 3",
                "1:10: attach: invalid type: integer `3`, expected a sequence",
            ),
            (
                "[attach]\nunits = [\"a.service\"]",
                "1:1: attach: invalid type: map, expected a sequence: write [[attach]], with two brackets on each side",
            ),
            (
                "[[attach]]\nunits = \"a.service\"",
                "2:9: attach[0].units: invalid type: string \"a.service\", expected a sequence: write a list, as in [\"NAME\"]",
            ),
            (
                "[[attached]]",
                "1:3: attached: unknown field `attached`, expected `attach`",
            ),
            (
                "[[attach]]\nunits = [\"a.service\"]\nonly = \"22-6\"",
                "3:8: attach[0].only: give two times of day, as 22:00-06:00",
            ),
            (
                "[[attach]]",
                "1:1: attach[0]: names nothing: give units, cgroups, users or presets",
            ),
            (
                "[[attach]]\nunits = [\"backup\"]",
                "2:10: attach[0].units[0]: `backup` is not the full name of a service, slice or scope: write it as in backup.service",
            ),
            (
                "[[attach]]\nunits = [\"a.service\", 7]",
                "2:23: attach[0].units[1]: invalid type: integer `7`, expected a string",
            ),
            (
                "[[attach]]\ncgroups = [\"sync\"]",
                "2:12: attach[0].cgroups[0]: `sync` is not the path of a cgroup: write it as in /backups or /sys/fs/cgroup/backups",
            ),
            (
                "[[attach]]\nusers = [-1]",
                "2:10: attach[0].users[0]: -1 is not the number of a user: 0 to 4294967295",
            ),
            (
                "[[attach]]\npresets = [\"dokcer\"]",
                "2:12: attach[0].presets[0]: there is no preset `dokcer`; allowed: docker, containerd,",
            ),
            (
                "[[attach]]\nunits = [\"a.service\"]\n[[attach]]\nunits = [\"a.service\"]",
                "4:10: attach[1].units[0]: a.service is in line 2 already: name it once",
            ),
            (
                &format!("{group}control = \"cubic\""),
                "3:11: attach[0].control: invalid value 'cubic' [possible values: dstcp,",
            ),
            (
                &format!("{group}direction = \"up\""),
                "3:13: attach[0].direction: invalid value 'up' [possible values: both, send, receive]",
            ),
            (
                &format!("{group}parameters = {{ threshold = \"5s\" }}"),
                "3:28: attach[0].parameters.threshold: invalid value '5s': give a time with its unit, as 2ms, from 100us to 1s",
            ),
            (
                &format!("{group}parameters = {{ delta = 0.2 }}"),
                "3:24: attach[0].parameters.delta: delta has no effect with control netnice; it is for control tcplp and hstcplp",
            ),
            (
                &format!("{group}parameters = {{ speed = 3 }}"),
                "3:24: attach[0].parameters.speed: there is no such parameter; allowed with this control: threshold",
            ),
            (
                &format!("{group}parameters = {{ threshold = true }}"),
                "3:28: attach[0].parameters.threshold: give a number or a text",
            ),
            (
                &format!("{group}contrl = \"ledbat\""),
                "3:1: attach[0].contrl: unknown field `contrl`, expected one of `units`, `cgroups`,",
            ),
        ] {
            let found = mistakes(text);
            let expected = format!("netnice.toml:{expected}");
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(&expected), "{text}: {}", found[0]);
            assert!(!found[0].contains('\n'), "{text}: {}", found[0]);
        }
    }

    #[test]
    fn all_mistakes_are_reported() {
        let text = "[[attach]]\nunits = [\"a\", \"b\"]\ncontrol = \"x\"\n";
        assert_eq!(mistakes(text).len(), 3, "{:?}", mistakes(text));
    }

    #[test]
    fn no_value_becomes_an_option_of_its_own() {
        let text = "[[attach]]\nunits = [\"a.service\"]\ndirection = \"send --no-dscp\"\n";
        assert!(mistakes(text)[0].contains("invalid value 'send --no-dscp'"));
        assert_eq!(
            mistakes("[[attach]]\nunits = [\"--json.service\"]\n").len(),
            1
        );
    }
}
