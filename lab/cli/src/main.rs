// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice-lab`: the laboratory. `netnice sim` and the like call it.
// These macros panic on write errors; see `netnice_terminal::text`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod allocator;
mod commands;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use netnice_terminal::{failure, usage, write_signals};

/// The laboratory of netnice: transports on simulated and emulated links, judged and compared.
///
/// `netnice sim`, `netnice lab`, `netnice compare`, `netnice judge` and `netnice reproduce` call these commands.
#[derive(Debug, Parser)]
// People call it as `netnice sim` and the like.
#[command(
    name = "netnice-lab",
    bin_name = "netnice",
    version,
    max_term_width = 100
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Lab {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    write_signals::ignore();
    let lab = match Lab::try_parse() {
        Ok(lab) => lab,
        Err(error) => return usage::report(&error, &Lab::command()),
    };
    lab.command.run().unwrap_or_else(|error| {
        let log = error
            .downcast_ref::<netnice_kernel::Error>()
            .and_then(netnice_kernel::Error::log);
        failure::report(&error, &Lab::command(), log)
    })
}
