// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on few links: a FIFO for each link, and a winner tree over their first packets.

use std::collections::VecDeque;

use netnice_queue::Time;

use crate::engine::flight::{Departure, Flight};
use crate::engine::packet_queue::PacketQueue;
use crate::engine::scheduler::Shape;
use crate::engine::winner_tree::{self, WinnerTree};
use crate::packet::Packet;

/// Bits of a key that hold the link's number.
const LINK_BITS: u32 = 10;
/// Most links that keys can number.
const MAX_LINKS: usize = 1 << LINK_BITS;
/// Keys distinguish times before this one (208 days).
const LAST: Time = Time::from_nanos((1 << (u64::BITS - LINK_BITS)) - 2);

/// The packets on each link, first in first out, and the links by their first packets. Keys do not distinguish packets
/// that come out at [`LAST`] or later.
#[derive(Debug)]
pub(crate) struct LinkFifos {
    fifos: Vec<VecDeque<Flight>>,
    first: WinnerTree<Box<[u64; 2 * MAX_LINKS]>>,
}

impl LinkFifos {
    /// Returns whether keys distinguish this many links and all times until `end`, the end of the run.
    pub fn can_hold(links: usize, end: Time) -> bool {
        links <= MAX_LINKS && end < LAST
    }

    /// Empty FIFOs for `links` links.
    pub fn new(links: usize) -> LinkFifos {
        LinkFifos {
            fifos: vec![VecDeque::new(); links.min(MAX_LINKS)],
            first: WinnerTree::of_few(links.min(MAX_LINKS)),
        }
    }
}

impl PacketQueue for LinkFifos {
    const FITS_CACHE: bool = true;

    fn new(shape: &Shape) -> LinkFifos {
        LinkFifos::new(shape.links)
    }

    #[inline(always)]
    fn push(&mut self, _lane: usize, link: u32, departure: Departure, packet: Packet) {
        let fifo = &mut self.fifos[link as usize];
        if fifo.is_empty() {
            self.first.set(link as usize, key(departure.due, link));
        }
        fifo.push_back(Flight::NONE);
        if let Some(flight) = fifo.back_mut() {
            flight.set(link, departure, packet);
        }
    }

    #[inline(always)]
    fn first(&mut self) -> u128 {
        match self.first.first() {
            winner_tree::NONE => u128::MAX,
            key => {
                let link = key % MAX_LINKS as u64;
                (u128::from(key >> LINK_BITS) << 32) | u128::from(link)
            }
        }
    }

    #[inline(always)]
    fn first_due(&mut self) -> Time {
        Time::from_nanos(self.first.first() >> LINK_BITS)
    }

    #[inline(always)]
    fn take_first(&mut self) -> Flight {
        let link = self.first.first() as usize % MAX_LINKS;
        let fifo = &mut self.fifos[link];
        let flight = fifo.front().copied().unwrap_or(Flight::NONE);
        fifo.pop_front();
        let next = fifo.front();
        let next = next.map_or(winner_tree::NONE, |flight| key(flight.due, flight.link));
        self.first.set(link, next);
        flight
    }

    fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.fifos.iter().flatten()
    }
}

#[inline]
fn key(due: Time, link: u32) -> u64 {
    (due.min(LAST).as_nanos() << LINK_BITS) | u64::from(link)
}
