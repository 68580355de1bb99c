// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user may set of a control, as the BPF programs read it.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

/// `struct flow_parameters`: what a user may set of a control; a field that is not set has the
/// control's own default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Parameters {
    delta_permille: u16,
    gamma_permille: u16,
    inference_rtts: u16,
    minimum_cwnd_permille: u16,
    threshold_us: u32,
    c: u32,
    target_bits_per_s: u64,
    policy: u8,
    classes: u8,
    reserved_too: [u8; 6],
}

impl Parameters {
    /// Sets where the threshold lies between the smallest and the largest one-way delay.
    pub fn delta(mut self, fraction: f64) -> Result<Self> {
        self.delta_permille = permille("delta", fraction)?;
        Ok(self)
    }

    /// Sets the weight of a new sample in the smoothed delay.
    pub fn gamma(mut self, weight: f64) -> Result<Self> {
        self.gamma_permille = permille("gamma", weight)?;
        Ok(self)
    }

    /// Sets the inference time-out, in round-trip times.
    pub fn inference_rtts(mut self, rtts: u16) -> Result<Self> {
        if !(1..=100).contains(&rtts) {
            return Err(out_of_range("inference-rtts", &rtts, "1 to 100"));
        }
        self.inference_rtts = rtts;
        Ok(self)
    }

    /// Sets the smallest window of tcplp and hstcplp, in packets: below one they pace.
    pub fn minimum_cwnd(mut self, packets: f64) -> Result<Self> {
        self.minimum_cwnd_permille = permille("minimum-cwnd", packets)?;
        Ok(self)
    }

    /// Sets the floor under the threshold, above the smallest delay.
    pub fn threshold(mut self, floor: std::time::Duration) -> Result<Self> {
        self.threshold_us = u32::try_from(floor.as_micros())
            .ok()
            .filter(|floor| (100..=1_000_000).contains(floor))
            .ok_or_else(|| out_of_range("threshold", &format!("{floor:?}"), "0.1ms to 1s"))?;
        Ok(self)
    }

    /// Sets the rate that the network assures, for dstcp.
    pub fn target(mut self, bits_per_second: u64) -> Result<Self> {
        if !(1..=TARGET_LIMIT).contains(&bits_per_second) {
            let value = format!("{bits_per_second} bit/s");
            return Err(out_of_range("target", &value, "1bit to 100gbit"));
        }
        self.target_bits_per_s = bits_per_second;
        Ok(self)
    }

    /// Sets how dstcp opens the window: by `c * rtt` packets per round trip (policy 1), or by
    /// `c * rtt^2` (policy 2), rtt in seconds.
    pub fn policy(mut self, policy: u8) -> Result<Self> {
        if !(1..=2).contains(&policy) {
            return Err(out_of_range("policy", &policy, "1 or 2"));
        }
        self.policy = policy;
        Ok(self)
    }

    /// Sets the constant of the window's opening, for dstcp.
    pub fn c(mut self, c: u32) -> Result<Self> {
        if !(1..=1_000_000).contains(&c) {
            return Err(out_of_range("c", &c, "1 to 1000000"));
        }
        self.c = c;
        Ok(self)
    }

    /// Has dstcp choose c by the smallest round trip, as the paper's Table 5 has it.
    pub fn c_by_round_trip(mut self) -> Self {
        self.classes = 1;
        self
    }

    /// The rate that the network assures, in bits per second; 0 if none is set.
    pub(crate) fn target_bits_per_s(&self) -> u64 {
        self.target_bits_per_s
    }

    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Products with a round trip of 100 s stay within 64 bits: `DSTCP_RTT_LIMIT_US`.
const TARGET_LIMIT: u64 = 100_000_000_000;

fn permille(name: &'static str, fraction: f64) -> Result<u16> {
    let permille = (fraction * 1000.0).round();
    if !(1.0..=1000.0).contains(&permille) {
        return Err(out_of_range(name, &fraction, "0.001 to 1"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked just above
    Ok(permille as u16)
}

fn out_of_range(name: &'static str, value: &dyn std::fmt::Display, allowed: &str) -> Error {
    Error::OutOfRange {
        name,
        value: value.to_string(),
        allowed: allowed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;
    use std::time::Duration;

    use libbpf_rs::btf::types::{MemberAttr, Struct};
    use libbpf_rs::btf::{Btf, HasSize};

    use super::*;

    #[test]
    fn the_struct_is_that_of_the_programs() {
        let file = concat!(env!("OUT_DIR"), "/placement.bpf.o");
        let types = Btf::from_path(file).unwrap();
        let layout = |name: &str| {
            let found: Struct<'_> = types.type_by_name(name).unwrap();
            let last = found.iter().last().unwrap();
            let MemberAttr::Normal { offset } = last.attr else {
                panic!("{name} ends with a bit field");
            };
            (found.size(), offset as usize / 8)
        };
        let threshold = offset_of!(Parameters, threshold_us);
        assert_eq!(
            layout("policy_parameters"),
            (offset_of!(Parameters, c), threshold)
        );
        let last = offset_of!(Parameters, reserved_too);
        assert_eq!(layout("flow_parameters"), (size_of::<Parameters>(), last));
    }

    #[test]
    fn parameters_outside_their_ranges_are_refused_by_name() {
        let none = Parameters::default();
        assert_eq!(none.delta(0.15).unwrap().delta_permille, 150);
        assert_eq!(none.gamma(1.0).unwrap().gamma_permille, 1000);
        assert_eq!(
            none.threshold(Duration::from_millis(2))
                .unwrap()
                .threshold_us,
            2000
        );
        for (error, name) in [
            (none.delta(0.0).unwrap_err(), "delta"),
            (none.delta(1.1).unwrap_err(), "delta"),
            (none.delta(f64::NAN).unwrap_err(), "delta"),
            (none.gamma(-0.5).unwrap_err(), "gamma"),
            (none.minimum_cwnd(1.5).unwrap_err(), "minimum-cwnd"),
            (none.inference_rtts(0).unwrap_err(), "inference-rtts"),
            (none.inference_rtts(101).unwrap_err(), "inference-rtts"),
            (
                none.threshold(Duration::from_micros(99)).unwrap_err(),
                "threshold",
            ),
            (
                none.threshold(Duration::from_secs(5000)).unwrap_err(),
                "threshold",
            ),
            (none.target(0).unwrap_err(), "target"),
            (none.target(100_000_000_001).unwrap_err(), "target"),
            (none.policy(3).unwrap_err(), "policy"),
            (none.c(0).unwrap_err(), "c is 0"),
        ] {
            let line = error.to_string();
            assert!(line.contains(name) && !line.contains('\n'), "{line}");
        }
    }
}
