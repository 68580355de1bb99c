// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trace of a link that delivers at given times.

use std::sync::Arc;

use netnice_queue::DeliveryTrace;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Times at which a link delivers, in mahimahi's format; a text is the name of the file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTrace {
    /// A text file: on each line the milliseconds of an opportunity to deliver 1500 bytes, in ascending order. After the
    /// last line it begins again.
    pub file: Option<String>,
    /// These times, in the scenario itself.
    #[serde(default)]
    pub times_ms: Vec<u64>,
    /// The trace as it was read.
    #[serde(skip)]
    pub read: Option<Arc<DeliveryTrace>>,
}

/// A trace, or the name of its file as a text.
pub(super) fn or_file(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<LinkTrace>();
    json_schema!({"anyOf": [{"type": "string"}, table]})
}
