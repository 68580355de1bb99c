// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema of the scenario file, generated from its types.

use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::{NONE, NONE_THAT_WAY, UNDONE_BY_NONE};
use crate::model::Scenario;

/// The schema (draft 2020-12), for editors and other programs.
pub fn json_schema() -> Schema {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>();
    for (list, fields) in UNDONE_BY_NONE {
        let named = format!("/properties/{list}/items/$ref");
        let name = schema.pointer(&named).and_then(Value::as_str);
        let path = name.map(|name| format!("{}/properties", name.trim_start_matches('#')));
        if let Some(path) = path {
            allow_none(&mut schema, &path, fields);
        }
    }
    let that_way = NONE_THAT_WAY.map(|(field, _)| field);
    allow_none(&mut schema, "/$defs/LinkChanges/properties", &that_way);
    schema
}

/// Allows [`NONE`] as the value of these fields of the properties at `path`.
fn allow_none(schema: &mut Schema, path: &str, fields: &[&str]) {
    let properties = schema.pointer_mut(path).and_then(Value::as_object_mut);
    for (field, property) in properties.into_iter().flatten() {
        if fields.contains(&field.as_str()) {
            *property = json!({"anyOf": [property.take(), {"const": NONE}]});
        }
    }
}

/// The keys of the whole file, in the order of the type.
pub(crate) fn scenario_keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let schema = json_schema();
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.map_or_else(Vec::new, |properties| properties.keys().cloned().collect())
    });
    &KEYS
}
