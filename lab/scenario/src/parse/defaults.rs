// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[defaults.links]` and `[defaults.flows]`: fields that all links or flows have unless they say otherwise.

use super::fault::Fault;
use super::settings;
use super::tree::{Entry, Node, Value};
use crate::did_you_mean::among;
use crate::network::Step;

/// Fields of a flow that a UDP flow does not have.
const OF_TCP: [&str; 3] = ["tcp", "congestion_control", "receiver"];
/// The lists whose entries can have defaults.
const LISTS: [&str; 2] = ["links", "flows"];

/// What undoes a default.
pub(crate) const NONE: &str = "none";
/// Fields, by their list, that [`NONE`] leaves out: those of which a link or flow may have none, and no other value says so.
pub(crate) const UNDONE_BY_NONE: [(&str, &[&str]); 2] = [
    (
        "links",
        &[
            "rate",
            "trace",
            "shaper",
            "policer",
            "loss_model",
            "jitter",
            "batch_interval",
            "marker",
        ],
    ),
    ("flows", &["bytes", "by", "stop"]),
];

/// Fields of a link's `reverse` that may be [`NONE`], and what says the same of that direction.
pub(crate) const NONE_THAT_WAY: [(&str, (&str, &str)); 2] = [
    ("loss_model", ("loss", "0%")),
    ("jitter", ("jitter", "0ms")),
];

/// Puts the defaults in where nothing is given, and then takes out what is `"none"`.
pub(super) fn apply(root: &mut Node) -> Result<(), Fault> {
    put_in(root)?;
    for (list, fields) in UNDONE_BY_NONE {
        let Some(Value::List(nodes)) = root.get_mut(list).map(|node| &mut node.value) else {
            continue;
        };
        for node in nodes {
            if let Value::Table(entries) = &mut node.value {
                entries.retain(|entry| {
                    !(fields.contains(&entry.key.as_str()) && is_none(&entry.node))
                });
            }
            let has_model = node.get("loss_model").is_some();
            if let Some(Value::Table(entries)) = node.get_mut("reverse").map(|it| &mut it.value) {
                // A loss of its own, or a plain one of both ways, is there without a model.
                let has_loss = entries.iter().any(|entry| entry.key == "loss");
                if has_loss || !has_model {
                    entries.retain(|entry| entry.key != "loss_model" || !is_none(&entry.node));
                }
                entries.iter_mut().for_each(replace_none);
            }
        }
    }
    Ok(())
}

/// Replaces `"none"` in a link's `reverse`, where leaving a field out means that it is as in the other direction.
fn replace_none(entry: &mut Entry) {
    let mut replacements = NONE_THAT_WAY.iter();
    let replacement = replacements.find(|(field, _)| *field == entry.key);
    if let Some((_, (key, value))) = replacement.filter(|_| is_none(&entry.node)) {
        entry.key = (*key).to_owned();
        entry.node = Node::new(entry.node.origin.clone(), Value::Text((*value).to_owned()));
        settings::expand(entry);
    }
}

/// Returns true for the text `"none"`, also where it is the short form of a table.
fn is_none(node: &Node) -> bool {
    let short = match node.entries() {
        [entry] if node.shorthand => entry.node.text(),
        _ => None,
    };
    node.text().or(short) == Some(NONE)
}

fn put_in(root: &mut Node) -> Result<(), Fault> {
    let Some(defaults) = root.get("defaults").cloned() else {
        return Ok(());
    };
    let inside = |fault: Fault| fault.inside(Step::from("defaults"));
    if !matches!(defaults.value, Value::Table(_)) {
        let text = "must be a table with `links` and `flows`";
        return Err(inside(Fault::new(defaults.origin, text)));
    }
    for entry in defaults.entries() {
        if !LISTS.contains(&entry.key.as_str()) {
            let text = format!("unknown key `{}`; {}", entry.key, among(&entry.key, LISTS));
            return Err(inside(Fault::new(entry.key_origin.clone(), text)));
        }
        if !matches!(entry.node.value, Value::Table(_)) {
            let fault = Fault::new(entry.node.origin.clone(), "must be a table");
            return Err(inside(fault.inside(Step::from(entry.key.as_str()))));
        }
        let Some(Value::List(nodes)) = root.get_mut(&entry.key).map(|node| &mut node.value) else {
            continue;
        };
        for node in nodes {
            let udp = node.get("transport").and_then(Node::text) == Some("udp");
            let [there, back] = queues(node, &entry.node);
            let defaults = entry.node.entries().iter();
            let defaults = defaults.filter(|entry| match entry.key.as_str() {
                "queue" => there || back,
                key => !(udp && OF_TCP.contains(&key)),
            });
            let had_queue = own_queue_back(node);
            merge(node, defaults);
            if !(had_queue || back) {
                leave_out_queue_back(node);
            }
        }
    }
    Ok(())
}

/// Whether packets may wait for a link with these defaults: there, and back.
fn queues(link: &Node, defaults: &Node) -> [bool; 2] {
    let of = |link: Option<&Node>, defaults: Option<&Node>| {
        ["rate", "trace", "outages"].iter().any(|key| {
            let get = |table: Option<&Node>| table.and_then(|table| table.get(key)).cloned();
            let is_empty =
                |given: &Node| matches!(&given.value, Value::List(all) if all.is_empty());
            get(link)
                .or(get(defaults))
                .is_some_and(|given| !is_none(&given) && !is_empty(&given))
        })
    };
    let there = of(Some(link), Some(defaults));
    // Nothing in `reverse` takes a rate away.
    let back = there || of(link.get("reverse"), defaults.get("reverse"));
    [there, back]
}

fn own_queue_back(link: &Node) -> bool {
    let back = link.get("reverse");
    back.is_some_and(|back| back.get("queue").is_some())
}

fn leave_out_queue_back(link: &mut Node) {
    if let Some(Value::Table(entries)) = link.get_mut("reverse").map(|back| &mut back.value) {
        entries.retain(|entry| entry.key != "queue");
    }
}

/// Tables are merged, everything else is replaced. A table whose kind one of its keys chooses is replaced, too:
/// fields of one kind mean nothing for another.
fn merge<'a>(node: &mut Node, defaults: impl Iterator<Item = &'a Entry>) {
    let Value::Table(entries) = &mut node.value else {
        return;
    };
    for default in defaults {
        match entries.iter_mut().find(|entry| entry.key == default.key) {
            None => entries.push(default.clone()),
            Some(entry) if matches!(entry.key.as_str(), "tcp" | "reverse") => {
                merge(&mut entry.node, default.node.entries().iter());
            }
            Some(_) => {}
        }
    }
}
