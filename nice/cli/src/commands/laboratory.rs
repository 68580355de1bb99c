// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands of the laboratory, which are in a program of their own beside this one: `netnice-lab`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

/// The program that has these commands.
const PROGRAM: &str = "netnice-lab";

macro_rules! commands {
    ($($(#[$help:meta])* $name:ident = $word:literal,)*) => {
        /// The commands of the laboratory.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$help])* #[command(disable_help_flag = true)] $name(Passed),)*
        }

        impl Command {
            fn passed(&self) -> (&'static str, &[OsString]) {
                match self {
                    $(Self::$name(passed) => ($word, &passed.arguments),)*
                }
            }
        }
    };
}

commands! {
    /// Simulate a scenario packet by packet (needs netnice-lab)
    Sim = "sim",
    /// Run a scenario on this kernel: real TCP over an emulated network (needs netnice-lab)
    Lab = "lab",
    /// Compare two sets of results: sim and lab, or two versions (needs netnice-lab)
    Compare = "compare",
    /// Reproduce the tables and figures of the papers, with a verdict for each value (needs netnice-lab)
    Reproduce = "reproduce",
    /// Judge congestion controls on many paths, with many rivals (needs netnice-lab)
    Judge = "judge",
}

/// Arguments for the other program, `--help` among them.
#[derive(Debug, Args)]
pub struct Passed {
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Becomes the laboratory's program with this command.
pub fn run(command: &Command) -> Result<ExitCode> {
    let (name, arguments) = command.passed();
    pass(name, arguments)
}

/// Becomes the laboratory's program with the command `name`.
pub fn pass(name: &str, arguments: &[OsString]) -> Result<ExitCode> {
    let program = program()?;
    let mut becoming = process::Command::new(&program);
    becoming.arg(name).args(arguments);
    netnice_terminal::write_signals::restore().context("restoring SIGPIPE and SIGXFSZ")?;
    Err(becoming.exec()).with_context(|| format!("running {}", program.display()))
}

/// Returns true if the laboratory's program is there.
pub fn is_installed() -> bool {
    program().is_ok()
}

/// Finds the program beside this one, and nowhere else: root must not run what a variable or a directory of others names.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding this program's directory")?;
    let program = own.parent().unwrap_or(Path::new("/")).join(PROGRAM);
    if !program.is_file() {
        bail!(
            "this command is part of {PROGRAM}, and there is no {}: install the package {PROGRAM}",
            program.display()
        );
    }
    Ok(program)
}
