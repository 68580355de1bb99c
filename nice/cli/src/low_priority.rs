// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of low priority, for all commands that take them.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser};
use netnice_kernel::abi::Totals;
use netnice_kernel::control::Control;
use netnice_kernel::settings::{Direction, Settings, Udp};
use netnice_parameters::policies;

use crate::parameter_options::{HEADING, ParameterOptions};
use netnice_terminal::text::{self, say};

/// Which control, with what parameters.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub struct LowPriority {
    /// Congestion control; all except dstcp have low priority, tcplp_ecn only if routers mark its packets by ECN
    /// [default: netnice]
    #[arg(long, value_parser = ControlParser::new(), value_name = "NAME")]
    control: Option<&'static str>,
    /// Do not mark packets DSCP LE (RFC 8622). Some routers (those with CAKE, for example) serve packets with this mark
    /// last
    #[arg(long)]
    no_dscp: bool,
    /// Direction in which data has low priority. Received data needs root, and is governed by the policy of --control
    /// if that is netnice, tcplp or hstcplp, otherwise by netnice's [default: both]
    #[arg(long, value_enum, value_name = "WAY")]
    direction: Option<Way>,
    /// Govern UDP (as root only): uTP, which BitTorrent uses, by its window, and other UDP, mainly QUIC, by a queue. `yes`
    /// fails if that is impossible. `refuse` is --no-quic [default: if possible]
    #[arg(
        long,
        value_enum,
        value_name = "yes|no|refuse",
        hide_possible_values = true
    )]
    udp: Option<UdpChoice>,
    #[command(flatten)]
    parameters: ParameterOptions,
}

/// The options alone, for callers that have them from elsewhere than a command line.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Options {
    #[command(flatten)]
    low_priority: LowPriority,
}

/// Converts options such as `--control=ledbat` to settings, so that files and annotations allow the values that command
/// lines do.
///
/// # Errors
/// If an option is unknown, has a wrong value, or has no effect; the message is one line.
pub fn settings_of(options: &[String]) -> Result<Settings> {
    Options::try_parse_from(options)
        .map_err(anyhow::Error::from)
        .and_then(|options| options.low_priority.settings())
        .map_err(|error| anyhow!("{}", in_one_line(&error)))
}

/// Returns the first paragraph of a message of clap, and a value that is suggested, as one line.
fn in_one_line(error: &anyhow::Error) -> String {
    let message = error.to_string();
    let mut paragraphs = message.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let first = paragraphs.next().unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    match paragraphs.find(|text| text.starts_with("tip: a similar value exists")) {
        Some(tip) => format!("{first}; {}", tip.trim_start_matches("tip: ")),
        None => first.to_owned(),
    }
}

/// Reports in one line that received data keeps the priority that its sender gives it, and why.
pub fn say_not_received(reason: &str) {
    say!("netnice: received data is not governed: {reason}");
}

/// Returns in words what was moved over uTP; `None` if nothing was.
pub fn over_utp(totals: &Totals) -> Option<String> {
    let connections = totals.utp_connections;
    (connections > 0).then(|| {
        format!(
            "{}, {} sent, {} received, gave way {}",
            text::count(connections, "connection"),
            text::bytes(totals.utp_bytes_sent),
            text::bytes(totals.utp_bytes_received),
            text::count(totals.utp_yields, "time"),
        )
    })
}

/// Returns true if a group has moved enough over other UDP for a report: any large packet, or, if `told` says that netnice does not
/// govern it and so counts no large packets, more packets than DNS queries need.
pub fn moved_udp(totals: &Totals, told: Option<&str>) -> bool {
    let refused = told.is_some_and(|told| told.starts_with("not governed"));
    totals.udp_bytes_sent + totals.udp_bytes_received > 0 || refused && totals.moved_other_udp()
}

