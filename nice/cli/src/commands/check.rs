// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice check`: what this kernel permits this user.

use std::fs;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use netnice_kernel::diagnostics::{self, Capability, Findings, Standing, State};
use netnice_link::EmulatedLink;
use serde::Serialize;

use super::demo;
use super::laboratory;
use super::version::Version;
use netnice_terminal::{style, text};

const EXAMPLES: &str = "\
Examples:
  Check as the current user, and as root:
      netnice check; sudo netnice check
  In a script, find out whether a command works:
      netnice check --json | jq -e '.commands[] | select(.command == \"run\").state == \"works\"'

  For a bug report, with the build, the system and the kernel:
      sudo netnice check --report

Kernels:
  netnice tries each feature, or finds it in the kernel's types (BTF), so that it also finds features that a \
  distribution has backported.
  5.10   as root, for sent data: the other controls (--control); netnice sets the pacing rate, which needs 6.0
  6.1    all commands
  6.4    an upgrade replaces the control without a gap
  6.6    netnice can close the windows of many downloads at once, and governs uTP

Exit code:
  0 if the kernel supports every command that this user may call, else 1. For users other than root, commands that \
  only root may call do not count. The programs that `demo` needs never count.";

/// Show what this kernel and user can do, and how to get missing features.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Also print the version, the distribution, the kernel and the registered controls
    #[arg(long, conflicts_with = "json")]
    report: bool,
}

#[derive(Serialize)]
struct JsonReport<'a> {
    run_works: bool,
    capabilities: Vec<CapabilityReport<'a>>,
    commands: Vec<CommandReport<'a>>,
}

#[derive(Serialize)]
struct CapabilityReport<'a> {
    name: &'a str,
    state: &'static str,
    detail: &'a str,
}

#[derive(Serialize)]
struct CommandReport<'a> {
    command: &'a str,
    state: &'static str,
    reason: Option<&'a str>,
}

/// Checks; fails if a command does not work.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut findings = diagnostics::check();
    add_commands(&mut findings);
    if arguments.json {
        text::print(&format!(
            "{}\n",
            serde_json::to_string(&json_report(&findings))?
        ))?;
    } else {
        let report = if arguments.report {
            report()?
        } else {
            String::new()
        };
        text::print(&format!("{report}{}", lines(&findings)))?;
    }
    let mut standings = findings.commands.iter().map(|(_, standing)| standing);
    Ok(
        match standings.any(|standing| matches!(standing, Standing::Fails(_))) {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        },
    )
}

/// Adds the commands that emulate a link, those that build on others, and those that need nothing of the kernel.
fn add_commands(findings: &mut Findings) {
    let root = nix::unistd::geteuid().is_root();
    let tried = match root {
        true => EmulatedLink::check().map_err(|error| format!("emulated link: {error}")),
        false => Ok(()),
    };
    let (state, detail) = match &tried {
        Ok(()) if root => (
            State::Ok,
            "network namespaces and TUN devices can be made".into(),
        ),
        Ok(()) => (State::Limited, "used by root only".into()),
        Err(reason) => (State::Missing, reason.clone()),
    };
    findings.capabilities.push(Capability {
        name: "emulated link",
        state,
        detail,
    });
    let standing = |name: &str| {
        let mut commands = findings.commands.iter();
        let found = commands.find(|(command, _)| *command == name);
        found.map_or(Standing::Works, |(_, standing)| standing.clone())
    };
    let (run, attach, status) = (standing("run"), standing("attach"), standing("status"));
    let programs = demo::check_programs().map_err(|error| error.to_string());
    let link = match (root, tried) {
        (false, _) => Standing::NeedsRoot,
        (true, Ok(())) => Standing::Works,
        (true, Err(reason)) => Standing::Fails(reason),
    };
    let demo = match (&link, run, programs) {
        (Standing::Works, Standing::Works, Err(reason)) => Standing::NeedsPrograms(reason),
        (Standing::Works, run, _) => run,
        (link, _, _) => link.clone(),
    };
    let laboratory = match laboratory::is_installed() {
        true => Standing::Works,
        false => needs_laboratory(),
    };
    let lab = match &laboratory {
        Standing::Works => link.clone(),
        missing => missing.clone(),
    };
    findings.commands.extend([
        ("link", link),
        ("lab", lab),
        ("demo", demo),
        ("apply", attach.clone()),
        ("oci-hook", attach.clone()),
        ("nri", attach.clone()),
        ("probe", attach),
        ("exporter", status),
        ("plot", Standing::Works),
        ("sim", laboratory.clone()),
        ("compare", laboratory.clone()),
        ("reproduce", laboratory.clone()),
        ("judge", laboratory),
    ]);
}

