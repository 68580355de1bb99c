// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use netnice_congestion::control_file::ControlFile;
use netnice_congestion::registry::{ControlError, create, names};
use netnice_parameters::policies::called_here;
use netnice_parameters::{self as parameters, ControlParameters, Kind, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

/// Controls of Linux (net/ipv4/tcp_*.c) that are not simulated: a lab takes them where its kernel has them.
const KERNEL_CONTROLS: &[&str] = &[
    "bic", "cdg", "htcp", "hybla", "illinois", "nv", "scalable", "veno", "westwood", "yeah",
];

/// A congestion control by its name, with parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct CongestionControl {
    /// Name.
    pub name: String,
    /// Parameters of that control.
    pub parameters: BTreeMap<String, Parameter>,
    /// The control, where the name is that of a C file; filled in when the scenario is read.
    pub file: Option<Arc<ControlFile>>,
}

impl Default for CongestionControl {
    fn default() -> CongestionControl {
        CongestionControl {
            name: "reno".to_owned(),
            parameters: BTreeMap::new(),
            file: None,
        }
    }
}

impl CongestionControl {
    /// The parameters as `netnice_congestion::registry::create` takes them. Texts are left out: no control takes one, and
    /// [`CongestionControl::check`] refuses them.
    pub fn control_parameters(&self) -> ControlParameters {
        let mut parameters = ControlParameters::new();
        for (name, value) in &self.parameters {
            match value {
                Parameter::Switch(switch) => parameters.set(name, *switch),
                Parameter::Number(number) => parameters.set(name, *number),
                Parameter::Text(_) => {}
            }
        }
        parameters
    }

    /// The simulator has it.
    pub fn is_simulated(&self) -> bool {
        self.is_file() || names().contains(&self.name.as_str())
    }

    /// The name is that of a C file: names of controls have neither a slash nor a dot.
    pub fn is_file(&self) -> bool {
        self.name.contains('/') || self.name.ends_with(".h")
    }

    /// An error where a parameter is a text: the parameter, and the message.
    pub(super) fn refuse_texts(&self) -> Result<(), (Option<String>, String)> {
        for (name, value) in &self.parameters {
            if let Parameter::Text(text) = value {
                let row = parameters::of(&self.name).find(|row| row.name == name);
                let allowed = row.map_or("a number, true or false".to_owned(), |row| row.allowed());
                let message = format!("\"{text}\" is text; {name} is {allowed}");
                return Err((Some(name.clone()), message));
            }
        }
        Ok(())
    }

    /// Checks the name and the parameters.
    ///
    /// # Errors
    /// If there is no such control, or if it does not take these parameters: the parameter, where one is wrong, and the message.
    pub fn check(&self) -> Result<(), (Option<String>, String)> {
        let refuse_all = |what: &str, why: &str| match self.parameters.keys().next() {
            None => Ok(()),
            Some(parameter) => Err((
                Some(parameter.clone()),
                format!(
                    "{what} {} takes no parameters: {why} leave `{parameter}` out",
                    self.name
                ),
            )),
        };
        if self.is_file() {
            return refuse_all("the control in", "change the file, or");
        }
        self.refuse_texts()?;
        if KERNEL_CONTROLS.contains(&self.name.as_str()) {
            return refuse_all("congestion control", "it is the kernel's;");
        }
        match create(&self.name, &self.control_parameters()) {
            Ok(_) => Ok(()),
            Err(ControlError::UnknownControl { name }) => {
                let allowed = match called_here(&name) {
                    Some(ours) => format!("it is called `{ours}` here"),
                    None => format!(
                        "{}, or a C file such as ./mine.h; in a lab also its kernel's, such as {}",
                        crate::did_you_mean::among(&name, names().iter().copied()),
                        KERNEL_CONTROLS.join(", ")
                    ),
                };
                let message = format!("there is no congestion control `{name}`; {allowed}");
                Err((None, message))
            }
            Err(ControlError::Parameter(error)) => {
                Err((Some(error.parameter().to_owned()), error.to_string()))
            }
        }
    }
}

impl<'de> Deserialize<'de> for CongestionControl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CongestionControl, D::Error> {
        struct ControlVisitor;
        impl<'de> Visitor<'de> for ControlVisitor {
            type Value = CongestionControl;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name such as \"reno\", or a table of name and parameters")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<CongestionControl, A::Error> {
                let mut name = None;
                let mut parameters = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "name" => name = Some(map.next_value()?),
                        _ => {
                            parameters.insert(key, map.next_value()?);
                        }
                    }
                }
                let name = name.ok_or_else(|| A::Error::missing_field("name"))?;
                Ok(CongestionControl {
                    name,
                    parameters,
                    file: None,
                })
            }
        }
        deserializer.deserialize_map(ControlVisitor)
    }
}

/// A value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Parameter {
    /// Yes or no.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A text, such as a time with its unit.
    Text(String),
}

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parameter, D::Error> {
        struct ParameterVisitor;
        impl Visitor<'_> for ParameterVisitor {
            type Value = Parameter;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, true, false, or a text in quotes")
            }

            fn visit_bool<E: Error>(self, switch: bool) -> Result<Parameter, E> {
                Ok(Parameter::Switch(switch))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Parameter, E> {
                Ok(Parameter::Number(number as f64))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Parameter, E> {
                Ok(Parameter::Number(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Parameter, E> {
                Ok(Parameter::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(ParameterVisitor)
    }
}

/// A name, or a table of the name and parameters of that control. Wherever a value may stand, so may `"$parameter"`.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    let names = || names().iter().chain(KERNEL_CONTROLS);
    let inserted = r"^\$\w+$";
    let file = r"/|\.h$";
    let mut forms = vec![
        json!({"enum": names().collect::<Vec<_>>()}),
        json!({"type": "string", "pattern": inserted}),
        json!({"type": "string", "pattern": file, "description": "A congestion control in a C file"}),
        json!({
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "pattern": inserted}},
            "additionalProperties": {"type": ["number", "boolean", "string"]},
        }),
    ];
    forms.extend(names().map(|name| table_schema(name, parameters::of(name))));
    json_schema!({
        "description": "The congestion control of a TCP flow: a name, or a table of `name` and its parameters",
        "anyOf": forms,
    })
}

/// The schema of a table that names a control and sets these parameters of it.
pub(super) fn table_schema(
    name: &str,
    rows: impl Iterator<Item = &'static parameters::Parameter>,
) -> serde_json::Value {
    let mut properties = serde_json::Map::from_iter([("name".to_owned(), json!({"const": name}))]);
    properties.extend(rows.map(|row| (row.name.to_owned(), schema_of(row))));
    json!({
        "type": "object",
        "required": ["name"],
        "properties": properties,
        "additionalProperties": false,
    })
}

/// The values of a parameter of a control.
fn schema_of(row: &parameters::Parameter) -> serde_json::Value {
    let description = match row.unit.name() {
        "" => row.help.to_owned(),
        unit => format!("{}, in {unit}", row.help),
    };
    let value = match row.kind {
        Kind::Switch { .. } => json!({"type": "boolean"}),
        Kind::Whole { least, most, .. } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Kind::Number { least, most, .. } => {
            json!({"type": "number", "minimum": least, "maximum": most})
        }
    };
    let default = match row.kind.default() {
        Value::Switch(on) => json!(on),
        Value::Number(number) => json!(number),
    };
    json!({
        "description": description,
        "default": default,
        "anyOf": [value, {"type": "string", "pattern": r"^\$\w+$"}],
    })
}
