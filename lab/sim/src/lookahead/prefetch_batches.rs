// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefetching for packets that leave links as events, a batch of them at a time.
//!
//! A batch is first sorted by where its packets go: a branch that goes one way for one packet and the other way for the next
//! is often mispredicted, and costs as much as a cache miss.

use crate::engine::flight::Flight;
use crate::engine::scheduler::Scheduler;
use crate::flows::Flows;
use crate::links::routes::Hop;
use crate::links::state::Links;
use crate::lookahead::prefetch::{Arrival, Prefetch};

/// So many packets at a time.
const BATCH: usize = 16;
/// So many steps, and one for a batch that is about to come out.
const STEPS: usize = 3;
/// So many packets have to be known ahead.
pub(crate) const LOOK_AHEAD: usize = STEPS * BATCH;

/// Packets that come to an end of a connection, sorted by where they go; of no more than [`BATCH`].
#[derive(Debug, Default)]
struct Batch {
    to_receivers: [Arrival; BATCH],
    receivers: usize,
    to_senders: [Arrival; BATCH],
    senders: usize,
}

impl Batch {
    fn to_receivers(&self) -> &[Arrival] {
        &self.to_receivers[..self.receivers]
    }

    fn to_senders(&self) -> &[Arrival] {
        &self.to_senders[..self.senders]
    }
}

/// The batches under way.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    /// After the first step and after the second, in turn.
    batches: [Batch; STEPS - 1],
    /// Which is after the second.
    older: usize,
}

impl Batches {
    /// Goes one step further with each batch, where new packets are known.
    #[inline(always)]
    pub fn look_ahead<S: Scheduler>(&mut self, scheduler: &mut S, links: &Links, flows: &Flows) {
        if scheduler.any_upcoming() {
            self.fetch_ahead(scheduler, Prefetch { links, flows });
        }
    }

    #[inline(never)]
    fn fetch_ahead<S: Scheduler>(&mut self, scheduler: &mut S, prefetch: Prefetch<'_>) {
        while let Some(fresh) = scheduler.take_upcoming(BATCH) {
            let older = self.older;
            prefetch.take_third_step(&self.batches[older]);
            prefetch.take_second_step(&self.batches[1 - older]);
            let flights = scheduler.upcoming(fresh);
            prefetch.take_first_step(flights, &mut self.batches[older]);
            self.older = 1 - older;
        }
    }
}

impl Prefetch<'_> {
    fn take_first_step(self, flights: &[Flight], batch: &mut Batch) {
        (batch.receivers, batch.senders) = (0, 0);
        let (mut onward, mut waited) = ([Default::default(); BATCH], [0; BATCH]);
        let (mut goes_on, mut waits) = (0, 0);
        for flight in flights.iter().take(BATCH) {
            let hop = self.links.routes.hop(flight.packet.route);
            // Written to every list, and counted where it belongs.
            onward[goes_on] = flight.packet.route;
            goes_on += usize::from(hop.link().is_some());
            batch.to_receivers[batch.receivers] = Arrival::of(flight);
            batch.receivers += usize::from(hop == Hop::RECEIVER);
            batch.to_senders[batch.senders] = Arrival::of(flight);
            batch.senders += usize::from(hop == Hop::SENDER);
            waited[waits] = flight.link as usize;
            waits += usize::from(flight.waited_ns > 0);
        }
        for &route in &onward[..goes_on] {
            self.fetch_first_link(route);
        }
        for arrival in batch.to_receivers() {
            self.fetch_receiver(arrival);
        }
        for arrival in batch.to_senders() {
            self.fetch_sender(arrival);
        }
        for &link in &waited[..waits] {
            self.links.waits.prefetch(link);
        }
    }

    fn take_second_step(self, batch: &Batch) {
        for arrival in batch.to_receivers() {
            self.fetch_around_receiver(arrival);
        }
        for arrival in batch.to_senders() {
            self.fetch_around_sender(arrival);
        }
    }

    fn take_third_step(self, batch: &Batch) {
        for arrival in batch.to_receivers() {
            self.fetch_delay(arrival);
        }
        for arrival in batch.to_senders() {
            self.fetch_beyond_sender(arrival);
        }
    }
}
