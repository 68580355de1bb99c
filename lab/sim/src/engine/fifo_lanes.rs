// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on their way over many links, most of them in a few lines that are in order by themselves.
//!
//! A network of thousands of hosts has links of few kinds. Packets of one length that find links of one kind idle take the
//! same time over them, so they come out in the order in which they went in, over whichever link each goes; and so do all
//! packets of one link. Each such sequence is a lane: packets are put down at its end and taken from its front, and nothing
//! is sorted. What fits into no lane, as a packet does that had to wait for others, is in a calendar.

use std::ops::Range;

use netnice_queue::Time;

use crate::engine::calendar_queue::CalendarQueue;
use crate::engine::flight::{Departure, Flight};
use crate::engine::lane::{Chunks, Lane};
use crate::engine::packet_queue::PacketQueue;
use crate::engine::scheduler::Shape;
use crate::engine::winner_tree::{self, WinnerTree};
use crate::packet::Packet;

/// Lane 0 holds flights put back by `FifoLanes::set_back`; a packet with this number has no lane.
pub(crate) const NO_LANE: usize = 0;

/// A lane, whose flights are in order.
#[derive(Debug, Default)]
struct OrderedLane {
    flights: Lane,
    /// The key of the flight inserted last, present or not.
    last: u128,
}

/// The flights of a run. Those of one link and one time come out in the order in which they went in.
#[derive(Debug)]
pub(crate) struct FifoLanes {
    /// The next flights, in order.
    upcoming: Vec<Flight>,
    /// The number of them that have come out.
    gone: usize,
    /// Look ahead again once `gone` reaches this.
    few: usize,
    /// The number of them that [`PacketQueue::take_fresh`] has shown.
    shown: usize,
    /// Key of the last flight in `upcoming`; earlier ones are inserted there.
    horizon: u128,
    /// Lane [`NO_LANE`] has the flights that were upcoming until too many others came before them. Of all with the same key
    /// they were put down first.
    lanes: Vec<OrderedLane>,
    /// Room that no lane takes.
    chunks: Chunks,
    calendar: CalendarQueue,
    /// The earliest time in the calendar.
    calendar_first: Time,
    /// The lanes, and after them the calendar, by what they have in front.
    first: WinnerTree<Box<[u64; 2 * MAX_LANES]>>,
    /// At least so many flights are upcoming, where there are as many.
    ahead: usize,
    /// [`PacketQueue::take_fresh`] shows them.
    previews: bool,
}

/// Bits of a key that hold the lane's number.
const LANE_BITS: u32 = 6;
/// There are fewer lanes than that, the calendar and [`NO_LANE`] among them.
pub(crate) const MAX_LANES: usize = 1 << LANE_BITS;
/// Keys distinguish times before this one (9 years).
const LAST: Time = Time::from_nanos((1 << (u64::BITS - LANE_BITS)) - 2);

/// The time of a flight with its lane: of two at the same time the one in the lower lane is taken first.
#[inline(always)]
fn key_in(lane: usize, due: Time) -> u64 {
    (due.min(LAST).as_nanos() << LANE_BITS) | lane as u64
}

impl FifoLanes {
    /// None so far, in so many lanes, of which `ahead` or a few more can be looked at ahead.
    pub fn new(lanes: usize, ahead: usize) -> FifoLanes {
        assert!(
            lanes + 2 <= MAX_LANES,
            "more lanes than keys can tell apart"
        );
        let mut lanes: Vec<_> = (0..=lanes).map(|_| OrderedLane::default()).collect();
        lanes[NO_LANE].last = u128::MAX;
        FifoLanes {
            upcoming: Vec::new(),
            gone: 0,
            few: 0,
            shown: 0,
            horizon: 0,
            calendar: CalendarQueue::new(),
            calendar_first: Time::NEVER,
            first: WinnerTree::of_few(lanes.len() + 1),
            lanes,
            chunks: Chunks::default(),
            ahead: ahead.max(1),
            previews: true,
        }
    }

