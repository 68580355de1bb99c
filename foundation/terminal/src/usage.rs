// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wrong usage, reported in one line.

use std::process::ExitCode;

use clap::Command;
use clap::error::ErrorKind;

use crate::text::say;

/// Reports what is wrong and where to read more; prints help and version unchanged.
pub fn report(error: &clap::Error, netnice: &Command) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that has seen enough closes the pipe.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            let arguments: Vec<_> = std::env::args_os().collect();
            let command = arguments.get(1).and_then(|argument| argument.to_str());
            say!("netnice: {}", one_line(error, netnice, command));
            ExitCode::from(2)
        }
    }
}

/// Returns clap's message without its layout: the error, the tips, and the command whose help to read. `command` is the
/// first argument, as a command of `netnice`.
pub fn one_line(error: &clap::Error, netnice: &Command, command: Option<&str>) -> String {
    let mut parts = Vec::new();
    for paragraph in error.render().to_string().split("\n\n") {
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        // Following the tip for a value with a minus sign would make the value a command.
        let layout = ["Usage: ", "For more information", "tip: to pass '"];
        if text.is_empty() || layout.iter().any(|layout| text.starts_with(layout)) {
            continue;
        }
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        parts.push(text.strip_prefix("tip: ").unwrap_or(text).to_owned());
    }
    let known = netnice
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let known: Vec<&str> = known.map(|command| command.get_name()).collect();
    if error.kind() == ErrorKind::InvalidSubcommand {
        parts.push(format!("there are {}", known.join(", ")));
    }
    let command = command.filter(|command| known.contains(command));
    let command = command.map_or(String::new(), |command| format!(" {command}"));
    format!("{}; see `netnice{command} --help`", parts.join("; "))
}
