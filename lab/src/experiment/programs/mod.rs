// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs at the ends of flows: real sockets, served by one thread.

mod bulk;
mod probe;
mod sockets;
mod timed;
mod web;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netnice_queue::Time;
use netnice_scenario::model::{Application, Transport};
use netnice_scenario::network::FlowGroup;
use netnice_sim::measure::{Histogram, ResponseTimes};
use netnice_sim::random::Stream;
use netnice_sim::traffic::{Generator, Traffic, Write};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::SigSet;
use nix::sys::time::TimeSpec;
use socket2::Socket;

use self::bulk::Sender;
use self::probe::Probe;
use self::web::{WebClient, WebServer, WebSession};
use super::controls::Controls;
use super::measurement::Schedule;
use super::netns::LiveNetns;
use super::plan::Plan;
use crate::LabError;
use crate::clock::RunClock;
use crate::error::Attempted;
use crate::scheduling;

/// Below the network's thread, above ordinary ones: what is measured is the network, not the wait for a processor.
const PRIORITY: u32 = 10;
/// How often connections are looked into.
const PROBE_INTERVAL: Duration = Duration::from_millis(20);
/// How often the counts of our controls are read.
const INDICATIONS_INTERVAL: Duration = Duration::from_millis(100);
/// Where all receivers listen; each has an address of its own.
const PORT: u16 = 5001;
/// Events taken at a time.
const BATCH: usize = 64;

/// What the programs have seen of a flow.
#[derive(Debug, Default)]
pub(super) struct FlowReport {
    /// When it began.
    pub(super) start: Time,
    pub(super) probe: Probe,
    /// Of web traffic.
    pub(super) responses: Option<ResponseTimes>,
    /// When a command was done.
    pub(super) completed: Option<Time>,
    /// Why it could not do its work.
    pub(super) failure: Option<String>,
}

/// What all programs have seen.
#[derive(Debug, Default)]
pub(super) struct ProgramsReport {
    pub(super) flows: Vec<FlowReport>,
    /// How much later than due timed sources sent, in nanoseconds.
    pub(super) lateness: Histogram,
    /// Datagrams that the kernel did not take.
    pub(super) unsent: u64,
    /// cwnd, ssthresh in packets and smoothed RTT in seconds of each flow, at each sampling time.
    pub(super) samples: Vec<Vec<[f64; 3]>>,
}

/// Something that is to happen at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Start(usize),
    Write(usize),
    Stop(usize),
    Session(usize),
    Probe,
    Indications,
    Sample,
}

/// A socket and what it is for.
enum Entry {
    /// Takes the connection of a flow.
    Listener(usize, Socket),
    /// Reads what comes for a flow, and forgets it.
    Receiver(usize, Socket),
    Sender(Sender),
    WebListener(usize, Socket),
    WebServer(WebServer),
    WebClient(WebClient),
}

/// A flow's source.
struct Source {
    stop: Time,
    generator: Option<Generator>,
    next: Option<Write>,
    /// Bytes of data that it may still send.
    left: u64,
    /// Its socket, once it has one: a place among the entries of TCP.
    entry: Option<u64>,
    datagrams: Option<Socket>,
}

/// All programs of a run.
pub(super) struct Programs<'run> {
    plan: &'run Plan,
    namespaces: &'run [LiveNetns],
    controls: &'run Controls,
    schedule: Schedule,
    clock: RunClock,
    epoll: Epoll,
    /// Entries with a number that changes whenever a place is used again, so that old events are known as such.
    entries: Vec<(u32, Option<Entry>)>,
    free: Vec<usize>,
    timers: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    timers_set: u64,
    sources: Vec<Source>,
    sessions: Vec<WebSession>,
    /// Held so that packets find somebody; never read.
    sinks: Vec<Socket>,
    inside: Option<usize>,
    next_sample: Option<Time>,
    report: ProgramsReport,
    zeroes: Vec<u8>,
}

impl<'run> Programs<'run> {
    /// All listeners, and everything that can fail. Call on the thread that will [`Programs::run`].
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

    fn group(&self, flow: usize) -> &'run FlowGroup {
        &self.plan.network.flows[flow].group
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

    fn at(&mut self, time: Time, timer: Timer) {
        self.timers_set += 1;
        self.timers.push(Reverse((time, self.timers_set, timer)));
    }

    /// Serves all flows until the end of the run or `stop`, then tells what it has seen. Makes its thread a real-time
    /// one.
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

    /// Waits until `due` or for a socket. (`epoll_wait` knows milliseconds only.)
    fn wait(&self, due: Time) -> Result<(), LabError> {
        let timeout =
            TimeSpec::from_duration(self.clock.until(due).min(Duration::from_millis(100)));
        let mut polled = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut polled, Some(timeout), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(errno) => Err(errno).attempted("wait for sockets"),
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
                // Those before the end of the warm-up are not measured.
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

    /// A socket can be read or written, or has failed.
    fn serve(&mut self, token: u64, events: EpollFlags) -> Result<(), LabError> {
        let place = token as u32 as usize;
        let Some((number, entry)) = self.entries.get_mut(place) else {
            return Ok(());
        };
        if u64::from(*number) != token >> 32 {
            return Ok(());
        }
        // Taken out while it is served, so that serving may change everything else.
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

    /// Adds an entry and watches its socket, edge by edge.
    fn add(&mut self, entry: Entry) -> Result<u64, LabError> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push((0, None));
            self.entries.len() - 1
        });
        let number = self.entries[place].0.wrapping_add(1);
        let token = u64::from(number) << 32 | place as u64;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        let event = EpollEvent::new(flags, token);
        self.epoll
            .add(entry.socket(), event)
            .attempted("watch a socket")?;
        self.entries[place] = (number, Some(entry));
        Ok(token)
    }

    fn accept(
        &mut self,
        listener: &Socket,
        entry: impl Fn(Socket) -> Entry,
    ) -> Result<(), LabError> {
        loop {
            match listener.accept() {
                Ok((socket, _)) => {
                    socket.set_nonblocking(true).attempted("set up a socket")?;
                    self.add(entry(socket))?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // It was reset before it was taken.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error).attempted("accept a connection"),
            }
        }
    }

    /// Moves this thread into the namespace of `endpoint`: sockets stay where they were made.
    fn enter(&mut self, endpoint: usize) -> Result<(), LabError> {
        let netns = self.plan.endpoints[endpoint].netns;
        if self.inside != Some(netns) {
            self.namespaces[netns].namespace.enter()?;
            self.inside = Some(netns);
        }
        Ok(())
    }
}

/// When a flow begins, and its random stream: the same draws as in the simulator.
pub(super) fn begin(group: &FlowGroup, name: &str, seed: u64) -> (Time, Stream) {
    let mut stream = Stream::new(seed, name);
    let spread = group.start_spread.mul_f64(stream.uniform());
    (Time::ZERO + group.start + spread, stream)
}

impl Entry {
    fn socket(&self) -> &Socket {
        match self {
            Entry::Listener(_, socket)
            | Entry::Receiver(_, socket)
            | Entry::WebListener(_, socket) => socket,
            Entry::Sender(sender) => &sender.socket,
            Entry::WebServer(server) => &server.socket,
            Entry::WebClient(client) => &client.socket,
        }
    }
}
