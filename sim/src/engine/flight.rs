// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet on a link that can tell on the packet's arrival when the packet will leave.

use netnice_queue::Time;

use crate::packet::Route;
use crate::packet::{Marks, Packet};

/// The time at which a packet leaves a link, known on the packet's arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departure {
    /// When it comes out.
    pub due: Time,
    /// How long it waits before its transmission begins, in nanoseconds.
    pub waited_ns: u64,
}

/// A packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    /// When it comes out.
    pub due: Time,
    /// How long it waited before its transmission began, in nanoseconds.
    pub waited_ns: u64,
    pub link: u32,
    pub packet: Packet,
}

impl Flight {
    /// What stands where there is none.
    pub const NONE: Flight = Flight {
        due: Time::ZERO,
        waited_ns: 0,
        link: 0,
        packet: Packet {
            route: Route {
                cursor: 0,
                shift: 0,
            },
            connection: 0,
            body: 0,
            length: 0,
            class: 0,
            marks: Marks::NONE,
        },
    };

    /// A packet goes onto a link, and its cursor to the next hop.
    #[inline(always)]
    pub fn new(link: u32, departure: Departure, packet: Packet) -> Flight {
        let mut flight = Flight::NONE;
        flight.set(link, departure, packet);
        flight
    }

    /// Makes of [`Flight::NONE`], where it is kept, [`Flight::new`]: one that is put together elsewhere and then copied makes
    /// the processor wait until its parts have come to the cache.
    #[inline(always)]
    pub fn set(&mut self, link: u32, departure: Departure, packet: Packet) {
        self.due = departure.due;
        self.waited_ns = departure.waited_ns;
        self.link = link;
        self.packet = packet;
        self.packet.route.cursor = packet.route.cursor + 1;
    }

    /// Of two flights the one with the lesser key comes out first: the earlier, or the one of the lower link.
    #[inline]
    pub fn key(&self) -> u128 {
        Flight::key_of(self.due, self.link)
    }

    /// The key of a flight of this link and time.
    #[inline]
    pub fn key_of(due: Time, link: u32) -> u128 {
        (u128::from(due.as_nanos()) << 32) | u128::from(link)
    }
}
