// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of packets that no queue reads: they stay in place while links copy the headers.

use crate::tcp::prefetch::prefetch;
use netnice_queue::Time;

use crate::tcp::{Flags, NO_SACK, SackBlock, Segment};

/// The part of a packet that no queue reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// The TCP segment; empty for UDP.
    pub segment: Segment,
    /// When it left its sender. For an ACK, when the newest data it acknowledges left theirs.
    pub sent: Time,
}

/// A body as it is kept, two of them in a cache line: what goes to a sender has no sequence number, what goes to a receiver
/// no acknowledgement number, and few have what is kept [aside](Aside).
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct PackedBody {
    /// The sequence or the acknowledgement number.
    number: u64,
    sent: Time,
    window: u32,
    tsval: u32,
    tsecr: u32,
    length: u16,
    flags: Flags,
    /// There is more of it [aside](Aside).
    any_aside: bool,
}

/// The fields that few segments have.
#[derive(Debug, Clone, Copy)]
struct Aside {
    sack: [SackBlock; 3],
    request: u32,
}

impl Aside {
    const NONE: Aside = Aside {
        sack: NO_SACK,
        request: 0,
    };
}

impl PackedBody {
    /// All but what is kept aside.
    #[inline(always)]
    fn new(body: &Body) -> PackedBody {
        let segment = &body.segment;
        debug_assert!(segment.sequence == 0 || segment.acknowledgement == 0);
        debug_assert!(segment.length <= u32::from(u16::MAX));
        PackedBody {
            number: segment.sequence | segment.acknowledgement,
            sent: body.sent,
            window: segment.window,
            tsval: segment.tsval,
            tsecr: segment.tsecr,
            length: segment.length as u16,
            flags: segment.flags,
            any_aside: segment.sack[0].is_used() | (segment.request != 0),
        }
    }

    #[inline(always)]
    fn with(&self, goes: Goes, aside: Aside) -> Body {
        let acknowledges = goes == Goes::ToSender;
        Body {
            segment: Segment {
                sequence: if acknowledges { 0 } else { self.number },
                acknowledgement: if acknowledges { self.number } else { 0 },
                length: u32::from(self.length),
                window: self.window,
                tsval: self.tsval,
                tsecr: self.tsecr,
                sack: aside.sack,
                flags: self.flags,
                request: aside.request,
            },
            sent: self.sent,
        }
    }
}

/// The direction of a packet in its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes {
    ToSender,
    ToReceiver,
}

/// The bodies of all packets in the network. Slots are reused, the last freed first, as it is still in the cache.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    bodies: Vec<PackedBody>,
    free: Vec<u32>,
    /// The fields that few have, by slot.
    aside: Vec<Aside>,
}

impl Bodies {
    /// A slot for `body`.
    #[inline(always)]
    pub fn insert(&mut self, body: &Body) -> u32 {
        let packed = PackedBody::new(body);
        let slot = if let Some(slot) = self.free.pop() {
            self.bodies[slot as usize] = packed;
            slot
        } else {
            self.bodies.push(packed);
            u32::try_from(self.bodies.len() - 1).expect("fewer than 2^32 packets under way")
        };
        if packed.any_aside {
            self.keep_aside(slot, body.segment.sack, body.segment.request);
        }
        slot
    }

    /// Takes the fields one by one: a reference to the segment would have each segment stored.
    #[inline(never)]
    fn keep_aside(&mut self, slot: u32, sack: [SackBlock; 3], request: u32) {
        if self.aside.len() < self.bodies.len() {
            self.aside.resize(self.bodies.len(), Aside::NONE);
        }
        self.aside[slot as usize] = Aside { sack, request };
    }

    #[inline]
    fn aside(&self, slot: u32, packed: &PackedBody) -> Aside {
        if packed.any_aside {
            self.aside[slot as usize]
        } else {
            Aside::NONE
        }
    }

    /// The body in `slot`.
    pub fn get(&self, slot: u32, goes: Goes) -> Body {
        let packed = &self.bodies[slot as usize];
        packed.with(goes, self.aside(slot, packed))
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
        packed.with(goes, self.aside(slot, packed))
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
    fn two_bodies_fill_a_cache_line() {
        assert_eq!(size_of::<PackedBody>(), 32);
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
        let request = Segment {
            acknowledgement: 1 << 35,
            length: 300,
            flags: Flags::ACK.with(Flags::REQUEST),
            request: 9,
            ..Segment::default()
        };
        let mut bodies = Bodies::default();
        // Slots of segments with SACK blocks are used again by those without, and the other way round.
        for order in [[data, ack], [ack, data], [ack, ack], [request, ack]] {
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
