// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ACKs that `policies/tcplp.h` and the policies of its family take.

use crate::congestion_control::CaState;

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
