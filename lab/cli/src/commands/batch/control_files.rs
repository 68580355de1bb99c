// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--control-file`: congestion controls in C files for the flows of a scenario.

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use netnice_scenario::ScenarioFile;
use netnice_scenario::model::Transport;

/// Returns the settings that give flows the controls in these files.
pub(super) fn settings(file: &ScenarioFile, given: &[String]) -> Result<Vec<(String, String)>> {
    let flows = || {
        let flows = file.scenario().flows.iter();
        flows.filter(|flow| flow.transport == Transport::Tcp)
    };
    let mut settings = Vec::new();
    for word in given {
        let (of, path) = match word.split_once('=') {
            Some((of, path)) => (Some(of), path),
            None => (None, word.as_str()),
        };
        // The scenario's own paths begin at its directory, those of the command line here.
        let path = std::path::absolute(path).with_context(|| path.to_owned())?;
        let path = path
            .to_str()
            .context("--control-file: the path is no UTF-8")?;
        let before = settings.len();
        for flow in flows().filter(|flow| of.is_none_or(|of| flow.name == of)) {
            let key = format!("flows.{}.congestion_control", flow.name);
            settings.retain(|(other, _)| *other != key);
            settings.push((key, format!("{path:?}")));
        }
        if settings.len() == before && of.is_some() {
            let names: Vec<&str> = flows().map(|flow| flow.name.as_str()).collect();
            let of = of.unwrap_or_default();
            let message = format!(
                "--control-file {word}: there are no flows `{of}` over TCP; there are {}\n",
                names.join(", ")
            );
            return Err(clap::Error::raw(ErrorKind::ValueValidation, message).into());
        }
    }
    Ok(settings)
}
