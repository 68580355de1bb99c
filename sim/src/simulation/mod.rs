// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: links, flows and the events between them.

mod conservation;
mod sampling;
mod setup;

use std::time::Duration;

use netnice_queue::{Departure, DropCause, Dropped, Packet as _, Time};

use crate::engine::event_queue::{Event, EventQueue};
use crate::engine::fifo_lanes::NO_LANE;
use crate::engine::flight::Flight;
use crate::engine::source;
use crate::flows::bodies::{Bodies, Body, Goes};
use crate::flows::connection::Connections;
use crate::flows::state::{FlowState, Work};
use crate::flows::web_sessions::SessionState;
use crate::ids::FlowId;
use crate::ids::LinkId;
use crate::links::kinds::Kind;
use crate::links::routes::{Hop, Routes};
use crate::links::state::{Extras, Inside, LinkRecord, Links, SimulatedLink};
use crate::lookahead::fast_forward::Carrying;
use crate::lookahead::prefetch_batches::Ahead;
use crate::lookahead::survey::Through;
use crate::measure::{FlowCounters, Sampler};
use crate::packet::{Marks, Packet, UDP};
use crate::tcp::Segment;

/// How long a run is, and what is taken down.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// End of the run.
    pub duration: Duration,
    /// What is left out of all measurements at the beginning.
    pub warm_up: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Time between two samples of the time series; none without.
    pub sampling_interval: Option<Duration>,
    /// Times at which the counters of all flows are taken down, in order.
    pub marks: Vec<Duration>,
}

impl RunOptions {
    /// A run of this length, measured from the beginning.
    pub fn new(duration: Duration, seed: u64) -> RunOptions {
        RunOptions {
            duration,
            warm_up: Duration::ZERO,
            seed,
            sampling_interval: None,
            marks: Vec::new(),
        }
    }
}

/// A run, ready or under way.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) warm_up: Time,
    pub(crate) end: Time,
    pub(crate) events: EventQueue,
    pub(crate) links: Links,
    pub(crate) records: Vec<LinkRecord>,
    /// For each link what few have; empty where none has any, so that a hop need not ask.
    pub(crate) extras: Vec<Option<Box<Extras>>>,
    pub(crate) routes: Routes,
    pub(crate) bodies: Bodies,
    /// `None` only while it is at work.
    pub(crate) ahead: Option<Box<Ahead>>,
    pub(crate) through: Through,
    pub(crate) carrying: Carrying,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) connections: Connections,
    pub(crate) sessions: Vec<SessionState>,
    pub(crate) sampler: Option<Sampler>,
    pub(crate) seed: u64,
    /// The counters of all flows at each mark.
    pub(crate) marks: Vec<Vec<FlowCounters>>,
    pub(crate) handled: u64,
}

impl Simulation {
    /// Runs to the end.
    pub fn run(&mut self) {
        self.run_while(|_| true);
    }

    /// Runs to the end, or until `go_on`, which is told the present time now and then, says no. True at the end.
    ///
    /// Where it says no, flows may be ahead of the present (see `survey.rs`). At samples, marks and the end none is.
    pub fn run_while(&mut self, mut go_on: impl FnMut(Time) -> bool) -> bool {
        /// Events between two questions: a few milliseconds.
        const STRIDE: u64 = 1 << 16;
        loop {
            for _ in 0..STRIDE {
                match self.events.next_until(self.carrying.until()) {
                    None if self.carrying.any() => self.carry_aside(),
                    None => {
                        self.now = self.end;
                        return true;
                    }
                    Some(Event::Flight) => {
                        let flight = self.events.take_flight();
                        self.now = flight.due;
                        self.handled += 1;
                        self.land(&flight);
                    }
                    Some(Event::List) => self.sort_timers(),
                    Some(Event::Due(time, source)) => {
                        self.now = time;
                        self.handle(source);
                    }
                }
            }
            if !go_on(self.now) {
                self.carry_aside();
                return false;
            }
        }
    }

    #[inline]
    fn handle(&mut self, source: u32) {
        let index = (source & source::INDEX) as usize;
        let kind = source & source::KIND;
        // A timer has mostly moved on by the time of its event; those that have not count themselves.
        let timer = matches!(kind, source::RECEIVER_TIMER | source::SENDER_TIMER);
        self.handled += u64::from(!timer);
        match kind {
            source::LINK => self.deliver(index),
            source::JITTER => self.release(index),
            source::RECEIVER_TIMER => self.on_receiver_timer(index),
            source::SENDER_TIMER => self.on_sender_timer(index),
            source::START => self.start(index),
            source::WRITE => self.write(index),
            source::SESSION => self.request_object(index),
            barrier => {
                match barrier {
                    source::STOP => self.stop(index),
                    source::SAMPLE => self.sample(),
                    source::MARK => self.take_mark(),
                    _ => self.end_warm_up(),
                }
                self.pass_barrier();
            }
        }
    }

    /// A packet has come out of a link that had told so.
    #[inline(always)]
    fn land(&mut self, flight: &Flight) {
        self.look_ahead();
        self.leave(flight.link as usize, flight.packet, flight.waited_ns);
    }

