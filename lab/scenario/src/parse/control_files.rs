// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls in C files.

use std::path::Path;

use netnice_congestion::control_file::ControlFile;
use sha2::{Digest, Sha256};

use crate::input;
use crate::model::Scenario;
use crate::network::{Place, Problem};

/// The C files that may be used as controls. They are code, which runs with the rights of whoever simulates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ControlFiles {
    /// Those that the settings name: whoever gives the settings has chosen them.
    #[default]
    OfSettings,
    /// Those that the scenario's text names as well.
    OfScenario,
    /// None is read: for a look at a scenario that is not run.
    Unread,
}

/// Compiles all controls that are given as files; their text goes into the hash. `is_setting` says of the name at a place
/// that it comes from the settings.
pub(super) fn load_all(
    scenario: &mut Scenario,
    directory: Option<&Path>,
    allowed: ControlFiles,
    is_setting: impl Fn(&Place) -> bool,
    hash: &mut Sha256,
) -> Result<(), Vec<Problem>> {
    if allowed == ControlFiles::Unread {
        return Ok(());
    }
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        let control = &mut flow.congestion_control;
        if !control.is_file() || flow.count == Some(0) {
            continue;
        }
        let name = control.name.as_str();
        let place = Place::key("flows").at(index).at("congestion_control");
        let problem = |message: String| vec![place.problem(message)];
        if allowed == ControlFiles::OfSettings && !is_setting(&place.at("name")) {
            return Err(problem(format!(
                "`{name}` is code, which would run with your rights: read it, then allow it by --allow-control-files (in Python \
                allow_control_files=True), or name it by --control-file"
            )));
        }
        let path = match directory {
            Some(directory) => directory.join(name),
            None if Path::new(name).is_absolute() => name.into(),
            None => {
                return Err(problem(format!(
                    "a text without a place has no files beside it: give the whole path of `{name}`"
                )));
            }
        };
        let text = input::read_regular(&path, input::CONTROL_BYTES)
            .map_err(|error| problem(format!("`{name}` cannot be read: {error}")))?;
        let text = String::from_utf8(text)
            .map_err(|_| problem(format!("`{name}` is no text in UTF-8")))?;
        hash.update([0]);
        hash.update(&text);
        let shown = path.display().to_string();
        let file = ControlFile::compile(&shown, &text)
            .map_err(|error| problem(format!("`{name}` {error}")))?;
        control.file = Some(file);
    }
    Ok(())
}
