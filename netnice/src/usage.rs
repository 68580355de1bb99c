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

/// Returns clap's message without its layout: the error, the tips, and the command whose help to read.
fn one_line(error: &clap::Error, netnice: &Command, command: Option<&str>) -> String {
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

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::one_line;
    use crate::Netnice;

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
            ("netnice renice", "--pid"),
            ("netnice renice --pid init", "init"),
            ("netnice attach", "<CGROUP|UNIT|NAME>"),
        ] {
            let report = report(line);
            assert!(report.contains(expected), "{line}: {report}");
            assert!(!report.contains('\n'), "{line}: {report}");
        }
    }
}