/// The standing of the laboratory's commands where its program is not next to this one.
fn needs_laboratory() -> Standing {
    Standing::NeedsPrograms("install the package netnice-lab".into())
}

/// Returns what a report of a mistake needs beside the findings. Files that cannot be read are left out.
fn report() -> Result<String> {
    let mut lines = Version::read()?.lines();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let distribution = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned());
    let read = |path: &str| Some(fs::read_to_string(path).ok()?.trim_end().to_owned());
    let user = match nix::unistd::geteuid().is_root() {
        true => "root",
        false => "not root",
    };
    for (name, value) in [
        ("distribution", distribution),
        ("kernel", read("/proc/version")),
        (
            "congestion controls",
            read("/proc/sys/net/ipv4/tcp_available_congestion_control"),
        ),
        (
            "default control",
            read("/proc/sys/net/ipv4/tcp_congestion_control"),
        ),
        ("lockdown", read("/sys/kernel/security/lockdown")),
        ("user", Some(user.to_owned())),
    ] {
        if let Some(value) = value {
            lines += &format!("{name:<20} {value}\n");
        }
    }
    Ok(lines + "\n")
}

fn json_report(findings: &Findings) -> JsonReport<'_> {
    let capabilities = findings.capabilities.iter();
    let commands = findings.commands.iter();
    JsonReport {
        run_works: findings.run_works(),
        capabilities: capabilities
            .map(|capability| CapabilityReport {
                name: capability.name,
                state: word(capability.state),
                detail: &capability.detail,
            })
            .collect(),
        commands: commands
            .map(|(command, standing)| CommandReport {
                command,
                state: match standing {
                    Standing::Works => "works",
                    Standing::NeedsRoot => "needs root",
                    Standing::NeedsPrograms(_) => "needs programs",
                    Standing::Fails(_) => "fails",
                },
                reason: match standing {
                    Standing::Fails(reason) | Standing::NeedsPrograms(reason) => Some(reason),
                    Standing::Works | Standing::NeedsRoot => None,
                },
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
    let those = |wanted: &Standing| -> String {
        let commands = findings.commands.iter();
        let names = commands.filter(|(_, standing)| standing == wanted);
        names.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    for (heading, standing) in [
        ("works here", Standing::Works),
        ("needs root", Standing::NeedsRoot),
        ("needs the package netnice-lab", needs_laboratory()),
    ] {
        let names = those(&standing);
        if !names.is_empty() {
            lines += &format!("{heading}: {names}\n");
        }
    }
    let listed = needs_laboratory();
    let others = findings.commands.iter();
    for (command, standing) in others.filter(|(_, standing)| *standing != listed) {
        if let Standing::Fails(reason) = standing {
            let line = format!("`netnice {command}` does not work: {reason}");
            lines += &format!("{}\n", style::bad(line));
        }
        if let Standing::NeedsPrograms(reason) = standing {
            let line = format!("`netnice {command}` waits for programs: {reason}");
            lines += &format!("{}\n", style::attention(line));
        }
    }
    lines
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "missing",
    }
}
