// SPDX-License-Identifier: MIT OR Apache-2.0
//! What packets need when they come out of links, fetched ahead.
//!
//! In a run of thousands of flows almost nothing of it is in the processor's cache. Each place leads to the next, so it is
//! done in steps, each as the one before has arrived: the next link, or all links to the end of the route where the packet
//! will be carried there, the end of the connection and the packet's body; then the flow and the link for the answer; then
//! what those lead to. And it is done for a number of packets at a time, first sorted by where they go: a branch that goes
//! one way for one packet and the other way for the next is often guessed wrong, and costs as much as what is fetched.

use netnice_queue::{Time, prefetch};

use crate::connection::Connections;
use crate::flight::Flight;
use crate::flow_state::FlowState;
use crate::link_state::{LinkRecord, Links};
use crate::packet::Bodies;
use crate::route::{Hop, Route, Routes};
use crate::simulation::Simulation;
use crate::through::latest_arrival;

/// So many packets at a time.
const BATCH: usize = 16;
/// So many steps, and one for a batch that is about to come out.
const STEPS: usize = 3;
/// So many packets have to be known ahead.
pub(crate) const LOOK_AHEAD: usize = STEPS * BATCH;

/// A packet that comes to an end of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Arrival {
    connection: u32,
    body: u32,
    /// When it comes out of the link that it is on, and where it goes from there.
    due: Time,
    route: Route,
}

/// Some packets, sorted by where they go; of no more than [`BATCH`].
#[derive(Debug, Default)]
struct Batch {
    to_receivers: [Arrival; BATCH],
    receivers: usize,
    to_senders: [Arrival; BATCH],
    senders: usize,
    /// Links on which packets had to wait, and for how many nanoseconds.
    waited: [(u32, u64); BATCH],
    waits: usize,
}

/// The batches under way.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// After the first step and after the second, in turn.
    batches: [Batch; STEPS - 1],
    /// Which is after the second.
    older: usize,
}

impl Simulation {
    /// Goes one step further with each batch, where new packets are known.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self) {
        if self.events.flights().any_fresh() {
            self.fetch_ahead();
        }
    }

    #[inline(never)]
    fn fetch_ahead(&mut self) {
        while let Some(fresh) = self.events.flights_mut().take_fresh(BATCH) {
            let places = Places {
                links: &self.links,
                records: &self.records,
                routes: &self.routes,
                bodies: &self.bodies,
                flows: &self.flows,
                connections: &self.connections,
            };
            let older = self.ahead.older;
            places.fetch_beyond(&self.ahead.batches[older]);
            places.fetch_flows(&self.ahead.batches[1 - older]);
            let flights = self.events.flights().upcoming(fresh);
            places.fetch_first(flights, &mut self.ahead.batches[older]);
            self.ahead.older = 1 - older;
        }
    }
}

/// Where everything is.
struct Places<'a> {
    links: &'a Links,
    records: &'a [LinkRecord],
    routes: &'a Routes,
    bodies: &'a Bodies,
    flows: &'a [FlowState],
    connections: &'a Connections,
}

impl Places<'_> {
    /// The first step.
    fn fetch_first(&self, flights: &[Flight], batch: &mut Batch) {
        (batch.receivers, batch.senders, batch.waits) = (0, 0, 0);
        let mut links = [0; 2 * BATCH];
        let mut onward = 0;
        for flight in &flights[..flights.len().min(BATCH)] {
            let packet = &flight.packet;
            let mut hop = self.routes.hop(packet.route);
            let arrival = Arrival {
                connection: packet.connection,
                body: packet.body,
                due: flight.due,
                route: packet.route,
            };
            // Written to every list, and counted where it belongs.
            links[onward] = hop.link().unwrap_or(0);
            onward += usize::from(hop.link().is_some());
            if hop.is_through() {
                let mut route = packet.route.onward();
                hop = self.routes.hop(route);
                while let Some(link) = hop.link() {
                    links[onward] = link;
                    onward = (onward + 1).min(links.len() - 1);
                    route = route.onward();
                    hop = self.routes.hop(route);
                }
            }
            batch.to_receivers[batch.receivers] = arrival;
            batch.receivers += usize::from(hop == Hop::RECEIVER);
            batch.to_senders[batch.senders] = arrival;
            batch.senders += usize::from(hop == Hop::SENDER);
            batch.waited[batch.waits] = (flight.link, flight.waited_ns);
            batch.waits += usize::from(flight.waited_ns > 0);
        }
        for &link in &links[..onward] {
            prefetch(&self.links.all[link], 1);
        }
        for arrival in &batch.to_receivers[..batch.receivers] {
            self.bodies.prefetch(arrival.body);
            self.connections
                .prefetch_receiver(arrival.connection as usize);
        }
        for arrival in &batch.to_senders[..batch.senders] {
            self.bodies.prefetch(arrival.body);
            self.connections
                .prefetch_sender(arrival.connection as usize);
        }
        for &(link, _) in &batch.waited[..batch.waits] {
            prefetch(&self.records[link as usize], 1);
        }
    }

    /// Begins to fetch the link that the answer to a packet goes to.
    #[inline(always)]
    fn fetch_link(&self, route: Route) {
        if let Some(link) = self.routes.hop(route).link() {
            prefetch(&self.links.all[link], 1);
        }
    }

    /// The second step: the flow, and the link that the answer goes to.
    fn fetch_flows(&self, batch: &Batch) {
        for arrival in &batch.to_receivers[..batch.receivers] {
            let connection = self.connections.get(arrival.connection as usize);
            prefetch(&self.flows[connection.flow()].delay, 1);
            self.fetch_link(connection.routes().1);
        }
        for arrival in &batch.to_senders[..batch.senders] {
            let connection = self.connections.get(arrival.connection as usize);
            prefetch(&self.flows[connection.flow()].round_trip, 1);
            self.fetch_link(connection.routes().0);
        }
        for &(link, _) in &batch.waited[..batch.waits] {
            self.records[link as usize].prefetch_waits();
        }
    }

    /// The third step: what the ends lead to.
    fn fetch_beyond(&self, batch: &Batch) {
        let under_way_ns = |arrival: &Arrival| {
            let sent = self.bodies.sent(arrival.body);
            // Not much later than it will come.
            let due = latest_arrival(self.routes, self.links, arrival.route, arrival.due);
            let due = due.unwrap_or(arrival.due);
            due.as_nanos().saturating_sub(sent.as_nanos())
        };
        for arrival in &batch.to_receivers[..batch.receivers] {
            let connection = self.connections.get(arrival.connection as usize);
            let flow = &self.flows[connection.flow()];
            flow.delay.prefetch(under_way_ns(arrival));
        }
        for arrival in &batch.to_senders[..batch.senders] {
            let connection = self.connections.get(arrival.connection as usize);
            let flow = &self.flows[connection.flow()];
            connection.sender.prefetch_beyond();
            flow.round_trip.prefetch(under_way_ns(arrival));
        }
        for &(link, waited_ns) in &batch.waited[..batch.waits] {
            self.records[link as usize].prefetch_wait(waited_ns);
        }
    }
}
