// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice unregister`: undoes `netnice register`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use netnice_kernel::pins::Pins;

/// Take the controls out of the kernel as soon as nothing needs them.
#[derive(Debug, Args)]
pub struct Arguments {}

/// Unregisters.
pub fn run(_: &Arguments) -> Result<ExitCode> {
    unregister()?;
    Ok(ExitCode::SUCCESS)
}

/// Clears all that no cgroup needs; returns true if that was everything.
pub(super) fn unregister() -> Result<bool> {
    let pins = Pins::open()?;
    pins.set_installed(false)?;
    Ok(pins.close()?)
}
