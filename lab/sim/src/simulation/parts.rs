// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run on several cores: a [`Run`] for each part of the network ([`Partition`]), side by side, and one that has all their
//! measurements in the end.
//!
//! This is conservative parallel simulation (Chandy and Misra 1979; Bryant 1977), in windows of the smallest delay of a cut: what a part
//! sends over a cut within a window arrives after it, so that in each window the parts need nothing of each other. Results are the same
//! to the byte as on one core: links, flows and connections have the same numbers in all parts, simultaneous events are ordered by the
//! number of what they happen to, and each source of chance has a stream of its own.

use std::borrow::Borrow;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use netnice_queue::Time;

use crate::engine::fifo_lanes::NO_LANE;
use crate::engine::flight::{Departure, Flight};
use crate::engine::scheduler::Scheduler;
use crate::error::BuildError;
use crate::flows::bodies::Goes;
use crate::flows::spec::FlowSpec;
use crate::flows::state::Work;
use crate::links::network::{LinkSpec, PlacedLink};
use crate::measure::{FlowCounters, OF_FLOWS, OF_LINKS, SENDERS_QUANTITIES};
use crate::packet::{Packet, UDP};
use crate::simulation::crossing::{Crossing, Message};
use crate::simulation::partition::{Ends, Partition, Share};
use crate::simulation::run::Run;
use crate::simulation::{Parts, RunOptions};
use crate::trace::events::EventTrace;
use crate::trace::merged::MergedCapture;

impl<S: Scheduler> Run<S> {
    /// A link has taken in a packet whose route leads over a cut there, if not on all links that the place in the route stands for. Beyond
    /// a cut another part has it; on the link remains what counts its wait and its leaving.
    #[cold]
    pub(super) fn cross(&mut self, link: usize, departure: Departure, packet: Packet) {
        let cut_to =
            |crossing: &Crossing| Some((crossing.cut_to[link]? as usize, crossing.crossed));
        let Some((part, crossed)) = self.crossing.as_deref().and_then(cut_to) else {
            return self.put_on_link(link, departure, packet);
        };
        let goes = match self.links.routes.leads_to_sender(packet.route.cursor) {
            true => Goes::ToSender,
            false => Goes::ToReceiver,
        };
        let body = self.flows.bodies.remove(packet.body, goes);
        if packet.connection & UDP == 0 {
            let connection = packet.connection as usize;
            self.flows.connections.get_mut(connection).leaves_part();
        }
        if let Some(crossing) = &mut self.crossing {
            crossing.sent[part].push(Message {
                link: link as u32,
                due: departure.due,
                packet,
                body,
            });
        }
        let left = Packet {
            route: crossed,
            ..packet
        };
        self.put_on_link(link, departure, left);
    }

    /// Takes in packets from other parts.
    fn receive(&mut self, messages: Vec<Message>) {
        for message in messages {
            let mut packet = message.packet;
            packet.body = self.flows.bodies.insert(&message.body);
            if packet.connection & UDP == 0 {
                let connection = packet.connection as usize;
                self.flows.connections.get_mut(connection).enters_part();
            }
            if let Some(crossing) = &mut self.crossing {
                crossing.received += 1;
            }
            let departure = Departure {
                due: message.due,
                waited_ns: 0,
            };
            self.scheduler
                .insert_packet(NO_LANE, message.link, departure, packet);
        }
    }

    /// Runs to the end, and exchanges packets with the other parts after each window. False if the run was stopped.
    fn run_part(
        &mut self,
        part: usize,
        meeting: &Meeting,
        go_on: &mut dyn FnMut(Time) -> bool,
    ) -> bool {
        let mut windows = 0;
        loop {
            windows += 1;
            let until = meeting.window.map_or(self.end, |window| {
                // A packet sent at the beginning of a window arrives after its last nanosecond.
                let ends_ns = (window.as_nanos() as u64).saturating_mul(windows) - 1;
                Time::from_nanos(ends_ns).min(self.end)
            });
            if !self.run_until(until, go_on) {
                return false;
            }
            if meeting.window.is_some() {
                if let Some(crossing) = &mut self.crossing {
                    for (to, sent) in crossing.sent.iter_mut().enumerate() {
                        if !sent.is_empty() {
                            meeting.inbox(to, |inbox| inbox.append(sent));
                        }
                    }
                }
                // Windows may be too short for questions within them.
                if !go_on(self.now) || !meeting.wait() {
                    return false;
                }
                let messages = meeting.inbox(part, mem::take);
                self.receive(messages);
            }
            if until == self.end {
                self.come_to_end();
                return true;
            }
        }
    }
}

