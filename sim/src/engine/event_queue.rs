// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pending events of a run, earliest first; of those at one time, the lowest source first.

use netnice_queue::{Departure, Time};

use crate::engine::flight::{Flight, Flights};
use crate::engine::source;
use crate::engine::timing_wheel::Timers;
use crate::engine::winner_tree::{self, Tournament};
use crate::packet::Packet;
use crate::time::NEVER;

/// The packets on links that tell on arrival when they come out, in [`Flights`]; what is due next on each of the others,
/// of which every packet changes something, in a [`Tournament`]; and everything else in [`Timers`].
///
/// Keys of links are 64 bits wide: nanoseconds since `epoch` above the link's number. The few that lie too far ahead for that
/// are among the timers.
#[derive(Debug)]
pub(crate) struct EventQueue {
    flights: Flights,
    links: Tournament<Vec<u64>>,
    others: Timers,
    /// Not later than the event taken last.
    epoch: Time,
}

/// The earliest event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet comes out of a link: [`EventQueue::take_flight`].
    Flight,
    /// Something is due from a source.
    Due(Time, u32),
    /// Many others may be due within the next milliseconds: [`EventQueue::take_list`].
    List,
}

/// So many bits of a key are the number of a link.
const LINK_BITS: u32 = 24;
/// So many links have numbers.
pub(crate) const MAX_LINKS: usize = 1 << LINK_BITS;
/// Nanoseconds after the epoch that a key cannot tell: 18 minutes.
const FAR: u64 = 1 << (u64::BITS - LINK_BITS);

impl EventQueue {
    /// For this many links that do not tell on a packet's arrival when it comes out, and for the packets on all others.
    pub fn new(links: usize, flights: Flights) -> EventQueue {
        EventQueue {
            flights,
            links: Tournament::new(links),
            others: Timers::default(),
            epoch: Time::ZERO,
        }
    }

    /// A packet will come out of a link; see [`Flights::push`].
    #[inline(always)]
    pub fn push_flight(&mut self, lane: usize, link: u32, departure: Departure, packet: Packet) {
        self.flights.push(lane, link, departure, packet);
    }

    /// Packets that will come out of links.
    pub fn flights(&self) -> &Flights {
        &self.flights
    }

    /// The same, to look ahead.
    pub fn flights_mut(&mut self) -> &mut Flights {
        &mut self.flights
    }

    /// Something other than a link's is due from `source` at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, source: u32) {
        self.others
            .push((u128::from(time.as_nanos()) << 32) | u128::from(source));
    }

    /// What is due next on a link that had nothing, or whose event was the last one taken.
    #[inline(always)]
    pub fn set_link(&mut self, now: Time, link: usize, due: Option<Time>) {
        let key = match due {
            None => winner_tree::NONE,
            Some(due) => {
                let ahead = due.as_nanos() - self.epoch.as_nanos();
                if ahead >= FAR - 1 {
                    return self.set_far_link(now, link, due);
                }
                (ahead << LINK_BITS) | link as u64
            }
        };
        self.links.set(link, key);
    }

    /// Moves the epoch on; what is too far ahead still is kept with the timers.
    #[cold]
    fn set_far_link(&mut self, now: Time, link: usize, due: Time) {
        self.links.set(link, winner_tree::NONE);
        let passed = now.as_nanos() - self.epoch.as_nanos();
        self.links.change_all(|key| key - (passed << LINK_BITS));
        self.epoch = now;
        if due.as_nanos() - now.as_nanos() >= FAR - 1 {
            self.push(due, source::LINK | link as u32);
        } else {
            self.set_link(now, link, Some(due));
        }
    }

    /// The earliest event, if it is due at or before `limit`. A flight stays until it is taken, a link's until
    /// [`EventQueue::set_link`] puts another in its place, any other is taken.
    #[inline(always)]
    pub fn next_until(&mut self, limit: Time) -> Option<Event> {
        let due = self.flights.first_due();
        if due < self.link_due().min(self.others.first_due()) {
            return (due <= limit).then_some(Event::Flight);
        }
        self.next_of_all(limit)
    }

    /// No link's event is due earlier.
    #[inline(always)]
    fn link_due(&self) -> Time {
        match self.links.first() {
            winner_tree::NONE => NEVER,
            link => self.epoch.plus_nanos(link >> LINK_BITS),
        }
    }

    /// [`EventQueue::next_until`] where something is due that is no flight, or may be.
    #[inline(never)]
    fn next_of_all(&mut self, limit: Time) -> Option<Event> {
        let flight = self.flights.first();
        let (link, other) = (self.links.first(), self.others.first());
        let link = match link {
            winner_tree::NONE => u128::MAX,
            link => {
                let due = u128::from(self.epoch.as_nanos() + (link >> LINK_BITS));
                (due << 32) | link_of(link) as u128
            }
        };
        let key = flight.min(link).min(other);
        let time = Time::from_nanos((key >> 32) as u64);
        // Where there is none, the key is later than all others, and so is its time.
        if time > limit || key == u128::MAX {
            return None;
        }
        if flight == key {
            return Some(Event::Flight);
        }
        if other < link {
            if self.others.list_is_first() {
                return Some(Event::List);
            }
            self.others.take_first();
        }
        Some(Event::Due(time, key as u32))
    }

    /// Takes out what is due next as far as it is in a list, in no order; see [`Timers::take_list`].
    pub fn take_list(&mut self) -> (Vec<u128>, u128) {
        self.others.take_list()
    }

    /// Takes out the flight that is the earliest event. (An event that held it would be copied in pieces.)
    #[inline(always)]
    pub fn take_flight(&mut self) -> Flight {
        self.flights.take_first()
    }
}

