// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disciplines and conditioners in a file: their own crate describes them; here they are read so that an error knows its
//! field, which serde's tagged enums would lose.

use std::fmt;

use netnice_queue::{ConditionerConfig, DisciplineConfig};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Jitter, TimeSpan};

/// The names of `DisciplineConfig`'s variants.
const DISCIPLINES: &[&str] = &["drop_tail", "red", "rio", "sfq", "priority"];
/// The names of `ConditionerConfig`'s variants.
const CONDITIONERS: &[&str] = &["tsw", "token_bucket"];

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum DisciplineName {
    DropTail,
    Red,
    Rio,
    Sfq,
    Priority,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ConditionerName {
    Tsw,
    TokenBucket,
}

/// Reads a queue discipline.
pub(super) fn discipline<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DisciplineConfig, D::Error> {
    struct DisciplineVisitor;
    impl<'de> Visitor<'de> for DisciplineVisitor {
        type Value = DisciplineConfig;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a queue discipline")
        }

        fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<DisciplineConfig, A::Error> {
            let (name, fields) = data.variant()?;
            Ok(match name {
                DisciplineName::DropTail => DisciplineConfig::DropTail(fields.newtype_variant()?),
                DisciplineName::Red => DisciplineConfig::Red(fields.newtype_variant()?),
                DisciplineName::Rio => DisciplineConfig::Rio(fields.newtype_variant()?),
                DisciplineName::Sfq => DisciplineConfig::Sfq(fields.newtype_variant()?),
                DisciplineName::Priority => DisciplineConfig::Priority(fields.newtype_variant()?),
            })
        }
    }
    deserializer.deserialize_enum("DisciplineConfig", DISCIPLINES, DisciplineVisitor)
}

/// Reads a queue discipline that may be left out.
pub(super) fn optional_discipline<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<DisciplineConfig>, D::Error> {
    discipline(deserializer).map(Some)
}

/// Reads a conditioner that may be left out.
pub(super) fn conditioner<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ConditionerConfig>, D::Error> {
    struct ConditionerVisitor;
    impl<'de> Visitor<'de> for ConditionerVisitor {
        type Value = ConditionerConfig;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a conditioner")
        }

        fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<ConditionerConfig, A::Error> {
            let (name, fields) = data.variant()?;
            Ok(match name {
                ConditionerName::Tsw => ConditionerConfig::Tsw(fields.newtype_variant()?),
                ConditionerName::TokenBucket => {
                    ConditionerConfig::TokenBucket(fields.newtype_variant()?)
                }
            })
        }
    }
    let config =
        deserializer.deserialize_enum("ConditionerConfig", CONDITIONERS, ConditionerVisitor)?;
    Ok(Some(config))
}

/// A discipline, or the limit of a drop-tail queue as a text.
pub(super) fn discipline_schema(generator: &mut SchemaGenerator) -> Schema {
    let limit = generator.subschema_for::<netnice_queue::QueueLimit>();
    let table = generator.subschema_for::<DisciplineConfig>();
    json_schema!({"anyOf": [limit, table]})
}

/// A jitter, or the size of a uniform one as a text.
pub(super) fn jitter_schema(generator: &mut SchemaGenerator) -> Schema {
    let size = generator.subschema_for::<TimeSpan>();
    let table = generator.subschema_for::<Jitter>();
    json_schema!({"anyOf": [size, table]})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tags of an enum's variants, from its schema.
    fn tags<T: schemars::JsonSchema>(tag: &str) -> Vec<String> {
        let schema = schemars::schema_for!(T);
        let variants = schema.get("oneOf").and_then(|all| all.as_array()).unwrap();
        let tags = variants.iter().map(|variant| {
            let text = variant["properties"][tag]["const"].as_str();
            text.unwrap().to_owned()
        });
        tags.collect()
    }

    #[test]
    fn every_discipline_and_conditioner_can_be_written() {
        assert_eq!(tags::<DisciplineConfig>("discipline"), DISCIPLINES);
        assert_eq!(tags::<ConditionerConfig>("kind"), CONDITIONERS);
    }
}