    #[inline(never)]
    fn push_aside(&mut self, key: u128, flight: &Flight) {
        if key < self.horizon {
            let upcoming = &self.upcoming[self.gone..];
            let place = upcoming.partition_point(|other| other.key() <= key);
            self.upcoming.insert(self.gone + place, *flight);
            self.few += 1;
            self.shown += 1;
            let pending = self.upcoming.len() - self.gone;
            if pending > 8 * self.ahead || self.gone > 64 * self.ahead {
                self.set_back();
            }
            return;
        }
        self.calendar.push(*flight);
        if flight.due < self.calendar_first {
            self.set_calendar_first(flight.due);
        }
    }

    /// Keeps the list of upcoming flights short where many come that are earlier than its last.
    fn set_back(&mut self) {
        self.forget_gone();
        let keep = self.upcoming.len().min(2 * self.ahead);
        let line = &mut self.lanes[NO_LANE].flights;
        for flight in self.upcoming.drain(keep..).rev() {
            line.push_front(&mut self.chunks, flight);
        }
        if let Some(flight) = line.front() {
            self.first.set(NO_LANE, key_in(NO_LANE, flight.due));
        }
        self.begin_upcoming();
    }

    fn set_calendar_first(&mut self, due: Time) {
        let lane = self.lanes.len();
        self.calendar_first = due;
        let key = match due {
            Time::NEVER => winner_tree::NONE,
            due => key_in(lane, due),
        };
        self.first.set(lane, key);
    }

    /// Takes the next flight right out of its lane, where it need not be shown before.
    #[inline(always)]
    fn take_next(&mut self) -> Flight {
        let first = self.first.first();
        if first == winner_tree::NONE {
            return Flight::NONE;
        }
        let flight = self.take_from(first as usize % MAX_LANES);
        if self.first.first() >> LANE_BITS == first >> LANE_BITS {
            return self.first_of_tied(flight);
        }
        flight
    }

    /// Others come out at the same time as the one that was taken: the first of them all.
    #[inline(never)]
    fn first_of_tied(&mut self, flight: Flight) -> Flight {
        self.forget_gone();
        self.upcoming.push(flight);
        self.look_ahead_after(0, key_in(NO_LANE, flight.due) >> LANE_BITS);
        self.gone += 1;
        self.upcoming[self.gone - 1]
    }

    /// Takes the next flights out of the lanes.
    #[inline(never)]
    fn look_ahead(&mut self) {
        if self.gone > 16 * self.ahead {
            self.forget_gone();
        }
        self.look_ahead_after(self.upcoming.len(), 0);
    }

    /// Takes the next flights out of the lanes; `last` is the time of the flight taken last, if any. The flights from
    /// place `from` on may need sorting.
    fn look_ahead_after(&mut self, from: usize, mut last: u64) {
        let enough = self.gone + self.ahead + self.ahead / 3;
        let mut tie = false;
        loop {
            let first = self.first.first();
            let same_time = first >> LANE_BITS == last;
            if first == winner_tree::NONE || (self.upcoming.len() >= enough && !same_time) {
                break;
            }
            tie |= same_time;
            last = first >> LANE_BITS;
            let flight = self.take_from(first as usize % MAX_LANES);
            self.upcoming.push(flight);
        }
        if tie {
            // Taken by time and lane so far. Those of one link and time were put down in the order of their lanes.
            self.upcoming[from..].sort_by_key(Flight::key);
        }
        self.begin_upcoming();
    }

    /// Takes the first flight out of a lane, or out of the calendar, that has one.
    #[inline(always)]
    fn take_from(&mut self, lane: usize) -> Flight {
        let Some(line) = self.lanes.get_mut(lane) else {
            self.calendar.first();
            let flight = self.calendar.take_first();
            let next = self.calendar.first();
            self.set_calendar_first(match next {
                u128::MAX => Time::NEVER,
                key => Time::from_nanos((key >> 32) as u64),
            });
            return flight;
        };
        let flight = line.flights.front().copied().unwrap_or(Flight::NONE);
        line.flights.pop_front(&mut self.chunks);
        let next = line.flights.front();
        let key = next.map_or(winner_tree::NONE, |flight| key_in(lane, flight.due));
        self.first.set(lane, key);
        flight
    }

