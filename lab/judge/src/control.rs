// SPDX-License-Identifier: MIT OR Apache-2.0
//! A control under test: one that netnice or the kernel has, or one in a C file.

use std::path::{Path, PathBuf, absolute};

use netnice_scenario::model::CongestionControl;

use crate::error::{PlanError, at};

/// A control under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Name on the page and in names of files: that of the control, or that of the C file without its directory.
    pub name: String,
    /// Absolute path of the C file's directory; `None` for a control that is no file.
    pub directory: Option<PathBuf>,
}

impl Control {
    /// Returns the control of this name, which is no file's.
    pub fn named(name: &str) -> Control {
        Control {
            name: name.to_owned(),
            directory: None,
        }
    }

    /// Returns the control that a command line names: a control, or the path of a C file.
    ///
    /// # Errors
    /// If there is no such control, or if the file's name has other characters than letters, digits, `-`, `_` and `.`: it becomes part of names of
    /// scenarios and commands.
    pub(crate) fn given(given: &str) -> Result<Control, PlanError> {
        let written = CongestionControl {
            name: given.to_owned(),
            ..CongestionControl::default()
        };
        if !written.is_file() {
            let unknown = |(_, message)| PlanError::Control(message);
            written.check().map_err(unknown)?;
            return Ok(Control::named(given));
        }
        let path = absolute(given).map_err(at(Path::new(given)))?;
        let name = path.file_name().and_then(|name| name.to_str());
        let is_plain = |name: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            name.bytes().all(plain)
        };
        let name = name
            .filter(is_plain)
            .ok_or_else(|| PlanError::ControlName(given.to_owned()))?;
        Ok(Control {
            name: name.to_owned(),
            directory: path.parent().map(Path::to_owned),
        })
    }

    /// The value of `congestion_control` in a scenario file that is beside the control's file.
    pub(crate) fn in_scenario(&self) -> String {
        match self.directory {
            Some(_) => format!("./{}", self.name),
            None => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Control;

    #[test]
    fn an_unknown_control_is_named_without_a_file() {
        let error = Control::given("nosuch").unwrap_err().to_string();
        let expected = "there is no congestion control `nosuch`; allowed: reno, cubic";
        assert!(error.starts_with(expected), "{error}");
    }
}
