// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of dstcp, the one control that is not of low priority.

use anyhow::Result;
use clap::Args;
use netnice_kernel::parameters::Parameters;
use netnice_queue::Rate;

/// What the network assures, and how the window opens.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --control dstcp, which is not of low priority")]
pub struct AssuredRate {
    /// The rate that the network assures each connection, as 2mbit; without it only the window's
    /// opening differs from Reno's
    #[arg(long, value_parser = target, value_name = "RATE")]
    target: Option<u64>,
    /// Open the window by c * rtt (1) or c * rtt^2 (2) packets per round trip, rtt in seconds
    /// [default: 2]
    #[arg(long, value_parser = policy, value_name = "1|2")]
    policy: Option<u8>,
    /// The constant c, 1 to 1000000, or `classes`: 1024 up to 50 ms of round trip, 256 up to 100
    /// ms, 64 up to 200 ms, 4 above [default: 100]
    #[arg(long = "c", value_parser = opening, value_name = "N|classes")]
    opening: Option<Opening>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Constant(u32),
    Classes,
}

impl AssuredRate {
    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.target.is_some(), "--target"),
            (self.policy.is_some(), "--policy"),
            (self.opening.is_some(), "--c"),
        ];
        given
            .iter()
            .find(|(given, _)| *given)
            .map(|(_, name)| *name)
    }

    /// Adds the options to the parameters.
    pub fn set(&self, mut parameters: Parameters) -> Result<Parameters> {
        if let Some(bits_per_second) = self.target {
            parameters = parameters.target(bits_per_second)?;
        }
        if let Some(policy) = self.policy {
            parameters = parameters.policy(policy)?;
        }
        match self.opening {
            Some(Opening::Constant(c)) => parameters = parameters.c(c)?,
            Some(Opening::Classes) => parameters = parameters.c_by_round_trip(),
            None => {}
        }
        Ok(parameters)
    }
}

fn target(text: &str) -> Result<u64, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let bits_per_second = rate.bits_per_second();
    Parameters::default()
        .target(bits_per_second)
        .map_err(|_| "give a rate up to 100gbit".to_owned())?;
    Ok(bits_per_second)
}

fn policy(text: &str) -> Result<u8, String> {
    match text {
        "1" => Ok(1),
        "2" => Ok(2),
        _ => Err("give 1 or 2".to_owned()),
    }
}

fn opening(text: &str) -> Result<Opening, String> {
    if text == "classes" {
        return Ok(Opening::Classes);
    }
    let wrong = || "give a number from 1 to 1000000, or `classes`".to_owned();
    let c = text.parse().map_err(|_| wrong())?;
    Parameters::default().c(c).map_err(|_| wrong())?;
    Ok(Opening::Constant(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_a_unit_and_a_place_in_the_range() {
        assert_eq!(target("2mbit"), Ok(2_000_000));
        assert_eq!(target("100gbit"), Ok(100_000_000_000));
        for wrong in ["2", "0mbit", "-2mbit", "101gbit", "2mbps", ""] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_constant_is_a_number_or_goes_by_classes() {
        assert_eq!(opening("1000000"), Ok(Opening::Constant(1_000_000)));
        assert_eq!(opening("classes"), Ok(Opening::Classes));
        for wrong in ["0", "1000001", "1.5", "-1", "class", ""] {
            assert!(opening(wrong).is_err(), "{wrong}");
        }
    }
}
