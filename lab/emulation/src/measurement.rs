// SPDX-License-Identifier: MIT OR Apache-2.0
//! The computed network as the driver uses it: it identifies the flow and route of each packet, and measures flows and
//! links on a schedule.

use std::io;
use std::time::Duration;

use netnice_queue::Time;
use netnice_sim::EventTrace;

use super::flow_tracer::FlowTracer;
use super::network::{LinkNetwork, Outcome};
use super::plan::{self, Plan};
use netnice_link::LinkFigures;
use netnice_link::clock::RunClock;
use netnice_link::driver::{Devices, Network};
use netnice_link::lateness::LatenessRecord;
use netnice_link::packet::{self, Frame};
use netnice_link::scheduling::{self, SchedulingClass};

/// Times at which the network's thread records measurements.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) warm_up: Time,
    /// Ends of phases, in order.
    pub(super) marks: Vec<Time>,
    pub(super) end: Time,
    pub(super) sampling: Option<Duration>,
}

/// The figures that the network's thread has measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) tracers: Vec<FlowTracer>,
    /// Each flow's counters at the end of the run.
    pub(super) totals: Vec<netnice_sim::measure::FlowCounters>,
    /// Of each link its figures; `None` where no queue is measured.
    pub(super) queues: Vec<Option<LinkFigures>>,
    /// Samples: of each flow the one-way delay in seconds and the goodput in bits per second, then of each link the
    /// packets waiting and their delay in seconds.
    pub(super) samples: Vec<Sample>,
    /// Lateness of packets: handed over minus due time.
    pub(super) lateness: LatenessRecord,
    /// Packets that the device at the exit refused.
    pub(super) refused: u64,
    /// Packets that belong to no flow.
    pub(super) strays: u64,
    pub(super) scheduling: Option<SchedulingClass>,
    pub(super) processor_time: Duration,
    /// The error that ended the thread early.
    pub(super) failure: Option<String>,
    /// The record of events, to be finished outside the network's thread.
    pub(super) events: Option<EventTrace>,
}

/// One sample of the time series.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) flows: Vec<(f64, f64)>,
    pub(super) links: Vec<(f64, f64)>,
}

/// The computed network with its measurements.
pub(super) struct MeasuredNetwork {
    network: LinkNetwork,
    exit: Exit,
    schedule: Schedule,
    classes: Vec<u8>,
    /// Flow of each endpoint, whether it is a sender, and the number of its host.
    endpoints: Vec<(u32, bool, u32)>,
    route_between: std::collections::HashMap<(u32, u32), u32>,
    /// Progress on the schedule.
    measuring: bool,
    next_mark: usize,
    next_sample: Option<Time>,
    goodput_before: Vec<u64>,
    /// Packets that have entered.
    entered: u32,
    ended: bool,
}

/// The state at the exit of the network.
struct Exit {
    /// Device of each endpoint.
    namespaces: Vec<usize>,
    clock: RunClock,
    measured: Measured,
}

/// The exit with the devices it writes to.
struct WayOut<'a> {
    exit: &'a mut Exit,
    devices: &'a mut Devices,
}

impl Outcome for WayOut<'_> {
    fn arrived(&mut self, frame: Frame, due: Time) {
        let (now, measured) = (self.exit.clock.now(), &mut self.exit.measured);
        measured.lateness.record(now - due);
        measured.tracers[frame.flow as usize].arrived(now, &frame);
        let endpoint = plan::endpoint_of(frame.header.destination);
        let device = endpoint.and_then(|endpoint| self.exit.namespaces.get(endpoint).copied());
        measured.refused += u64::from(!self.devices.write(device, frame));
    }

    fn dropped(&mut self, frame: Frame) {
        self.exit.measured.tracers[frame.flow as usize].dropped(&frame);
        self.devices.recycle(frame);
    }
}

impl Network for MeasuredNetwork {
    fn enter(&mut self, now: Time, _: usize, mut frame: Frame, devices: &mut Devices) {
        self.advance(now, devices);
        if self.recognise(&mut frame).is_none() {
            self.exit.measured.strays += 1;
            return devices.recycle(frame);
        }
        frame.entered = now;
        // The first is long gone where numbers begin again.
        self.entered = self.entered.wrapping_add(1);
        frame.number = self.entered;
        let tracer = &mut self.exit.measured.tracers[frame.flow as usize];
        frame.sequence = tracer.entered(now, &frame);
        let exit = &mut self.exit;
        self.network
            .enter(now, frame, &mut WayOut { exit, devices });
    }

    /// Advances virtual time to `now`, stopping at each scheduled measurement.
    fn advance(&mut self, now: Time, devices: &mut Devices) {
        while let Some(time) = self.next_on_schedule().filter(|&time| time <= now) {
            self.advance_links(time, devices);
            self.follow_schedule(time);
        }
        self.advance_links(now, devices);
    }

    fn next_event(&mut self) -> Option<Time> {
        let next = [self.network.next_event(), self.next_on_schedule()];
        next.into_iter().flatten().min()
    }
}

