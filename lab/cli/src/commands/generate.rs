// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice-lab generate`: the files that a package needs beside the program.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};

use crate::Lab;

/// Write man pages and completions, for packagers.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write to man/ and completions/ below this directory, which is created if missing
    directory: PathBuf,
}

/// Writes the files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    netnice_terminal::generate::write(&Lab::command(), &arguments.directory)?;
    Ok(ExitCode::SUCCESS)
}
