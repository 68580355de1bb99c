// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets go from link to link, and come to the ends of their routes.

use netnice_queue::{Delivery, DropCause, Dropped, IpFields, Packet as _, Time};

use crate::engine::event_source;
use crate::engine::fifo_lanes::NO_LANE;
use crate::engine::flight::{Departure, Flight};
use crate::engine::scheduler::Scheduler;
use crate::flows::bodies::Goes;
use crate::flows::state::Work;
use crate::ids::NodeId;
use crate::links::groups::LinkGroup;
use crate::links::routes::Hop;
use crate::links::state::SimulatedLink;
use crate::packet::{Packet, UDP};
use crate::simulation::run::Run;
use crate::trace::events::{EventTrace, PacketAtLink};

/// The packet so many places behind the one that comes out of a link is prefetched for.
const AHEAD: usize = 3;

impl<S: Scheduler> Run<S> {
    /// A packet leaves a drop-tail link.
    #[inline(always)]
    pub(super) fn land(&mut self, flight: &Flight) {
        let batches = &mut self.lookahead.batches;
        batches.look_ahead(&mut self.scheduler, &self.links, &self.flows);
        self.leave(flight.link as usize, flight.packet, flight.waited_ns);
    }

    /// The packet at the head of a link's pipe has come out, or one begins its transmission.
    #[inline(never)]
    pub(super) fn deliver(&mut self, index: usize) {
        let SimulatedLink::Other(link) = &mut self.links.all[index] else {
            return;
        };
        let delivery = link.deliver(self.now);
        if S::NEEDS_LANES {
            // In a run of thousands of flows the link that a packet comes to next is seldom in the cache.
            if let Some(route) = link.packet_behind(AHEAD).map(|packet| packet.route) {
                self.prefetch().fetch_first_link(route);
            }
        }
        self.take_dropped(index);
        if let Some(delivery) = delivery {
            self.handled += 1;
            self.leave(index, delivery.packet, delivery.waited_ns);
        }
        self.defer_known(index);
        self.set_link_event(index);
    }

    /// Sets the event of a link that keeps its packets.
    fn set_link_event(&mut self, index: usize) {
        let SimulatedLink::Other(link) = &self.links.all[index] else {
            return;
        };
        let due = match self.lookahead.limits.any() {
            true => link.earliest_delivery(),
            // Packets that the discipline drops are counted when that happens.
            false => link.next_event(),
        };
        self.scheduler.set_link(self.now, index, due);
    }

    /// Fast-forwards the packets of a link that keeps its packets which are in transmission or in propagation, as far as they can be.
    #[inline(always)]
    fn defer_known(&mut self, index: usize) {
        let limit = self.lookahead.limits.surely_before();
        while let SimulatedLink::Other(link) = &mut self.links.all[index] {
            let Some(known) = link.known_delivery() else {
                return;
            };
            let route = known.packet.route.back();
            let hop = self.links.routes.hop(route);
            if known.due >= limit || !hop.allows_fast_forward() {
                return;
            }
            if let Some(Delivery {
                packet,
                due,
                waited_ns,
            }) = link.take_known_delivery()
            {
                let departure = Departure { due, waited_ns };
                self.defer(hop, index, departure, Packet { route, ..packet });
            }
        }
    }

    /// A packet has come out of a link and goes on.
    #[inline(always)]
    fn leave(&mut self, index: usize, packet: Packet, waited_ns: u64) {
        if waited_ns > 0 {
            self.defer_wait(index, waited_ns);
        }
        if !self.links.all_plain() && self.after_link(index, packet.apart(), waited_ns) {
            return;
        }
        self.forward(packet);
    }

    /// A packet has come out of a link that had to wait so long.
    #[inline(always)]
    pub(super) fn count_wait(&mut self, link: usize, waited_ns: u64) {
        if waited_ns > 0 {
            self.links.waits.record(link, waited_ns);
        }
    }

    /// The flow of a packet, and whether it goes to the sender of the flow's data.
    fn flow_of(&self, packet: &Packet) -> (usize, bool) {
        if packet.connection & UDP != 0 {
            ((packet.connection & !UDP) as usize, false)
        } else {
            let connection = self.flows.connections.get(packet.connection as usize);
            let to_sender = self.links.routes.leads_to_sender(packet.route.cursor);
            (connection.flow(), to_sender)
        }
    }

    /// Calls `record` with the run's trace of events if those at this link are recorded.
    #[cold]
    fn record(
        &mut self,
        link: usize,
        packet: &Packet,
        record: impl FnOnce(&mut EventTrace, &PacketAtLink),
    ) {
        let extras = self.links.extras.get(link).and_then(Option::as_ref);
        if self.events.is_none() || !extras.is_some_and(|extras| extras.recorded) {
            return;
        }
        let (flow, to_sender) = self.flow_of(packet);
        let is_tcp = packet.connection & UDP == 0;
        let seen = PacketAtLink {
            number: packet.body,
            flow: flow as u32,
            to_sender,
            sequence: is_tcp.then(|| self.flows.bodies.number(packet.body)),
            bytes: u32::from(packet.length),
            marked: packet.marks.congestion_experienced(),
        };
        if let Some(events) = &mut self.events {
            record(events, &seen);
        }
    }

