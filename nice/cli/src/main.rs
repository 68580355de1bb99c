// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice`: low priority for network transfers.
// These macros panic on write errors; see `text`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod annotations;
mod clock_time;
mod commands;
mod figures;
mod foreground;
mod interpreter;
mod low_priority;
mod parameter_options;
mod presets;
mod sparkline;
mod transfer_log;
mod unprivileged;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use netnice_terminal::{failure, usage, write_signals};

/// Low priority for network transfers: they use only the bandwidth that others leave, and give way within a few round
/// trips.
///
/// A congestion control loaded into the kernel watches the one-way delay of each connection. As soon as others use the
/// line, the delay grows and the connection makes room; it fills an idle line. Nothing changes at the other end, in the
/// network, or in programs.
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
  The same for a running transfer:
      sudo netnice renice --pid 1234
  For a service, until it is detached or the system stops:
      sudo netnice attach backup.service
  Show all connections, updated each second:
      netnice status --watch
  Allow all users to use it without root, from now on:
      sudo netnice install

Exit codes:
  0 done, 1 failed, 2 wrong usage; `run` and `link` return that of the command.

Environment:
  NETNICE_LOG=1  print the log of libbpf and of the kernel's verifier after an
                 error";

fn main() -> ExitCode {
    write_signals::ignore();
    let netnice = match Netnice::try_parse() {
        Ok(netnice) => netnice,
        Err(error) => return usage::report(&error, &Netnice::command()),
    };
    netnice.command.run().unwrap_or_else(|error| {
        let log = error
            .downcast_ref::<netnice_kernel::Error>()
            .and_then(netnice_kernel::Error::log);
        failure::report(&error, &Netnice::command(), log)
    })
}

#[cfg(test)]
mod tests {
    use netnice_terminal::usage::one_line;

    use super::*;

    fn report(line: &str) -> String {
        let error = Netnice::try_parse_from(line.split(' ')).unwrap_err();
        one_line(&error, &Netnice::command(), line.split(' ').nth(1))
    }

    #[test]
    fn each_mistake_is_named_in_one_line() {
        for (line, expected) in [
            ("netnice rnu", "there are run, renice, "),
            ("netnice rnu", "see `netnice --help`"),
            ("netnice run --contrl netnice -- true", "--control"),
            ("netnice run --control vegas -- true", "netnice, tcplp"),
            ("netnice run --control ledbat++ -- true", "'ledbatpp'; see"),
            ("netnice run --delta 7 -- true", "0.001 to 1"),
            ("netnice run --delta much -- true", "0.001 to 1"),
            ("netnice run --threshold 2 -- true", "2ms"),
            ("netnice run --threshold 5s -- true", "100us to 1s"),
            ("netnice run --inference-rtts 0 -- true", "1 to 100"),
            ("netnice run --target 2 -- true", "10mbit"),
            ("netnice run --policy 3 -- true", "give 1 or 2"),
            ("netnice run --c much -- true", "`classes`"),
            ("netnice run", "<COMMAND>"),
            ("netnice run", "see `netnice run --help`"),
            ("netnice run --delta 7 -- true", "see `netnice run --help`"),
            (
                "netnice run --inference-rtts -1 -- true",
                "argument '-1' found; see `netnice",
            ),
            ("netnice renice", "<PID>"),
            ("netnice renice --pid init", "init"),
            ("netnice attach", "<CGROUP|UNIT|NAME>"),
        ] {
            let report = report(line);
            assert!(report.contains(expected), "{line}: {report}");
            assert!(!report.contains('\n'), "{line}: {report}");
        }
    }
}
