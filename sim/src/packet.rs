// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels over links: a small header that queues copy, and a body that stays where it is.

use std::num::NonZeroU8;

use netnice_queue::Time;

use crate::huge_pages;
use crate::tcp::Segment;

/// What links and queues look at: 16 bytes, so that a queue of them is dense and a copy is one register pair.
///
/// The TCP segment and the measurements lie in [`Bodies`] and are touched at the two ends only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Where in the arena of routes the next hop stands.
    pub(crate) cursor: u32,
    /// The connection (or UDP flow) it belongs to.
    pub(crate) connection: u32,
    /// Its slot in [`Bodies`].
    pub(crate) body: u32,
    /// Bytes on a link, IP header included.
    pub(crate) length: u16,
    /// Class of strict priority; 0 goes first.
    pub(crate) class: u8,
    /// ECN codepoint and profile.
    pub(crate) marks: Marks,
}

/// The ECN codepoint (RFC 3168 section 5) and the drop precedence of a packet.
///
/// Never zero, so that a link's place for a packet needs no byte to tell that it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks(NonZeroU8);

impl Default for Marks {
    fn default() -> Marks {
        Marks::new(false)
    }
}

impl Marks {
    /// No mark.
    pub(crate) const NONE: Marks = Marks(Self::ALWAYS);

    const ECN_CAPABLE: u8 = 1;
    const CONGESTION_EXPERIENCED: u8 = 2;
    const OUT_OF_PROFILE: u8 = 4;
    const ALWAYS: NonZeroU8 = NonZeroU8::new(8).unwrap();

    /// Not ECN-capable or ECT(0); within its profile.
    pub fn new(ecn_capable: bool) -> Marks {
        Marks(Self::ALWAYS).with(Self::ECN_CAPABLE, ecn_capable)
    }

    fn with(self, mark: u8, set: bool) -> Marks {
        let others = self.0.get() & !mark;
        Marks(Self::ALWAYS | if set { others | mark } else { others })
    }

    fn has(self, mark: u8) -> bool {
        self.0.get() & mark != 0
    }

    /// ECT or CE.
    pub fn ecn_capable(self) -> bool {
        self.has(Self::ECN_CAPABLE)
    }

    /// CE.
    pub fn congestion_experienced(self) -> bool {
        self.has(Self::CONGESTION_EXPERIENCED)
    }

    /// Tagged IN, or never tagged.
    pub fn in_profile(self) -> bool {
        !self.has(Self::OUT_OF_PROFILE)
    }
}

impl netnice_queue::Packet for Packet {
    #[inline]
    fn length(&self) -> usize {
        usize::from(self.length)
    }

    #[inline]
    fn flow(&self) -> u64 {
        u64::from(self.connection)
    }

    #[inline]
    fn class(&self) -> u8 {
        self.class
    }

    #[inline]
    fn ecn_capable(&self) -> bool {
        self.marks.ecn_capable()
    }

    #[inline]
    fn mark_congestion_experienced(&mut self) {
        self.marks = self.marks.with(Marks::CONGESTION_EXPERIENCED, true);
    }

    #[inline]
    fn in_profile(&self) -> bool {
        self.marks.in_profile()
    }

    #[inline]
    fn set_in_profile(&mut self, in_profile: bool) {
        self.marks = self.marks.with(Marks::OUT_OF_PROFILE, !in_profile);
    }
}

/// The part of a packet that no queue looks at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Body {
    /// The TCP segment; empty for UDP.
    pub segment: Segment,
    /// When it left its sender. For an ACK, when the newest data it acknowledges left theirs.
    pub sent: Time,
}

/// The bodies of all packets in the network. Slots are used again, the last freed first, as it is still in the cache.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    bodies: Vec<Body>,
    free: Vec<u32>,
}

impl Bodies {
    /// A slot for `body`.
    #[inline]
    pub fn insert(&mut self, body: Body) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.bodies[slot as usize] = body;
            slot
        } else {
            huge_pages::make_room(&mut self.bodies);
            self.bodies.push(body);
            u32::try_from(self.bodies.len() - 1).expect("fewer than 2^32 packets under way")
        }
    }

    /// The body in `slot`.
    #[inline]
    pub fn get(&self, slot: u32) -> &Body {
        &self.bodies[slot as usize]
    }

    /// Takes the body out; the slot is free again.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> Body {
        self.free.push(slot);
        self.bodies[slot as usize]
    }

    /// Packets under way.
    pub fn len(&self) -> usize {
        self.bodies.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_register_pair() {
        assert_eq!(std::mem::size_of::<Packet>(), 16);
    }

    #[test]
    fn marks_are_independent() {
        use netnice_queue::Packet as _;
        let mut packet = Packet {
            cursor: 0,
            connection: 3,
            body: 0,
            length: 1500,
            class: 1,
            marks: Marks::new(true),
        };
        assert!(packet.ecn_capable() && packet.in_profile());
        packet.mark_congestion_experienced();
        packet.set_in_profile(false);
        assert!(packet.marks.congestion_experienced() && packet.ecn_capable());
        assert!(!packet.in_profile());
        packet.set_in_profile(true);
        assert!(packet.in_profile() && packet.marks.congestion_experienced());
    }

    #[test]
    fn freed_slots_are_used_again() {
        let mut bodies = Bodies::default();
        let first = bodies.insert(Body::default());
        let second = bodies.insert(Body {
            sent: Time::from_millis(2),
            ..Body::default()
        });
        bodies.remove(first);
        assert_eq!(bodies.len(), 1);
        assert_eq!(bodies.insert(Body::default()), first);
        assert_eq!(bodies.get(second).sent, Time::from_millis(2));
    }
}
