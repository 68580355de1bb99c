// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: the loop over its events.

use netnice_queue::Time;

use crate::engine::event_source;
use crate::engine::scheduler::{Event, Scheduler};
use crate::flows::Flows;
use crate::flows::bodies::Body;
use crate::flows::state::Work;
use crate::ids::{FlowId, LinkId};
use crate::links::state::{Inside, Links, SimulatedLink};
use crate::lookahead::Lookahead;
use crate::measure::{FlowCounters, Sampler};
use crate::packet::{Marks, Packet, UDP};
use crate::tcp::Segment;
use crate::trace::events::EventTrace;

/// A run on a scheduler of one kind.
#[derive(Debug)]
pub(super) struct Run<S> {
    pub(super) now: Time,
    pub(super) warm_up: Time,
    pub(super) end: Time,
    pub(super) seed: u64,
    pub(super) scheduler: S,
    pub(super) links: Links,
    pub(super) flows: Flows,
    pub(super) lookahead: Lookahead,
    pub(super) sampler: Option<Sampler>,
    /// The counters of all flows at each checkpoint.
    pub(super) checkpoints: Vec<Vec<FlowCounters>>,
    /// The trace of the events at the links that are recorded.
    pub(super) events: Option<EventTrace>,
    /// Events so far: packets that came out of links, timers that expired, what programs did, and so on.
    pub(super) handled: u64,
}

impl<S: Scheduler> Run<S> {
    /// Runs to the end, or until `go_on` returns false. Returns true at the end.
    pub fn run_while(&mut self, go_on: &mut dyn FnMut(Time) -> bool) -> bool {
        let ended = self.run_until(self.end, go_on);
        if ended {
            self.come_to_end();
        } else {
            self.run_deferred();
            self.finish_samples();
        }
        ended
    }

    /// All that happens until the end has happened.
    pub(super) fn come_to_end(&mut self) {
        self.now = self.end;
        self.finish_samples();
        self.settle_links();
    }

    /// Runs until nothing is left to happen at `until` or before, or until `go_on` returns false. Returns true at `until`.
    pub(super) fn run_until(&mut self, until: Time, go_on: &mut dyn FnMut(Time) -> bool) -> bool {
        /// Events between two questions: a few milliseconds.
        const STRIDE: u64 = 1 << 16;
        if !self.lookahead.deferred.any() {
            self.lookahead.deferred.set_end(until);
        }
        loop {
            for _ in 0..STRIDE {
                match self.scheduler.pop_until(self.lookahead.deferred.until()) {
                    None if self.lookahead.deferred.any() => self.run_deferred(),
                    None => return true,
                    Some(Event::Packet) => {
                        let flight = self.scheduler.take_packet();
                        self.now = flight.due;
                        self.handled += 1;
                        self.land(&flight);
                    }
                    Some(Event::Timers) => self.sort_timers(),
                    Some(Event::Due(time, source)) => {
                        self.now = time;
                        self.handle(source);
                    }
                }
            }
            if !go_on(self.now) {
                return false;
            }
        }
    }

    #[inline]
    fn handle(&mut self, source: u32) {
        let index = (source & event_source::INDEX) as usize;
        let kind = source & event_source::KIND;
        // A timer has mostly moved on by the time of its event; those that have not count themselves, as do packets that come out of
        // links.
        let counts_itself = matches!(
            kind,
            event_source::RECEIVER_TIMER | event_source::SENDER_TIMER | event_source::LINK
        );
        self.handled += u64::from(!counts_itself);
        match kind {
            event_source::LINK => self.deliver(index),
            event_source::JITTER => self.release(index),
            event_source::RECEIVER_TIMER => self.on_receiver_timer(index),
            event_source::SENDER_TIMER => self.on_sender_timer(index),
            event_source::START => self.start(index),
            event_source::WRITE => self.write(index),
            event_source::SESSION => self.request_object(index),
            event_source::SAMPLE => self.sample(),
            barrier => {
                match barrier {
                    event_source::STOP => self.stop(index),
                    event_source::CHECKPOINT => self.take_checkpoint(),
                    _ => self.end_warm_up(),
                }
                self.pass_barrier();
            }
        }
    }

    /// A flow's program writes, or asks for data.
    fn write(&mut self, index: usize) {
        if self.flows.all[index].player.is_some() {
            return self.ask_for_chunk(index);
        }
        let flow = &mut self.flows.all[index];
        let write = flow.next_write;
        let more = flow.prepare_write();
        if more {
            self.scheduler
                .insert(flow.next_write.at, event_source::WRITE | index as u32);
        }
        match flow.work {
            Work::Udp { route } => {
                let length = write.bytes as u16;
                flow.counters.sent_packets += 1;
                flow.counters.sent_bytes += u64::from(length);
                let packet = Packet {
                    route,
                    connection: index as u32 | UDP,
                    body: self.flows.bodies.insert(&Body {
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

    /// Writes what is left of the trace of events.
    pub fn finish_events(&mut self) -> std::io::Result<()> {
        self.events.take().map_or(Ok(()), EventTrace::finish)
    }

    /// Packets in a link, waiting, in transmission, in propagation or held by jitter.
    pub fn packets_in_link(&self, link: LinkId) -> usize {
        let extras = self.links.extras.get(link.index()).and_then(Option::as_ref);
        let jitter = extras.and_then(|extras| extras.reordering.as_ref());
        let inside = match &self.links.all[link.index()] {
            SimulatedLink::DropTail(_) => self.flights_in(link).0 as usize,
            SimulatedLink::Other(link) => link.inside(),
        };
        inside + jitter.map_or(0, |jitter| jitter.held())
    }

    /// Packets in a drop-tail link.
    fn flights_in(&self, link: LinkId) -> Inside {
        let flights = self.scheduler.packets();
        flights
            .filter(|flight| flight.link == link.0)
            .fold((0, 0), |(packets, bytes), flight| {
                (packets + 1, bytes + u64::from(flight.packet.length))
            })
    }

    /// Packets in each of the drop-tail links.
    pub(super) fn flights_by_link(&self) -> Vec<Inside> {
        let mut inside = vec![(0, 0); self.links.all.len()];
        for flight in self.scheduler.packets() {
            let (packets, bytes) = &mut inside[flight.link as usize];
            *packets += 1;
            *bytes += u64::from(flight.packet.length);
        }
        inside
    }

    /// The flow called `name`.
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let index = self.flows.names.find(name)?;
        Some(FlowId(index as u32))
    }

    /// Counters of a link since the beginning.
    pub fn link_counters(&self, link: LinkId) -> netnice_queue::LinkCounters {
        self.links.all[link.index()].counters(self.flights_in(link))
    }
}
