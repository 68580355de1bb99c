// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on their way over links, by the time at which they come out: a calendar queue in two levels.
//!
//! What is put down for a time is written behind what was put down for about that time before, and taken out with it: with
//! a hundred thousand packets under way as with ten, only a few places in memory are at work.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use netnice_queue::Time;

use crate::engine::buckets::Days;
use crate::engine::flight::Flight;

/// Nanoseconds of an hour, the shortest time that is told apart, in powers of two: 1.024 us.
const HOUR_LOG2: u32 = 10;
/// Hours of a day, and days of a year, in powers of two. A day has 4.2 ms, a year 17 s.
pub(crate) const HOURS_LOG2: u32 = 12;
const DAYS_AHEAD: u64 = 1 << HOURS_LOG2;

/// So many hours ahead flights are fetched.
const HOURS_AHEAD: usize = 16;

/// Flights that came in after the hour they belong to was laid out.
#[derive(Debug, PartialEq, Eq)]
struct Late {
    key: u128,
    sequence: u64,
    flight: Flight,
}

impl Ord for Late {
    fn cmp(&self, other: &Late) -> std::cmp::Ordering {
        (self.key, self.sequence).cmp(&(other.key, other.sequence))
    }
}

impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Late) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The flights of a run. Those of one link and one time come out in the order in which they went in.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// The next flights, in order, but for those in `late`.
    laid_out: Vec<Flight>,
    /// So many of them have come out.
    gone: usize,
    /// Flights before `hour` that came in after it was laid out.
    late: BinaryHeap<Reverse<Late>>,
    sequence: u64,
    /// The first hour, from the origin of time, that is not laid out.
    hour: u64,
    /// The day of which the hours are told apart; `hour` is in it, or the first after it.
    day: u64,
    /// Flights of this day by the hour, and of the following by the day.
    store: Days,
    /// Of days further ahead.
    far: BTreeMap<(u64, u64), Flight>,
}

impl Calendar {
    /// An empty one.
    pub fn new() -> Calendar {
        Calendar {
            laid_out: Vec::new(),
            gone: 0,
            late: BinaryHeap::new(),
            sequence: 0,
            hour: 0,
            day: 0,
            store: Days::new(),
            far: BTreeMap::new(),
        }
    }

    /// Puts a flight down. It must not come out before any that was taken.
    #[inline(always)]
    pub fn push(&mut self, flight: Flight) {
        let hour = flight.due.as_nanos() >> HOUR_LOG2;
        let day = hour >> HOURS_LOG2;
        if hour >= self.hour && day == self.day {
            self.store.push_hour(hour, flight);
        } else if hour >= self.hour && day - self.day < DAYS_AHEAD {
            self.store.push_day(day, flight);
        } else {
            self.push_beyond(flight, day);
        }
    }

    #[inline(never)]
    fn push_beyond(&mut self, flight: Flight, day: u64) {
        self.sequence += 1;
        let sequence = self.sequence;
        if flight.due.as_nanos() >> HOUR_LOG2 < self.hour {
            let key = flight.key();
            self.late.push(Reverse(Late {
                key,
                sequence,
                flight,
            }));
        } else {
            self.far.insert((day, sequence), flight);
        }
    }

    /// The key of the flight that comes out next; the largest number where there is none.
    #[inline(always)]
    pub fn first(&mut self) -> u128 {
        if self.gone >= self.laid_out.len() {
            self.lay_out();
        }
        if self.late.is_empty() {
            return self.laid_out.get(self.gone).map_or(u128::MAX, Flight::key);
        }
        self.first_of_late()
    }

    #[inline(never)]
    fn first_of_late(&self) -> u128 {
        let first = self.laid_out.get(self.gone).map_or(u128::MAX, Flight::key);
        let late = self.late.peek().map_or(u128::MAX, |late| late.0.key);
        first.min(late)
    }

    /// Takes out the flight of [`Calendar::first`].
    #[inline(always)]
    pub fn take_first(&mut self) -> Flight {
        if self.late.is_empty() {
            return self.take_laid_out();
        }
        self.take_late()
    }

    #[inline(always)]
    fn take_laid_out(&mut self) -> Flight {
        self.gone += 1;
        let flight = self.laid_out.get(self.gone - 1);
        flight.copied().unwrap_or(Flight::NONE)
    }

    #[inline(never)]
    fn take_late(&mut self) -> Flight {
        let first = self.laid_out.get(self.gone);
        // What was laid out went in first.
        let late = self
            .late
            .peek()
            .filter(|late| first.is_none_or(|first| late.0.key < first.key()));
        if late.is_some() {
            if let Some(Reverse(late)) = self.late.pop() {
                return late.flight;
            }
        }
        self.take_laid_out()
    }

    /// All have been taken out, later than `now`, from when on others may come.
    pub fn start_again(&mut self, now: Time) {
        self.laid_out.clear();
        self.gone = 0;
        self.hour = now.as_nanos() >> HOUR_LOG2;
        self.day = self.hour >> HOURS_LOG2;
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        let late = self.late.iter().map(|late| &late.0.flight);
        let laid_out = self.laid_out[self.gone..].iter();
        laid_out
            .chain(late)
            .chain(self.store.iter())
            .chain(self.far.values())
    }

    /// Lays out the next hour in which there are flights, as nothing is left of the one before.
    #[inline(never)]
    fn lay_out(&mut self) {
        self.laid_out.clear();
        self.gone = 0;
        loop {
            if let Some(hour) = self.store.next_hour(self.hour, self.day) {
                self.store.take_hour(hour, &mut self.laid_out);
                self.laid_out.sort_by_key(Flight::key);
                self.hour = hour + 1;
                self.store.prefetch_hours(self.hour, self.day, HOURS_AHEAD);
                return;
            }
            // The next day begins when nothing is left of this one, as what lies between must wait in order.
            if !self.late.is_empty() || !self.turn_day() {
                return;
            }
        }
    }

    /// Goes on to the next day with flights; false where there is none.
    fn turn_day(&mut self) -> bool {
        let far = self.far.keys().next().map(|key| key.0);
        let Some(day) = self.store.next_day(self.day).or(far) else {
            return false;
        };
        self.day = day;
        self.hour = day << HOURS_LOG2;
        // Before anything else can be put down for these days, as those went in first.
        while let Some(entry) = self.far.first_entry() {
            let far_day = entry.key().0;
            if far_day - day >= DAYS_AHEAD {
                break;
            }
            self.store.push_day(far_day, entry.remove());
        }
        self.store
            .turn_to(day, |flight| flight.due.as_nanos() >> HOUR_LOG2);
        true
    }
}
