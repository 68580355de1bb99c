// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values put into a scenario from elsewhere: parameters, the points of a sweep, options on the command line.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::{Fault, Origin};
use super::tree::{Entry, Node, Value, get_or_insert};
use crate::did_you_mean::among;
use crate::network::Step;

/// More points than this are a slip of the keyboard.
const MAX_POINTS: usize = 100_000;

/// A parameter or a field, and the value it is to have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) key_origin: Origin,
    pub(super) value: Node,
}

/// The axes of a sweep, in the order of the file. What is given from outside for one of them takes the place of its values,
/// and is taken out of `given`.
pub(super) fn axes(
    root: &Node,
    given: &mut Vec<Setting>,
) -> Result<Vec<(Setting, Vec<Node>)>, Fault> {
    let mut axes = Vec::new();
    if let Some(sweep) = root.get("sweep") {
        let Value::Table(_) = &sweep.value else {
            let text = "must be a table of lists, such as period = [\"50ms\", \"1s\"]";
            return Err(Fault::new(sweep.origin.clone(), text).inside(Step::from("sweep")));
        };
        collect(sweep, "", &mut axes).map_err(|fault| fault.inside(Step::from("sweep")))?;
    }
    given.retain(|setting| {
        let Some((axis, values)) = axes.iter_mut().find(|(axis, _)| axis.key == setting.key) else {
            return true;
        };
        axis.key_origin = setting.key_origin.clone();
        *values = match &setting.value.value {
            Value::List(given) if !given.is_empty() => given.clone(),
            _ => vec![setting.value.clone()],
        };
        false
    });
    let points = axes.iter().try_fold(1usize, |points, (_, values)| {
        points.checked_mul(values.len())
    });
    if let (None, Some((first, _))) = (points.filter(|&points| points <= MAX_POINTS), axes.first())
    {
        let text = format!("the sweep has more than the {MAX_POINTS} points allowed");
        return Err(Fault::new(first.key_origin.clone(), text).inside(Step::from("sweep")));
    }
    Ok(axes)
}

/// `links.bottleneck.rate = [...]` is read by TOML as tables within tables.
fn collect(table: &Node, prefix: &str, axes: &mut Vec<(Setting, Vec<Node>)>) -> Result<(), Fault> {
    for entry in table.entries() {
        let key = format!("{prefix}{}", entry.key);
        let inside = |fault: Fault| fault.inside(Step::from(entry.key.as_str()));
        match &entry.node.value {
            Value::Table(_) => collect(&entry.node, &format!("{key}."), axes).map_err(inside)?,
            Value::List(values) if !values.is_empty() => axes.push((
                Setting {
                    key,
                    key_origin: entry.key_origin.clone(),
                    value: values[0].clone(),
                },
                values.clone(),
            )),
            _ => {
                let text = "must be a list of at least one value, such as [\"50ms\", \"1s\"]";
                return Err(inside(Fault::new(entry.node.origin.clone(), text)));
            }
        }
    }
    Ok(())
}

/// All combinations of the axes' values; the last axis changes fastest.
pub(super) fn points(axes: &[(Setting, Vec<Node>)]) -> Vec<Vec<Setting>> {
    axes.iter()
        .fold(vec![Vec::new()], |points, (axis, values)| {
            let longer = points.iter().flat_map(|point| {
                values.iter().map(move |value| {
                    let mut point = point.clone();
                    point.push(Setting {
                        value: value.clone(),
                        ..axis.clone()
                    });
                    point
                })
            });
            longer.collect()
        })
}

/// Returns the value of a field of the file as a whole, with the settings and parameters put in.
pub(super) fn resolved<'a>(root: &'a Node, given: &'a [Setting], field: &str) -> Option<&'a Node> {
    let set = |key: &str| given.iter().rev().find(|setting| setting.key == key);
    let set = |key: &str| set(key).map(|setting| &setting.value);
    let value = set(field).or_else(|| root.get(field))?;
    let parameter = value.text().and_then(|text| text.strip_prefix('$'));
    let Some(name) = parameter else {
        return Some(value);
    };
    set(name).or_else(|| root.get("parameters")?.get(name))
}

