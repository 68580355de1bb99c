// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs at the ends of flows: real sockets, served by one thread.

mod bulk;
mod connections;
mod probe;
mod sockets;
mod state;
mod timed;
mod web;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netnice_queue::Time;
use netnice_scenario::model::{Application, Transport};
use netnice_scenario::network::FlowGroup;
use netnice_sim::measure::ResponseTimes;
use netnice_sim::random::Stream;
use netnice_sim::traffic::Traffic;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::SigSet;
use nix::sys::time::TimeSpec;

use self::connections::WebServer;
use self::state::{Entry, Source, Timer};
use super::controls::Controls;
use super::measurement::Schedule;
use super::netns::LiveNetns;
use super::plan::Plan;
use crate::error::LabError;
use netnice_link::Attempted;
use netnice_link::clock::RunClock;
use netnice_link::scheduling;

pub(super) use self::state::{FlowReport, Programs, ProgramsReport};

/// Below the network's thread, above ordinary ones, so that figures describe the network, not the wait for a processor.
const PRIORITY: u32 = 10;
/// Interval at which connections are probed.
const PROBE_INTERVAL: Duration = Duration::from_millis(20);
/// Interval at which the counts of netnice's controls are read.
const INDICATIONS_INTERVAL: Duration = Duration::from_millis(100);
/// Events fetched at a time.
const BATCH: usize = 64;

