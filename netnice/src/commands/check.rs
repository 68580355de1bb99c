// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice check`: what this kernel and this user can do.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use netnice_kernel::capability::{self, Findings, State};
use serde::Serialize;

use crate::{style, text};

const EXAMPLES: &str = "\
Examples:
  What can I do, and what could root:
      netnice check; sudo netnice check
  In a script:
      netnice check >/dev/null && netnice run -- make upload

Kernels:
  6.1    all commands (a control can set the pacing rate from 6.0 on)
  6.4    an upgrade replaces the control without a moment in which there is none

Exit code:
  0 if `netnice run` works for this user, else 1.";

/// Say what this kernel and user can do, and how to get what is missing.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    run_works: bool,
    capabilities: Vec<ToldCapability<'a>>,
}

#[derive(Serialize)]
struct ToldCapability<'a> {
    name: &'a str,
    state: &'static str,
    detail: &'a str,
}

/// Checks; fails if `netnice run` would.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let findings = capability::check();
    if arguments.json {
        text::print(&format!("{}\n", serde_json::to_string(&told(&findings))?))?;
    } else {
        text::print(&lines(&findings))?;
    }
    Ok(match findings.run_works {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn told(findings: &Findings) -> Told<'_> {
    let capabilities = findings.capabilities.iter();
    Told {
        run_works: findings.run_works,
        capabilities: capabilities
            .map(|capability| ToldCapability {
                name: capability.name,
                state: word(capability.state),
                detail: &capability.detail,
            })
            .collect(),
    }
}

fn lines(findings: &Findings) -> String {
    let names = findings
        .capabilities
        .iter()
        .map(|capability| capability.name.len());
    let width = names.max().unwrap_or(0);
    let mut lines = String::new();
    for capability in &findings.capabilities {
        let state = format!("{:<7}", word(capability.state));
        let state = match capability.state {
            State::Ok => style::good(state),
            State::Limited => style::attention(state),
            State::Missing => style::bad(state),
        };
        lines += &format!(
            "{:<width$}  {state}  {}\n",
            capability.name, capability.detail
        );
    }
    let works = if findings.run_works {
        "works"
    } else {
        "does not work"
    };
    lines + &format!("`netnice run` {works} for this user\n")
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "missing",
    }
}
