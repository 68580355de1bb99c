// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options by which all commands say what low priority is to be like.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::error::ErrorKind;
use netnice_kernel::control::Control;
use netnice_kernel::parameters::Parameters;
use netnice_kernel::placement::Settings;

use crate::assured_rate::AssuredRate;

/// Which control, with what parameters.
#[derive(Debug, Args)]
#[command(next_help_heading = "What low priority is to be like")]
pub struct LowPriority {
    /// Congestion control: netnice; tcplp, which is TCP-LP as published; hstcplp, the same for
    /// fast, long paths; or dstcp, which is for assured rates and not of low priority
    #[arg(long, default_value = "netnice", value_parser = control, value_name = "NAME")]
    control: &'static str,
    /// Do not mark packets DSCP LE (RFC 8622), by which Wi-Fi and some routers put them last
    #[arg(long)]
    no_dscp: bool,
    /// Where the threshold lies between smallest and largest delay, 0.001 to 1
    #[arg(long, value_parser = delta, value_name = "FRACTION")]
    delta: Option<f64>,
    /// Weight of a new sample in the smoothed delay, 0.001 to 1
    #[arg(long, value_parser = gamma, value_name = "WEIGHT")]
    gamma: Option<f64>,
    /// Inference time-out after an indication of others, 1 to 100 round-trip times
    #[arg(long, value_parser = inference_rtts, value_name = "RTTS")]
    inference_rtts: Option<u16>,
    /// Smallest window of tcplp and hstcplp, 0.001 to 1 packets: below one for many flows at once
    #[arg(long, value_parser = minimum_cwnd, value_name = "PACKETS")]
    minimum_cwnd: Option<f64>,
    /// Floor under the threshold, 0.1ms to 1s: a queue below it counts as none
    #[arg(long, value_parser = threshold, value_name = "TIME")]
    threshold: Option<Duration>,
    #[command(flatten)]
    assured: AssuredRate,
}

impl LowPriority {
    /// The options in the kernel crate's terms.
    pub fn settings(&self) -> Result<Settings> {
        let control = Control::find(self.control)?;
        self.fits(control)?;
        let mut parameters = self.assured.set(Parameters::default())?;
        if let Some(delta) = self.delta {
            parameters = parameters.delta(delta)?;
        }
        if let Some(gamma) = self.gamma {
            parameters = parameters.gamma(gamma)?;
        }
        if let Some(rtts) = self.inference_rtts {
            parameters = parameters.inference_rtts(rtts)?;
        }
        if let Some(packets) = self.minimum_cwnd {
            parameters = parameters.minimum_cwnd(packets)?;
        }
        if let Some(threshold) = self.threshold {
            parameters = parameters.threshold(threshold)?;
        }
        Ok(Settings {
            control,
            parameters,
            mark: control.is_low_priority() && !self.no_dscp,
        })
    }

    /// That an option has no effect on the control chosen is a mistake.
    fn fits(&self, control: Control) -> Result<(), clap::Error> {
        let of_low_priority = [
            (self.delta.is_some(), "--delta"),
            (self.gamma.is_some(), "--gamma"),
            (self.inference_rtts.is_some(), "--inference-rtts"),
            (self.minimum_cwnd.is_some(), "--minimum-cwnd"),
            (self.threshold.is_some(), "--threshold"),
            (self.no_dscp, "--no-dscp"),
        ];
        let given = of_low_priority.iter().find(|(given, _)| *given);
        let message = match (control.is_low_priority(), self.assured.given(), given) {
            (true, Some(option), _) => format!("{option} is for --control dstcp only\n"),
            (false, _, Some((_, option))) => format!(
                "{option} is not for --control {}, which measures no delay and marks nothing\n",
                control.name()
            ),
            _ => return Ok(()),
        };
        Err(clap::Error::raw(ErrorKind::ArgumentConflict, message))
    }
}

/// What connections under a control are said to have.
pub fn standing(control: Control) -> &'static str {
    match control.is_low_priority() {
        true => "low priority",
        false => "TCP for Diff-Serv",
    }
}

fn control(name: &str) -> Result<&'static str, String> {
    let control = Control::find(name).map_err(|error| error.to_string())?;
    Ok(control.name())
}

fn delta(text: &str) -> Result<f64, String> {
    checked(text, "a fraction from 0.001 to 1", |value| {
        Parameters::default().delta(*value)
    })
}

fn gamma(text: &str) -> Result<f64, String> {
    checked(text, "a weight from 0.001 to 1", |value| {
        Parameters::default().gamma(*value)
    })
}

fn inference_rtts(text: &str) -> Result<u16, String> {
    checked(text, "a number from 1 to 100", |value| {
        Parameters::default().inference_rtts(*value)
    })
}

fn minimum_cwnd(text: &str) -> Result<f64, String> {
    checked(text, "a number of packets from 0.001 to 1", |value| {
        Parameters::default().minimum_cwnd(*value)
    })
}

fn threshold(text: &str) -> Result<Duration, String> {
    let wrong = || "give a time with its unit, as 2ms, from 0.1ms to 1s".to_owned();
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let value = Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())?;
    Parameters::default()
        .threshold(value)
        .map_err(|_| wrong())?;
    Ok(value)
}

fn checked<T: std::str::FromStr>(
    text: &str,
    wanted: &str,
    check: impl FnOnce(&T) -> netnice_kernel::Result<Parameters>,
) -> Result<T, String> {
    let wrong = || format!("give {wanted}");
    let value = text.parse().map_err(|_| wrong())?;
    check(&value).map_err(|_| wrong())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        low_priority: LowPriority,
    }

    fn settings(line: &str) -> Result<Settings> {
        let words = std::iter::once("command").chain(line.split_whitespace());
        let command: Command = clap::Parser::try_parse_from(words).unwrap();
        command.low_priority.settings()
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
    fn options_that_the_control_does_not_heed_are_refused_by_name() {
        for (line, named) in [
            ("--target 2mbit", "--target is for --control dstcp"),
            ("--control tcplp --c classes", "--c is for --control dstcp"),
            ("--control dstcp --delta 0.1", "--delta is not for"),
            ("--control dstcp --no-dscp", "--no-dscp is not for"),
        ] {
            let Err(error) = settings(line) else {
                panic!("{line} is taken");
            };
            assert!(error.is::<clap::Error>());
            assert!(error.to_string().contains(named), "{line}: {error}");
        }
    }

    #[test]
    fn times_need_a_unit_and_a_place_in_the_range() {
        assert_eq!(threshold("2ms"), Ok(Duration::from_millis(2)));
        assert_eq!(threshold("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(threshold("0.5s"), Ok(Duration::from_millis(500)));
        for wrong in ["2", "ms", "2m", "-2ms", "2s", "50us", "1e400s", ""] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }
}