/// Returns in words what was moved over other UDP, and what `told` says of it; `None` if that is nothing to be told.
pub fn over_udp(totals: &Totals, told: Option<&str>) -> Option<String> {
    let moved = match (totals.udp_bytes_sent, totals.udp_bytes_received) {
        (0, 0) => format!("{} sent", text::count(totals.udp_packets_sent, "packet")),
        (sent, received) => format!(
            "{} sent, {} received",
            text::bytes(sent),
            text::bytes(received)
        ),
    };
    let words = format!("{moved}, {}", told.unwrap_or("not governed"));
    moved_udp(totals, told).then_some(words)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum UdpChoice {
    Yes,
    No,
    Refuse,
}

/// [`Direction`] as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// Sent data, and as root received data
    Both,
    /// Sent data, by the congestion control
    Send,
    /// Received data, by the advertised window
    Receive,
}

impl LowPriority {
    /// Converts the options to the kernel crate's settings.
    ///
    /// # Errors
    /// If one of them has no effect on the control: wrong usage.
    pub fn settings(&self) -> Result<Settings> {
        let control = match self.control {
            Some(name) => Control::find(name)?,
            None => Control::default_control(),
        };
        if self.no_dscp && !control.is_low_priority() {
            let message = format!(
                "--no-dscp has no effect with --control {}, which marks no packets\n",
                control.name()
            );
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into());
        }
        let settings = Settings {
            control,
            parameters: self.parameters.of(control)?,
            direction: self.direction_of(control)?,
            ..Settings::default()
        };
        // Routers may serve packets with that mark last, and the floor would be none.
        let mark = control.is_low_priority() && !self.no_dscp && settings.floor() == 0;
        let udp = self.udp(&settings)?;
        Ok(Settings {
            mark,
            udp,
            no_quic: self.udp == Some(UdpChoice::Refuse),
            ..settings
        })
    }

    /// Returns whether UDP is governed.
    fn udp(&self, settings: &Settings) -> Result<Udp, clap::Error> {
        match self.udp {
            Some(UdpChoice::Yes) if !settings.control.is_low_priority() => {
                let message = format!(
                    "--udp yes has no effect with --control {}\n",
                    settings.control.name()
                );
                Err(clap::Error::raw(ErrorKind::ArgumentConflict, message))
            }
            Some(UdpChoice::Yes) => Ok(Udp::Yes),
            Some(UdpChoice::No) => Ok(Udp::No),
            None | Some(UdpChoice::Refuse) => Ok(Udp::WherePossible),
        }
    }

    /// Returns settings with the control in a C file, which takes no options and governs sent data alone.
    ///
    /// # Errors
    /// If an option was given, which would have no effect, or the file cannot be used.
    pub fn settings_of_file(&self, file: &Path) -> Result<Settings> {
        if let Some(option) = self.given() {
            let message = format!("--{option} has no effect with --control-file\n");
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into());
        }
        Ok(Settings {
            control: Control::from_file(file)?,
            mark: false,
            direction: Direction::Send,
            ..Settings::default()
        })
    }

    /// Checks the direction: a control that is not low-priority has no counterpart on the receiving side.
    fn direction_of(&self, control: Control) -> Result<Direction, clap::Error> {
        match self.direction {
            Some(Way::Both | Way::Receive) if !control.is_low_priority() => {
                let message = format!(
                    "--control {} is for what is sent: leave --direction out\n",
                    control.name()
                );
                Err(clap::Error::raw(ErrorKind::ArgumentConflict, message))
            }
            None if !control.is_low_priority() => Ok(Direction::Send),
            None | Some(Way::Both) => Ok(Direction::Both),
            Some(Way::Send) => Ok(Direction::Send),
            Some(Way::Receive) => Ok(Direction::Receive),
        }
    }

    /// Returns the first of these options that was given, without its hyphens.
    pub fn given(&self) -> Option<&'static str> {
        let control = self.control.map(|_| "control");
        let no_dscp = self.no_dscp.then_some("no-dscp");
        let direction = self.direction.map(|_| "direction");
        let udp = self.udp.map(|_| "udp");
        control
            .or(no_dscp)
            .or(direction)
            .or(udp)
            .or(self.parameters.first())
    }
}

