// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice uninstall`: undoes `netnice install`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use netnice_kernel::need_root;

use netnice_terminal::text;

use super::install::{program, refuse_packaged, remove_program, remove_unit};
use super::unregister::{detach_all, unregister};

const EXAMPLES: &str = "\
Example:
  sudo netnice uninstall

Effects:
  Detaches all cgroups, including those of `attach --persist`, removes the systemd unit and the program, and takes the \
  controls out of the kernel. Commands under `netnice run` and open connections keep their controls until they end.";

/// Undo `netnice install`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Directory of the installation
    #[arg(long, default_value = "/usr/local", value_name = "DIRECTORY")]
    prefix: PathBuf,
}

/// Uninstalls, and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("uninstall")?;
    let program = program(&arguments.prefix)?;
    refuse_packaged()?;
    detach_all()?;
    remove_unit()?;
    remove_program(&program)?;
    if unregister()? {
        text::print_line("netnice: uninstalled")?;
    } else {
        text::print_line(
            "netnice: uninstalled; commands that run keep their low priority until they end",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