    /// The packet at the head of a link's pipe has come out, or one begins its transmission.
    #[inline(never)]
    fn deliver(&mut self, index: usize) {
        let SimulatedLink::Other(link) = &mut self.links.all[index] else {
            return;
        };
        let delivery = link.deliver(self.now);
        self.events.set_link(self.now, index, link.next_event());
        if let Some(delivery) = delivery {
            self.leave(index, delivery.packet, delivery.waited_ns);
        }
    }

    /// A packet has come out of a link and goes on.
    #[inline(always)]
    fn leave(&mut self, index: usize, packet: Packet, waited_ns: u64) {
        if waited_ns > 0 {
            self.count_wait_later(index, waited_ns);
        }
        if !self.extras.is_empty() && self.after_link(index, packet.apart()) {
            return;
        }
        self.forward(packet);
    }

    /// A packet has come out of a link that had to wait so long.
    #[inline(always)]
    pub(crate) fn count_wait(&mut self, link: usize, waited_ns: u64) {
        if waited_ns > 0 {
            self.records[link].waits.record(waited_ns);
        }
    }

    /// Trace and jitter; true where the packet is held.
    #[cold]
    fn after_link(&mut self, index: usize, packet: Packet) -> bool {
        let Some(extras) = &mut self.extras[index] else {
            return false;
        };
        if let Some(capture) = &mut extras.capture {
            let (flow, reverse) = if packet.connection & UDP != 0 {
                ((packet.connection & !UDP) as usize, false)
            } else {
                let connection = self.connections.get(packet.connection as usize);
                (
                    connection.flow(),
                    self.routes.leads_to_sender(packet.route.cursor),
                )
            };
            let goes = if reverse {
                Goes::ToSender
            } else {
                Goes::ToReceiver
            };
            let body = self.bodies.get(packet.body, goes);
            capture.packet(
                self.now,
                &packet,
                &body.segment,
                &self.flows[flow].labels,
                reverse,
            );
        }
        let Some(jitter) = &mut extras.jitter else {
            return false;
        };
        let due = jitter.hold(self.now, packet);
        self.events.push(due, source::JITTER | index as u32);
        true
    }

    /// A packet that jitter has held goes on.
    fn release(&mut self, index: usize) {
        let extras = self.extras[index].as_mut();
        if let Some(packet) = extras.and_then(|extras| extras.jitter.as_mut()?.release()) {
            self.forward(packet);
        }
    }

