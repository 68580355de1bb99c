// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON Schema of tables that have a `kind`.

use schemars::Schema;
use serde_json::{Value, json};

/// Allows the name alone, as in `"ftp"`, for each variant of an enum with the tag `kind` that has no required field.
pub(super) fn or_name(schema: &mut Schema) {
    let Some(variants) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else {
        return;
    };
    let names: Vec<Value> = variants
        .iter()
        .filter(|variant| {
            variant["required"]
                .as_array()
                .is_some_and(|all| all.len() == 1)
        })
        .map(|variant| variant["properties"]["kind"]["const"].clone())
        .filter(Value::is_string)
        .collect();
    variants.push(json!({ "type": "string", "enum": names }));
}
