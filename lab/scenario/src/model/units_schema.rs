// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON Schemas of values that are texts with a unit, or have two forms.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Defaults, DelayedAck, Seeds, Sweep, TimeSpan};

/// Implements `JsonSchema` by one literal: type, name, schema.
macro_rules! schemas {
    ($($type:ident, $name:literal, $generator:pat => $schema:tt;)*) => {
        $(impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

schemas! {
    Seeds, "Seeds", _ => {
        "description": "A number n for the seeds 1 to n, or a list of seeds",
        "oneOf": [
            {"type": "integer", "minimum": 1, "maximum": 100_000},
            {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        ]
    };
    Sweep, "Sweep", _ => {
        "description": "Lists of values, by the name of a parameter or the path of a field",
        "type": "object",
        "additionalProperties": {"oneOf": [{"type": "array", "minItems": 1}, {"type": "object"}]}
    };
    Defaults, "Defaults", _ => {
        "description": "Fields that all links or flows have unless they say otherwise",
        "type": "object",
        "additionalProperties": false,
        "properties": {"links": {"type": "object"}, "flows": {"type": "object"}}
    };
    DelayedAck, "DelayedAck", generator => {
        "description": "false: an ACK for every packet; true: for every second, or after 40 ms; or that time",
        "oneOf": [{"type": "boolean"}, generator.subschema_for::<TimeSpan>()]
    };
}