/// Where parts meet after each window.
#[derive(Debug)]
struct Meeting {
    parts: usize,
    window: Option<Duration>,
    inboxes: Vec<Mutex<Vec<Message>>>,
    arrived: AtomicUsize,
    meetings: AtomicUsize,
    /// Parts other than the first that have come to the end.
    finished: AtomicUsize,
    /// The run is to stop, or a part has panicked.
    stop: AtomicBool,
}

impl Meeting {
    fn new(partition: &Partition) -> Meeting {
        Meeting {
            parts: partition.parts,
            window: partition.window,
            inboxes: (0..partition.parts).map(|_| Mutex::default()).collect(),
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    fn inbox<T>(&self, part: usize, call: impl FnOnce(&mut Vec<Message>) -> T) -> T {
        let inbox = self.inboxes[part].lock();
        call(&mut inbox.unwrap_or_else(PoisonError::into_inner))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits until all parts have come here; false if the run is to stop. A window may take microseconds, in which no thread could be put to
    /// sleep and woken up; where cores are scarce, a thread gives way.
    fn wait(&self) -> bool {
        const SPINS: u32 = 1 << 6;
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parts {
            self.arrived.store(0, Ordering::Relaxed);
            self.meetings.store(meeting + 1, Ordering::Release);
            return !self.is_stopped();
        }
        let mut spins = 0;
        while self.meetings.load(Ordering::Acquire) == meeting {
            if self.is_stopped() {
                return false;
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        !self.is_stopped()
    }
}

/// Stops the other parts if one panics, so that the panic is passed on.
struct StopOnPanic<'a>(&'a Meeting);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Release);
        }
    }
}

