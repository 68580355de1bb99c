// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that can be carried (see `survey.rs`), put aside and carried a number of them at a time.
//!
//! Nobody asks for what a packet does at its end before it comes out of its link. So until then it can wait for others, and
//! what they need is fetched (`prefetch.rs`) while those before them are carried. Packets of data and ACKs wait apart: a branch
//! that goes one way for one packet and the other way for the next is often guessed wrong, and costs as much as what is
//! fetched. Where links are few, everything is in the processor's cache, and packets are carried at once.

use netnice_queue::{Departure, DropCause, Time};

use crate::engine::flight::Flight;
use crate::links::kinds::Kind;
use crate::links::routes::Hop;
use crate::links::state::SimulatedLink;
use crate::lookahead::prefetch::Arrival;
use crate::packet::Packet;
use crate::packet::Route;
use crate::simulation::Simulation;

/// So many packets are carried at a time, where their time does not come before.
const MOST: usize = 256;
/// For so many of them at once a step is taken.
const BATCH: usize = 8;

/// Packets put aside: on links, and to be carried before anything else happens as late as the first of them comes out.
#[derive(Debug)]
pub(crate) struct Carrying {
    to_receivers: Vec<Flight>,
    to_senders: Vec<Flight>,
    /// Those that a link has dropped from which others are carried.
    dropped: Vec<(u32, DropCause, Packet)>,
    /// Links on which packets had to wait that have come out, and for how many nanoseconds.
    waits: Vec<(u32, u64)>,
    /// Whatever happens at this time or earlier can happen before something is done for them.
    until: Time,
    /// The end of the run.
    end: Time,
}

impl Carrying {
    /// Nothing is put aside, in a run of that length.
    pub fn new(end: Time) -> Carrying {
        Carrying {
            to_receivers: Vec::new(),
            to_senders: Vec::new(),
            dropped: Vec::new(),
            waits: Vec::new(),
            until: end,
            end,
        }
    }

    /// Something is put aside.
    pub fn any(&self) -> bool {
        let packets = self.to_receivers.len() + self.to_senders.len() + self.dropped.len();
        packets + self.waits.len() > 0
    }

    /// Whatever happens at this time or earlier, but no later than at the end, can happen first.
    #[inline(always)]
    pub fn until(&self) -> Time {
        self.until
    }

    /// Something has to be done before `time`.
    #[inline(always)]
    fn do_before(&mut self, time: Time) {
        let before = Time::from_nanos(time.as_nanos().saturating_sub(1));
        self.until = self.until.min(before);
    }
}

impl Simulation {
    /// Puts a packet aside that a link has taken in from which packets can be carried: `hop`.
    #[inline(always)]
    pub(crate) fn carry_later(
        &mut self,
        hop: Hop,
        link: usize,
        departure: Departure,
        packet: Packet,
    ) {
        if departure.due >= self.through.limit() {
            return self.carry_never(link, departure, packet.apart());
        }
        if self.events.flights().are_all_near() {
            return self.carry_at_once(link, departure, &packet.apart());
        }
        let carrying = &mut self.carrying;
        carrying.do_before(departure.due);
        let aside = if hop.is_back() {
            &mut carrying.to_senders
        } else {
            &mut carrying.to_receivers
        };
        aside.push(Flight::NONE);
        if let Some(flight) = aside.last_mut() {
            flight.set(link as u32, departure, packet);
        }
        if aside.len() >= MOST {
            self.carry_aside();
        }
    }

    /// The same of a packet that the link has dropped: nobody looks before the next barrier.
    pub(crate) fn drop_later(&mut self, link: usize, packet: Packet, cause: DropCause) {
        let limit = self.through.limit();
        if limit <= self.now || self.events.flights().are_all_near() {
            return self.drop_packet(link, packet, cause);
        }
        self.carrying.do_before(limit);
        self.carrying.dropped.push((link as u32, cause, packet));
        if self.carrying.dropped.len() >= MOST {
            self.carry_aside();
        }
    }

    /// The same of a packet that had to wait and has come out.
    #[inline(always)]
    pub(crate) fn count_wait_later(&mut self, link: usize, waited_ns: u64) {
        let limit = self.through.limit();
        if limit <= self.now || self.events.flights().are_all_near() {
            return self.count_wait(link, waited_ns);
        }
        self.carrying.do_before(limit);
        self.carrying.waits.push((link as u32, waited_ns));
        if self.carrying.waits.len() >= MOST {
            self.carry_aside();
        }
    }

