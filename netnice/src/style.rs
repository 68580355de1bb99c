// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colours, on a terminal only.

use std::fmt::Display;
use std::io::IsTerminal;

/// For what must not be overlooked on stderr.
pub fn alarm(text: impl Display) -> String {
    painted(text, "1;31", &std::io::stderr())
}

/// For the heading of a table on stdout.
pub fn heading(text: impl Display) -> String {
    painted(text, "1", &std::io::stdout())
}

/// For what is as it should be, on stdout.
pub fn good(text: impl Display) -> String {
    painted(text, "32", &std::io::stdout())
}

/// For what is worth a look, on stdout.
pub fn attention(text: impl Display) -> String {
    painted(text, "33", &std::io::stdout())
}

/// For what is missing, on stdout.
pub fn bad(text: impl Display) -> String {
    painted(text, "31", &std::io::stdout())
}

/// Whether stdout is a terminal.
pub fn on_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Colours only for a terminal, and unless somebody asked for none (see <https://no-color.org>).
fn painted(text: impl Display, code: &str, to: &impl IsTerminal) -> String {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    match wanted && to.is_terminal() {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_string(),
    }
}
