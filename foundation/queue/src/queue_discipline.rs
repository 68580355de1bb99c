// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interfaces of packets and of queue disciplines.
//!
//! The author of a queue discipline implements [`QueueDiscipline`]: `enqueue`, `dequeue`, `packets` and `bytes`.

use std::fmt::Debug;

use crate::time::Time;

/// Fields of the IP header that few disciplines read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IpFields {
    /// Number of the host that sent the packet: its address, or a number of the simulator.
    pub source: u32,
    /// Number of the host that the packet goes to.
    pub destination: u32,
    /// Differentiated services codepoint, 0 to 63 (RFC 2474).
    pub dscp: u8,
}

/// The colour that a meter gave a packet (RFC 2697, RFC 2698), its drop precedence (RFC 2597).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Colour {
    /// Within its profile, or never metered: IN, drop precedence 0.
    #[default]
    Green,
    /// Beyond its profile: OUT. Meters of two colours give no other.
    Yellow,
    /// Beyond the excess that its profile allows.
    Red,
}

impl Colour {
    /// All, from the lowest drop precedence on.
    pub const ALL: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Colour::Green => "green",
            Colour::Yellow => "yellow",
            Colour::Red => "red",
        }
    }
}

/// The properties of a packet that a link and a queue discipline use.
///
/// The defaults suit packets without a property: one flow, one class, no ECN.
pub trait Packet: Debug {
    /// Bytes the packet takes on the link, headers of the network layer included.
    fn length(&self) -> usize;

    /// Number of the transport flow, which fair queueing serves separately.
    fn flow(&self) -> u64 {
        0
    }

    /// Strict-priority class: packets of class 0 go first, and a higher class waits for every lower one.
    fn class(&self) -> u8 {
        0
    }

    /// Returns whether the transport is ECN-capable (ECT, RFC 3168 section 5).
    fn ecn_capable(&self) -> bool {
        false
    }

    /// Returns whether the packet identifies itself as scalable (L4S) traffic: ECT(1), or CE (RFC 9331 section 5.1).
    fn scalable(&self) -> bool {
        false
    }

    /// Marks congestion experienced (CE, RFC 3168 section 5). Called only where [`Packet::ecn_capable`] holds.
    fn mark_congestion_experienced(&mut self) {}

    /// Returns whether the edge tagged the packet as within its profile (IN, drop precedence 0) or beyond it (OUT).
    fn in_profile(&self) -> bool {
        true
    }

    /// Sets the profile tag of the packet at the edge.
    fn set_in_profile(&mut self, _in_profile: bool) {}

    /// The colour of the packet; one that knows IN and OUT alone is green or yellow.
    fn colour(&self) -> Colour {
        match self.in_profile() {
            true => Colour::Green,
            false => Colour::Yellow,
        }
    }

    /// Sets the colour at the edge.
    fn set_colour(&mut self, colour: Colour) {
        self.set_in_profile(colour == Colour::Green);
    }

    /// Returns whether a marker has tagged the packet. One that none has tagged is green, and is counted apart; packets that do not know
    /// count as tagged.
    fn is_tagged(&self) -> bool {
        true
    }

    /// Fields of the IP header. A packet without them has one source, one destination and DSCP 0; whoever knows better calls
    /// [`Link::offer_with`](crate::Link::offer_with).
    fn ip_fields(&self) -> IpFields {
        IpFields::default()
    }
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
    /// The link's loss, at random or by a model, dropped the packet before the queue.
    RandomLoss,
    /// An early drop by active queue management: at random while the average queue was between its thresholds (RED, RIO),
    /// by the control law (CoDel), by the drop probability (PIE).
    EarlyDrop,
    /// A drop because the average queue was at or above the threshold from which every packet is dropped (RED, RIO).
    ForcedDrop,
    /// The packet was waiting and made room for another: of a flow with fewer packets or bytes, of a higher class, or a
    /// newer one.
    PushedOut,
    /// The link's policer had too few tokens.
    Policed,
}

impl DropCause {
    /// Every cause, in the order of its discriminant (`cause as usize`).
    pub const ALL: [DropCause; 6] = [
        DropCause::QueueFull,
        DropCause::RandomLoss,
        DropCause::EarlyDrop,
        DropCause::ForcedDrop,
        DropCause::PushedOut,
        DropCause::Policed,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue_full",
            DropCause::RandomLoss => "random_loss",
            DropCause::EarlyDrop => "early_drop",
            DropCause::ForcedDrop => "forced_drop",
            DropCause::PushedOut => "pushed_out",
            DropCause::Policed => "policed",
        }
    }
}

/// A dropped packet, returned so that the caller can reuse its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The dropped packet: not always the one offered, since a discipline may push out a waiting packet to enqueue that
    /// one.
    pub packet: P,
    /// The cause of the drop.
    pub cause: DropCause,
}

/// The packets waiting for a link, and the order in which they leave.
///
/// The packet in transmission has left the queue (as in ns-2 and ns-3), so a queue of n packets holds n besides it. The
/// link calls with times that never decrease. A packet that arrives at an idle link is enqueued and dequeued at once;
/// after the queue empties, the link calls `dequeue` once more at the end of the last transmission.
pub trait QueueDiscipline<P: Packet>: Debug {
    /// Enqueues `packet`, which arrives at `now`. An error carries the one packet that was dropped; every other packet
    /// stays in the queue, or is returned by [`QueueDiscipline::take_dropped`].
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>>;

    /// Dequeues the packet whose transmission begins at `now`; `None` if no packet waits.
    fn dequeue(&mut self, now: Time) -> Option<P>;

    /// Returns a packet that was dropped after it had been admitted, for a discipline that drops on `dequeue` or several
    /// packets at once; `None` once all have been returned. A packet counts as waiting no more as soon as it is dropped.
    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        None
    }

    /// Returns true if a packet that is enqueued and dequeued at once would change nothing here, whatever packet it is: a link
    /// that is idle then sends it without that.
    fn lets_through(&self) -> bool {
        false
    }

    /// Returns whether the discipline reads [`Packet::ip_fields`].
    fn reads_ip_fields(&self) -> bool {
        false
    }

    /// Packets that this discipline has marked with congestion experienced so far.
    fn marks(&self) -> u64 {
        0
    }

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Bytes waiting.
    fn bytes(&self) -> u64;
}
