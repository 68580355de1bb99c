// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls by name.

use std::collections::BTreeMap;
use std::fmt;

use netnice_congestion::parameters::ControlParameters;
use netnice_congestion::registry::{ControlError, create, names};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Controls of Linux (net/ipv4/tcp_*.c) that are not simulated: a lab takes them where its kernel has them.
const KERNEL_CONTROLS: &[&str] = &[
    "bbr", "bic", "cdg", "dctcp", "htcp", "hybla", "illinois", "nv", "scalable", "veno",
    "westwood", "yeah",
];

/// A congestion control by its name, with parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct CongestionControl {
    /// Name.
    pub name: String,
    /// Parameters of that control.
    pub parameters: BTreeMap<String, Parameter>,
}

impl Default for CongestionControl {
    fn default() -> CongestionControl {
        CongestionControl {
            name: "reno".to_owned(),
            parameters: BTreeMap::new(),
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
        names().contains(&self.name.as_str())
    }

    /// An error where there is no such control, or it does not take these parameters.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in &self.parameters {
            if let Parameter::Text(text) = value {
                return Err(format!(
                    "{name} = \"{text}\" must be a number, true or false"
                ));
            }
        }
        if KERNEL_CONTROLS.contains(&self.name.as_str()) {
            return match self.parameters.keys().next() {
                None => Ok(()),
                Some(name) => Err(format!(
                    "takes no parameter `{name}`: `{}` is a control of the kernel, and has none",
                    self.name
                )),
            };
        }
        match create(&self.name, &self.control_parameters()) {
            Ok(_) => Ok(()),
            Err(ControlError::UnknownControl { name }) => Err(format!(
                "there is no congestion control `{name}`; {}",
                crate::did_you_mean::among(&name, names().iter().chain(KERNEL_CONTROLS).copied())
            )),
            Err(error) => Err(error.to_string()),
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
                Ok(CongestionControl { name, parameters })
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

/// A name, or a table of the name and parameters of that control.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The congestion control of a TCP flow: a name, or a table of `name` and its parameters",
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"enum": names().iter().chain(KERNEL_CONTROLS).collect::<Vec<_>>()}},
                "additionalProperties": {"type": ["number", "boolean", "string"]},
            },
        ]
    })
}
