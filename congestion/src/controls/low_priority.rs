// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the wrappers of the C policies share: parameters, and the policies' units (whole packets, microseconds).

use crate::parameters::{Kind, Parameter, Settings};
use crate::policy::Parameters;

pub(super) const DELTA: Parameter = Parameter {
    name: "delta",
    description: "threshold within the smallest and largest one-way delay seen, a fraction, in thousandths",
    kind: Kind::Number {
        least: 0.001,
        most: 1.0,
        default: 0.15,
    },
};

pub(super) const GAMMA: Parameter = Parameter {
    name: "gamma",
    description: "weight of a new sample in the smoothed one-way delay, a fraction, in thousandths",
    kind: Kind::Number {
        least: 0.001,
        most: 1.0,
        default: 0.125,
    },
};

pub(super) const INFERENCE_RTTS: Parameter = Parameter {
    name: "inference_rtts",
    description: "inference time-out in round-trip times",
    kind: Kind::Whole {
        least: 1,
        most: 100,
        default: 3,
    },
};

pub(super) const MINIMUM_CWND: Parameter = Parameter {
    name: "minimum_cwnd",
    description: "smallest window in packets, below one by pacing: 0.044 weighs as the testbed paper's packets of 64 bytes do",
    kind: Kind::Number {
        least: 0.001,
        most: 1.0,
        default: 1.0,
    },
};

pub(super) const THRESHOLD_US: Parameter = Parameter {
    name: "threshold_us",
    description: "the threshold's floor in microseconds above the smallest delay",
    kind: Kind::Whole {
        least: 100,
        most: 1_000_000,
        default: 1000,
    },
};

/// TCP-LP's parameters, for a policy that takes them all.
pub(super) fn tcplp_parameters(settings: &Settings) -> Parameters {
    Parameters {
        delta_permille: permille(settings.number("delta")),
        gamma_permille: permille(settings.number("gamma")),
        inference_rtts: settings.whole("inference_rtts") as u16,
        minimum_cwnd_permille: permille(settings.number("minimum_cwnd")),
        ..Parameters::default()
    }
}

fn permille(fraction: f64) -> u16 {
    (fraction * 1000.0).round() as u16
}

/// A policy's clock: microseconds that wrap.
pub(super) fn clock_us(now_ns: u64) -> u32 {
    (now_ns / 1000) as u32
}

/// A policy's durations: microseconds.
pub(super) fn duration_us(duration_ns: u64) -> u32 {
    u32::try_from(duration_ns / 1000).unwrap_or(u32::MAX)
}

/// A round-trip time where 0 means that there is none.
pub(super) fn sample_us(rtt_ns: Option<u64>) -> u32 {
    rtt_ns.map_or(0, |rtt_ns| duration_us(rtt_ns).max(1))
}

/// Policies count whole packets, at least one. An infinite `ssthresh` becomes the largest number.
pub(super) fn whole_packets(window: f64) -> u32 {
    (window as u32).max(1)
}
