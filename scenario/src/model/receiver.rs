// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control of the window that the receiver of a flow advertises.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::CongestionControl;
use super::congestion_control::table_schema;

/// A receiver that advertises what it has room for.
const PLAIN: &str = "plain";
/// The controls that work from the receiving end.
const AT_LOW_PRIORITY: [&str; 1] = ["netnice"];

/// How the receiver of a TCP flow controls the window that it advertises.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReceiverControl(Option<CongestionControl>);

impl ReceiverControl {
    /// The control that gives the flow low priority from its receiving end; `None` for a receiver that advertises what it
    /// has room for.
    pub fn at_low_priority(&self) -> Option<&CongestionControl> {
        self.0.as_ref()
    }

    /// An error if there is no such control, or it does not take these parameters: the parameter, if one is wrong, and the
    /// message.
    pub(crate) fn check(&self) -> Result<(), (Option<String>, String)> {
        let Some(control) = &self.0 else {
            return Ok(());
        };
        if AT_LOW_PRIORITY.contains(&control.name.as_str()) {
            return control.check();
        }
        if control.name == PLAIN {
            // Only one with parameters is kept by that name.
            let parameter = control.parameters.keys().next().cloned();
            return Err((parameter, format!("receiver {PLAIN} takes no parameters")));
        }
        let names = AT_LOW_PRIORITY.into_iter().chain([PLAIN]);
        let allowed = crate::did_you_mean::among(&control.name, names);
        let message = format!(
            "no control `{}` works from the receiving end; {allowed}",
            control.name
        );
        Err((None, message))
    }
}

impl<'de> Deserialize<'de> for ReceiverControl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ReceiverControl, D::Error> {
        let control = CongestionControl::deserialize(deserializer)?;
        let plain = control.name == PLAIN && control.parameters.is_empty();
        Ok(ReceiverControl((!plain).then_some(control)))
    }
}

impl JsonSchema for ReceiverControl {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReceiverControl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = AT_LOW_PRIORITY.into_iter().chain([PLAIN]);
        let mut forms = vec![
            json!({"enum": names.collect::<Vec<_>>()}),
            json!({"type": "string", "pattern": r"^\$\w+$"}),
        ];
        forms.extend(AT_LOW_PRIORITY.into_iter().map(table_schema));
        json_schema!({
            "description": "The control of the advertised window: a name, or a table of `name` and its parameters",
            "anyOf": forms,
        })
    }
}
