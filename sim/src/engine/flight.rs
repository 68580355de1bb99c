// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on their way over links that tell on a packet's arrival when it will come out.

use std::ops::Range;

use netnice_queue::{Departure, Time};

use crate::engine::fifo_lanes::Lanes;
use crate::engine::link_fifos::{self, Pipes};
use crate::packet::Route;
use crate::packet::{Marks, Packet};

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

/// The flights of a run. Those of one link and one time come out in the order in which they went in.
#[derive(Debug)]
pub(crate) enum Flights {
    /// On so few links that all of them are in the processor's cache.
    Few(Pipes),
    Many(Box<Lanes>),
}

impl Flights {
    /// All packets on so many links, up to `end`, are in the processor's cache, and need neither lanes nor to be known ahead.
    pub fn are_few(links: usize, end: Time) -> bool {
        links <= link_fifos::MAX_LINKS && end < link_fifos::LAST
    }

    /// For so many links and up to `end`. Where there are many links, they have so many `lanes`, and `ahead` flights are
    /// known ahead.
    pub fn new(links: usize, end: Time, lanes: usize, ahead: usize) -> Flights {
        if Flights::are_few(links, end) {
            Flights::Few(Pipes::new(links))
        } else {
            Flights::Many(Box::new(Lanes::new(lanes, ahead)))
        }
    }

    /// A packet goes onto a link, where there are many links in a lane. It must not come out before any that was taken, nor
    /// before any on the same link; see [`Lanes::push`].
    #[inline(always)]
    pub fn push(&mut self, lane: usize, link: u32, departure: Departure, packet: Packet) {
        match self {
            Flights::Few(pipes) => pipes.push(link, departure, packet),
            Flights::Many(lanes) => lanes.push(lane, link, departure, packet),
        }
    }

    /// The key of the flight that comes out next; the largest number where there is none.
    #[inline(always)]
    pub fn first(&mut self) -> u128 {
        match self {
            Flights::Few(pipes) => pipes.first(),
            Flights::Many(lanes) => lanes.first(),
        }
    }

    /// When the flight comes out that is next; where there is none, later than any that does.
    #[inline(always)]
    pub fn first_due(&mut self) -> Time {
        match self {
            Flights::Few(pipes) => pipes.first_due(),
            Flights::Many(lanes) => lanes.first_due(),
        }
    }

    /// Takes out the flight of [`Flights::first`], which was asked for before; [`Flight::NONE`] where there is none.
    #[inline(always)]
    pub fn take_first(&mut self) -> Flight {
        match self {
            Flights::Few(pipes) => pipes.take_first(),
            Flights::Many(lanes) => lanes.take_first(),
        }
    }

    /// They are on few links, and all that they need is in the processor's cache.
    #[inline(always)]
    pub fn are_all_near(&self) -> bool {
        matches!(self, Flights::Few(_))
    }

    /// From now on so many flights are known ahead, where there are many links, and [`Flights::take_fresh`] tells of them;
    /// `None` where nobody asks for them.
    pub fn know_ahead(&mut self, ahead: Option<usize>) {
        if let Flights::Many(lanes) = self {
            lanes.know_ahead(ahead);
        }
    }

    /// There are flights that [`Flights::take_fresh`] will tell of.
    #[inline(always)]
    pub fn any_fresh(&self) -> bool {
        match self {
            Flights::Few(_) => false,
            Flights::Many(lanes) => lanes.any_fresh(),
        }
    }

    /// Where at most so many flights are among the upcoming ones that were not told of before. Only where there are many
    /// links.
    pub fn take_fresh(&mut self, most: usize) -> Option<Range<usize>> {
        match self {
            Flights::Few(_) => None,
            Flights::Many(lanes) => lanes.take_fresh(most),
        }
    }

    /// Upcoming flights.
    pub fn upcoming(&self, range: Range<usize>) -> &[Flight] {
        match self {
            Flights::Few(_) => &[],
            Flights::Many(lanes) => lanes.upcoming(range),
        }
    }

