// SPDX-License-Identifier: MIT OR Apache-2.0
//! Man pages and completions, from a program's own definitions.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

/// Makes the directory `name` below `directory`.
///
/// # Errors
/// If it cannot be made.
pub fn below(directory: &Path, name: &str) -> Result<PathBuf> {
    let directory = directory.join(name);
    fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
    Ok(directory)
}

/// Writes a man page for the program and for each command that its help lists to man/ below `directory`, and completions
/// to completions/.
///
/// # Errors
/// If a file cannot be written.
pub fn write(program: &Command, directory: &Path) -> Result<()> {
    let man = below(directory, "man")?;
    // Without `help` as a command, whose page would say nothing.
    let command = program.clone().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &man)
        .with_context(|| format!("writing man pages to {}", man.display()))?;
    let completions = below(directory, "completions")?;
    let name = program.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        clap_complete::generate_to(shell, &mut program.clone(), &name, &completions)
            .with_context(|| format!("writing completions to {}", completions.display()))?;
    }
    Ok(())
}
