// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on their way over links that tell on a packet's arrival when it will come out.

use netnice_queue::Time;

use crate::calendar::Calendar;
use crate::packet::{Marks, Packet};
use crate::pipes::{self, Pipes};

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
            cursor: 0,
            connection: 0,
            body: 0,
            length: 0,
            class: 0,
            marks: Marks::NONE,
        },
    };

    /// Of two flights the one with the lesser key comes out first: the earlier, or the one of the lower link.
    #[inline]
    pub fn key(&self) -> u128 {
        (u128::from(self.due.as_nanos()) << 32) | u128::from(self.link)
    }
}

/// The flights of a run. Those of one link and one time come out in the order in which they went in.
#[derive(Debug)]
pub(crate) enum Flights {
    /// On so few links that all of them are in the processor's cache.
    Few(Pipes),
    Many(Box<Calendar>),
}

impl Flights {
    /// For so many links and up to `end`. Where there are many links, `ahead` flights are known ahead.
    pub fn new(links: usize, end: Time, ahead: usize) -> Flights {
        if links <= pipes::MAX_LINKS && end < pipes::LAST {
            Flights::Few(Pipes::new(links))
        } else {
            Flights::Many(Box::new(Calendar::new(ahead)))
        }
    }

    /// Puts a flight down. It must not come out before any that was taken, nor before any on the same link.
    #[inline(always)]
    pub fn push(&mut self, flight: Flight) {
        match self {
            Flights::Few(pipes) => pipes.push(flight),
            Flights::Many(calendar) => calendar.push(flight),
        }
    }

    /// The key of the flight that comes out next; the largest number where there is none.
    #[inline(always)]
    pub fn first(&mut self) -> u128 {
        match self {
            Flights::Few(pipes) => pipes.first(),
            Flights::Many(calendar) => calendar.first(),
        }
    }

    /// Takes out the flight of [`Flights::first`].
    #[inline(always)]
    pub fn take_first(&mut self) -> Option<Flight> {
        match self {
            Flights::Few(pipes) => pipes.take_first(),
            Flights::Many(calendar) => calendar.take_first(),
        }
    }

    /// The flight that comes out `after` the one taken next, where there are many links, and as far as is known yet.
    #[inline]
    pub fn upcoming(&self, after: usize) -> Option<&Flight> {
        match self {
            Flights::Few(_) => None,
            Flights::Many(calendar) => calendar.upcoming(after),
        }
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        let (few, many) = match self {
            Flights::Few(pipes) => (Some(pipes.iter()), None),
            Flights::Many(calendar) => (None, Some(calendar.iter())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn flight(due: u64, link: u32, body: u32) -> Flight {
        Flight {
            due: Time::from_nanos(due),
            link,
            packet: Packet {
                body,
                ..Flight::NONE.packet
            },
            ..Flight::NONE
        }
    }

    proptest! {
        #[test]
        fn flights_come_out_by_time_then_link_then_as_they_went_in(
            ahead in 0usize..20,
            // From nanoseconds to hours ahead.
            steps in prop::collection::vec((0u32..45, 0u64..64, 0u32..4, 1u8..4), 1..400),
        ) {
            let mut calendar = Calendar::new(ahead);
            let mut pipes = Pipes::new(4);
            let mut last = [0; 4];
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (number, (scale, later, link, times)) in steps.into_iter().enumerate() {
                let number = number as u32;
                let due = (now + (later << scale >> 6)).max(last[link as usize]);
                last[link as usize] = due;
                calendar.push(flight(due, link, number));
                pipes.push(flight(due, link, number));
                model.insert((due, link, number), number);
                prop_assert_eq!(calendar.iter().count(), model.len());
                prop_assert_eq!(pipes.iter().count(), model.len());
                if times == 1 {
                    continue;
                }
                for _ in 1..times {
                    let expected = model.pop_first().map(|(key, _)| key);
                    let key = calendar.first();
                    prop_assert_eq!(key == u128::MAX, expected.is_none());
                    prop_assert_eq!(pipes.first(), key);
                    if let Some((due, link, number)) = expected {
                        let got = calendar.take_first();
                        prop_assert_eq!(got, Some(flight(due, link, number)));
                        prop_assert_eq!(pipes.take_first(), got);
                        prop_assert_eq!(flight(due, link, number).key(), key);
                        now = due;
                    }
                }
            }
        }
    }
}
