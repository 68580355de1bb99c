// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefetches the state that packets will need.
//!
//! In a run of thousands of flows almost none of this state is in the processor's cache. Each place leads to
//! the next, so that prefetching goes in steps, each after the one before has arrived. Nothing here changes the state.

use crate::tcp::prefetch::prefetch;
use netnice_queue::Time;

use crate::engine::flight::Flight;
use crate::flows::Flows;
use crate::links::state::{Links, SimulatedLink};
use crate::packet::{Route, UDP};

/// The arrival of a packet at an end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival {
    /// The number of the connection, or of a flow over UDP.
    connection: u32,
    body: u32,
    /// When it comes, or leaves the last link that its flow shares with others.
    due: Time,
}

impl Arrival {
    /// The arrival of this packet.
    #[inline(always)]
    pub fn of(flight: &Flight) -> Arrival {
        Arrival {
            connection: flight.packet.connection,
            body: flight.packet.body,
            due: flight.due,
        }
    }

    /// The flow over UDP that the packet is of, if it is.
    #[inline(always)]
    fn udp(&self) -> Option<usize> {
        let udp = self.connection & UDP != 0;
        udp.then_some((self.connection & !UDP) as usize)
    }
}

/// The links and the flows of a run, to be fetched.
#[derive(Clone, Copy)]
pub(crate) struct Prefetch<'a> {
    pub links: &'a Links,
    pub flows: &'a Flows,
}

impl Prefetch<'_> {
    /// The first step for a packet of data: the end of the connection and the packet's body.
    #[inline(always)]
    pub fn fetch_receiver(self, arrival: &Arrival) {
        self.flows.bodies.prefetch(arrival.body);
        match arrival.udp() {
            None => self
                .flows
                .connections
                .prefetch_receiver(arrival.connection as usize),
            Some(flow) => prefetch(&self.flows.all[flow].delay, 1),
        }
    }

    /// The second one: the flow, the link for the answer, and what is needed by data that are not the next.
    #[inline(always)]
    pub fn fetch_around_receiver(self, arrival: &Arrival) {
        if arrival.udp().is_none() {
            let connection = self.flows.connections.get(arrival.connection as usize);
            prefetch(&self.flows.all[connection.flow()].delay, 1);
            self.fetch_first_link(connection.routes().1);
            let receiver = &connection.receiver;
            if !receiver.expects(self.flows.bodies.number(arrival.body)) {
                receiver.prefetch_unusual();
            }
        }
    }

    /// The third one: where the delay is counted.
    #[inline(always)]
    pub fn fetch_delay(self, arrival: &Arrival) {
        if arrival.udp().is_none() {
            let connection = self.flows.connections.get(arrival.connection as usize);
            let flow = &self.flows.all[connection.flow()];
            if let Some(count) = flow.delay.place_of(self.under_way_ns(arrival)) {
                prefetch(count, 1);
            }
            if self.links.any_chance {
                self.fetch_chance_of_first_link(connection.routes().1);
            }
        }
    }

    /// The first step for an ACK.
    #[inline(always)]
    pub fn fetch_sender(self, arrival: &Arrival) {
        self.flows.bodies.prefetch(arrival.body);
        self.flows
            .connections
            .prefetch_sender(arrival.connection as usize);
    }

    /// The second one: the flow, the link for new data, what the sender leads to, and what an ACK of nothing new needs.
    #[inline(always)]
    pub fn fetch_around_sender(self, arrival: &Arrival) {
        let connection = self.flows.connections.get(arrival.connection as usize);
        prefetch(&self.flows.all[connection.flow()].round_trip, 1);
        self.fetch_first_link(connection.routes().0);
        let sender = &connection.sender;
        sender.prefetch_beyond();
        if sender.has_seen(self.flows.bodies.number(arrival.body)) {
            sender.prefetch_unusual();
        }
    }

    /// The third one: where the round trip is counted, and what packets need that follow on one another.
    #[inline(always)]
    pub fn fetch_beyond_sender(self, arrival: &Arrival) {
        let connection = self.flows.connections.get(arrival.connection as usize);
        if connection.sender.may_burst() {
            if let Some(link) = self.links.routes.hop(connection.routes().0).link() {
                self.fetch_waiting(link);
            }
        }
        if self.links.any_chance {
            self.fetch_chance_of_first_link(connection.routes().0);
        }
        let flow = &self.flows.all[connection.flow()];
        if let Some(count) = flow.round_trip.place_of(self.under_way_ns(arrival)) {
            prefetch(count, 1);
        }
    }

    /// The first step for a packet that was dropped.
    #[inline(always)]
    pub fn fetch_dropped(self, connection: u32, body: u32) {
        self.flows.bodies.prefetch(body);
        if connection & UDP == 0 {
            self.flows.connections.prefetch_shared(connection as usize);
        }
    }

    /// The second one.
    #[inline(always)]
    pub fn fetch_counters(self, connection: u32) {
        let flow = if connection & UDP == 0 {
            self.flows.connections.get(connection as usize).flow()
        } else {
            (connection & !UDP) as usize
        };
        prefetch(&self.flows.all[flow].counters.lost_packets, 1);
    }

    /// The links from a place in a route to its end.
    #[inline(always)]
    pub fn fetch_way(self, mut route: Route) {
        while let Some(link) = self.links.routes.hop(route).link() {
            prefetch(&self.links.all[link], 1);
            route = route.onward();
        }
    }

    /// Then what a packet needs at those of them where it has to wait or chance may delay it, if it comes at `at`.
    #[inline(always)]
    pub fn fetch_way_if_busy(self, mut route: Route, at: Time) {
        while let Some(index) = self.links.routes.hop(route).link() {
            if let SimulatedLink::DropTail(link) = &self.links.all[index] {
                if link.has_chance() {
                    link.prefetch_chance();
                }
                if link.is_busy_at(at) {
                    self.fetch_waiting(index);
                }
            }
            route = route.onward();
        }
    }

    /// The link that stands at a place in a route.
    #[inline(always)]
    pub fn fetch_first_link(self, route: Route) {
        if let Some(link) = self.links.routes.hop(route).link() {
            prefetch(&self.links.all[link], 1);
        }
    }

    /// Memory that a packet needs at that link where chance may take or delay it.
    #[cold]
    fn fetch_chance_of_first_link(self, route: Route) {
        if let Some(link) = self.links.routes.hop(route).link() {
            if let SimulatedLink::DropTail(link) = &self.links.all[link] {
                link.prefetch_chance();
            }
        }
    }

    /// Begins to fetch the state that a packet needs if it waits at a link.
    #[inline(always)]
    fn fetch_waiting(self, link: usize) {
        self.links.waits.prefetch(link);
        if let SimulatedLink::DropTail(link) = &self.links.all[link] {
            link.prefetch_waiting();
        }
    }

    /// Nanoseconds that a packet, or the data that an ACK acknowledges, will have been under way, less the time on
    /// links to the end: it seldom changes the histogram's bin.
    #[inline(always)]
    fn under_way_ns(self, arrival: &Arrival) -> u64 {
        let sent = self.flows.bodies.sent(arrival.body);
        arrival.due.as_nanos().saturating_sub(sent.as_nanos())
    }
}