    /// Takes a packet one hop further.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: Packet) {
        let hop = self.routes.hop(packet.route);
        match hop.link() {
            Some(link) => self.enter(hop, link, packet),
            None => self.arrive(hop, &packet.apart()),
        }
    }

    #[inline(always)]
    fn enter(&mut self, hop: Hop, index: usize, packet: Packet) {
        if !self.extras.is_empty() {
            return self.enter_tagged(hop, index, packet.apart());
        }
        self.enter_as_it_is(hop, index, packet);
    }

    #[inline(always)]
    fn enter_as_it_is(&mut self, hop: Hop, index: usize, packet: Packet) {
        match &mut self.links.all[index] {
            SimulatedLink::DropTail(link) => {
                let Kind { kind, .. } = &mut self.links.kinds.all[link.kind()];
                match link.offer(kind, self.now, u32::from(packet.length)) {
                    Ok(departure) => {
                        if hop.is_through() {
                            self.carry_later(hop, index, departure, packet);
                        } else {
                            self.put_on_link(index, departure, packet);
                        }
                    }
                    Err(cause) => self.drop_at(hop, index, packet.apart(), cause),
                }
            }
            SimulatedLink::Other(_) => self.enter_other(index, packet.apart()),
        }
    }

    /// A packet waits until it comes out of a drop-tail link that has taken it in.
    #[inline(always)]
    pub(crate) fn put_on_link(&mut self, index: usize, departure: Departure, packet: Packet) {
        let lane = if self.events.flights().are_all_near() {
            NO_LANE
        } else {
            let (_, Kind { kind, lanes }) = self.links.drop_tail(index);
            lanes.lane(kind, packet.length, departure.waited_ns > 0)
        };
        self.events
            .push_flight(lane, index as u32, departure, packet);
    }

    #[inline(never)]
    fn enter_other(&mut self, index: usize, mut packet: Packet) {
        packet.route.cursor += 1;
        let SimulatedLink::Other(link) = &mut self.links.all[index] else {
            return;
        };
        let was_empty = link.next_event().is_none();
        let result = link.offer(self.now, packet);
        if was_empty {
            self.events.set_link(self.now, index, link.next_event());
        }
        if let Err(Dropped { packet, cause }) = result {
            self.drop_packet(index, packet, cause);
        }
    }

    /// Where links have conditioners.
    #[cold]
    fn enter_tagged(&mut self, hop: Hop, index: usize, mut packet: Packet) {
        if let Some(extras) = &mut self.extras[index] {
            if let Some(conditioner) = &mut extras.conditioner {
                conditioner.tag(self.now, &mut packet);
            }
        }
        self.enter_as_it_is(hop, index, packet);
    }

    /// A link drops a packet that was to go onto it by `hop`.
    #[inline(never)]
    fn drop_at(&mut self, hop: Hop, link: usize, packet: Packet, cause: DropCause) {
        if hop.is_through() {
            self.drop_later(link, packet, cause);
        } else {
            self.drop_packet(link, packet, cause);
        }
    }

    pub(crate) fn drop_packet(&mut self, link: usize, packet: Packet, cause: DropCause) {
        self.records[link].count_drop(cause, packet.class());
        // What is counted is the same for both ways.
        let body = self.bodies.remove(packet.body, Goes::ToReceiver);
        if packet.connection & UDP != 0 {
            let flow = &mut self.flows[(packet.connection & !UDP) as usize];
            flow.counters.lost_packets += 1;
        } else {
            self.segment_lost(packet.connection as usize, &body.segment);
        }
    }

    /// A packet has come to the end of its route.
    #[inline(never)]
    pub(crate) fn arrive(&mut self, hop: Hop, packet: &Packet) {
        let connection = packet.connection as usize;
        if hop == Hop::SENDER {
            let body = self.bodies.remove(packet.body, Goes::ToSender);
            self.segment_at_sender(connection, &body);
        } else if hop == Hop::RECEIVER {
            let body = self.bodies.remove(packet.body, Goes::ToReceiver);
            self.segment_at_receiver(connection, packet, &body);
        } else {
            let body = self.bodies.remove(packet.body, Goes::ToReceiver);
            let flow = &mut self.flows[(packet.connection & !UDP) as usize];
            flow.counters.goodput_bytes +=
                u64::from(packet.length.saturating_sub(flow.header_bytes));
            flow.counters.received_packets += 1;
            flow.counters.received_bytes += u64::from(packet.length);
            flow.data_arrived(self.now, self.warm_up, body.sent);
        }
    }

    /// A flow's program writes.
    fn write(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let write = flow.next_write;
        let more = flow.prepare_write();
        if more {
            self.events
                .push(flow.next_write.at, source::WRITE | index as u32);
        }
        match flow.work {
            Work::Udp { route } => {
                let length = write.bytes as u16;
                flow.counters.sent_packets += 1;
                flow.counters.sent_bytes += u64::from(length);
                let packet = Packet {
                    route,
                    connection: index as u32 | UDP,
                    body: self.bodies.insert(&Body {
                        segment: Segment::default(),
                        sent: self.now,
                    }),
                    length,
                    class: flow.class,
                    marks: Marks::default(),
                };
                self.forward(packet);
            }
            Work::Tcp { connection, .. } => {
                let bytes = u64::from(write.bytes) - u64::from(flow.header_bytes);
                self.supply(connection as usize, bytes, !more);
            }
            Work::Web { .. } => {}
        }
    }

    /// Writes what is left of all traces.
    pub fn finish_captures(&mut self) -> std::io::Result<()> {
        let extras = self.extras.iter_mut().flatten();
        for capture in extras.filter_map(|extras| extras.capture.take()) {
            capture.finish()?;
        }
        Ok(())
    }

    /// Events so far: packets that came out of links, carried or not, timers that ended, what programs did, and so on.
    pub fn events_handled(&self) -> u64 {
        self.handled
    }

    /// Packets in links, or held by jitter.
    pub fn packets_under_way(&self) -> usize {
        self.bodies.len()
    }

    /// What a link has counted since the beginning.
    pub fn link_counters(&self, link: LinkId) -> netnice_queue::LinkCounters {
        self.links.all[link.index()].counters(self.flights_in(link))
    }

    /// Packets in a link, waiting, in transmission, in propagation or held by jitter.
    pub fn packets_in_link(&self, link: LinkId) -> usize {
        let extras = self.extras.get(link.index()).and_then(Option::as_ref);
        let jitter = extras.and_then(|extras| extras.jitter.as_ref());
        let inside = match &self.links.all[link.index()] {
            SimulatedLink::DropTail(_) => self.flights_in(link).0 as usize,
            SimulatedLink::Other(link) => link.inside(),
        };
        inside + jitter.map_or(0, |jitter| jitter.held())
    }

    /// Packets in a drop-tail link.
    fn flights_in(&self, link: LinkId) -> Inside {
        let flights = self.events.flights().iter();
        flights
            .filter(|flight| flight.link == link.0)
            .fold((0, 0), |(packets, bytes), flight| {
                (packets + 1, bytes + u64::from(flight.packet.length))
            })
    }

    /// Packets in each of the drop-tail links.
    pub(crate) fn flights_by_link(&self) -> Vec<Inside> {
        let mut inside = vec![(0, 0); self.links.all.len()];
        for flight in self.events.flights().iter() {
            let (packets, bytes) = &mut inside[flight.link as usize];
            *packets += 1;
            *bytes += u64::from(flight.packet.length);
        }
        inside
    }

    /// The flow called `name`.
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let index = self
            .flows
            .iter()
            .position(|flow| flow.labels.name == name)?;
        Some(FlowId(index as u32))
    }
}
