// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields in which two scenarios differ, with settings and parameters put in.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::fault::Fault;
use super::given_settings;
use super::settings::{self, label};
use super::tree::{Node, Value};

/// A field that two scenarios have different values of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Path of the field, such as `links.bottleneck.rate`.
    pub key: String,
    /// Value in the first; `None` where it is not set. Of a swept field all values.
    pub a: Option<String>,
    /// Value in the second.
    pub b: Option<String>,
}

/// Fields that say what a scenario is, and not what it does.
const WORDS: [&str; 4] = ["name", "description", "parameters", "sweep"];

/// A scenario's text, and the settings from outside: key and value.
pub type Source<'a> = (&'a str, &'a [(String, String)]);

/// The fields in which two scenarios differ, in the order of the first. `None` where the settings of one of them do not fit its text
/// alone, as those of a topology's links, which stand in another file.
pub fn differences(a: Source, b: Source) -> Option<Vec<Difference>> {
    let (a, b) = (resolved(a).ok()?, resolved(b).ok()?);
    let mut found = Vec::new();
    compare("", Some(&a), Some(&b), &mut found);
    Some(found)
}

/// The scenario with its settings and parameters; a swept field is a text of all its values.
fn resolved((text, settings): Source) -> Result<Node, Fault> {
    let mut root = Node::read(text)?;
    settings::expand_shorthands(&mut root)?;
    let mut given = given_settings(settings)?;
    let axes = settings::axes(&root, &mut given)?;
    let known = super::schema::scenario_keys();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    settings::apply_joined(&mut root, axes, given, &known)?;
    settings::expand_shorthands(&mut root)?;
    if let Value::Table(entries) = &mut root.value {
        entries.retain(|entry| !WORDS.contains(&entry.key.as_str()));
    }
    Ok(root)
}

fn compare(key: &str, a: Option<&Node>, b: Option<&Node>, found: &mut Vec<Difference>) {
    let before = found.len();
    match a.zip(b).and_then(|(a, b)| entries(a, b)) {
        Some((of_a, of_b)) => {
            let below = |name: &str| match key {
                "" => name.to_owned(),
                key => format!("{key}.{name}"),
            };
            let others: HashMap<&str, &Node> = of_b
                .iter()
                .map(|(name, node)| (name.as_str(), *node))
                .collect();
            let known: HashSet<&str> = of_a.iter().map(|(name, _)| name.as_str()).collect();
            for (name, node) in &of_a {
                let other = others.get(name.as_str()).copied();
                compare(&below(name), Some(node), other, found);
            }
            for (name, node) in &of_b {
                if !known.contains(name.as_str()) {
                    compare(&below(name), None, Some(node), found);
                }
            }
            // A field that is written short has no fields for its author.
            let short = [a, b].into_iter().flatten().any(|node| node.shorthand);
            if !short || found.len() == before {
                return;
            }
            found.truncate(before);
        }
        None if a.map(Node::written) == b.map(Node::written) => return,
        None => {}
    }
    found.push(Difference {
        key: key.to_owned(),
        a: a.map(written),
        b: b.map(written),
    });
}

/// As the author wrote it.
fn written(node: &Node) -> String {
    match node.entries().first() {
        Some(first) if node.shorthand => first.node.written(),
        _ => node.written(),
    }
}

type Named<'a> = Vec<(String, &'a Node)>;

/// The fields of two tables, or the tables of two lists by their names, or by their numbers where one of them all has no name of its
/// own.
fn entries<'a>(a: &'a Node, b: &'a Node) -> Option<(Named<'a>, Named<'a>)> {
    if let (Value::Table(_), Value::Table(_)) = (&a.value, &b.value) {
        let fields = |node: &'a Node| -> Named<'a> {
            let entries = node.entries().iter();
            entries
                .map(|entry| (entry.key.clone(), &entry.node))
                .collect()
        };
        return Some((fields(a), fields(b)));
    }
    let (a, b) = (tables(a)?, tables(b)?);
    let by_name = |nodes: &'a [Node]| -> Option<Named<'a>> {
        let named = nodes.iter().map(|node| (label(node), node));
        let mut seen = HashSet::new();
        named
            .map(|(name, node)| {
                let own = !name.is_empty() && seen.insert(name.clone());
                own.then_some((name, node))
            })
            .collect()
    };
    let by_number = |nodes: &'a [Node]| -> Named<'a> {
        let nodes = nodes.iter().enumerate();
        nodes
            .map(|(number, node)| (number.to_string(), node))
            .collect()
    };
    let named = by_name(a).zip(by_name(b));
    Some(named.unwrap_or_else(|| (by_number(a), by_number(b))))
}