    /// Traces and jitter; true where the packet is held.
    #[cold]
    fn after_link(&mut self, index: usize, packet: Packet, waited_ns: u64) -> bool {
        let now = self.now;
        self.record(index, &packet, |events, seen| {
            events.delivered(now, index as u32, seen, waited_ns);
        });
        self.capture(index, now, &packet);
        let extras = self.links.extras.get_mut(index).and_then(Option::as_mut);
        let Some(reordering) = extras.and_then(|extras| extras.reordering.as_mut()) else {
            return false;
        };
        let due = reordering.hold(self.now, packet);
        self.scheduler
            .insert(due, event_source::JITTER | index as u32);
        true
    }

    /// Writes a packet that comes out of a link at `at`, which may be ahead of the present, to the link's trace, if it has one.
    #[inline]
    pub(super) fn capture(&mut self, index: usize, at: Time, packet: &Packet) {
        let Some(trace) = self.links.capture_of(index) else {
            return;
        };
        let (flow, reverse) = self.flow_of(packet);
        let goes = match reverse {
            true => Goes::ToSender,
            false => Goes::ToReceiver,
        };
        let bodies = &self.flows.bodies;
        self.links
            .captures
            .write((trace, at, self.now), packet, bodies, (flow, goes));
    }

    /// A packet that jitter has held goes on.
    pub(super) fn release(&mut self, index: usize) {
        let extras = self.links.extras[index].as_mut();
        if let Some((_, packet)) = extras.and_then(|extras| extras.reordering.as_mut()?.release()) {
            self.forward(packet);
        }
    }

    /// Takes a packet one hop further.
    #[inline(always)]
    pub(super) fn forward(&mut self, packet: Packet) {
        let hop = self.links.routes.hop(packet.route);
        match hop.link() {
            Some(link) => self.enter(hop, link, packet),
            None => self.arrive(hop, &packet.apart()),
        }
    }

    #[inline(always)]
    fn enter(&mut self, hop: Hop, index: usize, packet: Packet) {
        if self.links.tags {
            return self.enter_tagged(hop, index, packet.apart());
        }
        self.enter_as_it_is(hop, index, packet);
    }

    #[inline(always)]
    fn enter_as_it_is(&mut self, hop: Hop, index: usize, packet: Packet) {
        match &self.links.all[index] {
            SimulatedLink::DropTail(link) if !link.is_red() => {
                self.enter_drop_tail(hop, index, packet);
            }
            SimulatedLink::DropTail(_) => self.enter_red(hop, index, packet.apart()),
            SimulatedLink::Other(_) => self.enter_other(index, packet.apart()),
        }
    }

    #[inline(always)]
    fn enter_drop_tail(&mut self, hop: Hop, index: usize, packet: Packet) {
        let now = self.now;
        self.sample_link(index, now);
        let (link, LinkGroup { properties, .. }) = self.links.drop_tail(index);
        match link.offer(properties, now, u32::from(packet.length)) {
            Ok(departure) => {
                if hop.allows_fast_forward() {
                    self.defer(hop, index, departure, packet);
                } else {
                    self.put_on_link(index, departure, packet);
                }
            }
            Err(cause) => self.drop_at(hop, index, packet.apart(), cause),
        }
    }

    #[inline(never)]
    fn enter_red(&mut self, hop: Hop, index: usize, packet: Packet) {
        let now = self.now;
        self.sample_link(index, now);
        let (link, LinkGroup { properties, .. }) = self.links.drop_tail(index);
        match link.admit(properties, now, packet) {
            Ok(packet) => self.enter_drop_tail(hop, index, packet),
            Err(cause) => self.drop_at(hop, index, packet, cause),
        }
    }

    /// A packet waits until it comes out of a drop-tail link that has taken it in.
    #[inline(always)]
    pub(super) fn put_on_link(&mut self, index: usize, departure: Departure, packet: Packet) {
        let lane = if !S::NEEDS_LANES {
            NO_LANE
        } else {
            let (_, LinkGroup { properties, lanes }) = self.links.drop_tail(index);
            lanes.lane(properties, packet.length, departure.waited_ns > 0)
        };
        self.scheduler
            .insert_packet(lane, index as u32, departure, packet);
    }

