// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colours, on a terminal only.

use std::fmt::Display;
use std::io::IsTerminal;

/// Highlights an urgent message on stderr.
pub fn alarm(text: impl Display) -> String {
    painted(text, "1;31", &std::io::stderr())
}

/// Highlights the heading of a table on stdout.
pub fn heading(text: impl Display) -> String {
    painted(text, "1", &std::io::stdout())
}

/// Colours a good result on stdout.
pub fn good(text: impl Display) -> String {
    painted(text, "32", &std::io::stdout())
}

/// Colours a notable result on stdout.
pub fn attention(text: impl Display) -> String {
    painted(text, "33", &std::io::stdout())
}

/// Colours a missing feature on stdout.
pub fn bad(text: impl Display) -> String {
    painted(text, "31", &std::io::stdout())
}

/// Returns true if stdout is a terminal.
pub fn on_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Colours text if it goes to a terminal and NO_COLOR is unset or empty (see <https://no-color.org>).
fn painted(text: impl Display, code: &str, to: &impl IsTerminal) -> String {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    match wanted && to.is_terminal() {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_string(),
    }
}
