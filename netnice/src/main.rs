// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice`: low priority for network transfers.
// These macros panic on write errors; see `text`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod allocator;
mod annotations;
mod commands;
mod figures;
mod foreground;
mod interpreter;
mod leftovers;
mod low_priority;
mod parameter_options;
mod presets;
mod signals;
mod sparkline;
mod style;
mod text;
mod transfer_log;
mod unprivileged;
mod usage;
mod write_signals;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use text::say;

/// Low priority for network transfers: they take what others leave, and give way within a
/// round-trip time or two.
///
/// A congestion control loaded into the kernel watches the one-way delay of each connection. As
/// soon as others use the line the delay grows, and the connection makes room; when the line is
/// idle it fills it. Nothing has to be changed at the other end, in the network, or in programs.
#[derive(Debug, Parser)]
#[command(name = "netnice", version, after_long_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Netnice {
    #[command(subcommand)]
    command: commands::Command,
}

const EXAMPLES: &str = "\
Examples:
  See what it does, on an emulated link, in two minutes:
      sudo netnice demo
  Upload a backup without anybody noticing:
      sudo netnice run -- rsync -a photos/ backup.example.org:photos/
  The same for a transfer that runs already:
      sudo netnice renice --pid 1234
  For a service, until it is detached or the system stops:
      sudo netnice attach backup.service
  Show all connections, updated each second:
      netnice status --watch
  Use by everybody, without root, from now on:
      sudo netnice install

Exit codes:
  0 done, 1 failed, 2 wrong usage; `run` and `link` have that of the command.

Environment:
  NETNICE_LOG=1  print the log of libbpf and of the kernel's verifier after an
                 error";

fn main() -> ExitCode {
    write_signals::ignore();
    let netnice = match Netnice::try_parse() {
        Ok(netnice) => netnice,
        Err(error) => return usage::report(&error, &Netnice::command()),
    };
    match netnice.command.run() {
        Ok(code) => code,
        Err(error) => {
            if let Some(usage) = error.downcast_ref() {
                return usage::report(usage, &Netnice::command());
            }
            // The line includes the causes of the error.
            say!("netnice: {error:#}");
            let log = error
                .downcast_ref::<netnice_kernel::Error>()
                .and_then(netnice_kernel::Error::log);
            if let Some(log) = log.filter(|_| std::env::var_os("NETNICE_LOG").is_some()) {
                say!("{log}");
            }
            ExitCode::FAILURE
        }
    }
}
