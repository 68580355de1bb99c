// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets whose fast-forwarding is deferred, so that a number of them is done at a time.

use netnice_queue::{DropCause, Time};

use crate::engine::flight::Flight;
use crate::packet::Packet;

/// At most this many packets are deferred.
pub(crate) const MOST: usize = 256;
/// Prefetching goes in steps of this many packets.
pub(crate) const BATCH: usize = 8;

/// Deferred packets: on links, and to be fast-forwarded before any event as late as the first of them leaves its link.
#[derive(Debug)]
pub(crate) struct Deferred {
    pub to_receivers: Vec<Flight>,
    pub to_senders: Vec<Flight>,
    /// Drops on links from which packets are fast-forwarded.
    pub dropped: Vec<(u32, DropCause, Packet)>,
    /// Links on which packets had to wait that have come out, and for how many nanoseconds.
    pub waits: Vec<(u32, u64)>,
    /// A bit for the links of deferred packets, by the last digits of their numbers.
    links: u64,
    /// Whatever happens at this time or earlier can happen before something is done for them.
    until: Time,
    /// The end of the run.
    end: Time,
}

impl Deferred {
    /// Nothing is deferred, in a run of that length.
    pub fn new(end: Time) -> Deferred {
        Deferred {
            to_receivers: Vec::new(),
            to_senders: Vec::new(),
            dropped: Vec::new(),
            waits: Vec::new(),
            links: 0,
            until: end,
            end,
        }
    }

    /// Returns true if anything is deferred.
    pub fn any(&self) -> bool {
        let packets = self.to_receivers.len() + self.to_senders.len() + self.dropped.len();
        packets + self.waits.len() > 0
    }

    /// Whatever happens at this time or earlier, but no later than at the end, can happen first.
    #[inline(always)]
    pub fn until(&self) -> Time {
        self.until
    }

    /// The run goes no further than to this time for now. Nothing is deferred.
    pub fn set_end(&mut self, end: Time) {
        self.end = end;
        self.until = end;
    }

    /// Nothing has to be done any more before the end.
    pub fn done(&mut self) {
        self.until = self.end;
        self.links = 0;
    }

    /// A packet on this link is deferred.
    #[inline(always)]
    pub fn note_link(&mut self, link: usize) {
        self.links |= 1 << (link % 64);
    }

    /// Returns false if no packet on this link is deferred.
    pub fn may_have_link(&self, link: usize) -> bool {
        self.links & 1 << (link % 64) != 0
    }

    /// Something has to be done before `time`.
    #[inline(always)]
    pub fn do_before(&mut self, time: Time) {
        let before = Time::from_nanos(time.as_nanos().saturating_sub(1));
        self.until = self.until.min(before);
    }
}

/// The steps before each of the batches, of which the one from number `at` on comes next.
pub(crate) struct Steps<'a, T> {
    pub aside: &'a [T],
    pub at: usize,
}

impl<T> Steps<'_, T> {
    /// The batch that comes so many batches later than the next.
    #[inline(always)]
    pub fn batch(&self, later: usize) -> &[T] {
        let begin = self.at + later * BATCH;
        let end = self.aside.len().min(begin + BATCH);
        self.aside.get(begin..end).unwrap_or_default()
    }

    /// Takes the steps that are due before the next batch.
    #[inline(always)]
    pub fn take(&self, first: impl Fn(&T), second: impl Fn(&T), third: impl Fn(&T)) {
        if self.at == 0 {
            // For these none was taken yet.
            for later in 0..3 {
                self.batch(later).iter().for_each(&first);
            }
            for later in 0..2 {
                self.batch(later).iter().for_each(&second);
            }
            self.batch(0).iter().for_each(&third);
        }
        self.batch(3).iter().for_each(first);
        self.batch(2).iter().for_each(second);
        self.batch(1).iter().for_each(third);
    }
}
