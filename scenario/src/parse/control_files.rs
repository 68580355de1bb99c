// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls in C files.

use std::path::Path;

use netnice_congestion::control_file::ControlFile;
use sha2::{Digest, Sha256};

use crate::input;
use crate::model::Scenario;
use crate::network::{Place, Problem};

/// Compiles and loads all controls that are given as files; their text goes into the hash.
pub(super) fn load_all(
    scenario: &mut Scenario,
    directory: Option<&Path>,
    hash: &mut Sha256,
) -> Result<(), Vec<Problem>> {
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        let control = &mut flow.congestion_control;
        if !control.is_file() || flow.count == Some(0) {
            continue;
        }
        let name = control.name.as_str();
        let place = Place::key("flows").at(index).at("congestion_control");
        let problem = |message: String| vec![place.problem(message)];
        let Some(directory) = directory else {
            return Err(problem(
                "a text without a place has no files beside it".to_owned(),
            ));
        };
        let path = directory.join(name);
        let text = input::read_regular(&path, input::CONTROL_BYTES)
            .map_err(|error| problem(format!("`{name}` cannot be read: {error}")))?;
        let text = String::from_utf8(text)
            .map_err(|_| problem(format!("`{name}` is no text in UTF-8")))?;
        hash.update([0]);
        hash.update(&text);
        let shown = path.display().to_string();
        let file = ControlFile::load(&shown, &text)
            .map_err(|error| problem(format!("`{name}` {error}")))?;
        control.file = Some(file);
    }
    Ok(())
}
