// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: links, flows and the events between them.

use std::time::Duration;

use netnice_queue::{Link, Time};

use crate::Packet;
use crate::error::BuildError;
use crate::event_queue::EventQueue;
use crate::flow::{FlowId, FlowSpec, Transport};
use crate::measure::{FlowCounters, Histogram};
use crate::network::{LinkSpec, Network, Queue};
use crate::packet::{Bodies, Body, Marks};
use crate::random::{Stream, seed_of};
use crate::route::{Hop, Routes};
use crate::tcp::Segment;
use crate::traffic::{Generator, Write};

/// How long a run is, and what is taken down.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// End of the run.
    pub duration: Duration,
    /// What is left out of all measurements at the beginning.
    pub warm_up: Duration,
    /// Seed of all random streams.
    pub seed: u64,
}

impl RunOptions {
    /// A run of this length, measured from the beginning.
    pub fn new(duration: Duration, seed: u64) -> RunOptions {
        RunOptions {
            duration,
            warm_up: Duration::ZERO,
            seed,
        }
    }
}

/// What causes an event, in the lower 28 bits an index.
mod source {
    /// The first packet of a link's pipe comes out.
    pub const LINK: u32 = 0;
    /// A flow's program writes.
    pub const WRITE: u32 = 1 << 28;
    /// A measurement begins or ends.
    pub const MEASURE: u32 = 2 << 28;

    pub const KIND: u32 = 0xf000_0000;
    pub const INDEX: u32 = !KIND;
}

/// A link at work.
#[derive(Debug)]
struct LinkState {
    link: Link<Packet, Queue>,
    /// An event for the head of its pipe is pending.
    scheduled: bool,
}

/// A flow at work.
#[derive(Debug)]
struct FlowState {
    name: String,
    class: u8,
    forward: u32,
    stop: Time,
    generator: Option<Generator>,
    /// What the next event will write.
    next_write: Write,
    counters: FlowCounters,
    delay: Histogram,
}

/// A run, ready or under way.
#[derive(Debug)]
pub struct Simulation {
    now: Time,
    warm_up: Time,
    end: Time,
    events: EventQueue,
    links: Vec<LinkState>,
    routes: Routes,
    bodies: Bodies,
    flows: Vec<FlowState>,
    handled: u64,
}

impl Simulation {
    /// A run of `flows` over `network`, at time zero.
    pub fn new(
        network: Network,
        flows: &[FlowSpec],
        options: &RunOptions,
    ) -> Result<Simulation, BuildError> {
        let mut simulation = Simulation {
            now: Time::ZERO,
            warm_up: Time::ZERO + options.warm_up,
            end: Time::ZERO + options.duration,
            events: EventQueue::default(),
            links: Vec::new(),
            routes: Routes::default(),
            bodies: Bodies::default(),
            flows: Vec::with_capacity(flows.len()),
            handled: 0,
        };
        for flow in flows {
            simulation.add_flow(&network, flow, options.seed)?;
        }
        simulation.routes.seal();
        simulation.links = network
            .links
            .into_iter()
            .map(|spec| LinkState::new(spec, options.seed))
            .collect();
        simulation.events.push(simulation.warm_up, source::MEASURE);
        Ok(simulation)
    }

    fn add_flow(
        &mut self,
        network: &Network,
        flow: &FlowSpec,
        seed: u64,
    ) -> Result<(), BuildError> {
        let end = match flow.transport {
            Transport::Udp => Hop::SINK,
        };
        let forward = self.routes.add(network, &flow.forward, end, &flow.name)?;
        let mut stream = Stream::new(seed, &flow.name);
        let start = flow.start + flow.start_spread.mul_f64(stream.uniform());
        let index = self.flows.len() as u32;
        let mut state = FlowState {
            name: flow.name.clone(),
            class: flow.class,
            forward,
            stop: flow.stop.unwrap_or(Time::from_nanos(u64::MAX)),
            generator: flow.traffic.generator(start, stream),
            next_write: Write {
                at: start,
                bytes: 0,
            },
            counters: FlowCounters::default(),
            delay: Histogram::default(),
        };
        state.prepare_write();
        if state.generator.is_some() {
            self.events.push(state.next_write.at, source::WRITE | index);
        }
        self.flows.push(state);
        Ok(())
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        while let Some((time, source)) = self.events.pop_until(self.end) {
            self.now = time;
            self.handled += 1;
            let index = (source & source::INDEX) as usize;
            match source & source::KIND {
                source::LINK => self.deliver(index),
                source::WRITE => self.write(index),
                _ => self.end_warm_up(),
            }
        }
        self.now = self.end;
    }

