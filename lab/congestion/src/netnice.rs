// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native build of `policies/netnice/netnice.h`.

use std::time::Duration;

use crate::congestion_control::CaState;
use crate::decisions::Decided;
use crate::state::State;
use netnice_parameters::exchange::{Parameters, Report};

/// One ACK. Times are in microseconds and may wrap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Current time.
    pub now_us: u32,
    /// Round-trip time of the newest packet covered; 0 if unknown or ambiguous (Karn).
    pub sample_rtt_us: u32,
    /// TSval of the ACK, if `has_timestamp`.
    pub tsval: u32,
    /// Packets newly delivered.
    pub acked: u32,
    /// Packets newly deemed lost, retransmitted ones included.
    pub lost: u32,
    /// Packets outstanding.
    pub in_flight: u32,
    /// Total packets delivered.
    pub delivered: u32,
    /// `delivered` when the newest packet covered was sent.
    pub prior_delivered: u32,
    /// Packets delivered in `rate_interval_us`; 0 if unknown.
    pub rate_delivered: u32,
    /// The interval of the delivery-rate sample.
    pub rate_interval_us: u32,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// True if the peer sends timestamps (RFC 7323).
    pub has_timestamp: bool,
    /// TSval less TSecr, modulo 256.
    pub stamp_lead: u8,
    /// True if the TSval is earlier than that of the ACK before.
    pub stamp_back: bool,
    /// State of the sender's loss recovery.
    pub ca_state: CaState,
    /// True if the program, not the window, limits the connection.
    pub app_limited: bool,
    /// True if the receiver of the data runs the policy; it cannot send trains of packets.
    pub at_receiver: bool,
    /// True if the newest packet covered was retransmitted: its round-trip time is in whole ticks of a timestamp's clock.
    pub retransmitted: bool,
}

unsafe extern "C" {
    fn native_netnice_init(state: *mut State, wanted: *const Parameters);
    fn native_netnice_on_handshake(state: *mut State, rtt_us: u32);
    fn native_netnice_on_ack(state: *mut State, ack: *const Ack) -> u32;
    fn native_netnice_on_undo(state: *mut State, cwnd: u32);
    fn native_netnice_decided(state: *const State, decided: *mut [u32; 5]);
    fn native_netnice_burst_packets(state: *const State) -> u32;
    fn native_netnice_pacing_us(state: *const State, cwnd: u32, smoothed_rtt_us: u32) -> u32;
}

/// A time as the policy takes it; the largest one stands for longer ones.
pub(crate) fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// The state of one connection under netnice.
#[derive(Clone, Debug)]
pub struct NetNice(State);

impl NetNice {
    /// Creates the state of a new connection.
    pub fn new(parameters: &Parameters) -> Self {
        let mut state = State::zeroed();
        // SAFETY: the state is zeroed and as large as any policy's.
        unsafe { native_netnice_init(&mut state, parameters) };
        Self(state)
    }

    pub(crate) fn state(&self) -> &State {
        &self.0
    }

    pub(crate) fn state_mut(&mut self) -> &mut State {
        &mut self.0
    }

    /// Learns the round-trip time of the handshake.
    pub fn on_handshake(&mut self, rtt: Duration) {
        let rtt_us = microseconds(rtt);
        // SAFETY: the state was initialised by `new`; the call only touches the state.
        unsafe { native_netnice_on_handshake(&mut self.0, rtt_us) }
    }

    /// Returns the new cwnd in packets after an ACK.
    pub fn on_ack(&mut self, ack: &Ack) -> u32 {
        // SAFETY: the state was initialised by `new`; the call only touches state and ack.
        unsafe { native_netnice_on_ack(&mut self.0, ack) }
    }

    /// Takes back the answer to a recovery that was spurious; `cwnd` is the window restored, in packets.
    pub fn on_undo(&mut self, cwnd: u32) {
        // SAFETY: as above.
        unsafe { native_netnice_on_undo(&mut self.0, cwnd) }
    }

    /// Returns what has been decided.
    pub(crate) fn decided(&self) -> Decided {
        let mut decided = [0; 5];
        // SAFETY: the state was initialised by `new`; the call only reads it, and fills the array.
        unsafe { native_netnice_decided(&self.0, &mut decided) };
        decided.into()
    }

    /// Returns the number of packets that pacing sends at once.
    pub fn burst_packets(&self) -> u32 {
        // SAFETY: as above.
        unsafe { native_netnice_burst_packets(&self.0) }
    }

    /// Returns the time over which to send a window of `cwnd` packets.
    pub fn pacing_interval(&self, cwnd: u32, smoothed_rtt: Duration) -> Duration {
        let rtt_us = microseconds(smoothed_rtt);
        // SAFETY: as above.
        Duration::from_micros(unsafe { native_netnice_pacing_us(&self.0, cwnd, rtt_us) }.into())
    }

    /// The report of the policy.
    pub fn report(&self) -> &Report {
        &self.0.report
    }
}
