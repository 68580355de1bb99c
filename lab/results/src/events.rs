// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of packets at links.

use netnice_queue::DropCause;

/// The kind of an event at a link. The sums over a run are the counters of these names in its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A packet arrived at the link's queue, and was accepted or not.
    Arrived,
    /// A packet was dropped; the cause says why.
    Dropped,
    /// A packet came out of the link that its queue had marked: CE in place of ECT (RFC 3168).
    Marked,
    /// A packet came out of the link.
    Delivered,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [EventKind; 4] = [
        EventKind::Arrived,
        EventKind::Dropped,
        EventKind::Marked,
        EventKind::Delivered,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Arrived => "arrived",
            EventKind::Dropped => "dropped",
            EventKind::Marked => "marked",
            EventKind::Delivered => "delivered",
        }
    }
}

/// An event at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkEvent {
    /// Nanoseconds since the beginning of the run.
    pub time_ns: u64,
    /// Number of the link.
    pub link: u32,
    /// Number of the flow.
    pub flow: u32,
    /// Kind.
    pub kind: EventKind,
    /// Cause of a drop.
    pub cause: Option<DropCause>,
    /// The packet goes to the sender of the flow's data: an ACK, or a request.
    pub to_sender: bool,
    /// Number of the first byte of data, counted from 0 in each connection; the acknowledgement number of a packet that
    /// goes to the sender; `None` over UDP.
    pub sequence: Option<u64>,
    /// Bytes of the packet, headers included.
    pub bytes: u32,
    /// How long a packet that has come out waited before its transmission began, in nanoseconds.
    pub waited_ns: Option<u64>,
}
