// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON Schemas of values that are texts with a unit, or have two forms.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Defaults, DelayedAck, Seeds, Sweep, TimeSpan};

impl JsonSchema for TimeSpan {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(\$\w+|\d+(\.\d+)?(ns|us|ms|s))$",
            "description": "a time such as \"20ms\""
        })
    }
}

impl JsonSchema for Seeds {
    fn schema_name() -> Cow<'static, str> {
        "Seeds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number n for the seeds 1 to n, or a list of seeds",
            "oneOf": [
                {"type": "integer", "minimum": 1, "maximum": 100_000},
                {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
            ]
        })
    }
}

impl JsonSchema for Sweep {
    fn schema_name() -> Cow<'static, str> {
        "Sweep".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Lists of values, by the name of a parameter or the path of a field",
            "type": "object",
            "additionalProperties": {
                "oneOf": [{"type": "array", "minItems": 1}, {"type": "object"}]
            }
        })
    }
}

impl JsonSchema for Defaults {
    fn schema_name() -> Cow<'static, str> {
        "Defaults".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Fields that all links or flows have unless they say otherwise",
            "type": "object",
            "additionalProperties": false,
            "properties": {"links": {"type": "object"}, "flows": {"type": "object"}}
        })
    }
}

impl JsonSchema for DelayedAck {
    fn schema_name() -> Cow<'static, str> {
        "DelayedAck".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<TimeSpan>();
        json_schema!({
            "description": "false: an ACK for every packet; true: for every second, or after 40 ms; or that time",
            "oneOf": [{"type": "boolean"}, time]
        })
    }
}