    fn forget_gone(&mut self) {
        self.upcoming.drain(..self.gone);
        self.shown = self.shown.saturating_sub(self.gone);
        self.gone = 0;
    }

    fn begin_upcoming(&mut self) {
        self.shown = self.shown.min(self.upcoming.len());
        self.horizon = self.upcoming.last().map_or(self.horizon, Flight::key);
        self.few = if self.first.first() == winner_tree::NONE {
            self.upcoming.len()
        } else {
            (self.upcoming.len() - self.ahead.min(self.upcoming.len())).max(self.gone)
        };
    }
}

impl PacketQueue for FifoLanes {
    const FITS_CACHE: bool = false;

    fn new(shape: &Shape) -> FifoLanes {
        FifoLanes::new(shape.lanes, shape.preview)
    }

    fn know_ahead(&mut self, ahead: Option<usize>) {
        self.ahead = ahead.unwrap_or(1).max(1);
        self.previews = ahead.is_some();
        self.begin_upcoming();
    }

    // Flights of one link and one time must be in one lane, or those inserted later in none.
    #[inline(always)]
    fn push(&mut self, lane: usize, link: u32, departure: Departure, packet: Packet) {
        let key = Flight::key_of(departure.due, link);
        if key >= self.horizon {
            if let Some(line) = self.lanes.get_mut(lane) {
                if key >= line.last {
                    line.last = key;
                    if line.flights.is_empty() {
                        self.first.set(lane, key_in(lane, departure.due));
                    }
                    let flight = line.flights.push_back(&mut self.chunks);
                    flight.set(link, departure, packet);
                    return;
                }
            }
        }
        self.push_aside(key, &Flight::new(link, departure, packet.apart()));
    }

    #[inline(always)]
    fn first(&mut self) -> u128 {
        if self.gone >= self.few {
            self.look_ahead();
        }
        self.upcoming.get(self.gone).map_or(u128::MAX, Flight::key)
    }

    // If no upcoming flights are requested, the first lane of the winner tree has the earliest.
    #[inline(always)]
    fn first_due(&mut self) -> Time {
        if self.previews && self.gone >= self.few {
            self.look_ahead();
        }
        match self.upcoming.get(self.gone) {
            Some(flight) => flight.due,
            None if self.previews => Time::NEVER,
            None => Time::from_nanos(self.first.first() >> LANE_BITS),
        }
    }

    #[inline(always)]
    fn take_first(&mut self) -> Flight {
        match self.upcoming.get(self.gone) {
            Some(&flight) => {
                self.gone += 1;
                flight
            }
            None if self.previews => Flight::NONE,
            None => self.take_next(),
        }
    }

    #[inline(always)]
    fn any_fresh(&self) -> bool {
        self.previews && self.shown < self.upcoming.len()
    }

    fn take_fresh(&mut self, most: usize) -> Option<Range<usize>> {
        let shown = self.shown.max(self.gone);
        self.shown = self.upcoming.len().min(shown + most);
        (shown < self.shown).then_some(shown..self.shown)
    }

    fn upcoming(&self, range: Range<usize>) -> &[Flight] {
        &self.upcoming[range]
    }

    fn iter(&self) -> impl Iterator<Item = &Flight> {
        let upcoming = self.upcoming[self.gone..].iter();
        let lanes = self.lanes.iter().flat_map(|lane| lane.flights.iter());
        upcoming.chain(lanes).chain(self.calendar.iter())
    }

    // All at once: nothing is to be inserted among them.
    fn take_all(&mut self, now: Time) -> Vec<Flight> {
        const ALL: usize = 1 << 40;
        let ahead = std::mem::replace(&mut self.ahead, ALL);
        self.look_ahead();
        self.ahead = ahead;
        let all = self.upcoming.split_off(self.gone);
        self.shown = self.gone;
        self.start_again(now);
        all
    }

    fn start_again(&mut self, now: Time) {
        self.forget_gone();
        self.horizon = 0;
        self.few = 0;
        for line in &mut self.lanes[NO_LANE + 1..] {
            line.last = 0;
        }
        self.calendar.start_again(now);
    }
}