    /// Takes all flights out, in order, of a run that has come to `now`.
    pub fn take_all(&mut self, now: Time) -> Vec<Flight> {
        let mut all = Vec::new();
        while self.first() != u128::MAX {
            all.push(self.take_first());
        }
        if let Flights::Many(lanes) = self {
            lanes.start_again(now);
        }
        all
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        let (few, many) = match self {
            Flights::Few(pipes) => (Some(pipes.iter()), None),
            Flights::Many(lanes) => (None, Some(lanes.iter())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::calendar_queue::Calendar;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn departure(due: u64, body: u32) -> (Departure, Packet) {
        let departure = Departure {
            due: Time::from_nanos(due),
            waited_ns: 0,
        };
        let packet = Packet {
            body,
            ..Flight::NONE.packet
        };
        (departure, packet)
    }

    fn flight(due: u64, link: u32, body: u32) -> Flight {
        let (departure, packet) = departure(due, body);
        Flight::new(link, departure, packet)
    }

    proptest! {
        #[test]
        fn flights_come_out_by_time_then_link_then_as_they_went_in(
            ahead in 0usize..20,
            // From nanoseconds to hours ahead.
            steps in prop::collection::vec((0u32..45, 0u64..64, 0u32..4, 1u8..4), 1..400),
            lane_of in prop::array::uniform4(0usize..4),
        ) {
            let mut calendar = Calendar::new();
            let mut lanes = Flights::Many(Box::new(Lanes::new(3, ahead)));
            let mut pipes = Flights::Few(Pipes::new(4));
            let mut last = [0; 4];
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (number, (scale, later, link, times)) in steps.into_iter().enumerate() {
                let number = number as u32;
                let due = (now + (later << scale >> 6)).max(last[link as usize]);
                last[link as usize] = due;
                let (departure, packet) = departure(due, number);
                calendar.push(flight(due, link, number));
                pipes.push(0, link, departure, packet);
                lanes.push(lane_of[link as usize], link, departure, packet);
                model.insert((due, link, number), number);
                prop_assert_eq!(calendar.iter().count(), model.len());
                prop_assert_eq!(pipes.iter().count(), model.len());
                prop_assert_eq!(lanes.iter().count(), model.len());
                if times == 1 {
                    continue;
                }
                if number % 16 == 7 {
                    lanes.know_ahead((number % 32 == 7).then_some(ahead));
                }
                if number % 16 == 15 {
                    // All are taken out, and put back.
                    let all = lanes.take_all(Time::from_nanos(now));
                    prop_assert_eq!(&pipes.take_all(Time::from_nanos(now)), &all);
                    let in_order = model.keys().map(|&(due, link, number)| flight(due, link, number));
                    prop_assert_eq!(&all, &in_order.collect::<Vec<_>>());
                    for flight in all {
                        let (departure, packet) = self::departure(flight.due.as_nanos(), flight.packet.body);
                        pipes.push(0, flight.link, departure, packet);
                        lanes.push(lane_of[flight.link as usize], flight.link, departure, packet);
                    }
                }
                for _ in 1..times {
                    let expected = model.pop_first().map(|(key, _)| key);
                    let key = calendar.first();
                    prop_assert_eq!(key == u128::MAX, expected.is_none());
                    // Who asks for the time only may get a flight that nobody has looked for.
                    let due = Time::from_nanos((key >> 32) as u64);
                    for flights in [&mut pipes, &mut lanes] {
                        if key != u128::MAX {
                            prop_assert_eq!(flights.first_due(), due);
                        }
                        if number % 8 < 5 {
                            prop_assert_eq!(flights.first(), key);
                        }
                    }
                    if let Some((due, link, number)) = expected {
                        let got = calendar.take_first();
                        prop_assert_eq!(got, flight(due, link, number));
                        prop_assert_eq!(pipes.take_first(), got);
                        prop_assert_eq!(lanes.take_first(), got);
                        prop_assert_eq!(flight(due, link, number).key(), key);
                        now = due;
                    }
                }
            }
        }
    }
}