/// Puts the settings in, then the parameters' values wherever "$name" stands.
pub(super) fn apply(root: &mut Node, settings: &[Setting], known: &[&str]) -> Result<(), Fault> {
    let (names, mut values) = parameters(root, settings)?;
    let (of_parameters, fields): (Vec<&Setting>, Vec<&Setting>) = settings
        .iter()
        .partition(|setting| names.contains(&setting.key));
    for setting in of_parameters {
        values.insert(setting.key.clone(), setting.value.clone());
    }
    put(root, fields, &values, known)
}

/// As [`apply`] for all points of a sweep at once: what is swept is a text of all its values.
pub(super) fn apply_joined(
    root: &mut Node,
    axes: Vec<(Setting, Vec<Node>)>,
    given: Vec<Setting>,
    known: &[&str],
) -> Result<(), Fault> {
    let given = given.into_iter().map(|setting| {
        let values = vec![setting.value.clone()];
        (setting, values)
    });
    let all: Vec<(Setting, Vec<Node>)> = axes.into_iter().chain(given).collect();
    let each = all.iter().flat_map(|(setting, values)| {
        values.iter().map(|value| Setting {
            value: value.clone(),
            ..setting.clone()
        })
    });
    let (names, mut values_of) = parameters(root, &each.collect::<Vec<_>>())?;
    let (of_parameters, fields): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(setting, _)| names.contains(&setting.key));
    for (setting, values) in of_parameters {
        values_of.insert(setting.key, joined(values));
    }
    // Values of a swept field may be parameters.
    let fields = fields.into_iter().map(|(setting, mut values)| {
        for value in &mut values {
            value.visit(&mut |node| insert(node, &values_of))?;
        }
        let value = joined(values);
        Ok(Setting { value, ..setting })
    });
    let fields: Vec<Setting> = fields.collect::<Result<_, Fault>>()?;
    put(root, fields.iter().collect(), &values_of, known)
}

/// Several values as a text.
fn joined(mut values: Vec<Node>) -> Node {
    match values.len() {
        1 => values.remove(0),
        _ => {
            let values: Vec<String> = values.iter().map(Node::written).collect();
            Node::new(Origin::File(0..0), Value::Text(values.join(", ")))
        }
    }
}

/// The names of all parameters, those that only a setting gives a value included, and the values that the file has for them.
fn parameters(
    root: &Node,
    settings: &[Setting],
) -> Result<(BTreeSet<String>, BTreeMap<String, Node>), Fault> {
    let mut names = used_parameters(root, settings)?;
    refuse_unused(root, &names)?;
    let entries = root.get("parameters").map_or(&[][..], Node::entries);
    let values = entries.iter();
    let values: BTreeMap<String, Node> = values
        .map(|entry| (entry.key.clone(), entry.node.clone()))
        .collect();
    names.extend(values.keys().cloned());
    Ok((names, values))
}

/// Puts the settings of fields in, then the parameters' values.
fn put(
    root: &mut Node,
    fields: Vec<&Setting>,
    parameters: &BTreeMap<String, Node>,
    known: &[&str],
) -> Result<(), Fault> {
    for setting in fields {
        set(root, setting, parameters, known)?;
    }
    let Value::Table(entries) = &mut root.value else {
        return Ok(());
    };
    for entry in entries {
        if entry.key == "parameters" || entry.key == "sweep" {
            continue;
        }
        entry.node.visit(&mut |node| insert(node, parameters))?;
    }
    Ok(())
}

/// The parameters whose "$name" stands in the file or in a setting.
fn used_parameters(root: &Node, settings: &[Setting]) -> Result<BTreeSet<String>, Fault> {
    let mut used = BTreeSet::new();
    let values = settings.iter().map(|setting| &setting.value);
    for node in std::iter::once(root).chain(values) {
        node.clone().visit(&mut |node| {
            if let Some(name) = node.text().and_then(|text| text.strip_prefix('$')) {
                used.insert(name.to_owned());
            }
            Ok(())
        })?;
    }
    Ok(used)
}

