// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on their way over few links, by link.

use std::collections::VecDeque;

use netnice_queue::{Departure, Time};

use crate::engine::flight::Flight;
use crate::engine::winner_tree::{self, Tournament};
use crate::packet::Packet;

/// So many bits of a key are the number of a link.
const LINK_BITS: u32 = 10;
/// So many links can be told apart.
pub(crate) const MAX_LINKS: usize = 1 << LINK_BITS;
/// Times before this one can be told apart: 208 days.
pub(crate) const LAST: Time = Time::from_nanos((1 << (u64::BITS - LINK_BITS)) - 2);

/// The packets on each link, first in first out, and the links by their first packets. What comes out at [`LAST`] or later
/// is not told apart.
#[derive(Debug)]
pub(crate) struct Pipes {
    pipes: Vec<VecDeque<Flight>>,
    first: Tournament<Box<[u64; 2 * MAX_LINKS]>>,
}

impl Pipes {
    /// For this many links.
    pub fn new(links: usize) -> Pipes {
        Pipes {
            pipes: vec![VecDeque::new(); links.min(MAX_LINKS)],
            first: Tournament::of_few(links.min(MAX_LINKS)),
        }
    }

    /// A packet goes onto a link. It must not come out before any that was taken, nor before any on the same link.
    #[inline(always)]
    pub fn push(&mut self, link: u32, departure: Departure, packet: Packet) {
        let pipe = &mut self.pipes[link as usize];
        if pipe.is_empty() {
            self.first.set(link as usize, key(departure.due, link));
        }
        pipe.push_back(Flight::NONE);
        if let Some(flight) = pipe.back_mut() {
            flight.set(link, departure, packet);
        }
    }

    /// The key of the flight that comes out next; the largest number where there is none.
    #[inline(always)]
    pub fn first(&self) -> u128 {
        match self.first.first() {
            winner_tree::NONE => u128::MAX,
            key => {
                let link = key % MAX_LINKS as u64;
                (u128::from(key >> LINK_BITS) << 32) | u128::from(link)
            }
        }
    }

    /// When it comes out; later than [`LAST`] where there is none.
    #[inline(always)]
    pub fn first_due(&self) -> Time {
        Time::from_nanos(self.first.first() >> LINK_BITS)
    }

    /// Takes out the flight of [`Pipes::first`].
    #[inline(always)]
    pub fn take_first(&mut self) -> Flight {
        let link = self.first.first() as usize % MAX_LINKS;
        let pipe = &mut self.pipes[link];
        let flight = pipe.front().copied().unwrap_or(Flight::NONE);
        pipe.pop_front();
        let next = pipe.front();
        let next = next.map_or(winner_tree::NONE, |flight| key(flight.due, flight.link));
        self.first.set(link, next);
        flight
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.pipes.iter().flatten()
    }
}

#[inline]
fn key(due: Time, link: u32) -> u64 {
    (due.min(LAST).as_nanos() << LINK_BITS) | u64::from(link)
}
