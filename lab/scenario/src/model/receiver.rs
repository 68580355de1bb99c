// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control of the window that the receiver of a flow advertises.

use netnice_congestion::receivers::{self, ReceiverError, Wanted};
use netnice_parameters::policies::called_here;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::CongestionControl;
use super::congestion_control::table_schema;

/// A receiver that advertises what it has room for.
const PLAIN: &str = "plain";

/// Names that `receiver` takes.
fn names() -> impl Iterator<Item = &'static str> + Clone {
    receivers::names().iter().copied().chain([PLAIN])
}

/// How the receiver of a TCP flow controls the window that it advertises.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReceiverControl(Option<CongestionControl>);

impl ReceiverControl {
    /// The control that gives the flow low priority from its receiving end; `None` for a receiver that advertises what it
    /// has room for.
    pub fn at_low_priority(&self) -> Option<&CongestionControl> {
        self.0.as_ref()
    }

    /// A kernel has it as well, or the receiver advertises what it has room for.
    pub fn is_in_kernel(&self) -> bool {
        let control = self.0.as_ref();
        control.is_none_or(|control| receivers::is_in_kernel(&control.name))
    }

    /// Names that `receiver` takes on a kernel.
    pub fn names_in_kernel() -> impl Iterator<Item = &'static str> {
        names().filter(|name| *name == PLAIN || receivers::is_in_kernel(name))
    }

    /// The control as the crate of controls has it; `None` for a receiver that advertises what it has room for.
    ///
    /// # Errors
    /// If there is no such control, or it does not take these parameters.
    pub fn wanted(&self) -> Result<Option<Wanted>, ReceiverError> {
        let control = self.0.as_ref();
        control
            .map(|control| receivers::wanted(&control.name, &control.control_parameters()))
            .transpose()
    }

    /// An error if there is no such control, or it does not take these parameters: the parameter, if one is wrong, and the
    /// message.
    pub(crate) fn check(&self) -> Result<(), (Option<String>, String)> {
        let Some(control) = &self.0 else {
            return Ok(());
        };
        if control.name == PLAIN {
            // Only one with parameters is kept by that name.
            let parameter = control.parameters.keys().next().cloned();
            return Err((parameter, format!("receiver {PLAIN} takes no parameters")));
        }
        control.refuse_texts()?;
        match self.wanted() {
            Ok(_) => Ok(()),
            Err(ReceiverError::Unknown { name }) => {
                let ours = called_here(&name).filter(|ours| names().any(|name| name == *ours));
                let allowed = match ours {
                    Some(ours) => format!("it is called `{ours}` here"),
                    None => crate::did_you_mean::among(&name, names()),
                };
                let message =
                    format!("no control `{name}` works from the receiving end; {allowed}");
                Err((None, message))
            }
            Err(ReceiverError::Parameter(error)) => {
                Err((Some(error.parameter().to_owned()), error.to_string()))
            }
        }
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
        let mut forms = vec![
            json!({"enum": names().collect::<Vec<_>>()}),
            json!({"type": "string", "pattern": r"^\$\w+$"}),
        ];
        forms.extend(
            receivers::names()
                .iter()
                .map(|name| table_schema(name, receivers::parameters(name))),
        );
        json_schema!({
            "description": "The control of the advertised window: a name, or a table of `name` and its parameters",
            "anyOf": forms,
        })
    }
}
