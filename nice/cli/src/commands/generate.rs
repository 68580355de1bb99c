// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice generate`: the files that a package needs beside the program, all from the program's own definitions.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use netnice_terminal::generate;

use super::install;
use crate::Netnice;

/// Write man pages, completions and the unit of systemd, for packagers.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write to man/, completions/ and systemd/ below this directory, which is made
    directory: PathBuf,
    /// The program is called in bin below this directory
    #[arg(long, default_value = "/usr", value_name = "DIRECTORY")]
    prefix: PathBuf,
}

/// Writes the files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = install::program(&arguments.prefix)?;
    generate::write(&Netnice::command(), &arguments.directory)?;
    let unit = generate::below(&arguments.directory, "systemd")?.join(install::UNIT_NAME);
    fs::write(&unit, install::unit(&program))
        .with_context(|| format!("writing {}", unit.display()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_command_has_a_man_page_and_completions() {
        let directory = tempfile::tempdir().unwrap();
        let arguments = Arguments {
            directory: directory.path().to_owned(),
            prefix: "/usr".into(),
        };
        run(&arguments).unwrap();
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        let completions = read("completions/netnice.bash");
        for command in Netnice::command().get_subcommands() {
            let name = command.get_name();
            let page = directory.path().join(format!("man/netnice-{name}.1"));
            assert_eq!(page.exists(), !command.is_hide_set(), "{name}");
            if !command.is_hide_set() {
                assert!(completions.contains(name), "{name}");
            }
        }
        assert!(read("man/netnice-run.1").contains("control"));
        assert!(read("systemd/netnice.service").contains("\"/usr/bin/netnice\" register"));
    }
}
