// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets on links, by the time at which they leave: a calendar queue (Brown, CACM 31(10), 1988) in two levels.
//!
//! A bucket holds the packets of 1.024 us, a group of buckets those of 4.2 ms. Packets of the present group are inserted into
//! its buckets, packets of later groups into their group. A bucket is sorted when its time comes. So however many packets are
//! on links, only a few places in memory are written and read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use netnice_queue::Time;

use crate::engine::buckets::{BucketStore, GROUP_LOG2};
use crate::engine::flight::Flight;

/// Length of a bucket in nanoseconds, a power of two: 1.024 us.
const BUCKET_LOG2: u32 = 10;
/// Groups, the present one included, that have a place: 17 s.
const GROUPS_AHEAD: u64 = 1 << GROUP_LOG2;

/// A flight that was inserted after its bucket was sorted.
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
pub(crate) struct CalendarQueue {
    /// The next flights, in order, but for those in `late`.
    sorted: Vec<Flight>,
    /// The number of them that have come out.
    gone: usize,
    /// Flights before `bucket` that were inserted after it was sorted.
    late: BinaryHeap<Reverse<Late>>,
    sequence: u64,
    /// The first bucket, counted from the origin of time, that is not sorted.
    bucket: u64,
    /// The present group; `bucket` is in it, or the first after it.
    group: u64,
    /// Flights of this group by bucket, and of later ones by group.
    store: BucketStore,
    /// Flights of groups that have no place yet.
    far: BTreeMap<(u64, u64), Flight>,
}

impl CalendarQueue {
    /// An empty queue.
    pub fn new() -> CalendarQueue {
        CalendarQueue {
            sorted: Vec::new(),
            gone: 0,
            late: BinaryHeap::new(),
            sequence: 0,
            bucket: 0,
            group: 0,
            store: BucketStore::new(),
            far: BTreeMap::new(),
        }
    }

    /// Inserts a flight. It must not be due before any that was taken.
    #[inline(always)]
    pub fn push(&mut self, flight: Flight) {
        let bucket = flight.due.as_nanos() >> BUCKET_LOG2;
        let group = bucket >> GROUP_LOG2;
        if bucket >= self.bucket && group == self.group {
            self.store.push_bucket(bucket, flight);
        } else if bucket >= self.bucket && group - self.group < GROUPS_AHEAD {
            self.store.push_group(group, flight);
        } else {
            self.push_beyond(flight, group);
        }
    }

    #[inline(never)]
    fn push_beyond(&mut self, flight: Flight, group: u64) {
        self.sequence += 1;
        let sequence = self.sequence;
        if flight.due.as_nanos() >> BUCKET_LOG2 < self.bucket {
            let key = flight.key();
            self.late.push(Reverse(Late {
                key,
                sequence,
                flight,
            }));
        } else {
            self.far.insert((group, sequence), flight);
        }
    }

    /// The key of the flight that comes out next; the largest number where there is none.
    #[inline(always)]
    pub fn first(&mut self) -> u128 {
        if self.gone >= self.sorted.len() {
            self.sort_next();
        }
        if self.late.is_empty() {
            return self.sorted.get(self.gone).map_or(u128::MAX, Flight::key);
        }
        self.first_of_late()
    }

    #[inline(never)]
    fn first_of_late(&self) -> u128 {
        let first = self.sorted.get(self.gone).map_or(u128::MAX, Flight::key);
        let late = self.late.peek().map_or(u128::MAX, |late| late.0.key);
        first.min(late)
    }

    /// Takes out the flight of [`CalendarQueue::first`].
    #[inline(always)]
    pub fn take_first(&mut self) -> Flight {
        if self.late.is_empty() {
            return self.take_sorted();
        }
        self.take_late()
    }

    #[inline(always)]
    fn take_sorted(&mut self) -> Flight {
        self.gone += 1;
        let flight = self.sorted.get(self.gone - 1);
        flight.copied().unwrap_or(Flight::NONE)
    }

    #[inline(never)]
    fn take_late(&mut self) -> Flight {
        let first = self.sorted.get(self.gone);
        // The sorted ones were inserted first.
        let late = self
            .late
            .peek()
            .filter(|late| first.is_none_or(|first| late.0.key < first.key()));
        if late.is_some() {
            if let Some(Reverse(late)) = self.late.pop() {
                return late.flight;
            }
        }
        self.take_sorted()
    }

    /// All have been taken out, later than `now`, from when on others may come.
    pub fn start_again(&mut self, now: Time) {
        self.sorted.clear();
        self.gone = 0;
        self.bucket = now.as_nanos() >> BUCKET_LOG2;
        self.group = self.bucket >> GROUP_LOG2;
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        let late = self.late.iter().map(|late| &late.0.flight);
        let sorted = self.sorted[self.gone..].iter();
        sorted
            .chain(late)
            .chain(self.store.iter())
            .chain(self.far.values())
    }

    /// Sorts the next bucket that has flights, as nothing is left of the one before.
    #[inline(never)]
    fn sort_next(&mut self) {
        self.sorted.clear();
        self.gone = 0;
        loop {
            if let Some(bucket) = self.store.next_bucket(self.bucket, self.group) {
                self.store.take_bucket(bucket, &mut self.sorted);
                self.sorted.sort_by_key(Flight::key);
                self.bucket = bucket + 1;
                return;
            }
            // The next group begins when nothing is left of this one.
            if !self.late.is_empty() || !self.next_group() {
                return;
            }
        }
    }

    /// Goes on to the next group with flights; false where there is none.
    fn next_group(&mut self) -> bool {
        let far = self.far.keys().next().map(|key| key.0);
        let Some(group) = self.store.next_group(self.group).or(far) else {
            return false;
        };
        self.group = group;
        self.bucket = group << GROUP_LOG2;
        // Before anything else can be inserted into these groups, as those came first.
        while let Some(entry) = self.far.first_entry() {
            let far_group = entry.key().0;
            if far_group - group >= GROUPS_AHEAD {
                break;
            }
            self.store.push_group(far_group, entry.remove());
        }
        self.store
            .turn_to(group, |flight| flight.due.as_nanos() >> BUCKET_LOG2);
        true
    }
}
