// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP as in the paper: `policy/tcplp.h`.

use crate::control::CaState;
use crate::policy::{Parameters, Report, State};

/// One ACK of new data. Times are in microseconds and may wrap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Current time.
    pub now_us: u32,
    /// Round-trip time of the newest packet covered; 0 if unknown or ambiguous (Karn).
    pub sample_rtt_us: u32,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt_us: u32,
    /// Smallest round-trip time of the connection, including this ACK; 0 if unknown.
    pub minimum_rtt_us: u32,
    /// TSval of the ACK, if `has_timestamp`.
    pub tsval: u32,
    /// Packets acknowledged.
    pub acked: u32,
    /// Packets outstanding.
    pub in_flight: u32,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow-start threshold in packets.
    pub ssthresh: u32,
    /// True if the peer sends timestamps (RFC 7323).
    pub has_timestamp: bool,
    /// State of the sender's loss recovery.
    pub ca_state: CaState,
    /// True if the window, not the program, limits the connection.
    pub cwnd_limited: bool,
}

unsafe extern "C" {
    fn native_tcplp_init(state: *mut State, wanted: *const Parameters);
    fn native_tcplp_sample(state: *mut State, ack: *const Ack);
    fn native_tcplp_on_ack(state: *mut State, ack: *const Ack) -> u32;
    fn native_tcplp_on_loss(state: *mut State, cwnd: u32, now_us: u32) -> u32;
    fn native_tcplp_on_ecn_echo(state: *mut State, ack: *const Ack) -> u32;
    fn native_tcplp_on_restart(state: *mut State);
    fn native_tcplp_pause_us(state: *const State, cwnd: u32, smoothed_rtt_us: u32) -> u32;
}

/// The state of one connection under TCP-LP.
#[derive(Clone, Debug)]
pub struct TcpLp(State);

impl TcpLp {
    /// Creates the state of a new connection.
    pub fn new(parameters: &Parameters) -> Self {
        let mut state = State::zeroed();
        // SAFETY: the state is zeroed and as large as any policy's.
        unsafe { native_tcplp_init(&mut state, parameters) };
        Self(state)
    }

    /// Samples the delay of an ACK of new data and returns the new cwnd in packets; a smaller one is also the new
    /// ssthresh, or slow start would undo it. In recovery, the loss recovery owns the window, which is returned
    /// unchanged.
    pub fn on_ack(&mut self, ack: &Ack) -> u32 {
        self.sample(ack);
        if ack.ca_state.answers_congestion() {
            ack.cwnd
        } else {
            self.on_sampled_ack(ack)
        }
    }

    /// Samples the delay of an ACK.
    pub fn sample(&mut self, ack: &Ack) {
        // SAFETY: the state was initialised by `new`; the call only touches state and ack.
        unsafe { native_tcplp_sample(&mut self.0, ack) };
    }

    /// Returns the window after an ACK that has been sampled; also after an RTO, when the sample does not count but
    /// slow start continues.
    pub fn on_sampled_ack(&mut self, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { native_tcplp_on_ack(&mut self.0, ack) }
    }

    /// Answers a router's mark in place of a delay (TCP-LP/ECN): returns the new cwnd in packets, as `on_ack` does.
    pub fn on_ecn_echo(&mut self, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { native_tcplp_on_ecn_echo(&mut self.0, ack) }
    }

    /// Returns the new ssthresh in packets after a loss.
    pub fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_tcplp_on_loss(&mut self.0, cwnd, now_us) }
    }

    /// Returns the microseconds between packets if the window is below one packet, otherwise 0.
    pub fn pause_us(&self, cwnd: u32, smoothed_rtt_us: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_tcplp_pause_us(&self.0, cwnd, smoothed_rtt_us) }
    }

    /// Resets the delay average after an idle period.
    pub fn on_restart(&mut self) {
        // SAFETY: as above.
        unsafe { native_tcplp_on_restart(&mut self.0) }
    }

    /// The report of the policy.
    pub fn report(&self) -> &Report {
        &self.0.report
    }
}
