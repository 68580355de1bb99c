// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elements common to all policies: parameters and report (as in `policies/parameters.h` and `policies/report.h`).

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::parameter::{Member, Parameter, Value};
use crate::table::{PARAMETERS, POLICY_PARAMETERS_BYTES};

/// `struct policy_parameters`, byte for byte, as [`crate::Settings::kernel_parameters`] fills it in. Zero in a member
/// selects the policy's own default.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Parameters([u8; POLICY_PARAMETERS_BYTES]);

impl Parameters {
    /// Returns whether no parameter is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a member by its name in C, 0 if it is not set; `None` if no row of the table has it.
    pub fn member(&self, name: &str) -> Option<u64> {
        let mut members = PARAMETERS.iter().filter_map(|row| row.member);
        let member = members.find(|member| member.name == name)?;
        let bytes = &self.0[member.offset..member.offset + member.bytes];
        Some(match *bytes {
            [byte] => byte.into(),
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }

    /// Sets the member of a parameter, if it has one, to an allowed value; 0 selects the default.
    pub(crate) fn set(&mut self, parameter: &Parameter, value: Value) {
        let Some(member) = parameter.member else {
            return;
        };
        let number = match value {
            Value::Switch(_) => (value != parameter.kind.default()).into(),
            Value::Number(number) => (number * member.per_unit).round() as u64,
        };
        self.put(member, number);
    }

    /// Writes a member; `value` must fit.
    fn put(&mut self, member: Member, value: u64) {
        let bytes = &mut self.0[member.offset..member.offset + member.bytes];
        match bytes.len() {
            1 => bytes.copy_from_slice(&(value as u8).to_ne_bytes()),
            2 => bytes.copy_from_slice(&(value as u16).to_ne_bytes()),
            4 => bytes.copy_from_slice(&(value as u32).to_ne_bytes()),
            _ => bytes.copy_from_slice(&value.to_ne_bytes()),
        }
    }
}

/// Phase of the connection (`enum policy_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Probing for the path's capacity, doubling each round trip.
    SlowStart,
    /// Near the window that fills the path.
    Avoidance,
    /// A congestion indication was answered; checking whether it persists.
    Inference,
    /// Others are present; sending only probes.
    Yielding,
}

impl Phase {
    /// The name in the field's terms.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow start",
            Self::Avoidance => "avoidance",
            Self::Inference => "inference",
            Self::Yielding => "yielding",
        }
    }

    /// Converts the number in the report; unknown numbers (of a newer control) become avoidance.
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::SlowStart,
            2 => Self::Inference,
            3 => Self::Yielding,
            _ => Self::Avoidance,
        }
    }
}

/// Source of the delay (`enum policy_signal`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// No sample yet.
    None,
    /// The one-way delay by the timestamp option (RFC 7323).
    OneWayDelay,
    /// The round trip: the peer sends no timestamps, or its clock is unreadable.
    RoundTrip,
}

impl Signal {
    /// Converts the number in the report.
    pub fn from_number(number: u8) -> Self {
        match number {
            1 => Self::OneWayDelay,
            2 => Self::RoundTrip,
            _ => Self::None,
        }
    }
}

/// Report of a policy (`struct policy_report`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Report {
    /// Latest filtered delay above the smallest one known, in microseconds.
    pub delay_over_minimum_us: u32,
    /// Threshold above the smallest delay, in microseconds.
    pub threshold_us: u32,
    /// Times the window was yielded to others.
    pub yields: u32,
    /// Number of the phase (`enum policy_phase`).
    pub phase: u8,
    /// Number of the source of the delay (`enum policy_signal`).
    pub signal: u8,
    /// In a kernel: time of the latest copy for outside readers, in ticks of 8.192 ms
    pub published: u16,
}

impl Report {
    /// Phase of the connection.
    pub fn phase(&self) -> Phase {
        Phase::from_number(self.phase)
    }

    /// Source of the delay.
    pub fn signal(&self) -> Signal {
        Signal::from_number(self.signal)
    }
}

/// Number of causes for which a policy gives way (`POLICY_CAUSES`).
pub const CAUSES: usize = 4;

