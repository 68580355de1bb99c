// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema of the scenario file, generated from its types.

use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::model::Scenario;
use crate::parse::{NONE, UNDONE_BY_NONE};

/// The schema (draft 2020-12), for editors and other programs.
pub fn json_schema() -> Schema {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>();
    for (list, fields) in UNDONE_BY_NONE {
        let named = format!("/properties/{list}/items/$ref");
        let name = schema.pointer(&named).and_then(Value::as_str);
        let path = name.map(|name| format!("{}/properties", name.trim_start_matches('#')));
        let properties = path.and_then(|path| schema.pointer_mut(&path)?.as_object_mut());
        for (field, property) in properties.into_iter().flatten() {
            if fields.contains(&field.as_str()) {
                *property = json!({"anyOf": [property.take(), {"const": NONE}]});
            }
        }
    }
    schema
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
