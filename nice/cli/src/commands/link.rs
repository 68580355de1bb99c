// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice link`: runs a command, or a shell, behind an emulated link.

mod far;
mod shell;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use netnice_link::{
    Aqm, Direction, DirectionChanges, EmulatedLink, EmulatedLinkSpec, LinkError, LinkJitter,
    LinkReport, LossBurst, Policer, TimedChange, TraceFile, Verdict,
};
use netnice_queue::{LossFraction, QueueLimit, Rate, parse_delay};

use crate::foreground::{self, Ended};
use netnice_guard::Guard;
use netnice_terminal::signals::HeldSignals;
use netnice_terminal::style;
use netnice_terminal::text::{self, say};

use super::run::{cannot_run, find};
use far::FarCommand;

const EXAMPLES: &str = "\
Examples:
  A shell behind a slow line; `exit` leaves it:
      netnice link --rate 10mbit --delay 20ms --queue 2.5bdp

  A download from a web server on the far side, through a lossy line:
      netnice link --rate 2mbit --delay 50ms --loss 1% \\
          --far 'python3 -m http.server' -- sh -c 'curl -s http://$NETNICE_FAR:8000/'

  Like a home line: 5 Mb/s up with a large buffer, 50 Mb/s down:
      netnice link --delay 10ms --up rate=5mbit,queue=500ms --down rate=50mbit

  A path that becomes 40 ms longer each way after 20 s, behind an FQ-CoDel queue:
      netnice link --rate 10mbit --delay 20ms --aqm fq_codel --at 20s delay=60ms

  A walk through an LTE cell (a trace in mahimahi's format), with a reverse path of 10 Mb/s:
      netnice link --trace scenarios/traces/lte_walk.trace --delay 25ms --down rate=10mbit

  Nested links: both together have 45 ms each way, and the inner link has loss:
      netnice link --delay 40ms -- netnice link --delay 5ms --loss 0.1%

Behind the link:
  The command has a separate network, whose only way out is the link. The far side is another such network, in which \
  --far runs; there is no way to the Internet. The command has these variables:
      NETNICE_NEAR, NETNICE_NEAR6   addresses of the command's own side
      NETNICE_FAR, NETNICE_FAR6     addresses of the far side on which --far
                                    runs, or without --far of the outermost
                                    link's far side
      NETNICE_LINK                  the link in short, for a prompt
  As with `ip netns exec`, the command runs as root. So does a shell after `sudo netnice link`; to be your own user there: \
  sudo netnice link ... -- sudo -u \"$USER\" -i

At the end:
  The exit code is the command's (128 + N if signal N killed it; 127 if there is no such command, 126 if it cannot be \
  run). netnice ends processes that still run behind the link, and reports on stderr what the link carried and \
  dropped, and whether this machine kept up. NOT TRUSTWORTHY means that figures measured over the link are not \
  reliable. With fewer than 300 packets netnice mostly cannot tell.";

/// Run a shell or a command behind an emulated link.
///
/// Real TCP of this kernel crosses a link of the given rate, delay, queue and loss, between two
/// network namespaces. Needs root; changes nothing on this machine.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Rate in each direction: 10mbit, 1.5mbit, 500kbit [default: no limit]
    #[arg(long)]
    rate: Option<Rate>,
    /// Propagation delay in each direction (half of the round trip): 20ms, 200us [default: none]
    #[arg(long, value_parser = parse_delay)]
    delay: Option<Duration>,
    /// Limit of the queue of each direction: 83p (packets), 100kB, 50ms (at the link's rate), 2.5bdp (bandwidth-delay
    /// products) [default: 100ms, or the discipline's own]
    #[arg(long)]
    queue: Option<QueueLimit>,
    #[arg(long, help = aqm_help())]
    aqm: Option<Aqm>,
    /// Instead of --rate, a file with the times at which the link delivers, in mahimahi's format: each line has the time
    /// in milliseconds of an opportunity to deliver 1500 bytes
    #[arg(long, value_name = "FILE")]
    trace: Option<TraceFile>,
    /// Drop packets beyond a rate and a burst, before the queue: 10mbit/30kB
    #[arg(long, value_name = "RATE/BURST")]
    policer: Option<Policer>,
    /// Random delay of each packet, without reordering: 5ms (uniform from 0), 5ms/exponential, 5ms/pareto,
    /// 5ms/netem_pareto
    #[arg(long, value_name = "TIME[/DISTRIBUTION]")]
    jitter: Option<LinkJitter>,
    /// Share of packets lost at random in each direction: 1%, 0.0001 [default: none]
    #[arg(long)]
    loss: Option<LossFraction>,
    /// Loss in bursts instead of --loss: probabilities that a burst begins after a packet, and that it ends after one:
    /// 1%/20%
    #[arg(long, value_name = "BEGINS/ENDS")]
    loss_burst: Option<LossBurst>,
    /// Change both directions at a time after the start: --at 20s delay=60ms,rate=5mbit,loss=1%. Can be repeated
    #[arg(long, num_args = 2, value_names = ["TIME", "KEY=VALUE,..."])]
    at: Vec<String>,
    /// Other settings for the direction from the command to the far side: rate=5mbit,delay=10ms,queue=20p,loss=1%, and
    /// trace, aqm, policer, jitter, loss-burst as above
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = direction_changes)]
    up: Option<Box<DirectionChanges>>,
    /// Other settings for the direction from the far side to the command, as for --up
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = direction_changes)]
    down: Option<Box<DirectionChanges>>,
    /// Seed of the random losses and delays: the same seed loses the same packets
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// Run this on the far side, by `sh -c`, until COMMAND ends. COMMAND begins once this program listens on a port
    #[arg(long, value_name = "COMMAND")]
    far: Option<OsString>,
    /// Report as one line of JSON, the last on stderr
    #[arg(long)]
    json: bool,
    /// Report only problems; with --json print only the report
    #[arg(short, long)]
    quiet: bool,
    /// Program to run behind the link, with its arguments [default: your shell]
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The help of `--aqm`, with the names that the queue disciplines have.
fn aqm_help() -> String {
    let names = Aqm::names().collect::<Vec<_>>().join(", ");
    format!("Queue discipline, with the defaults of its RFC or paper: {names}")
}

