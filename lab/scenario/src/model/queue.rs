// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue disciplines and markers in a file. Their own crate describes them; they are read here by way of [`Described`], so
//! that an error knows its field.

use netnice_queue::{Described, DescribedVisitor, DisciplineConfig, MarkerConfig};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserializer;

/// Name of the type for the deserializer, which finds the key of the tag by it.
const MARKER: &str = "MarkerConfig";

/// Reads a queue discipline.
pub(super) fn discipline<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DisciplineConfig, D::Error> {
    deserializer.deserialize_enum(
        DisciplineConfig::TYPE,
        DisciplineConfig::NAMES,
        DescribedVisitor::default(),
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
    let visitor = DescribedVisitor::default();
    deserializer
        .deserialize_enum(MARKER, MarkerConfig::NAMES, visitor)
        .map(Some)
}

/// A discipline, or the limit of a drop-tail queue as a text.
pub(super) fn discipline_schema(generator: &mut SchemaGenerator) -> Schema {
    let limit = generator.subschema_for::<netnice_queue::QueueLimit>();
    let table = generator.subschema_for::<DisciplineConfig>();
    json_schema!({"anyOf": [limit, table]})
}