/// How often policies gave way, by cause (`enum policy_cause`, in its order). All 0 of a policy that tells no causes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[serde(default)]
pub struct GaveWay {
    /// To a queue of others.
    pub queue: u64,
    /// To losses that no delay announced.
    pub losses: u64,
    /// To others in a fair queue, which no delay shows.
    pub fair_queue: u64,
    /// Since nothing could be measured any more.
    pub unmeasured: u64,
}

impl GaveWay {
    /// Each cause's name, as in JSON and metrics, with its words after a number, and the number of times.
    pub fn by_cause(&self) -> [(&'static str, &'static str, u64); CAUSES] {
        [
            ("queue", "to a queue", self.queue),
            ("losses", "to losses", self.losses),
            ("fair_queue", "in a fair queue", self.fair_queue),
            ("unmeasured", "with nothing to measure", self.unmeasured),
        ]
    }

    /// Lists the causes that occurred, such as `11 to a queue, 2 to losses`; empty if there are none.
    pub fn in_words(&self) -> String {
        let occurred = self.by_cause().into_iter().filter(|cause| cause.2 > 0);
        let words = occurred.map(|(_, words, times)| format!("{times} {words}"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Adds the times of others.
    pub fn add(&mut self, other: &Self) {
        self.queue += other.queue;
        self.losses += other.losses;
        self.fair_queue += other.fair_queue;
        self.unmeasured += other.unmeasured;
    }

    /// Returns what has been added since `earlier`; 0 where the earlier number is larger.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            queue: self.queue.saturating_sub(earlier.queue),
            losses: self.losses.saturating_sub(earlier.losses),
            fair_queue: self.fair_queue.saturating_sub(earlier.fair_queue),
            unmeasured: self.unmeasured.saturating_sub(earlier.unmeasured),
        }
    }
}

/// The `gave_way` of a policy's state.
impl From<[u32; CAUSES]> for GaveWay {
    fn from(times: [u32; CAUSES]) -> Self {
        let [queue, losses, fair_queue, unmeasured] = times.map(u64::from);
        Self {
            queue,
            losses,
            fair_queue,
            unmeasured,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn members_are_read_as_they_were_written() {
        let mut parameters = Parameters::default();
        let members: BTreeMap<&str, Member> = PARAMETERS
            .iter()
            .filter_map(|row| row.member)
            .map(|member| (member.name, member))
            .collect();
        let members = || members.values().copied();
        for (value, member) in (1..).zip(members()) {
            parameters.put(member, value);
        }
        for (value, member) in (1..).zip(members()) {
            assert_eq!(
                parameters.member(member.name),
                Some(value),
                "{}",
                member.name
            );
        }
        assert_eq!(parameters.member("reserved"), None);
    }

    #[test]
    fn only_causes_that_occurred_are_told() {
        let gave_way = GaveWay::from([11, 2, 1, 0]);
        let words = "11 to a queue, 2 to losses, 1 in a fair queue";
        assert_eq!(gave_way.in_words(), words);
        let unmeasured = GaveWay::from([0, 0, 0, 3]).in_words();
        assert_eq!(unmeasured, "3 with nothing to measure");
        assert_eq!(GaveWay::default().in_words(), "");
    }

    #[test]
    fn members_are_written_in_the_bytes_order_of_the_machine() {
        let mut parameters = Parameters::default();
        let member = |offset, bytes| Member {
            name: "",
            offset,
            bytes,
            per_unit: 1.0,
        };
        parameters.put(member(2, 2), 0x0102);
        parameters.put(member(8, 4), 0x0304_0506);
        parameters.put(member(16, 8), 0x0708_090a_0b0c_0d0e);
        parameters.put(member(24, 1), 0x0f);
        let mut expected = [0; POLICY_PARAMETERS_BYTES];
        expected[2..4].copy_from_slice(&0x0102_u16.to_ne_bytes());
        expected[8..12].copy_from_slice(&0x0304_0506_u32.to_ne_bytes());
        expected[16..24].copy_from_slice(&0x0708_090a_0b0c_0d0e_u64.to_ne_bytes());
        expected[24] = 0x0f;
        assert_eq!(parameters.0, expected);
        assert!(!parameters.is_default());
    }
}
