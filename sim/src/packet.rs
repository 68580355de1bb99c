// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels over links: a small header that queues copy, and a body that stays where it is.

use std::num::NonZeroU8;

use netnice_queue::{Time, prefetch};

use crate::huge_pages;
use crate::links::routes::Route;
use crate::tcp::{Flags, NO_SACK, SackBlock, Segment};

/// What links and queues look at: 20 bytes, so that a queue of them is dense.
///
/// The TCP segment and the measurements lie in [`Bodies`] and are touched at the two ends only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Where in the arena of routes the next hop stands, and by how much its links are shifted.
    pub(crate) route: Route,
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

impl Packet {
    /// A copy to be handed to a function that is not inlined, so that the packet itself need not lie in memory: from there it
    /// would be copied as a whole just after it was put together in pieces, for which the processor has to wait until all
    /// writes before have come to the cache. (Without the black box compilers see that it is the same packet.)
    #[inline(always)]
    pub(crate) fn apart(self) -> Packet {
        std::hint::black_box(self)
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// The TCP segment; empty for UDP.
    pub segment: Segment,
    /// When it left its sender. For an ACK, when the newest data it acknowledges left theirs.
    pub sent: Time,
}

/// A body as it is kept, two of them in a cache line: what goes to a sender has no sequence number, what goes to a receiver
/// no acknowledgement number, and few have SACK blocks.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Packed {
    /// The sequence or the acknowledgement number.
    number: u64,
    sent: Time,
    window: u32,
    tsval: u32,
    tsecr: u32,
    length: u16,
    flags: Flags,
    any_sack: bool,
}

impl Packed {
    /// All but the SACK blocks.
    #[inline(always)]
    fn new(body: &Body) -> Packed {
        let segment = &body.segment;
        debug_assert!(segment.sequence == 0 || segment.acknowledgement == 0);
        debug_assert!(segment.length <= u32::from(u16::MAX));
        Packed {
            number: segment.sequence | segment.acknowledgement,
            sent: body.sent,
            window: segment.window,
            tsval: segment.tsval,
            tsecr: segment.tsecr,
            length: segment.length as u16,
            flags: segment.flags,
            any_sack: segment.sack[0].end > 0,
        }
    }

    #[inline(always)]
    fn body(&self, goes: Goes, sack: [SackBlock; 3]) -> Body {
        let acknowledges = goes == Goes::ToSender;
        Body {
            segment: Segment {
                sequence: if acknowledges { 0 } else { self.number },
                acknowledgement: if acknowledges { self.number } else { 0 },
                length: u32::from(self.length),
                window: self.window,
                tsval: self.tsval,
                tsecr: self.tsecr,
                sack,
                flags: self.flags,
            },
            sent: self.sent,
        }
    }
}

/// Which way a packet goes in its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes {
    ToSender,
    ToReceiver,
}

/// The bodies of all packets in the network. Slots are used again, the last freed first, as it is still in the cache.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    bodies: Vec<Packed>,
    free: Vec<u32>,
    /// The SACK blocks of those that have any, by slot.
    sacks: Vec<[SackBlock; 3]>,
}

impl Bodies {
    /// A slot for `body`.
    #[inline(always)]
    pub fn insert(&mut self, body: &Body) -> u32 {
        let packed = Packed::new(body);
        let slot = if let Some(slot) = self.free.pop() {
            self.bodies[slot as usize] = packed;
            slot
        } else {
            huge_pages::make_room(&mut self.bodies);
            self.bodies.push(packed);
            u32::try_from(self.bodies.len() - 1).expect("fewer than 2^32 packets under way")
        };
        if packed.any_sack {
            self.keep_sack(slot, body.segment.sack);
        }
        slot
    }

    #[inline(never)]
    fn keep_sack(&mut self, slot: u32, sack: [SackBlock; 3]) {
        if self.sacks.len() < self.bodies.len() {
            self.sacks.resize(self.bodies.len(), NO_SACK);
        }
        self.sacks[slot as usize] = sack;
    }

    #[inline]
    fn sack(&self, slot: u32, packed: &Packed) -> [SackBlock; 3] {
        if packed.any_sack {
            self.sacks[slot as usize]
        } else {
            NO_SACK
        }
    }

    /// The body in `slot`.
    pub fn get(&self, slot: u32, goes: Goes) -> Body {
        let packed = &self.bodies[slot as usize];
        packed.body(goes, self.sack(slot, packed))
    }

    /// When the packet with the body in `slot` left its sender; see [`Body::sent`].
    #[inline]
    pub fn sent(&self, slot: u32) -> Time {
        self.bodies[slot as usize].sent
    }

    /// The sequence number of what goes to a receiver, the acknowledgement number of what goes to a sender.
    #[inline]
    pub fn number(&self, slot: u32) -> u64 {
        self.bodies[slot as usize].number
    }

    /// Begins to fetch the body in `slot`.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        prefetch(&self.bodies[slot as usize], 1);
    }

    /// Takes the body out; the slot is free again.
    #[inline(always)]
    pub fn remove(&mut self, slot: u32, goes: Goes) -> Body {
        self.free.push(slot);
        let packed = &self.bodies[slot as usize];
        packed.body(goes, self.sack(slot, packed))
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
    fn headers_and_bodies_are_small() {
        assert_eq!(size_of::<Packet>(), 20);
        assert_eq!(size_of::<Packed>(), 32);
    }

    #[test]
    fn marks_are_independent() {
        use netnice_queue::Packet as _;
        let mut packet = Packet {
            route: Route::default(),
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
        let first = bodies.insert(&Body::default());
        let sent = Time::from_millis(2);
        let second = bodies.insert(&Body {
            sent,
            ..Body::default()
        });
        bodies.remove(first, Goes::ToSender);
        assert_eq!(bodies.len(), 1);
        assert_eq!(bodies.insert(&Body::default()), first);
        assert_eq!(bodies.sent(second), sent);
    }

    #[test]
    fn what_went_in_comes_out() {
        let data = Segment {
            sequence: 1 << 40,
            length: 65_495,
            window: 3,
            tsval: 4,
            tsecr: 5,
            flags: Flags::FIN,
            ..Segment::default()
        };
        let ack = Segment {
            acknowledgement: 7 << 33,
            window: u32::MAX,
            sack: [
                SackBlock { start: 8, end: 9 },
                SackBlock { start: 10, end: 11 },
                SackBlock::default(),
            ],
            flags: Flags::ACK.with(Flags::ECE),
            ..Segment::default()
        };
        let mut bodies = Bodies::default();
        // Slots of segments with SACK blocks are used again by those without, and the other way round.
        for order in [[data, ack], [ack, data], [ack, ack]] {
            let slots = order.map(|segment| {
                let sent = Time::from_nanos(6);
                bodies.insert(&Body { segment, sent })
            });
            for (slot, segment) in slots.into_iter().zip(order) {
                let goes = if segment == data {
                    Goes::ToReceiver
                } else {
                    Goes::ToSender
                };
                assert_eq!(bodies.get(slot, goes).segment, segment);
                assert_eq!(bodies.remove(slot, goes).segment, segment);
            }
        }
    }
}