/// A list of tables.
fn tables(node: &Node) -> Option<&[Node]> {
    let Value::List(nodes) = &node.value else {
        return None;
    };
    let mut all = nodes.iter();
    all.all(|node| matches!(node.value, Value::Table(_)))
        .then_some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
name = "home"
seeds = 3

[parameters]
size = "40kB"

[sweep]
links.line.queue = ["200ms", { discipline = "fq_codel" }]
flows.backup.congestion_control = ["cubic", "netnice"]

[[links]]
name = "line"
from = "a"
to = "b"
rate = "10mbit"

[[flows]]
name = "backup"
from = "a"
to = "b"

[[flows]]
name = "web"
from = "a"
to = "b"
application = { kind = "web", sessions = 3, object_size = "$size" }
"#;

    fn found(b: &str, of_a: &[(&str, &str)], of_b: &[(&str, &str)]) -> Vec<String> {
        let settings = |of: &[(&str, &str)]| -> Vec<(String, String)> {
            let of = of.iter();
            of.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        };
        lines(differences((TEXT, &settings(of_a)), (b, &settings(of_b))).unwrap())
    }

    fn lines(found: Vec<Difference>) -> Vec<String> {
        let words = |value: &Option<String>| value.clone().unwrap_or("-".to_owned());
        let lines = found.iter();
        lines
            .map(|it| format!("{}: {} / {}", it.key, words(&it.a), words(&it.b)))
            .collect()
    }

    #[test]
    fn fields_that_differ_by_hand() {
        assert!(found(TEXT, &[], &[]).is_empty());
        let control = "flows.backup.congestion_control";
        assert_eq!(
            found(TEXT, &[(control, "cubic")], &[(control, "netnice")]),
            [format!("{control}: cubic / netnice")]
        );
        assert_eq!(
            found(TEXT, &[], &[(control, "netnice"), ("seeds", "10")]),
            [
                "seeds: 3 / 10".to_owned(),
                format!("{control}: cubic, netnice / netnice")
            ]
        );
        let queue = "links.line.queue";
        assert_eq!(
            found(
                TEXT,
                &[(queue, "200ms")],
                &[(queue, "{ discipline = \"cake\" }")]
            ),
            ["links.line.queue: 200ms / { discipline = cake }"]
        );
        assert_eq!(
            found(TEXT, &[], &[("size", "1MB")]),
            ["flows.web.application.object_size: 40kB / 1MB"]
        );
        // A comment and another name are no differences.
        let other = TEXT
            .replace("\"home\"", "\"another\" # A comment.")
            .replace("sessions = 3", "sessions = 5")
            .replace("rate = \"10mbit\"", "rate = \"10mbit\"\ndelay = \"5ms\"");
        assert_eq!(
            found(&other, &[], &[]),
            [
                "links.line.delay: - / 5ms",
                "flows.web.application.sessions: 3 / 5"
            ]
        );
    }
    #[test]
    fn swept_parameters_have_their_values() {
        let control = "flows.backup.congestion_control";
        let size = "flows.web.application.object_size";
        let sweep = "[sweep]\n";
        let swept = TEXT
            .replace("object_size = \"$size\"", "object_size = \"1kB\"")
            .replace(sweep, &format!("{sweep}{size} = [\"$size\", \"1MB\"]\n"));
        let faster = swept.replace("10mbit", "20mbit");
        let found = |a: &str, b: &str, of_b: &[(&str, &str)]| -> Vec<String> {
            let of_b: Vec<(String, String)> = of_b
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            lines(differences((a, &[]), (b, &of_b)).unwrap())
        };
        assert_eq!(
            found(&swept, &faster, &[]),
            ["links.line.rate: 10mbit / 20mbit"]
        );
        assert_eq!(
            found(&swept, &swept, &[("size", "2MB"), (control, "cubic")]),
            [
                format!("{control}: cubic, netnice / cubic"),
                format!("{size}: 40kB, 1MB / 2MB, 1MB")
            ]
        );
        // The parameter may be swept itself, in a table, or named by a setting alone.
        let both = swept.replace(sweep, &format!("{sweep}size = [\"5kB\", \"6kB\"]\n"));
        assert_eq!(
            found(&swept, &both, &[]),
            [format!("{size}: 40kB, 1MB / 5kB, 6kB, 1MB")]
        );
        let queue = "links.line.queue";
        let limits = (queue, "[{ limit = \"$size\" }, \"9kB\"]");
        assert_eq!(
            found(&swept, &swept, &[limits]),
            [format!(
                "{queue}: 200ms, {{ discipline = fq_codel }} / {{ limit = 40kB }}, 9kB"
            )]
        );
        let plain = swept.replace("[\"$size\", ", "[\"3kB\", ");
        let unused = plain.replace("[parameters]\nsize = \"40kB\"\n", "");
        let outside = (size, "[\"$mine\", \"2kB\"]");
        assert_eq!(
            found(&unused, &unused, &[outside, ("mine", "7kB")]),
            [format!("{size}: 3kB, 1MB / 7kB, 2kB")]
        );
    }

    #[test]
    fn lists_are_matched_by_names_or_by_numbers() {
        // With a second `web` the flows of one side have no names of their own.
        let flow = "\n[[flows]]\nname = \"web\"\nfrom = \"a\"\nto = \"b\"\n";
        let twice = format!("{TEXT}{flow}");
        assert_eq!(
            found(&twice, &[], &[]),
            ["flows.2: - / { name = web, from = a, to = b }"]
        );
    }
}