/// The number of the link that a key belongs to; none has the number of no key.
fn link_of(key: u64) -> usize {
    (key as u32 as usize) & (MAX_LINKS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn of_simultaneous_events_the_lowest_source_is_first() {
        let mut queue = EventQueue::new(5, Flights::new(0, Time::ZERO, 0, 1));
        let time = Time::from_millis(5);
        queue.set_link(Time::ZERO, 3, Some(time));
        queue.push(time, source::WRITE | 1);
        queue.set_link(Time::ZERO, 2, Some(time));
        assert_eq!(queue.next_until(Time::from_millis(4)), None);
        for expected in [2, 3, source::WRITE | 1] {
            assert_eq!(queue.next_until(time), Some(Event::Due(time, expected)));
            if expected < 5 {
                queue.set_link(time, expected as usize, None);
            }
        }
        assert_eq!(queue.next_until(time), None);
    }

    proptest! {
        #[test]
        fn it_sorts_as_an_ordered_set_does(
            links in 0usize..20,
            many in prop::sample::select(vec![40, 4000]),
            // Some times lie too far ahead for the keys of links.
            steps in prop::collection::vec((0u32..40, 0u64..50, 0u64..8, any::<bool>()), 1..400),
        ) {
            let mut queue = EventQueue::new(links, Flights::new(many, Time::ZERO, 2, 1));
            let mut model = BTreeSet::new();
            let mut now = 0;
            for (source, later, much_later, push) in steps {
                let time = now + later + (FAR / 4) * much_later;
                if push && (source as usize) < links {
                    if model.iter().all(|&(_, other)| other != source) {
                        queue.set_link(Time::from_nanos(now), source as usize, Some(Time::from_nanos(time)));
                        model.insert((time, source));
                    }
                } else if push && source >= 36 {
                    // Links that have no place among the others, on which packets stay in order.
                    if model.iter().all(|&(_, other)| other != source) {
                        model.insert((time, source));
                        let departure = Departure { due: Time::from_nanos(time), waited_ns: 0 };
                        queue.push_flight(source as usize % 3, source, departure, Flight::NONE.packet);
                    }
                } else if push {
                    let source = source | source::SENDER_TIMER;
                    if model.insert((time, source)) {
                        queue.push(Time::from_nanos(time), source);
                    }
                } else {
                    let limit = Time::from_nanos(time);
                    let expected = model.first().copied().filter(|&(at, _)| at <= time);
                    let mut event = queue.next_until(limit);
                    while event == Some(Event::List) {
                        for key in queue.take_list().0 {
                            queue.push(Time::from_nanos((key >> 32) as u64), key as u32);
                        }
                        event = queue.next_until(limit);
                    }
                    let got = event.map(|event| match event {
                        Event::List => unreachable!("all lists have been taken"),
                        Event::Flight => {
                            let flight = queue.take_flight();
                            (flight.due.as_nanos(), flight.link)
                        }
                        Event::Due(at, source) => (at.as_nanos(), source),
                    });
                    prop_assert_eq!(got, expected);
                    if let Some((at, source)) = expected {
                        now = at;
                        model.remove(&(at, source));
                        if (source as usize) < links {
                            queue.set_link(Time::from_nanos(now), source as usize, None);
                        }
                    }
                }
            }
        }
    }
}