/// Reads the changes of a direction; boxed, since they are large.
fn direction_changes(text: &str) -> Result<Box<DirectionChanges>, LinkError> {
    text.parse().map(Box::new)
}

impl Arguments {
    fn spec(&self) -> Result<EmulatedLinkSpec, LinkError> {
        let mut spec = EmulatedLinkSpec::symmetric(DirectionChanges {
            rate: self.rate,
            delay: self.delay,
            queue: self.queue,
            loss: self.loss,
            trace: self.trace.clone(),
            aqm: self.aqm,
            policer: self.policer,
            jitter: self.jitter,
            loss_burst: self.loss_burst,
        });
        for (direction, changes) in [(Direction::Up, &self.up), (Direction::Down, &self.down)] {
            spec.change(direction, changes.as_deref().cloned().unwrap_or_default());
        }
        for change in self.at.chunks_exact(2) {
            let at = parse_delay(&change[0])?;
            spec.changes.push(TimedChange::parse(at, &change[1])?);
        }
        spec.seed = self.seed;
        spec.check()?;
        Ok(spec)
    }
}

/// Runs the command and returns its exit code.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let spec = match arguments.spec() {
        Ok(spec) => spec,
        Err(error) => {
            say!("netnice: {error}; see `netnice link --help`");
            return Ok(ExitCode::from(2));
        }
    };
    let program = match arguments.command.first().map(|name| (name, find(name))) {
        Some((name, Err(error))) => return Ok(cannot_run(name, &error)),
        Some((_, Ok(program))) => Some(program),
        None => None,
    };
    let mut guard = Guard::post()?;
    let signals = HeldSignals::hold()?;
    let link = EmulatedLink::start(&spec)?;
    guard.cover(link.near())?;
    guard.cover(link.far())?;

    let far = arguments
        .far
        .as_ref()
        .map(|command| FarCommand::start(command, &link, &signals))
        .transpose()?;
    let mut command = match program {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg0(&arguments.command[0]);
            command.args(&arguments.command[1..]);
            command
        }
        None => shell::command(&short(&spec))?,
    };
    command
        .envs(link.environment())
        .env("NETNICE_LINK", short(&spec));
    if let Some(far) = &far {
        command.envs(far.environment());
    }
    if arguments.command.is_empty() && std::io::stderr().is_terminal() && !arguments.quiet {
        say!(
            "netnice: behind a link of {spec}; the far side is {} ($NETNICE_FAR); `exit` leaves it",
            far.as_ref().map_or(link.server(), |_| link.far_ipv4())
        );
    }
    let code = match far.as_ref().and_then(FarCommand::interrupted) {
        Some(signal) => Ok(Ended::Killed(signal).into()),
        None => match link.near().spawn(signals.release_for(&mut command)) {
            Ok(child) => foreground::wait(&child, &signals).map(ExitCode::from),
            Err(LinkError::Os { answer, .. }) => Ok(cannot_run(command.get_program(), &answer)),
            Err(error) => Err(error.into()),
        },
    };

    let left = guard.clear_one(link.near());
    if let Some(far) = far {
        far.stop();
    }
    guard.clear()?;
    let report = link.stop()?;
    if left > 0 && !arguments.quiet {
        let left = text::count(left as u64, "program");
        say!("netnice: ended {left} that still ran behind the link");
    }
    print(&report, arguments)?;
    code
}