    #[inline(never)]
    fn enter_other(&mut self, index: usize, mut packet: Packet) {
        packet.route.cursor += 1;
        let ip_fields = match self.links.all[index].reads_ip_fields() {
            true => self.ip_fields(&packet),
            false => IpFields::default(),
        };
        let SimulatedLink::Other(link) = &mut self.links.all[index] else {
            return;
        };
        let was_empty = link.next_event().is_none();
        let result = link.offer_with(self.now, packet, ip_fields);
        self.take_dropped(index);
        if let Err(Dropped { packet, cause }) = result {
            // It may be another packet that waited.
            let hop = self.links.routes.hop(packet.route.back());
            self.drop_at(hop, index, packet, cause);
        }
        self.defer_known(index);
        if was_empty {
            self.set_link_event(index);
        }
    }

    /// The fields of a packet's IP header: its hosts by the numbers of their nodes, and the DSCP of its flow.
    #[cold]
    fn ip_fields(&self, packet: &Packet) -> IpFields {
        let (flow, to_sender) = self.flow_of(packet);
        let flow = &self.flows.all[flow];
        let route = match flow.work {
            Work::Udp { route } => route,
            Work::Tcp { .. } | Work::Web { .. } => {
                let connection = self.flows.connections.get(packet.connection as usize);
                let (forward, back) = connection.routes();
                if to_sender { back } else { forward }
            }
        };
        let ends = self.links.routes.ends(route);
        let (source, destination) = ends.unwrap_or((NodeId(0), NodeId(0)));
        IpFields {
            source: source.0,
            destination: destination.0,
            dscp: flow.labels.dscp,
        }
    }

    /// Accounts for packets that a link's discipline dropped after it had admitted them.
    #[inline(always)]
    pub(super) fn take_dropped(&mut self, index: usize) {
        while let SimulatedLink::Other(link) = &mut self.links.all[index] {
            let Some(Dropped { packet, cause }) = link.take_dropped() else {
                return;
            };
            self.drop_packet(index, packet, cause);
        }
    }

    /// Counts a packet that comes to a link by its colour.
    #[inline(always)]
    pub(super) fn count_colour(&mut self, link: usize, packet: &Packet) {
        if self.links.colours {
            let colours = self.links.records[link].colours_mut();
            colours.count_arrival(packet);
        }
    }

    /// Some links have markers, or are recorded.
    #[cold]
    fn enter_tagged(&mut self, hop: Hop, index: usize, mut packet: Packet) {
        if let Some(extras) = &mut self.links.extras[index] {
            if let Some(marker) = &mut extras.marker {
                marker.tag(self.now, &mut packet);
            }
        }
        self.count_colour(index, &packet);
        let now = self.now;
        self.record(index, &packet, |events, seen| {
            events.arrived(now, index as u32, seen);
        });
        self.enter_as_it_is(hop, index, packet);
    }

    /// A link drops a packet that was to go onto it by `hop`.
    #[inline(never)]
    fn drop_at(&mut self, hop: Hop, link: usize, packet: Packet, cause: DropCause) {
        if hop.allows_fast_forward() {
            self.defer_drop(link, packet, cause);
        } else {
            self.drop_packet(link, packet, cause);
        }
    }

    pub(super) fn drop_packet(&mut self, link: usize, packet: Packet, cause: DropCause) {
        self.links.records[link].count_drop(cause, packet.class());
        if self.links.colours {
            let colours = self.links.records[link].colours_mut();
            colours.count_drop(&packet);
        }
        if self.events.is_some() {
            let now = self.now;
            self.record(link, &packet, |events, seen| {
                events.dropped(now, link as u32, seen, cause);
            });
        }
        // The fields that are counted are the same in both directions.
        let body = self.flows.bodies.remove(packet.body, Goes::ToReceiver);
        if packet.connection & UDP != 0 {
            let flow = &mut self.flows.all[(packet.connection & !UDP) as usize];
            flow.counters.lost_packets += 1;
            if let Some(call) = &mut flow.call {
                call.dropped(body.sent);
            }
        } else {
            self.count_lost_segment(packet.connection as usize, &body.segment);
        }
    }

    /// A packet has come to the end of its route.
    #[inline(never)]
    pub(super) fn arrive(&mut self, hop: Hop, packet: &Packet) {
        let connection = packet.connection as usize;
        if hop == Hop::SENDER {
            let body = self.flows.bodies.remove(packet.body, Goes::ToSender);
            self.segment_at_sender(connection, &body);
        } else if hop == Hop::RECEIVER {
            let body = self.flows.bodies.remove(packet.body, Goes::ToReceiver);
            self.segment_at_receiver(connection, packet, &body);
        } else {
            let body = self.flows.bodies.remove(packet.body, Goes::ToReceiver);
            let index = (packet.connection & !UDP) as usize;
            self.sample_receiver(index);
            let flow = &mut self.flows.all[index];
            flow.counters.goodput_bytes +=
                u64::from(packet.length.saturating_sub(flow.header_bytes));
            flow.counters.received_packets += 1;
            flow.counters.received_bytes += u64::from(packet.length);
            flow.data_arrived(self.now, self.warm_up, body.sent);
            if let Some(call) = &mut flow.call {
                call.arrived(self.now, body.sent);
            }
        }
    }
}
