// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON Schemas of what is written as text with a unit, or in two ways.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{DelayedAck, Dscp, Seeds, Sweep, TimeSpan};

macro_rules! text_schema {
    ($(#[$attribute:meta])* $type:ty, $name:literal, $pattern:literal, $description:literal) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern, "description": $description})
            }
        }
    };
}

/// Stands for `Rate`.
pub(super) struct RateText;
/// Stands for `Bytes`.
pub(super) struct BytesText;
/// Stands for `LossFraction`.
pub(super) struct LossText;
/// Stands for `QueueLimit`.
pub(super) struct QueueLimitText;

text_schema!(
    TimeSpan,
    "Time",
    r"^(\$\w+|\d+(\.\d+)?(ns|us|ms|s))$",
    "A time: 20ms, 200us, 1.5s (units: ns, us, ms, s)"
);
text_schema!(
    RateText,
    "Rate",
    r"^(\$\w+|\d+(\.\d+)?[kmg]?bit)$",
    "A rate: 10mbit, 1.5mbit, 500kbit (units: bit, kbit, mbit, gbit per second)"
);
text_schema!(
    BytesText,
    "Size",
    r"^(\$\w+|\d+(\.\d+)?(B|kB|MB|GB|KiB|MiB|GiB))$",
    "A size: 1500B, 64kB, 1MiB (units: B, kB, MB, GB, KiB, MiB, GiB)"
);
text_schema!(
    LossText,
    "Loss",
    r"^(\$\w+|\d+(\.\d+)?%|0?\.\d+|0)$",
    "A share of packets: 1%, 0.0001"
);
text_schema!(
    QueueLimitText,
    "QueueLimit",
    r"^(\$\w+|\d+(p|packets?)|\d+(\.\d+)?(B|kB|MB|GB|KiB|MiB|GiB|ns|us|ms|s|bdp))$",
    "A queue's length: 83p (packets), 100kB, 50ms (at the link's rate), 2.5bdp"
);

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

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A differentiated services code point: 0 to 63, or a name such as LE, AF11, EF",
            "oneOf": [{"type": "integer", "minimum": 0, "maximum": 63}, {"type": "string"}]
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
