// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema of the scenario file, generated from its types.

use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::model::Scenario;

/// The schema (draft 2020-12), for editors and other programs.
pub fn json_schema() -> Schema {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Scenario>()
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
