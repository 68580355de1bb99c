// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference scheduler: all pending events in one binary heap.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use netnice_queue::Time;

use super::event_source;
use super::flight::{Departure, Flight};
use super::scheduler::{Event, Scheduler, Shape};
use crate::packet::Packet;

/// All pending events, ordered by time, then source, then insertion.
#[derive(Debug, Default)]
pub(crate) struct HeapScheduler {
    heap: BinaryHeap<Reverse<Pending>>,
    insertions: u64,
}

/// A pending event.
#[derive(Debug)]
struct Pending {
    /// Time, source and the number of the insertion.
    key: (Time, u32, u64),
    /// The packet, if one leaves a link.
    packet: Option<Flight>,
}

impl HeapScheduler {
    fn push(&mut self, time: Time, source: u32, packet: Option<Flight>) {
        let key = (time, source, self.insertions);
        self.insertions += 1;
        self.heap.push(Reverse(Pending { key, packet }));
    }
}

impl Scheduler for HeapScheduler {
    fn new(_shape: &Shape) -> HeapScheduler {
        HeapScheduler::default()
    }

    fn insert(&mut self, time: Time, source: u32) {
        self.push(time, source, None);
    }

    fn set_link(&mut self, _now: Time, link: usize, due: Option<Time>) {
        if let Some(due) = due {
            self.push(due, event_source::LINK | link as u32, None);
        }
    }

    fn insert_packet(&mut self, _lane: usize, link: u32, departure: Departure, packet: Packet) {
        let flight = Flight::new(link, departure, packet);
        self.push(departure.due, event_source::LINK | link, Some(flight));
    }

    fn pop_until(&mut self, limit: Time) -> Option<Event> {
        let Pending { key, packet } = &self.heap.peek()?.0;
        let &(time, source, _) = key;
        if time > limit {
            return None;
        }
        if packet.is_some() {
            return Some(Event::Packet);
        }
        self.heap.pop();
        Some(Event::Due(time, source))
    }

    fn take_packet(&mut self) -> Flight {
        let first = self.heap.pop().and_then(|Reverse(first)| first.packet);
        first.unwrap_or(Flight::NONE)
    }

    fn take_packets(&mut self, _now: Time) -> Vec<Flight> {
        let mut all = Vec::new();
        let mut others = BinaryHeap::new();
        while let Some(Reverse(first)) = self.heap.pop() {
            match first.packet {
                Some(flight) => all.push(flight),
                None => others.push(Reverse(first)),
            }
        }
        self.heap = others;
        all
    }

    fn packets(&self) -> impl Iterator<Item = &Flight> {
        self.heap.iter().filter_map(|first| first.0.packet.as_ref())
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.key == other.key
    }
}

impl Eq for Pending {}
