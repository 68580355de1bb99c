// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far packets are fast-forwarded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netnice_queue::Time;

/// Where barriers follow on one another sooner, nothing is fast-forwarded: after each, all packets on links are examined.
const WORTH: Duration = Duration::from_millis(50);

/// How far packets are fast-forwarded.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// There are links from which packets can be fast-forwarded.
    any: bool,
    /// No packet comes to its end in any other way.
    all: bool,
    /// Nothing is done ahead that happens at this time or later.
    limit: Time,
    /// However long packets wait, those that come out of the links from which they are fast-forwarded before this time are at
    /// their ends before the limit.
    surely_before: Time,
    /// No packet takes longer from there to its end, in nanoseconds.
    longest_way_ns: u64,
    /// The times of barriers to come, one for each event.
    barriers: BinaryHeap<Reverse<Time>>,
    /// Bytes of the longest packet, headers included.
    longest_packet: u32,
}

impl Limits {
    /// Nothing is done ahead that happens at this time or later.
    #[inline(always)]
    pub fn limit(&self) -> Time {
        self.limit
    }

    /// A packet that leaves the link from which it is fast-forwarded before this time is at its end before the limit.
    #[inline(always)]
    pub fn surely_before(&self) -> Time {
        self.surely_before
    }

    /// Nothing that happens at this time or later was done ahead of `now`: all that was done is over.
    #[inline(always)]
    pub fn is_over(&self, now: Time) -> bool {
        self.limit <= now
    }

    /// Packets can be fast-forwarded somewhere: on `all` routes, or not; and none takes longer to its end than this.
    pub fn allow(&mut self, all: bool, longest_way_ns: u64) {
        self.any = true;
        self.all = all;
        self.longest_way_ns = longest_way_ns;
    }

    /// Packets can be fast-forwarded somewhere.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Bytes of the longest packet, headers included.
    pub fn longest_packet(&self) -> u32 {
        self.longest_packet
    }

    /// There will be a barrier at `time`.
    pub fn add_barrier(&mut self, time: Time) {
        self.barriers.push(Reverse(time));
    }

    /// The earliest barrier is over.
    pub fn pass_barrier(&mut self) {
        self.barriers.pop();
    }

    /// Sets the limit in a run that ends at `end` and has come to `now`. False where packets come out of links as events, for
    /// which prefetching is worth while.
    pub fn set(&mut self, now: Time, end: Time) -> bool {
        let end = end.plus_nanos(1);
        let next = self.barriers.peek();
        let next = next.map_or(end, |&Reverse(next)| next.min(end));
        self.limit = if self.any && next - now >= WORTH {
            next
        } else {
            Time::ZERO
        };
        let limit_ns = self.limit.as_nanos();
        let surely_before = limit_ns.saturating_sub(self.longest_way_ns);
        self.surely_before = Time::from_nanos(surely_before);
        self.all && self.limit > now
    }

    /// There may be packets of so many bytes.
    pub fn know_packet(&mut self, bytes: u32) {
        self.longest_packet = self.longest_packet.max(bytes);
    }
}