    /// A barrier is in its way. Those before it on its link may turn out to be in the same case, and must stay before it.
    #[inline(never)]
    fn carry_never(&mut self, link: usize, departure: Departure, packet: Packet) {
        self.carry_aside();
        self.put_on_link(link, departure, packet);
    }

    /// Does what was put aside.
    #[inline(never)]
    pub(crate) fn carry_aside(&mut self) {
        self.carrying.until = self.carrying.end;
        // What an end sends as a packet is carried goes onto a link of its own first, so nothing is put aside meanwhile.
        let mut aside = std::mem::take(&mut self.carrying.to_receivers);
        self.carry_batches(
            &aside,
            Simulation::fetch_receiver,
            Simulation::fetch_around_receiver,
            Simulation::fetch_delay,
        );
        aside.clear();
        self.carrying.to_receivers = aside;
        let mut aside = std::mem::take(&mut self.carrying.to_senders);
        self.carry_batches(
            &aside,
            Simulation::fetch_sender,
            Simulation::fetch_around_sender,
            Simulation::fetch_beyond_sender,
        );
        aside.clear();
        self.carrying.to_senders = aside;
        self.drop_aside();
        let mut waits = std::mem::take(&mut self.carrying.waits);
        for (number, &(link, waited_ns)) in waits.iter().enumerate() {
            if let Some(&(ahead, _)) = waits.get(number + BATCH) {
                self.records[ahead as usize].waits.prefetch();
            }
            self.count_wait(link as usize, waited_ns);
        }
        waits.clear();
        self.carrying.waits = waits;
    }

    /// Carries packets that go the same way, with the three steps for the end that they come to.
    #[inline(always)]
    fn carry_batches(
        &mut self,
        aside: &[Flight],
        first: impl Fn(&Simulation, &Arrival),
        second: impl Fn(&Simulation, &Arrival),
        third: impl Fn(&Simulation, &Arrival),
    ) {
        for at in (0..aside.len()).step_by(BATCH) {
            let steps = Steps { aside, at };
            steps.take(
                |flight| {
                    self.fetch_way(flight.packet.route);
                    first(self, &Arrival::of(flight));
                },
                |flight| {
                    self.fetch_way_if_busy(flight.packet.route, flight.due);
                    second(self, &Arrival::of(flight));
                },
                |flight| third(self, &Arrival::of(flight)),
            );
            for flight in steps.batch(0) {
                if !self.carry_flight(flight) {
                    self.put_back(flight);
                }
            }
        }
    }

    fn drop_aside(&mut self) {
        let mut aside = std::mem::take(&mut self.carrying.dropped);
        for at in (0..aside.len()).step_by(BATCH) {
            let steps = Steps { aside: &aside, at };
            steps.take(
                |(.., packet)| self.fetch_dropped(packet.connection, packet.body),
                |(.., packet)| self.fetch_counters(packet.connection),
                |_| (),
            );
            for &(link, cause, packet) in steps.batch(0) {
                self.drop_packet(link as usize, packet, cause);
            }
        }
        aside.clear();
        self.carrying.dropped = aside;
    }

    /// Carries what waits on links because a barrier was in its way: who comes behind must not overtake it.
    pub(crate) fn carry_all(&mut self) {
        let all = self.events.flights_mut().take_all(self.now);
        let mut through = Vec::new();
        let mut may_be_carried = vec![false; self.links.all.len()];
        for (number, flight) in all.iter().enumerate() {
            let link_before = self.routes.hop(flight.packet.route.back());
            if link_before.is_through() {
                let hops_left = self.routes.hops(flight.packet.route).count();
                through.push((hops_left, number));
                may_be_carried[flight.link as usize] = true;
            }
        }
        // Before anything is sent behind them. Where a packet of another flow may be left on the link, they wait for it: those
        // of one link must stay in order. Links from which packets are carried and others not are none of those that an end
        // sends onto first.
        let waits = |flight: &Flight| may_be_carried[flight.link as usize];
        for flight in all.iter().filter(|flight| !waits(flight)) {
            self.put_back(flight);
        }
        // Of two packets of one flow the one that is further comes first.
        through.sort_by_key(|&(hops_left, _)| hops_left);
        let mut carried = vec![false; all.len()];
        for (_, number) in through {
            carried[number] = self.carry_flight(&all[number]);
        }
        for (flight, carried) in all.iter().zip(carried) {
            if waits(flight) && !carried {
                self.put_back(flight);
            }
        }
    }

