// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that carries packets: reads all devices, lets the computed network decide, writes when packets are due.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netnice_queue::{Rate, Time};
use netnice_scenario::results::QueueResult;
use netnice_sim::measure::Histogram;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::signal::SigSet;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use super::clock::RunClock;
use super::meter::Meter;
use super::network::{LinkNetwork, Outcome};
use super::packet::{self, Frame};
use super::plan::Plan;
use crate::link::SchedulingClass;
use crate::link::scheduling;
use crate::link::tun;

/// Packets read from one device before the others get their turn.
const BATCH: usize = 32;

/// When the network's thread is to take figures down.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) warm_up: Time,
    /// Ends of phases, in order.
    pub(super) marks: Vec<Time>,
    pub(super) end: Time,
    pub(super) sampling: Option<Duration>,
}

/// What the network's thread has measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) meters: Vec<Meter>,
    /// Each flow's counters at the end of the run.
    pub(super) totals: Vec<netnice_sim::measure::FlowCounters>,
    pub(super) queues: Vec<QueueResult>,
    /// For each sample, of each flow the one-way delay in seconds and the goodput in bits per second, then of each link
    /// the packets waiting and their delay in seconds.
    pub(super) samples: Vec<Sample>,
    /// How much later than due packets were handed over, in nanoseconds.
    pub(super) lateness: Histogram,
    /// Packets that were later than the bound.
    pub(super) late: u64,
    /// Packets that the device at the exit refused.
    pub(super) refused: u64,
    /// Packets that belong to no flow.
    pub(super) strays: u64,
    pub(super) scheduling: Option<SchedulingClass>,
    pub(super) processor_time: Duration,
    /// What ended the thread before it was asked to.
    pub(super) failure: Option<String>,
}

/// One sample of the time series.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) flows: Vec<(f64, f64)>,
    pub(super) links: Vec<(f64, f64)>,
}

/// The thread's state.
pub(super) struct Driver {
    network: LinkNetwork,
    exit: Exit,
    schedule: Schedule,
    clock: RunClock,
    carried: Option<Rate>,
    classes: Vec<u8>,
    /// Flow of each endpoint, and whether it is a sender.
    endpoints: Vec<(u32, bool)>,
    route_between: std::collections::HashMap<(u32, u32), u32>,
    /// How far the schedule has been followed.
    measuring: bool,
    next_mark: usize,
    next_sample: Option<Time>,
    goodput_before: Vec<u64>,
    ended: bool,
}

/// The way out of the network, and what is counted there.
struct Exit {
    devices: Vec<OwnedFd>,
    /// Device of each endpoint.
    sites: Vec<usize>,
    clock: RunClock,
    pool: Vec<Frame>,
    largest_packet: usize,
    lateness_bound: Duration,
    measured: Measured,
}

impl Outcome for Exit {
    fn arrived(&mut self, frame: Frame, due: Time) {
        let now = self.clock.now();
        let lateness = now - due;
        self.measured.lateness.record(lateness.as_nanos() as u64);
        self.measured.late += u64::from(lateness > self.lateness_bound);
        self.measured.meters[frame.flow as usize].arrived(now, &frame);
        let endpoint = packet::number(frame.header.destination);
        let device = endpoint.and_then(|endpoint| self.devices.get(self.sites[endpoint]));
        let written = device.map(|device| nix::unistd::write(device, frame.bytes()));
        if !matches!(written, Some(Ok(_))) {
            self.measured.refused += 1;
        }
        self.pool.push(frame);
    }

    fn dropped(&mut self, frame: Frame) {
        self.measured.meters[frame.flow as usize].dropped(&frame);
        self.pool.push(frame);
    }
}

impl Driver {
    pub(super) fn new(
        plan: &Plan,
        network: LinkNetwork,
        devices: Vec<OwnedFd>,
        schedule: Schedule,
        clock: RunClock,
        lateness_bound: Duration,
    ) -> Driver {
        let flows = &plan.network.flows;
        let expected = flows.iter().map(|flow| flow.group.bytes);
        let meters = expected.map(|bytes| Meter::expecting(bytes.map(|bytes| bytes.get())));
        let endpoints = plan.endpoints.iter().enumerate().map(|(number, endpoint)| {
            let sends = plan.ends[endpoint.flow].0.contains(&number);
            (endpoint.flow as u32, sends)
        });
        Driver {
            network,
            exit: Exit {
                devices,
                sites: plan
                    .endpoints
                    .iter()
                    .map(|endpoint| endpoint.site)
                    .collect(),
                clock,
                pool: Vec::new(),
                largest_packet: plan.largest_packet,
                lateness_bound,
                measured: Measured {
                    meters: meters.collect(),
                    ..Measured::default()
                },
            },
            next_sample: schedule.sampling.map(|interval| Time::ZERO + interval),
            schedule,
            clock,
            carried: plan.carried(),
            classes: flows.iter().map(|flow| flow.group.class.number()).collect(),
            endpoints: endpoints.collect(),
            route_between: plan.route_between.clone(),
            measuring: false,
            next_mark: 0,
            goodput_before: vec![0; flows.len()],
            ended: false,
        }
    }

