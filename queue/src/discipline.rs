// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a packet and a queue discipline must offer to a link.

use crate::Time;

/// What a link and a queue discipline need to know of a packet.
pub trait Packet {
    /// Bytes the packet takes on the link, headers of the network layer included.
    fn length(&self) -> usize;
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
/// The link calls with times that never decrease.
pub trait QueueDiscipline<P: Packet> {
    /// Takes `packet` in, arriving at `now`. An error carries the one packet that was dropped, and that one only:
    /// whatever else was in the queue still is.
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>>;

    /// The packet that begins its transmission at `now`, or `None` where nothing waits.
    fn dequeue(&mut self, now: Time) -> Option<P>;

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Bytes waiting.
    fn bytes(&self) -> u64;
}
