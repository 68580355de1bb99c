// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue of flights in chunks that many queues share.
//!
//! Packets under way move from lane to lane as the queues of a network fill and empty. A ring for each lane would keep the room for the most
//! that it ever held, and twice that where it grew by doubling.

use std::collections::VecDeque;

use crate::engine::flight::Flight;

/// Flights in a chunk, which has 48 KiB.
const CHUNK: usize = 1024;

/// Chunks in no lane. The one freed last is used next, as it is still in the cache.
#[derive(Debug, Default)]
pub(crate) struct Chunks(Vec<Box<[Flight]>>);

impl Chunks {
    fn take(&mut self) -> Box<[Flight]> {
        let free = self.0.pop();
        free.unwrap_or_else(|| vec![Flight::NONE; CHUNK].into())
    }
}

/// Flights, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    chunks: VecDeque<Box<[Flight]>>,
    /// Place of the first flight in the first chunk.
    first: usize,
    /// Place after the last flight, counted from the beginning of the first chunk.
    end: usize,
}

impl Lane {
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The flight that comes out after `index` others.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&Flight> {
        let place = self.first + index;
        if place >= self.end {
            return None;
        }
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)
    }

    /// The flight that comes out next.
    #[inline(always)]
    pub fn front(&self) -> Option<&Flight> {
        self.get(0)
    }

    /// Adds a place, and returns it for the caller to write the whole flight.
    #[inline(always)]
    pub fn push_back(&mut self, chunks: &mut Chunks) -> &mut Flight {
        let place = self.end;
        if place == self.chunks.len() * CHUNK {
            self.chunks.push_back(chunks.take());
        }
        self.end += 1;
        &mut self.chunks[place / CHUNK][place % CHUNK]
    }

    /// Puts a flight before all others.
    pub fn push_front(&mut self, chunks: &mut Chunks, flight: Flight) {
        if self.first == 0 {
            self.chunks.push_front(chunks.take());
            self.first += CHUNK;
            self.end += CHUNK;
        }
        self.first -= 1;
        self.chunks[0][self.first] = flight;
    }

    /// Removes the flight that comes out next.
    #[inline(always)]
    pub fn pop_front(&mut self, chunks: &mut Chunks) {
        if self.is_empty() {
            return;
        }
        self.first += 1;
        if self.first == self.end {
            // A short lane stays where it is in the cache.
            (self.first, self.end) = (0, 0);
            if self.chunks.len() > 1 {
                chunks.0.extend(self.chunks.drain(1..));
            }
        } else if self.first == CHUNK {
            (self.first, self.end) = (0, self.end - CHUNK);
            chunks.0.extend(self.chunks.pop_front());
        }
    }

    /// All flights, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        (0..self.end - self.first).filter_map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_a_queue_and_gives_back_its_chunks(steps in prop::collection::vec((0usize..3, 1usize..3000), 1..60)) {
            let mut chunks = Chunks::default();
            let mut lane = Lane::default();
            let mut model: VecDeque<Flight> = VecDeque::new();
            let mut number = 0;
            for (kind, times) in steps {
                for _ in 0..times {
                    number += 1;
                    let flight = Flight { link: number, ..Flight::NONE };
                    match kind {
                        0 => {
                            *lane.push_back(&mut chunks) = flight;
                            model.push_back(flight);
                        }
                        1 if times < 100 => {
                            lane.push_front(&mut chunks, flight);
                            model.push_front(flight);
                        }
                        _ => {
                            lane.pop_front(&mut chunks);
                            model.pop_front();
                        }
                    }
                    prop_assert_eq!(lane.front(), model.front());
                    prop_assert_eq!(lane.get(8), model.get(8));
                    prop_assert_eq!(lane.is_empty(), model.is_empty());
                }
                prop_assert!(lane.iter().eq(&model));
                // In use are those that flights fill, with a part of the first one and of the last one.
                prop_assert!(lane.chunks.len() <= model.len() / CHUNK + 2);
            }
        }
    }
}