/// A parameter without use is a key without effect, and so is every value that a sweep or a setting gives it.
fn refuse_unused(root: &Node, used: &BTreeSet<String>) -> Result<(), Fault> {
    let parameters = root.get("parameters").map_or(&[][..], Node::entries);
    let mut unused = parameters.iter();
    let Some(unused) = unused.find(|entry| !used.contains(&entry.key)) else {
        return Ok(());
    };
    let text = format!(
        "nothing uses it; write \"${}\" in place of the value that it stands for, or leave it out",
        unused.key
    );
    let fault = Fault::new(unused.key_origin.clone(), text);
    let fault = fault.inside(Step::from(unused.key.as_str()));
    Err(fault.inside(Step::from("parameters")))
}

fn insert(node: &mut Node, parameters: &BTreeMap<String, Node>) -> Result<(), Fault> {
    let Some(name) = node.text().and_then(|text| text.strip_prefix('$')) else {
        return Ok(());
    };
    let Some(value) = parameters.get(name) else {
        let allowed = match parameters.is_empty() {
            true => "there are none".to_owned(),
            false => among(name, parameters.keys().map(String::as_str)),
        };
        let text = format!("there is no parameter `{name}` in [parameters] or [sweep]; {allowed}");
        return Err(Fault::new(node.origin.clone(), text));
    };
    if value.text().is_some_and(|text| text.starts_with('$')) {
        let text = format!("parameter `{name}` is itself \"{}\"", value.written());
        return Err(Fault::new(node.origin.clone(), text));
    }
    // Its values would be put in without an end.
    if leads_to(value, name, parameters, &mut BTreeSet::new()) {
        let text = format!(
            "parameter `{name}` is part of its own value, {}",
            value.written()
        );
        return Err(Fault::new(node.origin.clone(), text));
    }
    *node = value.clone();
    Ok(())
}

/// Is "$name" in a value, or in that of a parameter that stands in it? `seen` are the parameters that were looked into.
fn leads_to<'a>(
    node: &'a Node,
    name: &str,
    parameters: &'a BTreeMap<String, Node>,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    match &node.value {
        Value::Text(text) => text.strip_prefix('$').is_some_and(|other| {
            let new = seen.insert(other);
            let within = || parameters.get(other);
            other == name || new && within().is_some_and(|it| leads_to(it, name, parameters, seen))
        }),
        Value::List(nodes) => {
            let mut nodes = nodes.iter();
            nodes.any(|node| leads_to(node, name, parameters, seen))
        }
        Value::Table(entries) => {
            let mut entries = entries.iter();
            entries.any(|entry| leads_to(&entry.node, name, parameters, seen))
        }
        _ => false,
    }
}

/// Sets the field at a path such as `links.bottleneck.rate`, where an entry of a list is called by its name or number.
fn set(
    root: &mut Node,
    setting: &Setting,
    parameters: &BTreeMap<String, Node>,
    known: &[&str],
) -> Result<(), Fault> {
    let steps: Vec<&str> = setting
        .key
        .split(['.', '[', ']'])
        .filter(|step| !step.is_empty())
        .collect();
    let Some(first) = steps.first().copied() else {
        let text = "an empty name; give a parameter, or a field such as links.bottleneck.rate";
        return Err(Fault::new(setting.key_origin.clone(), text));
    };
    if !known.contains(&first) || matches!(first, "parameters" | "sweep") {
        let names = parameters.keys().map(String::as_str);
        let names = names.chain(known.iter().copied());
        let names = names.filter(|name| !matches!(*name, "parameters" | "sweep"));
        let text = format!(
            "there is no parameter or field `{}`; {}",
            setting.key,
            among(first, names)
        );
        return Err(Fault::new(setting.key_origin.clone(), text));
    }
    let mut node = root;
    for step in steps {
        node = enter(node, step, setting)?;
    }
    *node = setting.value.clone();
    Ok(())
}

