// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario's TOML as a tree that knows where in the text each value stands.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Fault, Origin};
use crate::network::Step;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) value: Value,
    /// Written short for a table: messages leave out steps into it, because the author sees no table.
    pub(super) shorthand: bool,
}

/// A value of TOML.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Time(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_origin: Origin,
    pub(super) node: Node,
}

/// More levels of tables and lists than any scenario has.
const MAX_DEPTH: usize = 32;

impl Node {
    /// Reads a whole file.
    pub(super) fn read(text: &str) -> Result<Node, Fault> {
        let table = DeTable::parse(text).map_err(|error| {
            let origin = error.span().map_or(Origin::File(0..0), Origin::File);
            Fault::new(origin, one_line(error.message()))
        })?;
        let span = table.span();
        let value = table_value(table.into_inner(), &|span| Origin::File(span), 0)?;
        Ok(Node::new(Origin::File(span), value))
    }

    /// Reads a single value as it stands after `=`; anything but TOML is a text.
    pub(super) fn read_value(text: &str, origin: &Origin) -> Result<Node, Fault> {
        match DeValue::parse(text) {
            Ok(value) => node(value, &|_| origin.clone(), 0),
            Err(_) => Ok(Node::new(origin.clone(), Value::Text(text.to_owned()))),
        }
    }

    pub(super) fn new(origin: Origin, value: Value) -> Node {
        Node {
            origin,
            value,
            shorthand: false,
        }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let found = self.entries().iter().find(|entry| entry.key == key);
        found.map(|entry| &entry.node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.value {
            Value::Table(entries) => {
                let found = entries.iter_mut().find(|entry| entry.key == key);
                found.map(|entry| &mut entry.node)
            }
            _ => None,
        }
    }

    /// The entries of the list `key`, which is added where it is missing.
    pub(super) fn list_mut(&mut self, key: &str, origin: &Origin) -> Result<&mut Vec<Node>, Fault> {
        let must = |origin| Fault::new(origin, "must be a list").inside(Step::from(key));
        let Value::Table(entries) = &mut self.value else {
            return Err(must(origin.clone()));
        };
        let list = get_or_insert(entries, key, origin, || Value::List(Vec::new()));
        match &mut list.value {
            Value::List(nodes) => Ok(nodes),
            _ => Err(must(list.origin.clone())),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as it would be written, for names of runs and for messages.
    pub(super) fn written(&self) -> String {
        match &self.value {
            Value::Text(text) | Value::Time(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(switch) => switch.to_string(),
            Value::List(nodes) => {
                let items: Vec<String> = nodes.iter().map(Node::written).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Table(entries) => {
                let items = entries.iter();
                let items = items.map(|entry| format!("{} = {}", entry.key, entry.node.written()));
                format!("{{ {} }}", items.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Where the value at these steps stands, or the nearest one around it.
    pub(super) fn origin_of(&self, steps: &[Step]) -> Origin {
        let next = match steps.first() {
            Some(Step::Key(key)) => self.get(key),
            Some(&Step::Index(index)) => match &self.value {
                Value::List(nodes) => nodes.get(index),
                _ => None,
            },
            None => None,
        };
        match next {
            Some(node) => node.origin_of(&steps[1..]),
            None => self.origin.clone(),
        }
    }

    /// Calls `change` on every value below and on this one, outermost first.
    pub(super) fn visit(
        &mut self,
        change: &mut impl FnMut(&mut Node) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        change(self)?;
        match &mut self.value {
            Value::List(nodes) => nodes.iter_mut().try_for_each(|node| node.visit(change)),
            Value::Table(entries) => entries
                .iter_mut()
                .try_for_each(|entry| entry.node.visit(change)),
            _ => Ok(()),
        }
    }
}

/// Returns the value of `key` in a table; one that lacks the key gets it with the value `missing`.
pub(super) fn get_or_insert<'a>(
    table: &'a mut Vec<Entry>,
    key: &str,
    origin: &Origin,
    missing: impl FnOnce() -> Value,
) -> &'a mut Node {
    let place = table.iter().position(|entry| entry.key == key);
    let place = place.unwrap_or_else(|| {
        table.push(Entry {
            key: key.to_owned(),
            key_origin: origin.clone(),
            node: Node::new(origin.clone(), missing()),
        });
        table.len() - 1
    });
    &mut table[place].node
}

/// Messages of the TOML parser may have several lines.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

type Origins<'a> = &'a dyn Fn(Range<usize>) -> Origin;

fn node(value: Spanned<DeValue>, origins: Origins, depth: usize) -> Result<Node, Fault> {
    let origin = origins(value.span());
    if depth > MAX_DEPTH {
        let text = format!("more than {MAX_DEPTH} tables and lists within each other");
        return Err(Fault::new(origin, text));
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => {
            let digits: String = integer.as_str().chars().filter(|&c| c != '_').collect();
            let number = i64::from_str_radix(&digits, integer.radix());
            Value::Integer(number.map_err(|_| {
                Fault::new(
                    origin.clone(),
                    format!("the number {digits} does not fit into 64 bits"),
                )
            })?)
        }
        DeValue::Float(float) => {
            let digits: String = float.as_str().chars().filter(|&c| c != '_').collect();
            let number: f64 = digits.parse().unwrap_or(f64::NAN);
            if !number.is_finite() {
                return Err(Fault::new(origin, format!("{digits} is no finite number")));
            }
            Value::Float(number)
        }
        DeValue::Boolean(switch) => Value::Boolean(switch),
        DeValue::Datetime(time) => Value::Time(time.to_string()),
        DeValue::Array(array) => {
            let nodes = array
                .into_iter()
                .map(|value| node(value, origins, depth + 1));
            Value::List(nodes.collect::<Result<_, Fault>>()?)
        }
        DeValue::Table(table) => table_value(table, origins, depth)?,
    };
    Ok(Node::new(origin, value))
}

fn table_value(table: DeTable, origins: Origins, depth: usize) -> Result<Value, Fault> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        entries.push((
            key.span().start,
            Entry {
                key_origin: origins(key.span()),
                key: key.into_inner().into_owned(),
                node: node(value, origins, depth + 1)?,
            },
        ));
    }
    // In the order of the file.
    entries.sort_by_key(|&(start, _)| start);
    Ok(Value::Table(
        entries.into_iter().map(|(_, entry)| entry).collect(),
    ))
}
