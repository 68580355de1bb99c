// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all policies have in common: parameters and report (mirrors of `policy/parameters.h` and
//! `policy/report.h`).

use std::ops::RangeInclusive;

/// What a user may set; zero means the policy's own default.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Threshold within `[d_min, d_max]`, in thousandths (equation 2 of TCP-LP).
    pub delta_permille: u16,
    /// Weight of a new sample in the smoothed delay, in thousandths (equation 1).
    pub gamma_permille: u16,
    /// Inference time-out, in round-trip times.
    pub inference_rtts: u16,
    /// `tcplp` and `hstcplp`: the smallest window, in thousandths of a packet.
    pub minimum_cwnd_permille: u16,
    /// `netnice`: the floor under the threshold, in microseconds above the smallest delay.
    pub threshold_us: u32,
}

impl Parameters {
    /// Allowed values of `delta_permille` and `gamma_permille`.
    pub const PERMILLE: RangeInclusive<u16> = 1..=1000;
    /// Allowed values of `inference_rtts`.
    pub const INFERENCE_RTTS: RangeInclusive<u16> = 1..=100;
    /// Allowed values of `threshold_us`.
    pub const THRESHOLD_US: RangeInclusive<u32> = 100..=1_000_000;
}

/// What the connection is doing (`enum policy_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Looking for the path's capacity, doubling each round trip.
    SlowStart,
    /// Around the window that fills the path.
    Avoidance,
    /// A congestion indication was answered; watching whether it persists.
    Inference,
    /// Others are present; sending next to nothing.
    Yielding,
}

impl Phase {
    /// The name in the words of the field.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow start",
            Self::Avoidance => "avoidance",
            Self::Inference => "inference",
            Self::Yielding => "yielding",
        }
    }

    /// From the number in the report; unknown numbers (of a newer control) read as avoidance.
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::SlowStart,
            2 => Self::Inference,
            3 => Self::Yielding,
            _ => Self::Avoidance,
        }
    }
}

/// Where the delay comes from (`enum policy_signal`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// No sample yet.
    None,
    /// The one-way delay by the timestamp option (RFC 7323).
    OneWayDelay,
    /// The round trip: the peer sends no timestamps, or its clock can't be read.
    RoundTrip,
}

impl Signal {
    /// From the number in the report.
    pub fn from_number(number: u8) -> Self {
        match number {
            1 => Self::OneWayDelay,
            2 => Self::RoundTrip,
            _ => Self::None,
        }
    }
}

/// What a policy tells about itself (`struct policy_report`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Latest filtered delay above the smallest one known, in microseconds.
    pub delay_over_minimum_us: u32,
    /// Threshold above the smallest delay, in microseconds.
    pub threshold_us: u32,
    /// How often the window was given up to others.
    pub yields: u32,
    phase: u8,
    signal: u8,
    reserved: u16,
}

impl Report {
    /// What the connection is doing.
    pub fn phase(&self) -> Phase {
        Phase::from_number(self.phase)
    }

    /// Where the delay comes from.
    pub fn signal(&self) -> Signal {
        Signal::from_number(self.signal)
    }
}

/// Room for any policy's state: what the kernel gives a congestion control (`icsk_ca_priv`). The
/// report is its first member.
#[repr(C, align(8))]
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) report: Report,
    rest: [u8; 104 - size_of::<Report>()],
}

impl State {
    pub(crate) fn zeroed() -> Self {
        Self {
            report: Report::default(),
            rest: [0; 104 - size_of::<Report>()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        static native_sizes: [u32; 11];
    }

    #[test]
    fn mirrors_have_the_size_of_what_they_mirror() {
        // SAFETY: a constant array of the C side, never written.
        let sizes = unsafe { native_sizes };
        assert_eq!(sizes[0] as usize, size_of::<Report>());
        assert_eq!(sizes[1] as usize, size_of::<Parameters>());
        assert!(sizes[2] as usize <= size_of::<State>());
        assert_eq!(sizes[3] as usize, size_of::<crate::tcplp::Ack>());
        assert!(sizes[4] as usize <= size_of::<State>());
        assert_eq!(sizes[5] as usize, size_of::<crate::netnice::Ack>());
        assert!(sizes[6] as usize <= size_of::<State>());
        assert!(sizes[7] as usize <= size_of::<State>());
        assert_eq!(sizes[8] as usize, size_of::<crate::dstcp::Parameters>());
        assert_eq!(sizes[9] as usize, size_of::<crate::dstcp::Ack>());
        assert_eq!(sizes[10] as usize, size_of::<crate::dstcp::Window>());
    }
}