/// Describes the priority of connections under a control.
pub fn standing(control: Control) -> &'static str {
    match control.is_low_priority() {
        true => "low priority",
        false if control.is_from_file() => "a control in a file",
        false if control.name() == policies::TCPLP_ECN.name => {
            "low priority where routers mark packets"
        }
        false => "TCP for Diff-Serv",
    }
}

/// Parses the name of a control of this binary; `--help` lists them with their summaries.
#[derive(Clone)]
struct ControlParser(PossibleValuesParser);

impl ControlParser {
    fn new() -> ControlParser {
        let all = Control::all().map(|control| {
            let summary = policies::summary(control.name()).expect("each control has a policy");
            PossibleValue::new(control.name()).help(summary)
        });
        ControlParser(PossibleValuesParser::new(all))
    }
}

impl TypedValueParser for ControlParser {
    type Value = &'static str;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<&'static str, clap::Error> {
        let parsed = self.0.parse_ref(command, argument, value);
        let name = parsed.map_err(|mut error| {
            let ours = value.to_str().and_then(policies::called_here);
            if let Some(control) = ours.and_then(|ours| Control::find(ours).ok()) {
                let suggested = ContextValue::String(control.name().to_owned());
                error.insert(ContextKind::SuggestedValue, suggested);
            }
            error
        })?;
        let control = Control::find(&name).expect("the parser takes no other");
        Ok(control.name())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        low_priority: LowPriority,
    }

    fn options(line: &str) -> LowPriority {
        let words = std::iter::once("command").chain(line.split_whitespace());
        let command: Command = clap::Parser::try_parse_from(words).unwrap();
        command.low_priority
    }

    fn settings(line: &str) -> Result<Settings> {
        options(line).settings()
    }

