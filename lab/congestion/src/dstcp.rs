// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP for Diff-Serv: `policies/dstcp.h`.

use crate::state::State;
use netnice_parameters::exchange::Parameters;

/// One ACK of new data outside fast recovery.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Smoothed round-trip time (RFC 6298) in microseconds; 0 before the first sample.
    pub smoothed_rtt_us: u32,
    /// Smallest round-trip time of the connection in microseconds; 0 before the first sample.
    pub minimum_rtt_us: u32,
    /// Packets acknowledged.
    pub acked: u32,
    /// 1 if the window, not the program, limits the connection.
    pub cwnd_limited: u32,
}

/// The window in packets.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
}

unsafe extern "C" {
    fn native_dstcp_init(state: *mut State, wanted: *const Parameters);
    fn native_dstcp_set_packet_bytes(state: *mut State, packet_bytes: u32);
    fn native_dstcp_on_ack(state: *mut State, ack: *const Ack, window: *mut Window);
    fn native_dstcp_on_loss(state: *mut State, cwnd: u32) -> u32;
    fn native_dstcp_on_timeout(state: *mut State, cwnd: u32) -> u32;
    fn native_dstcp_ssthresh(state: *const State, otherwise: u32) -> u32;
    fn native_dstcp_on_ecn_echo(state: *mut State, in_profile: u32, window: *mut Window);
    fn native_dstcp_within_profile(state: *const State, cwnd: u32) -> u32;
}

/// The state of one connection under TCP for Diff-Serv.
#[derive(Clone, Debug)]
pub struct DsTcp(State);

impl DsTcp {
    /// Creates the state of a new connection.
    pub fn new(parameters: &Parameters) -> Self {
        let mut state = State::zeroed();
        // SAFETY: the state is zeroed and as large as any policy's.
        unsafe { native_dstcp_init(&mut state, parameters) };
        Self(state)
    }

    /// Sets the size of a full packet in bytes, as the target rate counts it; the default is 1000.
    pub fn set_packet_bytes(&mut self, packet_bytes: u32) {
        // SAFETY: the state was initialised by `new`; the call touches nothing else.
        unsafe { native_dstcp_set_packet_bytes(&mut self.0, packet_bytes) };
    }

    /// Updates the window after an ACK outside fast recovery.
    pub fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        // SAFETY: the state was initialised by `new`; the call only accesses its arguments.
        unsafe { native_dstcp_on_ack(&mut self.0, ack, window) };
    }

    /// Returns the window in packets at the end of recovery after a loss.
    pub fn on_loss(&mut self, cwnd: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_dstcp_on_loss(&mut self.0, cwnd) }
    }

    /// Returns the new ssthresh in packets after an RTO.
    pub fn on_timeout(&mut self, cwnd: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_dstcp_on_timeout(&mut self.0, cwnd) }
    }

    /// Returns ssthresh in packets if the target rate sets it, otherwise `otherwise`.
    pub fn ssthresh(&self, otherwise: u32) -> u32 {
        // SAFETY: as above.
        unsafe { native_dstcp_ssthresh(&self.0, otherwise) }
    }

    /// Updates the window after an echo of a mark on a packet in profile (IN) or not (OUT).
    pub fn on_ecn_echo(&mut self, in_profile: bool, window: &mut Window) {
        // SAFETY: as above.
        unsafe { native_dstcp_on_ecn_echo(&mut self.0, in_profile.into(), window) };
    }

    /// Returns whether to treat a marked packet as IN, which the sender estimates from its window of `cwnd` packets.
    pub fn within_profile(&self, cwnd: u32) -> bool {
        // SAFETY: as above.
        unsafe { native_dstcp_within_profile(&self.0, cwnd) != 0 }
    }
}
