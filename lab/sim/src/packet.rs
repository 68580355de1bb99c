// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of a packet that links and queues read.

use std::num::NonZeroU8;

use netnice_queue::Colour;

/// Set in [`Packet::connection`] where it is the number of a flow over UDP.
pub(crate) const UDP: u32 = 1 << 31;

/// Where a route stands in the arena, and by how much the numbers of its own links are shifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Route {
    pub cursor: u32,
    pub shift: u32,
}

impl Route {
    /// One hop further.
    #[inline]
    pub fn onward(self) -> Route {
        Route {
            cursor: self.cursor + 1,
            ..self
        }
    }

    /// One hop back.
    pub fn back(self) -> Route {
        Route {
            cursor: self.cursor - 1,
            ..self
        }
    }
}

/// The part of a packet that links and queues read: 20 bytes, so that a queue of them is dense.
///
/// The TCP segment and the measurements lie in `flows::bodies::Bodies` and are touched at the two ends only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Where in the arena of routes the next hop stands, and by how much its links are shifted.
    pub(crate) route: Route,
    /// The connection it belongs to, or the flow over UDP and [`UDP`].
    pub(crate) connection: u32,
    /// Its slot among the bodies.
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
/// Never zero, so that `Option<Packet>` needs no byte more to represent `None`.
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
    /// Red rather than yellow; only set together with [`Marks::OUT_OF_PROFILE`].
    const RED: u8 = 32;
    /// ECT(1) in place of ECT(0).
    const SCALABLE: u8 = 16;
    /// A marker has given it its colour.
    const TAGGED: u8 = 64;
    const ALWAYS: NonZeroU8 = NonZeroU8::new(8).unwrap();

    /// Not ECN-capable or ECT(0); within its profile.
    pub fn new(ecn_capable: bool) -> Marks {
        Marks(Self::ALWAYS).with(Self::ECN_CAPABLE, ecn_capable)
    }

    /// ECT(1), by which scalable traffic identifies itself (RFC 9331 section 4.1); within its profile.
    pub fn scalable() -> Marks {
        Marks::new(true).with(Self::SCALABLE, true)
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

    /// ECT(1), or was that before a mark.
    pub fn identifies_as_scalable(self) -> bool {
        self.has(Self::SCALABLE)
    }

    /// The colour that the last meter gave, green before any.
    pub fn colour(self) -> Colour {
        match (self.in_profile(), self.has(Self::RED)) {
            (true, _) => Colour::Green,
            (false, false) => Colour::Yellow,
            (false, true) => Colour::Red,
        }
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
    fn scalable(&self) -> bool {
        // As on the wire, CE shows no longer which of the two a packet was (RFC 9331 section 5.1).
        self.marks.identifies_as_scalable() || self.marks.congestion_experienced()
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
        self.set_colour(match in_profile {
            true => Colour::Green,
            false => Colour::Yellow,
        });
    }

    fn colour(&self) -> Colour {
        self.marks.colour()
    }

    #[inline]
    fn set_colour(&mut self, colour: Colour) {
        let out = self
            .marks
            .with(Marks::OUT_OF_PROFILE, colour != Colour::Green);
        self.marks = out
            .with(Marks::RED, colour == Colour::Red)
            .with(Marks::TAGGED, true);
    }

    #[inline]
    fn is_tagged(&self) -> bool {
        self.marks.has(Marks::TAGGED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_small() {
        assert_eq!(size_of::<Packet>(), 20);
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
        assert!(packet.ecn_capable() && packet.in_profile() && !packet.is_tagged());
        packet.mark_congestion_experienced();
        packet.set_in_profile(false);
        assert!(packet.marks.congestion_experienced() && packet.ecn_capable());
        assert!(!packet.in_profile());
        for colour in [Colour::Red, Colour::Yellow, Colour::Green] {
            packet.set_colour(colour);
            assert_eq!(packet.colour(), colour);
            assert_eq!(packet.in_profile(), colour == Colour::Green);
        }
        assert!(packet.in_profile() && packet.is_tagged());
        assert!(packet.marks.congestion_experienced());
        // ECT(0) is classic until it is marked, ECT(1) is scalable.
        let of = |marks| Packet { marks, ..packet };
        assert!(packet.scalable() && !of(Marks::new(true)).scalable());
        assert!(of(Marks::scalable()).scalable() && of(Marks::scalable()).ecn_capable());
    }
}