impl<'run> Programs<'run> {
    /// Sets up all listeners, and does everything that can fail. Call on the thread that will call [`Programs::run`].
    pub(super) fn prepare(
        plan: &'run Plan,
        namespaces: &'run [LiveNetns],
        controls: &'run Controls,
        schedule: &Schedule,
        seed: u64,
    ) -> Result<Programs<'run>, LabError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).attempted("create an epoll")?;
        let mut programs = Programs {
            plan,
            namespaces,
            controls,
            schedule: schedule.clone(),
            clock: RunClock::beginning_in(Duration::ZERO),
            epoll,
            entries: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            sources: Vec::new(),
            sessions: Vec::new(),
            sinks: Vec::new(),
            inside: None,
            next_sample: schedule.sampling.map(|interval| Time::ZERO + interval),
            report: ProgramsReport::default(),
            zeroes: vec![0; bulk::CHUNK],
        };
        for flow in 0..plan.network.flows.len() {
            programs.add_flow(flow, seed)?;
        }
        programs.at(Time::ZERO + PROBE_INTERVAL, Timer::Probe);
        if controls.are_ours() {
            programs.at(schedule.warm_up, Timer::Indications);
        }
        if let Some(first) = programs.next_sample {
            programs.at(first, Timer::Sample);
        }
        Ok(programs)
    }

    fn add_flow(&mut self, flow: usize, seed: u64) -> Result<(), LabError> {
        let plan = self.plan;
        let group = self.group(flow);
        let name = &plan.network.flows[flow].name;
        let (start, stream) = begin(group, name, seed);
        let mut source = Source {
            stop: Time::ZERO + group.stop,
            generator: None,
            next: None,
            left: group.bytes.map_or(u64::MAX, |bytes| bytes.get()),
            entry: None,
            datagrams: None,
        };
        let mut report = FlowReport {
            start,
            ..FlowReport::default()
        };
        match (&group.application, group.transport) {
            (Application::Command(_), _) => {}
            (Application::Web(web), _) => {
                report.responses = Some(ResponseTimes::default());
                self.add_web(flow, web, start, seed)?;
            }
            (Application::Arrivals(arrivals), _) => {
                let bounds = arrivals.size_classes.iter().map(|bytes| bytes.get());
                let bounds: Vec<u64> = bounds.collect();
                report.responses = Some(ResponseTimes::in_classes(&bounds));
                self.add_arrivals(flow, arrivals, start, seed)?;
            }
            (_, Transport::Udp) => {
                source.generator = Traffic::of(group).generator(start, stream);
                source.next = source.generator.as_mut().and_then(Iterator::next);
                source.datagrams = Some(self.datagram_sockets(flow)?);
                if let Some(write) = source.next {
                    self.at(write.at, Timer::Write(flow));
                }
            }
            (_, Transport::Tcp) => {
                source.generator = Traffic::of(group).generator(start, stream);
                source.next = source.generator.as_mut().and_then(Iterator::next);
                self.listen_for(flow)?;
                self.at(start, Timer::Start(flow));
                self.at(source.stop, Timer::Stop(flow));
                if let Some(write) = source.next {
                    self.at(write.at, Timer::Write(flow));
                }
            }
        }
        self.sources.push(source);
        self.report.flows.push(report);
        Ok(())
    }

    /// Serves all flows until the end of the run or `stop`, then returns its report. Makes the calling thread a
    /// real-time one.
    pub(super) fn run(
        mut self,
        clock: RunClock,
        stop: &AtomicBool,
    ) -> Result<ProgramsReport, LabError> {
        self.clock = clock;
        let _ = SigSet::all().thread_block();
        scheduling::make_responsive();
        scheduling::make_fifo(PRIORITY);
        let mut events = [EpollEvent::empty(); BATCH];
        self.clock.await_start();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            while let Some(&Reverse((due, _, timer))) = self.timers.peek() {
                if due > self.clock.now() || due > self.schedule.end {
                    break;
                }
                self.timers.pop();
                self.happen(timer, due)?;
            }
            if now >= self.schedule.end {
                self.count_indications(true);
                break;
            }
            let due = self
                .timers
                .peek()
                .map_or(self.schedule.end, |next| next.0.0);
            self.wait(due.min(self.schedule.end))?;
            let count = self
                .epoll
                .wait(&mut events, EpollTimeout::ZERO)
                .or_else(|errno| match errno {
                    nix::Error::EINTR => Ok(0),
                    errno => Err(errno),
                })
                .attempted("wait for sockets")?;
            for event in &events[..count] {
                self.serve(event.data(), event.events())?;
            }
        }
        Ok(self.report)
    }

    /// Waits until `due` or for a socket. (`epoll_wait` has millisecond resolution only.)
    fn wait(&self, due: Time) -> Result<(), LabError> {
        let timeout =
            TimeSpec::from_duration(self.clock.until(due).min(Duration::from_millis(100)));
        let mut polled = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut polled, Some(timeout), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(errno) => Ok(Err(errno).attempted("wait for sockets")?),
        }
    }

    fn happen(&mut self, timer: Timer, due: Time) -> Result<(), LabError> {
        match timer {
            Timer::Start(flow) => self.start_sender(flow),
            Timer::Write(flow) => self.write_due(flow),
            Timer::Stop(flow) => {
                self.stop_sender(flow);
                Ok(())
            }
            Timer::Session(session) => self.request_object(session),
            Timer::Probe => {
                self.probe();
                self.at(due + PROBE_INTERVAL, Timer::Probe);
                Ok(())
            }
            Timer::Indications => {
                // Indications before the end of the warm-up are not measured.
                self.count_indications(due > self.schedule.warm_up);
                self.at(due + INDICATIONS_INTERVAL, Timer::Indications);
                Ok(())
            }
            Timer::Sample => {
                self.sample();
                if let Some(interval) = self.schedule.sampling {
                    self.at(due + interval, Timer::Sample);
                }
                Ok(())
            }
        }
    }

    /// Serves a socket that is readable, writable or failed.
    fn serve(&mut self, token: u64, events: EpollFlags) -> Result<(), LabError> {
        let place = token as u32 as usize;
        let Some((number, entry)) = self.entries.get_mut(place) else {
            return Ok(());
        };
        if u64::from(*number) != token >> 32 {
            return Ok(());
        }
        // The entry is taken out while it is served, so that serving may change all others.
        let Some(entry) = entry.take() else {
            return Ok(());
        };
        let kept = match entry {
            Entry::Listener(flow, socket) => {
                self.accept(&socket, |socket| Entry::Receiver(flow, socket))?;
                Some(Entry::Listener(flow, socket))
            }
            Entry::WebListener(flow, socket) => {
                self.accept(&socket, |socket| {
                    Entry::WebServer(WebServer::new(flow, socket))
                })?;
                Some(Entry::WebListener(flow, socket))
            }
            Entry::Receiver(flow, socket) => {
                sockets::clamp_window(&socket, self.group(flow));
                sockets::discard(&socket).then_some(Entry::Receiver(flow, socket))
            }
            Entry::Sender(sender) => self.serve_sender(sender).map(Entry::Sender),
            Entry::WebServer(server) => self.serve_web(server).map(Entry::WebServer),
            Entry::WebClient(client) => self.serve_client(client, events)?.map(Entry::WebClient),
        };
        match kept {
            Some(entry) => self.entries[place].1 = Some(entry),
            None => self.free.push(place),
        }
        Ok(())
    }
}

/// Returns the start time of a flow and its random stream: the same draws as in the simulator.
pub(super) fn begin(group: &FlowGroup, name: &str, seed: u64) -> (Time, Stream) {
    let mut stream = Stream::new(seed, name);
    let spread = group.start_spread.mul_f64(stream.uniform());
    (Time::ZERO + group.start + spread, stream)
}
