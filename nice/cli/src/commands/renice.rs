// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice renice`: gives low priority to a running process, or removes it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::error::ErrorKind;
use netnice_kernel::control::Control;
use netnice_kernel::process;
use netnice_kernel::renice::{self, Outcome};
use nix::unistd::{Pid, getsid};
use serde::Serialize;

use crate::low_priority::{self, LowPriority, standing};
use netnice_terminal::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  The transfer that is slowing everybody down:
      sudo netnice renice $(pgrep -o rsync)
  Back to best effort:
      sudo netnice renice 1234 --off

Scope:
  netnice governs the open TCP connections of the process and its children. As root it also governs later ones: it \
  moves the processes into a cgroup below their own, and back with --off. Without root it governs only open \
  connections of your own processes, and needs a registered control (`sudo netnice install`).";

/// Give low priority to the connections of a running process and its children.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The process
    #[arg(value_name = "PID", required_unless_present = "option_pid", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// The process, given as an option
    #[arg(id = "option_pid", long = "pid", value_name = "PID", conflicts_with = "pid", value_parser = clap::value_parser!(i32).range(1..))]
    option_pid: Option<i32>,
    /// Give best effort back: the control that the connections had before
    #[arg(long)]
    off: bool,
    /// Allow PID to be 1, or an ancestor of netnice (for example your login shell)
    #[arg(long)]
    yes: bool,
    /// Report the changes as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    low_priority: LowPriority,
}

impl Arguments {
    /// The process, of which clap has seen to it that there is one.
    fn pid(&self) -> i32 {
        self.pid.or(self.option_pid).unwrap_or_default()
    }
}

/// Changes the process and reports what changed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let (true, Some(option)) = (arguments.off, arguments.low_priority.given()) {
        let message =
            format!("--{option} has no effect with --off, which restores the earlier control\n");
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into());
    }
    let settings = arguments.low_priority.settings()?;
    if settings.floor() > 0 {
        let message = "--at-least is for a group of connections, and those of a process are none: use `netnice attach` of its cgroup \
                       or unit\n";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into());
    }
    if let Some(refusal) = refusal(arguments)? {
        say!("netnice: {refusal}");
        return Ok(ExitCode::from(2));
    }
    let outcome = match arguments.off {
        true => renice::unset(arguments.pid())?,
        false => renice::set(arguments.pid(), &settings)?,
    };
    let words = in_words(arguments, settings.control, &outcome);
    print_outcome(&outcome, arguments.json, &words)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the reason to refuse without `--yes`: the user's own session, or the whole machine, would get low priority.
fn refusal(arguments: &Arguments) -> Result<Option<String>> {
    if arguments.yes || arguments.off {
        return Ok(None);
    }
    let pid = arguments.pid();
    let family = process::with_descendants(pid)?;
    let own = std::process::id() as i32;
    let session = getsid(None).ok().map(Pid::as_raw);
    if pid != 1 && session != Some(pid) && !family.contains(&own) {
        return Ok(None);
    }
    let what = match pid {
        1 => "all processes of this machine descend from it".to_owned(),
        _ if session == Some(pid) => "it leads the session that this command belongs to".to_owned(),
        _ => "this command descends from it".to_owned(),
    };
    let name = process::name(pid).map_or_else(String::new, |name| format!(" ({name})"));
    Ok(Some(format!(
        "PID {pid}{name}: {what}, and it would get low priority with all of its {} descendants; choose another \
         process, or give --yes if that is meant",
        family.len() - 1,
    )))
}

/// Reports what changed, also for `attach` and `detach`: in words, or as JSON.
pub(super) fn print_outcome(outcome: &Outcome, json: bool, words: &str) -> Result<()> {
    if let Some(reason) = &outcome.receive_refused {
        low_priority::say_not_received(reason);
    }
    let line = match json {
        true => serde_json::to_string(&JsonReport::from(outcome))?,
        false => format!("netnice: {words}"),
    };
    text::print_line(&line)
}

/// Output of `--json`.
#[derive(Debug, Serialize)]
struct JsonReport<'a> {
    processes: usize,
    sockets: usize,
    denied: usize,
    future: bool,
    attached: Option<&'a str>,
}

impl<'a> From<&'a Outcome> for JsonReport<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        Self {
            processes: outcome.processes,
            sockets: outcome.sockets,
            denied: outcome.denied,
            future: outcome.future,
            attached: outcome.attached.as_deref(),
        }
    }
}

fn in_words(arguments: &Arguments, control: Control, outcome: &Outcome) -> String {
    let name = process::name(arguments.pid()).unwrap_or_else(|| "it".to_owned());
    let mut words = format!(
        "{} of {} ({name}{}) {} {}",
        text::count(outcome.sockets as u64, "open TCP socket"),
        arguments.pid(),
        match outcome.processes.saturating_sub(1) {
            0 => String::new(),
            children => format!(" and {children} below it"),
        },
        if outcome.sockets == 1 { "has" } else { "have" },
        match arguments.off {
            true => "best effort again".to_owned(),
            // The window of an open connection is not governed: its scale is chosen at connect.
            false => format!(
                "{} now for what {}",
                standing(control),
                if outcome.sockets == 1 {
                    "it sends"
                } else {
                    "they send"
                }
            ),
        },
    );
    words += match (outcome.future, &outcome.attached) {
        (true, _) => ", and so do those to come",
        (false, Some(_)) => "",
        (false, None) => "; those to come are as before, to change these too takes root",
    };
    if let Some(cgroup) = &outcome.attached {
        words += &format!(
            "; those to come have low priority: {cgroup} has, see `netnice detach --help`"
        );
    }
    if outcome.denied > 0 {
        let processes = match outcome.denied {
            1 => "1 process".to_owned(),
            many => format!("{many} processes"),
        };
        words += &format!("; the connections of {processes} could not be reached, it takes root");
    }
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn words(line: &str, outcome: &Outcome) -> String {
        let command = Command::try_parse_from(line.split(' ')).unwrap();
        in_words(&command.arguments, Control::default_control(), outcome)
    }

    #[test]
    fn what_was_not_done_is_said() {
        let outcome = Outcome {
            processes: 3,
            sockets: 2,
            ..Outcome::default()
        };
        let partly = words("renice --pid 2147483647", &outcome);
        assert!(
            partly.starts_with("2 open TCP sockets of 2147483647 (it and 2 below it) have low")
        );
        assert!(partly.ends_with("takes root"), "{partly}");
        let whole = Outcome {
            future: true,
            ..outcome.clone()
        };
        let whole = words("renice --pid 2147483647 --off", &whole);
        assert!(
            whole.ends_with("best effort again, and so do those to come"),
            "{whole}"
        );
        let attached = Outcome {
            attached: Some("/system.slice".to_owned()),
            ..outcome
        };
        assert!(words("renice --pid 7 --off", &attached).contains("/system.slice has"));
    }
}