    #[test]
    fn names_from_elsewhere_lead_to_ours() {
        for (given, ours) in [
            ("lp", "tcplp"),
            ("ledbat++", "ledbatpp"),
            ("nice", "tcpnice"),
        ] {
            let error = settings_of(&[format!("--control={given}")]).err().unwrap();
            let expected = format!("a similar value exists: '{ours}'");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
        // There is none of another name for it.
        let error = settings_of(&["--control=vegas".to_owned()]).err().unwrap();
        assert!(error.to_string().ends_with("tcpnice]"), "{error}");
    }

    #[test]
    fn only_low_priority_is_marked() {
        assert!(settings("").unwrap().mark);
        assert!(settings("--control hstcplp --delta 0.2").unwrap().mark);
        assert!(!settings("--control tcplp --no-dscp").unwrap().mark);
        let assured = settings("--control dstcp --target 2mbit --policy 1 --c 50").unwrap();
        assert!(!assured.mark && !assured.parameters.is_default());
        assert!(settings("--control dstcp").unwrap().parameters.is_default());
    }

    #[test]
    fn only_low_priority_governs_what_is_received() {
        for (line, direction) in [
            ("", Direction::Both),
            ("--control tcplp", Direction::Both),
            ("--direction send", Direction::Send),
            ("--direction receive", Direction::Receive),
            ("--control dstcp", Direction::Send),
            ("--control dstcp --direction send", Direction::Send),
        ] {
            assert_eq!(settings(line).unwrap().direction, direction, "{line}");
        }
        let Err(error) = settings("--control dstcp --direction receive") else {
            panic!("dstcp is for what is sent");
        };
        assert!(error.is::<clap::Error>());
        assert!(error.to_string().contains("leave --direction out"));
    }

    #[test]
    fn udp_is_governed_unless_an_option_says_otherwise() {
        for (line, udp) in [
            ("", Udp::WherePossible),
            ("--udp yes --control tcplp", Udp::Yes),
            ("--udp no --control dstcp", Udp::No),
            ("--udp refuse", Udp::WherePossible),
        ] {
            let settings = settings(line).unwrap();
            assert_eq!(settings.udp, udp, "{line}");
            assert_eq!(settings.no_quic, line.contains("refuse"), "{line}");
        }
    }

    #[test]
    fn other_udp_is_told_of_once_something_was_moved() {
        let of = |packets, sent| Totals {
            udp_packets_sent: packets,
            udp_bytes_sent: sent,
            ..Totals::default()
        };
        let refused = Some("not governed: why");
        for (packets, sent, told, expected) in [
            (20, 0, refused, None),
            (2000, 0, None, None),
            (2000, 0, Some("governed"), None),
            (
                2000,
                0,
                refused,
                Some("2000 packets sent, not governed: why"),
            ),
            (
                2000,
                3_000_000,
                Some("governed"),
                Some("3.00 MB sent, 0 B received, governed"),
            ),
        ] {
            let words = over_udp(&of(packets, sent), told);
            assert_eq!(words.as_deref(), expected);
        }
    }

    #[test]
    fn options_without_effect_are_refused_by_name() {
        for (line, expected) in [
            (
                "--delta 0.2",
                "--delta has no effect with --control netnice; it is for --control tcplp and hstcplp",
            ),
            (
                "--gamma 0.2",
                "--gamma has no effect with --control netnice; it is for --control tcplp and hstcplp",
            ),
            (
                "--control netnice --inference-rtts 5",
                "--inference-rtts has no effect with --control netnice; it is for --control tcplp, hstcplp and tcplp_ecn",
            ),
            (
                "--minimum-cwnd 0.5",
                "--minimum-cwnd has no effect with --control netnice; it is for --control tcplp and hstcplp",
            ),
            (
                "--control tcplp --threshold 2ms",
                "--threshold has no effect with --control tcplp; it is for --control netnice",
            ),
            (
                "--control hstcplp --delta 0.2 --threshold 2ms",
                "--threshold has no effect with --control hstcplp; it is for --control netnice",
            ),
            (
                "--target 2mbit",
                "--target has no effect with --control netnice; it is for --control dstcp",
            ),
            (
                "--control tcplp --c classes",
                "--c has no effect with --control tcplp; it is for --control dstcp",
            ),
            (
                "--control dstcp --delta 0.1",
                "--delta has no effect with --control dstcp; it is for --control tcplp and hstcplp",
            ),
            (
                "--control dstcp --udp yes",
                "--udp yes has no effect with --control dstcp",
            ),
            (
                "--control dstcp --no-dscp",
                "--no-dscp has no effect with --control dstcp, which marks no packets",
            ),
        ] {
            let Err(error) = settings(line) else {
                panic!("{line} is accepted");
            };
            assert!(error.is::<clap::Error>());
            assert_eq!(error.to_string(), format!("error: {expected}\n"), "{line}");
        }
    }

    #[test]
    fn each_control_accepts_its_own_options() {
        for line in [
            "--threshold 2ms",
            "--control tcplp --delta 0.2 --gamma 0.2 --inference-rtts 5 --minimum-cwnd 0.5",
            "--control hstcplp --delta 0.2 --gamma 0.2 --inference-rtts 5 --minimum-cwnd 0.5",
            "--control dstcp --target 2mbit --policy 1 --c 50",
            "--control dstcp --c classes",
        ] {
            let settings = settings(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(!settings.parameters.is_default(), "{line}");
        }
    }

    #[test]
    fn the_first_option_given_is_known() {
        for (line, expected) in [
            ("", None),
            ("--control netnice", Some("control")),
            ("--no-dscp", Some("no-dscp")),
            ("--udp no", Some("udp")),
            ("--threshold 2ms", Some("threshold")),
        ] {
            assert_eq!(options(line).given(), expected, "{line}");
        }
    }
}
