// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice register`: loads everything and keeps it registered, for use at boot.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use netnice_kernel::attachment::Attacher;
use netnice_kernel::control::Control;
use netnice_kernel::pins::Pins;

use crate::low_priority;

/// Register the controls until `netnice unregister`, or until the system stops.
#[derive(Debug, Args)]
pub struct Arguments {}

/// Registers.
pub fn run(_: &Arguments) -> Result<ExitCode> {
    register()?;
    Ok(ExitCode::SUCCESS)
}

/// Loads the controls and the programs for cgroups, and keeps them registered.
pub(super) fn register() -> Result<()> {
    let pins = Pins::open()?;
    for control in Control::all() {
        control.register(&pins)?;
    }
    Attacher::open(&pins)?;
    if let Err(error) = Attacher::load_receiving(&pins) {
        low_priority::say_not_received(&error.to_string());
    }
    pins.set_installed(true)?;
    pins.close()?;
    Ok(())
}