impl MeasuredNetwork {
    pub(super) fn new(
        plan: &Plan,
        network: LinkNetwork,
        schedule: Schedule,
        clock: RunClock,
    ) -> MeasuredNetwork {
        let flows = &plan.network.flows;
        let expected = flows.iter().map(|flow| flow.group.bytes);
        let tracers = expected.map(|bytes| FlowTracer::expecting(bytes.map(|bytes| bytes.get())));
        let endpoints = plan.endpoints.iter().enumerate().map(|(number, endpoint)| {
            let sends = plan.ends[endpoint.flow].0.contains(&number);
            (endpoint.flow as u32, sends, endpoint.node as u32)
        });
        let namespaces = plan.endpoints.iter().map(|endpoint| endpoint.netns);
        MeasuredNetwork {
            network,
            exit: Exit {
                namespaces: namespaces.collect(),
                clock,
                measured: Measured {
                    tracers: tracers.collect(),
                    ..Measured::default()
                },
            },
            next_sample: schedule.sampling.map(|interval| Time::ZERO + interval),
            schedule,
            classes: flows.iter().map(|flow| flow.group.class.number()).collect(),
            endpoints: endpoints.collect(),
            route_between: plan.route_between.clone(),
            measuring: false,
            next_mark: 0,
            goodput_before: vec![0; flows.len()],
            entered: 0,
            ended: false,
        }
    }

    /// The figures, once the driver has ended with `outcome`. Call on the driver's thread.
    pub(super) fn measured(self, scheduling: SchedulingClass, outcome: io::Result<()>) -> Measured {
        Measured {
            scheduling: Some(scheduling),
            processor_time: scheduling::processor_time(),
            failure: outcome.err().map(|error| error.to_string()),
            events: self.network.recording.map(|recording| recording.trace),
            ..self.exit.measured
        }
    }

    fn advance_links(&mut self, now: Time, devices: &mut Devices) {
        let exit = &mut self.exit;
        self.network.advance(now, &mut WayOut { exit, devices });
    }

    /// Identifies the flow and the route of a packet; `None` if it belongs to no flow.
    fn recognise(&self, frame: &mut Frame) -> Option<()> {
        frame.header = packet::parse(frame.bytes())?;
        let source = plan::endpoint_of(frame.header.source)?;
        let destination = plan::endpoint_of(frame.header.destination)?;
        let pair = (
            u32::try_from(source).ok()?,
            u32::try_from(destination).ok()?,
        );
        frame.route = *self.route_between.get(&pair)?;
        let (flow, forward, host) = *self.endpoints.get(source)?;
        let (.., peer) = *self.endpoints.get(destination)?;
        (frame.flow, frame.forward) = (flow, forward);
        // Each flow has addresses of its own, whatever its hosts.
        frame.hosts = Some((host, peer));
        frame.class = self.classes[frame.flow as usize];
        frame.begin_path();
        Some(())
    }

    fn next_on_schedule(&self) -> Option<Time> {
        if self.ended {
            return None;
        }
        let warm_up = (!self.measuring).then_some(self.schedule.warm_up);
        let mark = self.schedule.marks.get(self.next_mark).copied();
        let all = [warm_up, mark, self.next_sample, Some(self.schedule.end)];
        all.into_iter().flatten().min()
    }

    fn follow_schedule(&mut self, now: Time) {
        let tracers = &mut self.exit.measured.tracers;
        if !self.measuring && self.schedule.warm_up <= now {
            self.measuring = true;
            tracers.iter_mut().for_each(FlowTracer::begin_measurement);
            for link in &mut self.network.links {
                link.begin_measurement(now);
            }
        }
        while self
            .schedule
            .marks
            .get(self.next_mark)
            .is_some_and(|&mark| mark <= now)
        {
            self.next_mark += 1;
            for tracer in tracers.iter_mut() {
                tracer.marks.push(tracer.counters);
            }
        }
        if let (Some(due), Some(interval)) = (self.next_sample, self.schedule.sampling) {
            if due <= now {
                self.next_sample = Some(due + interval);
                self.sample(now, interval);
            }
        }
        if self.schedule.end <= now {
            self.ended = true;
            let measured = &mut self.exit.measured;
            measured
                .tracers
                .iter_mut()
                .for_each(FlowTracer::end_measurement);
            measured.totals = measured
                .tracers
                .iter()
                .map(|tracer| tracer.counters)
                .collect();
            let links = self.network.links.iter_mut();
            measured.queues = links.map(|link| link.measured(now)).collect();
        }
    }

    fn sample(&mut self, now: Time, interval: Duration) {
        let mut sample = Sample::default();
        let tracers = self.exit.measured.tracers.iter();
        for (tracer, before) in tracers.zip(&mut self.goodput_before) {
            let bytes = tracer.counters.goodput_bytes - *before;
            *before = tracer.counters.goodput_bytes;
            let delay = tracer
                .last_delay
                .map_or(f64::NAN, |delay| delay.as_secs_f64());
            sample
                .flows
                .push((delay, bytes as f64 * 8.0 / interval.as_secs_f64()));
        }
        let links = self.network.links.iter_mut();
        sample.links = links.map(|link| link.queue(now)).collect();
        self.exit.measured.samples.push(sample);
    }
}
