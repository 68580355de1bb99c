// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice unregister`: undoes `netnice register`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use netnice_kernel::pins::Pins;
use netnice_kernel::{attach, promise, systemd};

use super::apply::record;

/// Take the controls out of the kernel as soon as nothing needs them.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Detach all cgroups first, including those of `attach --persist`; for the removal of a package
    #[arg(long)]
    detach: bool,
}

/// Unregisters.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.detach {
        detach_all()?;
    }
    unregister()?;
    Ok(ExitCode::SUCCESS)
}

/// Detaches all cgroups, and removes the drop-ins of `attach --persist` and the records of transfers with a deadline.
pub(super) fn detach_all() -> Result<()> {
    for path in attach::attached() {
        attach::detach(&attach::find(&path)?)?;
    }
    for path in attach::lost() {
        attach::forget(&path)?;
    }
    systemd::forget_all()?;
    promise::forget_transfers();
    record::remove()
}

/// Clears all that no cgroup needs; returns true if that was everything.
pub(super) fn unregister() -> Result<bool> {
    let pins = Pins::open()?;
    pins.set_installed(false)?;
    Ok(pins.close()?)
}