    /// The packet at the head of a link's pipe has come out.
    #[inline]
    fn deliver(&mut self, index: usize) {
        let state = &mut self.links[index];
        let delivery = state.link.deliver(self.now);
        match state.link.next_event() {
            Some(due) => self.events.push(due, source::LINK | index as u32),
            None => state.scheduled = false,
        }
        if let Some(delivery) = delivery {
            self.forward(delivery.packet);
        }
    }

    /// Takes a packet one hop further.
    #[inline]
    fn forward(&mut self, mut packet: Packet) {
        let hop = self.routes.hop(packet.cursor);
        packet.cursor += 1;
        let Some(index) = hop.link() else {
            return self.arrive(packet);
        };
        let state = &mut self.links[index];
        let result = state.link.offer(self.now, packet);
        if !state.scheduled {
            if let Some(due) = state.link.next_event() {
                state.scheduled = true;
                self.events.push(due, source::LINK | index as u32);
            }
        }
        if let Err(dropped) = result {
            self.bodies.remove(dropped.packet.body);
            self.flows[dropped.packet.connection as usize]
                .counters
                .dropped += 1;
        }
    }

    /// A packet has come to the end of its route.
    fn arrive(&mut self, packet: Packet) {
        let body = self.bodies.remove(packet.body);
        let flow = &mut self.flows[packet.connection as usize];
        flow.counters.received_packets += 1;
        flow.counters.received_bytes += u64::from(packet.length);
        if self.now >= self.warm_up {
            flow.delay.record((self.now - body.sent).as_nanos() as u64);
        }
    }

    /// A flow's program writes.
    fn write(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let write = flow.next_write;
        flow.prepare_write();
        if flow.generator.is_some() {
            self.events
                .push(flow.next_write.at, source::WRITE | index as u32);
        }
        flow.counters.sent_packets += 1;
        flow.counters.sent_bytes += u64::from(write.bytes);
        let packet = Packet {
            cursor: flow.forward,
            connection: index as u32,
            body: self.bodies.insert(Body {
                segment: Segment::default(),
                sent: now,
            }),
            length: write.bytes as u16,
            class: flow.class,
            marks: Marks::default(),
        };
        self.forward(packet);
    }

    fn end_warm_up(&mut self) {}

    /// Events handled so far.
    pub fn events_handled(&self) -> u64 {
        self.handled
    }

    /// Packets under way.
    pub fn packets_under_way(&self) -> usize {
        self.bodies.len()
    }

    /// The flow called `name`.
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let index = self.flows.iter().position(|flow| flow.name == name)?;
        Some(FlowId(index as u32))
    }

    /// What flow `id` has counted since the beginning.
    pub fn counters(&self, id: FlowId) -> FlowCounters {
        self.flows[id.index()].counters
    }

    /// One-way delays of the packets that flow `id` has got through after the warm-up, in nanoseconds.
    pub fn delays(&self, id: FlowId) -> &Histogram {
        &self.flows[id.index()].delay
    }
}

impl FlowState {
    /// Draws the next write; there is no generator any more where none will come.
    fn prepare_write(&mut self) {
        if let Some(generator) = &mut self.generator {
            match generator.next() {
                Some(write) if write.at < self.stop => self.next_write = write,
                _ => self.generator = None,
            }
        }
    }
}

impl LinkState {
    fn new(mut spec: LinkSpec, seed: u64) -> LinkState {
        spec.config.seed = seed_of(seed, &spec.name);
        LinkState {
            link: Link::new(spec.config, spec.queue),
            scheduled: false,
        }
    }
}
