// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue disciplines and markers in a file. Their own crate describes them; they are read here by way of [`Described`], so
//! that an error knows its field.

use std::fmt;
use std::marker::PhantomData;

use netnice_queue::{Described, DisciplineConfig, MarkerConfig};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{EnumAccess, Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Jitter, LinkTrace, TimeSpan};

/// Names of the types for the deserializer, which finds the key of the tag by them.
pub(crate) const DISCIPLINE: &str = "DisciplineConfig";
const MARKER: &str = "MarkerConfig";

/// Reads a queue discipline.
pub(super) fn discipline<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DisciplineConfig, D::Error> {
    deserializer.deserialize_enum(
        DISCIPLINE,
        DisciplineConfig::NAMES,
        DescribedVisitor(PhantomData),
    )
}

/// Reads an optional queue discipline.
pub(super) fn optional_discipline<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<DisciplineConfig>, D::Error> {
    discipline(deserializer).map(Some)
}

/// Reads an optional marker.
pub(super) fn marker<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<MarkerConfig>, D::Error> {
    let visitor = DescribedVisitor(PhantomData);
    deserializer
        .deserialize_enum(MARKER, MarkerConfig::NAMES, visitor)
        .map(Some)
}

struct DescribedVisitor<T>(PhantomData<T>);

impl<'de, T: Described> Visitor<'de> for DescribedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", T::NAMES.join(", "))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<T, A::Error> {
        let (name, fields) = data.variant::<Name<T>>()?;
        T::read(name.0, fields)
    }
}

/// One of the names of a [`Described`] type.
struct Name<T>(&'static str, PhantomData<T>);

impl<'de, T: Described> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<T>, D::Error> {
        let given = String::deserialize(deserializer)?;
        match T::NAMES.iter().find(|name| **name == given) {
            Some(name) => Ok(Name(name, PhantomData)),
            None => Err(D::Error::unknown_variant(&given, T::NAMES)),
        }
    }
}

/// A discipline, or the limit of a drop-tail queue as a text.
pub(super) fn discipline_schema(generator: &mut SchemaGenerator) -> Schema {
    let limit = generator.subschema_for::<netnice_queue::QueueLimit>();
    let table = generator.subschema_for::<DisciplineConfig>();
    json_schema!({"anyOf": [limit, table]})
}

/// A trace, or the name of its file as a text.
pub(super) fn trace_schema(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<LinkTrace>();
    json_schema!({"anyOf": [{"type": "string"}, table]})
}

/// A jitter, or the size of a uniform one as a text.
pub(super) fn jitter_schema(generator: &mut SchemaGenerator) -> Schema {
    let size = generator.subschema_for::<TimeSpan>();
    let table = generator.subschema_for::<Jitter>();
    json_schema!({"anyOf": [size, table]})
}