fn print(report: &LinkReport, arguments: &Arguments) -> Result<()> {
    if arguments.json {
        let line = serde_json::to_string(report).context("writing the report as JSON")?;
        say!("{line}");
    } else if report.verdict == Verdict::NotTrustworthy {
        say!("netnice: {}", style::alarm(report));
    } else if !arguments.quiet {
        say!("netnice: {report}");
    }
    Ok(())
}

/// Describes the link in a few characters: `10mbit 20ms`, `5mbit/50mbit 20ms 1%`.
fn short(spec: &EmulatedLinkSpec) -> String {
    let both = |up: String, down: String| match up == down {
        true => up,
        false => format!("{up}/{down}"),
    };
    let of =
        |what: fn(&netnice_link::DirectionSpec) -> String| both(what(&spec.up), what(&spec.down));
    let rate = of(|spec| {
        let rate = spec.effective_rate();
        rate.map_or("-".into(), |rate| rate.to_string())
    });
    let delay = of(|spec| netnice_queue::format_delay(spec.delay));
    let loss = of(|spec| spec.loss.to_string());
    let mut parts = vec![rate, delay, loss];
    parts.retain(|part| part != "-" && part != "0ms" && part != "0%");
    match parts.is_empty() {
        true => "link".into(),
        false => parts.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> Result<EmulatedLinkSpec> {
        let command = Command::try_parse_from(line.split_whitespace())?;
        Ok(command.arguments.spec()?)
    }

    #[test]
    fn both_directions_are_alike_but_for_what_is_said_of_one() {
        let spec = parse("link --rate 10mbit --delay 20ms --up rate=5mbit --down loss=1%").unwrap();
        assert_eq!(
            spec.to_string(),
            "up rate=5mbit,queue=100ms,delay=20ms down rate=10mbit,queue=100ms,delay=20ms,loss=1%"
        );
        assert_eq!(short(&spec), "5mbit/10mbit 20ms 0%/1%");
    }

    #[test]
    fn the_short_form_leaves_out_what_is_not_there() {
        for (line, expected) in [
            ("link --rate 10mbit --delay 20ms", "10mbit 20ms"),
            ("link --delay 1.5ms --loss 1%", "1.5ms 1%"),
            ("link", "link"),
        ] {
            assert_eq!(short(&parse(line).unwrap()), expected, "{line}");
        }
    }

    #[test]
    fn a_queue_without_a_rate_is_a_mistake() {
        let error = parse("link --queue 20p").unwrap_err().to_string();
        assert!(error.contains("give a rate"), "{error}");
    }
}
