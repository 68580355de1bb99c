// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the tree to the types of [`crate::model`], so that an error knows its field and its place in the text.
//!
//! An enum that a key of its table chooses (`discipline` or `kind`) is deserialised like an ordinary enum whose
//! variant is that key's value: serde's own way would lose the places.

use netnice_queue::{Described, DisciplineConfig};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::{Fault, SWEEPS};
use super::tree::{Entry, Node, Value};
use crate::did_you_mean::meant;
use crate::network::Step;

/// The key that distinguishes the variants of an enum, by the enum's name.
fn tag_of(name: &str) -> &'static str {
    match name {
        DisciplineConfig::TYPE => "discipline",
        _ => "kind",
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let value = match &self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(switch) => visitor.visit_bool(*switch),
            Value::Time(_) => Err(Fault::invalid_type(
                Unexpected::Other("a date or time of day"),
                &visitor,
            )),
            Value::List(nodes) => visitor.visit_seq(Items {
                nodes: nodes.iter().enumerate(),
            }),
            Value::Table(entries) => visitor.visit_map(Entries::new(entries, None, self.shorthand)),
        };
        value.map_err(|fault| fault.at(&self.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    /// A discipline within another is read as one of a link.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match name {
            DisciplineConfig::TYPE => self.deserialize_enum(name, DisciplineConfig::NAMES, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let tag = tag_of(name);
        if let Some(fault) = self.discipline_for_limit(name) {
            return Err(fault.at(&self.origin));
        }
        let access = match &self.value {
            Value::Text(text) => Ok(Variant {
                name: text,
                tag: None,
                entries: &[],
                node: self,
            }),
            Value::Table(entries) => match entries.iter().find(|entry| entry.key == tag) {
                Some(entry) => match entry.node.text() {
                    Some(text) => Ok(Variant {
                        name: text,
                        tag: Some(entry),
                        entries,
                        node: self,
                    }),
                    None => Err(Fault::custom(format!(
                        "must be a text in quotes, one of {}",
                        variants.join(", ")
                    ))
                    .at(&entry.node.origin)
                    .inside(Step::from(tag))),
                },
                None => Err(Fault::custom(format!(
                    "the key `{tag}` is missing; allowed: {}",
                    variants.join(", ")
                ))),
            },
            _ if name == DisciplineConfig::TYPE => Err(Fault::custom(
                "must be a limit in quotes, such as \"100p\", \"50ms\" or \"2.5bdp\", or a table with `discipline`",
            )),
            value => {
                let sweeps = match value {
                    Value::List(_) => SWEEPS,
                    _ => "",
                };
                Err(Fault::custom(format!(
                    "must be a text in quotes, one of {}{sweeps}",
                    variants.join(", ")
                )))
            }
        };
        access
            .and_then(|access| visitor.visit_enum(access))
            .map_err(|fault| fault.at(&self.origin))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl Node {
    /// The complaint about a queue that is written as the name of a discipline alone: a text is a limit.
    fn discipline_for_limit(&self, type_name: &str) -> Option<Fault> {
        if type_name != DisciplineConfig::TYPE || !self.shorthand {
            return None;
        }
        let given = self.get("limit").and_then(Node::text)?;
        let name = meant(given, DisciplineConfig::NAMES)?;
        let what = match name == given {
            true => format!("`{given}` is a discipline, and no limit"),
            false => format!("`{given}` is no limit; the discipline is called `{name}`"),
        };
        Some(Fault::custom(format!(
            "{what}: write {{ discipline = \"{name}\" }}, with what other keys it needs"
        )))
    }
}

struct Items<'de> {
    nodes: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some((index, node)) = self.nodes.next() else {
            return Ok(None);
        };
        let value = seed.deserialize(node);
        value
            .map(Some)
            .map_err(|fault| fault.at(&node.origin).inside(Step::from(index)))
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, Entry>,
    /// A key that has been read already.
    without: Option<&'static str>,
    value: Option<&'de Entry>,
    shorthand: bool,
}

impl<'de> Entries<'de> {
    fn new(entries: &'de [Entry], without: Option<&'static str>, shorthand: bool) -> Self {
        Entries {
            entries: entries.iter(),
            without,
            value: None,
            shorthand,
        }
    }

    fn inside(&self, fault: Fault, entry: &Entry) -> Fault {
        match self.shorthand {
            true => fault,
            false => fault.inside(Step::from(entry.key.as_str())),
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let entry = self
            .entries
            .find(|entry| Some(entry.key.as_str()) != self.without);
        let Some(entry) = entry else {
            return Ok(None);
        };
        self.value = Some(entry);
        let key: StrDeserializer<'_, Fault> = entry.key.as_str().into_deserializer();
        // A key that is refused is one of the table around, so no step is added.
        let key = seed.deserialize(key);
        key.map(Some).map_err(|fault| fault.at(&entry.key_origin))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let entry = self
            .value
            .take()
            .ok_or_else(|| Fault::custom("a value was asked for before its key"))?;
        let value = seed.deserialize(&entry.node);
        value.map_err(|fault| self.inside(fault.at(&entry.node.origin), entry))
    }
}

/// A table, or a text, as a variant of an enum.
struct Variant<'de> {
    name: &'de str,
    tag: Option<&'de Entry>,
    entries: &'de [Entry],
    node: &'de Node,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name: StrDeserializer<'_, Fault> = self.name.into_deserializer();
        match seed.deserialize(name) {
            Ok(variant) => Ok((variant, self)),
            Err(fault) => Err(match self.tag {
                Some(tag) if self.node.shorthand => fault.at(&tag.node.origin),
                Some(tag) => fault
                    .at(&tag.node.origin)
                    .inside(Step::from(tag.key.as_str())),
                None => fault,
            }),
        }
    }
}

impl<'de> Variant<'de> {
    fn content(&self) -> Entries<'de> {
        let tag = self.tag.map(|entry| match entry.key.as_str() {
            "discipline" => "discipline",
            _ => "kind",
        });
        Entries::new(self.entries, tag, self.node.shorthand)
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        let mut rest = self.content();
        match rest
            .entries
            .find(|entry| Some(entry.key.as_str()) != rest.without)
        {
            Some(entry) => Err(Fault::new(
                entry.key_origin.clone(),
                format!(
                    "unknown key `{}`; `{}` has no settings",
                    entry.key, self.name
                ),
            )),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(de::value::MapAccessDeserializer::new(self.content()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        Err(Fault::invalid_type(Unexpected::Map, &visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(self.content())
    }
}
