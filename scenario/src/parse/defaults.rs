// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[defaults.links]` and `[defaults.flows]`: fields that all links or flows have unless they say otherwise.

use super::fault::Fault;
use super::tree::{Entry, Node, Value};
use crate::did_you_mean::among;
use crate::network::Step;

/// Fields of a flow that a UDP flow does not have.
const OF_TCP: [&str; 3] = ["tcp", "congestion_control", "receiver"];
/// The lists whose entries can have defaults.
const LISTS: [&str; 2] = ["links", "flows"];

/// Puts the defaults in where nothing is given.
pub(super) fn apply(root: &mut Node) -> Result<(), Fault> {
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
            let has_rate = [&*node, &entry.node].into_iter().any(has_rate);
            let defaults = entry.node.entries().iter();
            let defaults = defaults.filter(|entry| match entry.key.as_str() {
                "queue" => has_rate,
                key => !(udp && OF_TCP.contains(&key)),
            });
            merge(node, defaults);
        }
    }
    Ok(())
}

/// Returns true if a link has a rate in one direction at least, so that packets may queue.
fn has_rate(link: &Node) -> bool {
    let of = |link: &Node| ["rate", "trace"].iter().any(|key| link.get(key).is_some());
    of(link) || link.get("reverse").is_some_and(of)
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
