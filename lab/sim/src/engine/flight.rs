// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet on a link that computes the packet's departure time on its arrival.

use netnice_queue::Time;

use crate::packet::{Marks, Packet, Route};

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
    /// Placeholder for an empty place.
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

    /// Puts a packet onto a link and moves its cursor to the next hop.
    #[inline(always)]
    pub fn new(link: u32, departure: Departure, packet: Packet) -> Flight {
        let mut flight = Flight::NONE;
        flight.set(link, departure, packet);
        flight
    }

    /// Turns [`Flight::NONE`] into [`Flight::new`] in place: building it elsewhere and copying it would stall the
    /// processor until its parts have reached the cache.
    #[inline(always)]
    pub fn set(&mut self, link: u32, departure: Departure, packet: Packet) {
        self.due = departure.due;
        self.waited_ns = departure.waited_ns;
        self.link = link;
        self.packet = packet;
        self.packet.route.cursor = packet.route.cursor + 1;
    }

    /// The arguments of [`Flight::new`], for the link to take the packet again.
    pub fn put_back(&self) -> (Departure, Packet) {
        let departure = Departure {
            due: self.due,
            waited_ns: self.waited_ns,
        };
        let packet = Packet {
            route: self.packet.route.back(),
            ..self.packet
        };
        (departure, packet)
    }

    /// Orders flights: the lesser key comes out first, by time and then by link.
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
