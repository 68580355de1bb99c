// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interfaces of packets and of queue disciplines.
//!
//! The author of a queue discipline implements [`QueueDiscipline`]: `enqueue`, `dequeue`, `packets` and `bytes`.

use std::fmt::Debug;

use crate::Time;

/// What a link and a queue discipline need to know of a packet.
///
/// What only some disciplines look at has an answer for packets that do not know: one flow, one class, no ECN.
pub trait Packet: Debug {
    /// Bytes the packet takes on the link, headers of the network layer included.
    fn length(&self) -> usize;

    /// What fair queueing keeps apart: packets of one transport flow have one number.
    fn flow(&self) -> u64 {
        0
    }

    /// Strict priority: a higher class waits for every lower one; 0 goes first.
    fn class(&self) -> u8 {
        0
    }

    /// The transport can be told of congestion by a mark (ECT, RFC 3168 section 5).
    fn ecn_capable(&self) -> bool {
        false
    }

    /// Marks congestion experienced (CE, RFC 3168 section 5). Called only where [`Packet::ecn_capable`] holds.
    fn mark_congestion_experienced(&mut self) {}

    /// Within its profile, as tagged at the edge (IN, drop precedence 0), or beyond (OUT).
    fn in_profile(&self) -> bool {
        true
    }

    /// Tags the packet at the edge.
    fn set_in_profile(&mut self, _in_profile: bool) {}
}

impl Packet for Vec<u8> {
    fn length(&self) -> usize {
        self.len()
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropCause {
    /// The queue was at its limit.
    QueueFull,
    /// The link's random loss took it, before the queue.
    RandomLoss,
    /// An early drop at random while the average queue was between its thresholds (RED, RIO).
    EarlyDrop,
    /// The average queue was at or above the threshold from which everything is dropped (RED, RIO).
    ForcedDrop,
    /// It was waiting, and made room for another packet: of a flow with fewer packets, of a higher class, or a newer one.
    PushedOut,
}

impl DropCause {
    /// Every cause, in the order of their numbers (`cause as usize`).
    pub const ALL: [DropCause; 5] = [
        DropCause::QueueFull,
        DropCause::RandomLoss,
        DropCause::EarlyDrop,
        DropCause::ForcedDrop,
        DropCause::PushedOut,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue_full",
            DropCause::RandomLoss => "random_loss",
            DropCause::EarlyDrop => "early_drop",
            DropCause::ForcedDrop => "forced_drop",
            DropCause::PushedOut => "pushed_out",
        }
    }
}

/// A packet that did not get through, given back so that its memory can be used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet dropped: not always the one offered, since a discipline may push out another to take that one in.
    pub packet: P,
    /// Why.
    pub cause: DropCause,
}

/// The packets waiting for a link, and the order in which they leave.
///
/// The packet being transmitted has left the queue (as in ns-2 and ns-3), so a queue of n packets holds n beside it.
/// The link calls with times that never decrease. A packet that finds the link idle is enqueued and dequeued at once; a
/// queue that has run empty sees one more call of `dequeue` at the end of the last transmission.
pub trait QueueDiscipline<P: Packet>: Debug {
    /// Takes `packet` in, arriving at `now`. An error carries the one packet that was dropped, and that one only:
    /// whatever else was in the queue still is.
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>>;

    /// The packet that begins its transmission at `now`, or `None` where nothing waits.
    fn dequeue(&mut self, now: Time) -> Option<P>;

    /// Packets that this discipline has marked with congestion experienced so far.
    fn marks(&self) -> u64 {
        0
    }

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Bytes waiting.
    fn bytes(&self) -> u64;
}