/// Runs all parts to the end, the first on this thread; or until `go_on` returns false. Returns true at the end.
fn run_all<S: Scheduler + Send>(
    runs: &mut [Run<S>],
    partition: &Partition,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> bool {
    let meeting = &Meeting::new(partition);
    let caller = &thread::current();
    let mut runs = runs.iter_mut().enumerate();
    let first = runs.next();
    thread::scope(|scope| {
        let others = runs.len();
        for (part, run) in runs {
            scope.spawn(move || {
                let _guard = StopOnPanic(meeting);
                run.run_part(part, meeting, &mut |_| !meeting.is_stopped());
                meeting.finished.fetch_add(1, Ordering::AcqRel);
                caller.unpark();
            });
        }
        let _guard = StopOnPanic(meeting);
        let mut goes_on = |now| {
            if !go_on(now) {
                meeting.stop.store(true, Ordering::Release);
            }
            !meeting.is_stopped()
        };
        let mut now = Time::ZERO;
        if let Some((part, run)) = first {
            run.run_part(part, meeting, &mut goes_on);
            now = run.now;
        }
        while meeting.finished.load(Ordering::Acquire) < others && goes_on(now) {
            thread::park_timeout(Duration::from_millis(5));
        }
    });
    !meeting.is_stopped()
}

/// The runs of the parts of a network, at time zero.
#[derive(Debug)]
pub(crate) struct Parted<S> {
    runs: Vec<Run<S>>,
    partition: Partition,
    /// The flows with time series.
    sampled: Vec<bool>,
    /// The part that has the links whose events are recorded, and the one that has those whose packets go to one trace.
    recorded: usize,
    merged: usize,
}

impl<S: Scheduler + Send> Parted<S> {
    pub fn build<F: Borrow<FlowSpec>, E: From<BuildError>>(
        partition: Partition,
        links: Vec<LinkSpec>,
        flows: &[F],
        options: &RunOptions,
    ) -> Result<Parted<S>, E> {
        let part_of = |link: Option<usize>| link.map_or(0, |link| partition.part_of(link) as usize);
        let recorded = part_of(links.iter().position(|link| link.recorded));
        let merged = part_of(links.iter().position(LinkSpec::is_merged));
        let ends: Vec<_> = links.iter().map(|link| (link.from, link.to)).collect();
        let mut links: Vec<Option<LinkSpec>> = links.into_iter().map(Some).collect();
        let mut runs = Vec::with_capacity(partition.parts);
        for part in 0..partition.parts as u32 {
            let share = Share {
                partition: &partition,
                part,
            };
            let placed = links.iter_mut().zip(&ends).enumerate();
            let placed = placed.map(|(number, (link, &ends))| {
                let own = link.take_if(|_| share.has_link(number));
                Ok(own.map_or(PlacedLink::Elsewhere(ends), PlacedLink::Here))
            });
            let flows = flows.iter().map(|flow| Ok(flow.borrow()));
            let run = Run::<S>::build::<&FlowSpec, E>(placed, flows, options, Some(share))?;
            runs.push(run);
        }
        let sampled = flows.iter().map(|flow| flow.borrow().sampled);
        Ok(Parted {
            runs,
            sampled: sampled.collect(),
            partition,
            recorded,
            merged,
        })
    }

    /// Writes the events at the links that are recorded to `trace`.
    pub fn record_events(&mut self, trace: EventTrace) {
        self.runs[self.recorded].events = Some(trace);
    }

    /// Writes the packets that come out of links without traces of their own to `trace`.
    pub fn record_packets(&mut self, trace: MergedCapture) {
        self.runs[self.merged].links.captures.set_merged(trace);
    }

    pub fn parts(&self) -> Parts {
        Parts {
            count: self.partition.parts,
            window: self.partition.window,
        }
    }

    /// Runs all parts side by side to the end, or until `go_on` returns false. Returns a run that has the measurements of all, and whether it
    /// has come to its end: it cannot go on in either case.
    pub(super) fn finish(mut self, go_on: &mut dyn FnMut(Time) -> bool) -> (Run<S>, bool) {
        let finished = run_all(&mut self.runs, &self.partition, go_on);
        (merge(self.runs, &self.partition, &self.sampled), finished)
    }
}

/// One run with the measurements of all parts.
fn merge<S: Scheduler>(mut runs: Vec<Run<S>>, partition: &Partition, sampled: &[bool]) -> Run<S> {
    let barriers = runs[0].barriers_of_all();
    merge_samples(&mut runs, partition, sampled);
    let mut parts = runs.into_iter();
    let mut all = parts.next().expect("a partition has parts");
    let flights = all.own_flights();
    all.put_back_all(flights);
    all.handled -= all.counted_elsewhere();
    all.crossing = None;
    for (number, mut part) in parts.enumerate() {
        let number = number as u32 + 1;
        let flights = part.own_flights();
        // Of a run that was stopped, parts have come to different times.
        let twice = part.counted_elsewhere() + barriers;
        all.handled += part.handled.saturating_sub(twice);
        all.put_back_all(flights);
        all.flows.bodies.count_also(part.flows.bodies.len());
        all.events = all.events.take().or(part.events.take());
        let own = |link| partition.part_of(link) == number;
        all.links.take(&mut part.links, own);
        all.take_flows(&mut part, number, partition);
    }
    all
}

impl<S: Scheduler> Run<S> {
    /// Events that other parts have counted, too.
    fn counted_elsewhere(&self) -> u64 {
        self.crossing
            .as_ref()
            .map_or(0, |crossing| crossing.counted_elsewhere)
    }

    /// Events that each part has: samples, checkpoints, the end of the warm-up.
    fn barriers_of_all(&self) -> u64 {
        let samples = self.sampler.as_ref().map_or(0, |it| it.times.len());
        let warm_up = self.warm_up > Time::ZERO && self.warm_up <= self.now;
        (samples + self.checkpoints.len()) as u64 + u64::from(warm_up)
    }

    /// Removes the packets on links, those that have come from other parts and are still on their links left out: these parts have them.
    fn own_flights(&mut self) -> Vec<Flight> {
        let mut flights = self.scheduler.take_packets(self.now);
        if let Some(crossing) = &mut self.crossing {
            let before = flights.len();
            flights.retain(|flight| crossing.own[flight.link as usize]);
            let on_links = (before - flights.len()) as u64;
            crossing.counted_elsewhere += crossing.received - on_links;
        }
        flights
    }

    fn put_back_all(&mut self, flights: Vec<Flight>) {
        for flight in flights {
            let (departure, packet) = flight.put_back();
            self.scheduler
                .insert_packet(NO_LANE, flight.link, departure, packet);
        }
    }

    /// Takes over the ends of flows that a part has, and adds what it has counted: of a flow, also its drops on links of parts that have neither
    /// of its ends.
    fn take_flows(&mut self, part: &mut Run<S>, number: u32, partition: &Partition) {
        for (ours, theirs) in self.checkpoints.iter_mut().zip(&part.checkpoints) {
            for (ours, &theirs) in ours.iter_mut().zip(theirs) {
                *ours = *ours + theirs;
            }
        }
        for flow in 0..self.flows.all.len() {
            let Ends { sender, receiver } = partition.ends(flow);
            let (ours, theirs) = (&mut self.flows.all[flow], &mut part.flows.all[flow]);
            if sender == number {
                ours.swap_sending_end(theirs);
            }
            if receiver == number {
                ours.swap_receiving_end(theirs);
            }
            ours.counters = ours.counters + theirs.counters;
            let baseline = ours.counters_before() + theirs.counters_before();
            ours.baseline = (baseline != FlowCounters::default()).then(|| Box::new(baseline));
            if let Work::Tcp { connection, .. } = ours.work {
                let connection = connection as usize;
                let ours = self.flows.connections.get_mut(connection);
                let theirs = part.flows.connections.get_mut(connection);
                if sender == number {
                    ours.swap_sending_end(theirs);
                }
                if receiver == number {
                    ours.swap_receiving_end(theirs);
                }
            }
        }
        self.flows
            .connections
            .take_objects(&mut part.flows.connections);
    }
}

/// Brings the samples of all parts into the order of one run, in the first of them.
fn merge_samples<S: Scheduler>(runs: &mut [Run<S>], partition: &Partition, sampled: &[bool]) {
    let mut samplers: Vec<_> = runs
        .iter_mut()
        .filter_map(|run| run.sampler.take())
        .collect();
    if samplers.len() < runs.len() {
        return;
    }
    let flows: Vec<Vec<usize>> = samplers
        .iter()
        .map(|sampler| sampler.flows.clone())
        .collect();
    let mut series = Vec::new();
    for flow in (0..sampled.len()).filter(|&flow| sampled[flow]) {
        let Ends { sender, receiver } = partition.ends(flow);
        for quantity in 0..OF_FLOWS.len() {
            let part = match quantity < SENDERS_QUANTITIES {
                true => sender as usize,
                false => receiver as usize,
            };
            if let Ok(place) = flows[part].binary_search(&flow) {
                let place = place * OF_FLOWS.len() + quantity;
                series.push(samplers[part].series[place].take());
            }
        }
    }
    let mut links: Vec<(usize, usize, usize)> = Vec::new();
    for (part, sampler) in samplers.iter().enumerate() {
        let of_part = sampler.links.iter().enumerate();
        links.extend(of_part.map(|(place, &link)| (link, part, place)));
    }
    links.sort_unstable();
    for (_, part, place) in links {
        let first = flows[part].len() * OF_FLOWS.len() + place * OF_LINKS.len();
        for place in first..first + OF_LINKS.len() {
            series.push(samplers[part].series[place].take());
        }
    }
    let mut first = samplers.swap_remove(0);
    first.series = series;
    runs[0].sampler = Some(first);
}
