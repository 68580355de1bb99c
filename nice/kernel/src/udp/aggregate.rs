// SPDX-License-Identifier: MIT OR Apache-2.0
//! netnice applied to one direction of a group's UDP: `policies/aggregate.h`.

use bytemuck::{Pod, Zeroable};

use crate::objects::parameters::Parameters;

/// `struct aggregate`, with room for more.
#[repr(C, align(8))]
#[derive(Clone)]
pub(super) struct Aggregate([u64; 64]);

/// `struct aggregate_echo`: what is remembered of an echo until its reply comes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo([u64; 6]);

/// What is told of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// Bytes per second.
    pub(super) rate: u64,
    pub(super) yields_now: bool,
    /// Number of times it has yielded.
    pub(super) yields: u64,
    pub(super) smoothed_rtt_us: u64,
    /// Packets.
    pub(super) cwnd: u64,
    pub(super) queue_us: u64,
    pub(super) threshold_us: u64,
    /// Time of a packet at the highest rate known, in nanoseconds; 0: unknown.
    pub(super) packet_ns: u64,
}

/// `struct aggregate_bytes`: bytes so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(super) struct Bytes {
    /// At the queue.
    pub(super) arrived: u64,
    /// Behind it.
    pub(super) passed: u64,
}

unsafe extern "C" {
    fn udp_aggregate_begin(
        state: *mut Aggregate,
        wanted: *const Parameters,
        arrives: u32,
        now_us: u32,
        rtt_us: u32,
        bytes: *const Bytes,
        rate: u64,
    );
    fn udp_aggregate_on_echo(
        state: *mut Aggregate,
        echo: *mut Echo,
        now_us: u32,
        bytes: *const Bytes,
    );
    fn udp_aggregate_on_reply(
        state: *mut Aggregate,
        echo: *const Echo,
        now_us: u32,
        bytes: *const Bytes,
        lost: u32,
    ) -> u64;
    fn udp_aggregate_on_timeout(state: *mut Aggregate, now_us: u32) -> u64;
    fn udp_aggregate_echo_us(state: *const Aggregate) -> u32;
    fn udp_aggregate_told(state: *const Aggregate, told: *mut [u64; 8]);
}

impl Aggregate {
    /// Begins with the first reply, which took `rtt_us`, for what arrives or leaves, at `rate` bytes per second of late.
    pub(super) fn new(
        wanted: &Parameters,
        arrives: bool,
        now_us: u32,
        rtt_us: u32,
        bytes: &Bytes,
        rate: u64,
    ) -> Self {
        let mut state = Self([0; 64]);
        let arrives = arrives.into();
        // SAFETY: zeros are a valid state, for which `Self` has room, as native.c asserts.
        unsafe { udp_aggregate_begin(&mut state, wanted, arrives, now_us, rtt_us, bytes, rate) };
        state
    }

    /// Returns the record of an echo that leaves now.
    pub(super) fn on_echo(&mut self, now_us: u32, bytes: &Bytes) -> Echo {
        let mut echo = Echo::default();
        // SAFETY: all are as the function needs them.
        unsafe { udp_aggregate_on_echo(self, &mut echo, now_us, bytes) };
        echo
    }

    /// Takes a reply, before which `lost` echoes are without one; returns the rate from now on, in bytes per second.
    pub(super) fn on_reply(&mut self, echo: &Echo, now_us: u32, bytes: &Bytes, lost: u32) -> u64 {
        // SAFETY: as above.
        unsafe { udp_aggregate_on_reply(self, echo, now_us, bytes, lost) }
    }

    /// Takes the time-out of all echoes; returns the rate from now on.
    pub(super) fn on_timeout(&mut self, now_us: u32) -> u64 {
        // SAFETY: as above.
        unsafe { udp_aggregate_on_timeout(self, now_us) }
    }

    /// Returns the time from one echo to the next, in microseconds.
    pub(super) fn echo_us(&self) -> u32 {
        // SAFETY: as above.
        unsafe { udp_aggregate_echo_us(self) }
    }

    pub(super) fn told(&self) -> Told {
        let mut told = [0; 8];
        // SAFETY: the function writes eight numbers.
        unsafe { udp_aggregate_told(self, &mut told) };
        let [
            rate,
            yields_now,
            yields,
            smoothed_rtt_us,
            cwnd,
            queue_us,
            threshold_us,
            packet_ns,
        ] = told;
        Told {
            rate,
            yields_now: yields_now != 0,
            yields,
            smoothed_rtt_us,
            cwnd,
            queue_us,
            threshold_us,
            packet_ns,
        }
    }
}
