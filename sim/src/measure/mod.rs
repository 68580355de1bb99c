// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run measures.

mod histogram;

pub use histogram::Histogram;

/// What a flow has counted since the beginning of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowCounters {
    /// Packets of data sent, retransmissions included.
    pub sent_packets: u64,
    /// Their bytes, headers included.
    pub sent_bytes: u64,
    /// Packets of data that have come to the receiver.
    pub received_packets: u64,
    /// Their bytes, headers included.
    pub received_bytes: u64,
    /// Packets of either direction that were dropped.
    pub dropped: u64,
}