    /// Carries packets until `stop` is set and `wake` written, then tells what was measured. Call on a thread of its own,
    /// which becomes a real-time one.
    pub(super) fn run(mut self, wake: &EventFd, stop: &AtomicBool) -> Measured {
        // Signals are for the threads that serve the terminal.
        let _ = SigSet::all().thread_block();
        let _awake = scheduling::keep_awake();
        scheduling::make_responsive();
        self.exit.measured.scheduling = Some(scheduling::make_link_thread(self.carried));
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = self.turn(wake) {
                self.exit.measured.failure = Some(error.to_string());
                break;
            }
        }
        self.exit.measured.processor_time =
            clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        self.exit.measured
    }

    /// Carries what is due and waits for more.
    fn turn(&mut self, wake: &EventFd) -> io::Result<()> {
        self.advance(self.clock.now());
        let next = [self.network.next_event(), self.next_on_schedule()];
        let next = next.into_iter().flatten().min();
        let timeout = next.map(|next| TimeSpec::from_duration(self.clock.until(next)));
        let devices = self.exit.devices.iter();
        let mut polled: Vec<PollFd> = devices
            .map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN))
            .chain([PollFd::new(wake.as_fd(), PollFlags::POLLIN)])
            .collect();
        match ppoll(&mut polled, timeout, None) {
            Ok(0) | Err(nix::Error::EINTR) => return Ok(()),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let events: Vec<PollFlags> = polled
            .iter()
            .map(|polled| polled.revents().unwrap_or(PollFlags::empty()))
            .collect();
        for (device, events) in events[..self.exit.devices.len()].iter().enumerate() {
            if events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL) {
                return Err(io::Error::other("one of its TUN devices was removed"));
            }
            if events.contains(PollFlags::POLLIN) {
                self.read(device)?;
            }
        }
        Ok(())
    }

    /// Takes in what waits at a device.
    fn read(&mut self, device: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let largest = self.exit.largest_packet;
            let frame = self.exit.pool.pop();
            let mut frame = frame.unwrap_or_else(|| Frame::new(largest));
            match tun::read_packet(&self.exit.devices[device], &mut frame.buffer)? {
                Some(length) => frame.length = length,
                None => {
                    self.exit.pool.push(frame);
                    return Ok(());
                }
            }
            let now = self.clock.now();
            self.advance(now);
            match self.recognise(&mut frame) {
                Some(()) => {
                    frame.entered = now;
                    self.exit.measured.meters[frame.flow as usize].entered(now, &frame);
                    self.network.enter(now, frame, &mut self.exit);
                }
                None => {
                    self.exit.measured.strays += 1;
                    self.exit.pool.push(frame);
                }
            }
        }
        Ok(())
    }

    /// Finds out whose packet it is, and where it goes; `None` where it is nobody's.
    fn recognise(&self, frame: &mut Frame) -> Option<()> {
        frame.header = packet::parse(frame.bytes())?;
        let source = packet::number(frame.header.source)?;
        let destination = packet::number(frame.header.destination)?;
        let pair = (
            u32::try_from(source).ok()?,
            u32::try_from(destination).ok()?,
        );
        frame.route = *self.route_between.get(&pair)?;
        (frame.flow, frame.forward) = *self.endpoints.get(source)?;
        frame.class = self.classes[frame.flow as usize];
        frame.hop = 0;
        frame.out_of_profile = false;
        Some(())
    }

    /// Virtual time goes on to `now`, and stops wherever figures are to be taken down.
    fn advance(&mut self, now: Time) {
        while let Some(time) = self.next_on_schedule().filter(|&time| time <= now) {
            self.network.advance(time, &mut self.exit);
            self.follow_schedule(time);
        }
        self.network.advance(now, &mut self.exit);
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
        let meters = &mut self.exit.measured.meters;
        if !self.measuring && self.schedule.warm_up <= now {
            self.measuring = true;
            meters.iter_mut().for_each(Meter::begin_measurement);
            for hop in &mut self.network.hops {
                hop.begin_measurement(now);
            }
        }
        while self
            .schedule
            .marks
            .get(self.next_mark)
            .is_some_and(|&mark| mark <= now)
        {
            self.next_mark += 1;
            for meter in meters.iter_mut() {
                meter.marks.push(meter.counters);
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
            measured.meters.iter_mut().for_each(Meter::end_measurement);
            measured.totals = measured.meters.iter().map(|meter| meter.counters).collect();
            let hops = self.network.hops.iter_mut();
            measured.queues = hops.filter_map(|hop| hop.result(now)).collect();
        }
    }

    fn sample(&mut self, now: Time, interval: Duration) {
        let mut sample = Sample::default();
        let meters = self.exit.measured.meters.iter();
        for (meter, before) in meters.zip(&mut self.goodput_before) {
            let bytes = meter.counters.goodput_bytes - *before;
            *before = meter.counters.goodput_bytes;
            let delay = meter
                .last_delay
                .map_or(f64::NAN, |delay| delay.as_secs_f64());
            sample
                .flows
                .push((delay, bytes as f64 * 8.0 / interval.as_secs_f64()));
        }
        sample.links = self
            .network
            .hops
            .iter_mut()
            .map(|hop| hop.queue(now))
            .collect();
        self.exit.measured.samples.push(sample);
    }
}