    /// Carries a packet that a link has taken in to the end of its route; false where a barrier is in its way.
    #[inline(always)]
    fn carry_flight(&mut self, flight: &Flight) -> bool {
        let departure = Departure {
            due: flight.due,
            waited_ns: flight.waited_ns,
        };
        let route = flight.packet.route;
        self.carry(flight.link as usize, departure, &flight.packet, route)
    }

    /// Carries a packet that a link has taken in, or puts it on that link where a barrier is in its way.
    #[inline(never)]
    fn carry_at_once(&mut self, link: usize, departure: Departure, packet: &Packet) {
        if !self.carry(link, departure, packet, packet.route.onward()) {
            self.put_on_link(link, departure, *packet);
        }
    }

    #[inline(never)]
    fn put_back(&mut self, flight: &Flight) {
        let packet = Packet {
            route: flight.packet.route.back(),
            ..flight.packet
        };
        let departure = Departure {
            due: flight.due,
            waited_ns: flight.waited_ns,
        };
        self.put_on_link(flight.link as usize, departure, packet);
    }

    /// Carries a packet that `link` has taken in along `route`, the way that is left; false where a barrier is in its way.
    #[inline(always)]
    fn carry(
        &mut self,
        link: usize,
        departure: Departure,
        packet: &Packet,
        mut route: Route,
    ) -> bool {
        if departure.due >= self.through.surely_before() {
            let latest = self.latest_arrival(route, departure.due);
            if latest.is_none_or(|latest| latest >= self.through.limit()) {
                return false;
            }
        }
        self.handled += 1;
        self.count_wait(link, departure.waited_ns);
        let mut at = departure.due;
        let end = loop {
            let hop = self.routes.hop(route);
            let Some(index) = hop.link() else {
                break hop;
            };
            let (link, Kind { kind, .. }) = self.links.drop_tail(index);
            match link.offer(kind, at, u32::from(packet.length)) {
                Ok(departure) => {
                    self.handled += 1;
                    self.count_wait(index, departure.waited_ns);
                    at = departure.due;
                }
                Err(cause) => {
                    self.drop_packet(index, *packet, cause);
                    return true;
                }
            }
            route = route.onward();
        };
        let present = self.now;
        self.end_timers_before(at, end, packet);
        self.now = at;
        self.arrive(end, packet);
        self.now = present;
        true
    }

    /// When a packet has come to the end of `route` that goes on along it at `at`, at the latest; `None` where a link does
    /// not tell. It does not depend on the packet's length, so that it is no earlier for any packet that comes behind.
    #[inline(always)]
    fn latest_arrival(&self, mut route: Route, at: Time) -> Option<Time> {
        let mut latest = at;
        while let Some(index) = self.routes.hop(route).link() {
            let SimulatedLink::DropTail(link) = &self.links.all[index] else {
                return None;
            };
            let Kind { kind, .. } = &self.links.kinds.all[link.kind()];
            latest = link.latest_departure(kind, latest);
            route = route.onward();
        }
        Some(latest)
    }

    /// What the host does before the packet comes. The events for it find later that it is done.
    #[inline(always)]
    fn end_timers_before(&mut self, at: Time, end: Hop, packet: &Packet) {
        let index = packet.connection as usize;
        if end == Hop::RECEIVER {
            while let Some(due) = self.connections.get(index).receiver_timer_before(at) {
                self.now = due;
                self.on_receiver_timer(index);
            }
        } else if end == Hop::SENDER {
            while let Some(due) = self.connections.get(index).sender_timer_before(at) {
                self.now = due;
                self.on_sender_timer(index);
            }
        }
    }
}

/// The steps before each of the batches, of which the one from number `at` on comes next.
struct Steps<'a, T> {
    aside: &'a [T],
    at: usize,
}

impl<T> Steps<'_, T> {
    /// The batch that comes so many batches later than the next.
    #[inline(always)]
    fn batch(&self, later: usize) -> &[T] {
        let begin = self.at + later * BATCH;
        let end = self.aside.len().min(begin + BATCH);
        self.aside.get(begin..end).unwrap_or_default()
    }

    /// Takes the steps that are due before the next batch.
    #[inline(always)]
    fn take(&self, first: impl Fn(&T), second: impl Fn(&T), third: impl Fn(&T)) {
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