/// One step into a table or list; a table that lacks the key gets it.
fn enter<'a>(node: &'a mut Node, step: &str, setting: &Setting) -> Result<&'a mut Node, Fault> {
    let written = match &node.value {
        Value::List(_) | Value::Table(_) => String::new(),
        _ => node.written(),
    };
    match &mut node.value {
        Value::List(nodes) => {
            let names: Vec<String> = nodes.iter().map(label).collect();
            let index = step
                .parse()
                .ok()
                .filter(|&index: &usize| index < nodes.len());
            let index = index.or_else(|| names.iter().position(|name| name == step));
            match index {
                Some(index) => Ok(&mut nodes[index]),
                None => {
                    let allowed = match (nodes.len(), names.iter().any(|name| !name.is_empty())) {
                        (0, _) => "the list is empty".to_owned(),
                        (1, false) => "its only entry has no name; its number is 0".to_owned(),
                        (entries, false) => format!(
                            "its entries have no names, but the numbers 0 to {}",
                            entries - 1
                        ),
                        (_, true) => among(step, names.iter().map(String::as_str)),
                    };
                    let text = format!("`{}`: there is no `{step}`; {allowed}", setting.key);
                    Err(Fault::new(setting.key_origin.clone(), text))
                }
            }
        }
        Value::Table(entries) => {
            let none = || Value::Table(Vec::new());
            Ok(get_or_insert(entries, step, &setting.key_origin, none))
        }
        _ => {
            let text = format!(
                "`{}`: there is no `{step}` in `{written}`, which is no table",
                setting.key
            );
            Err(Fault::new(setting.key_origin.clone(), text))
        }
    }
}

/// The name by which an entry of a list is called: `name`, or `from-to` of a link.
pub(super) fn label(node: &Node) -> String {
    let text = |key| node.get(key).and_then(Node::text);
    match (text("name"), text("from"), text("to")) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(from), Some(to)) => format!("{from}-{to}"),
        _ => String::new(),
    }
}

/// A field that may be a text for a table.
struct Shorthand {
    field: &'static str,
    /// The key that the text is the value of.
    key: &'static str,
    /// A second key, and the value that the text implies for it.
    beside: Option<(&'static str, &'static str)>,
}

const SHORTHANDS: [Shorthand; 7] = [
    Shorthand {
        field: "queue",
        key: "limit",
        beside: Some(("discipline", "drop_tail")),
    },
    Shorthand {
        field: "jitter",
        key: "size",
        beside: None,
    },
    Shorthand {
        field: "trace",
        key: "file",
        beside: None,
    },
    Shorthand {
        field: "congestion_control",
        key: "name",
        beside: None,
    },
    Shorthand {
        field: "receiver",
        key: "name",
        beside: None,
    },
    Shorthand {
        field: "application",
        key: "kind",
        beside: None,
    },
    Shorthand {
        field: "over",
        key: "rate",
        beside: None,
    },
];

/// Makes tables of the fields that were written short.
pub(super) fn expand_shorthands(root: &mut Node) -> Result<(), Fault> {
    let Value::Table(entries) = &mut root.value else {
        return Ok(());
    };
    let fields = entries
        .iter_mut()
        .filter(|entry| !matches!(entry.key.as_str(), "parameters" | "sweep"));
    for entry in fields {
        entry.node.visit(&mut |node| {
            if let Value::Table(entries) = &mut node.value {
                entries.iter_mut().for_each(expand);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Writes a field out in full that is given in its short form.
pub(super) fn expand(entry: &mut Entry) {
    let Some(shorthand) = SHORTHANDS.iter().find(|short| short.field == entry.key) else {
        return;
    };
    let node = &mut entry.node;
    // The value of a parameter may be a table.
    let Some(text) = node.text().filter(|text| !text.starts_with('$')) else {
        return;
    };
    let entry = |key: &str, value: &str| Entry {
        key: key.to_owned(),
        key_origin: node.origin.clone(),
        node: Node::new(node.origin.clone(), Value::Text(value.to_owned())),
    };
    let mut entries = vec![entry(shorthand.key, text)];
    entries.extend(shorthand.beside.map(|(key, value)| entry(key, value)));
    node.value = Value::Table(entries);
    node.shorthand = true;
}
