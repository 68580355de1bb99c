// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state that the programs of a run share: sockets, timers and counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use netnice_queue::Time;
use netnice_scenario::network::FlowGroup;
use netnice_sim::measure::{Histogram, ResponseTimes};
use netnice_sim::traffic::{Generator, Write};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use socket2::Socket;

use super::connections::{Probe, Sender, WebClient, WebServer, WebSession};
use crate::controls::Controls;
use crate::error::LabError;
use crate::measurement::Schedule;
use crate::netns::LiveNetns;
use crate::plan::Plan;
use netnice_link::Attempted;
use netnice_link::clock::RunClock;

/// Port of all receivers; each has an address of its own.
pub(super) const PORT: u16 = 5001;

/// A flow as its programs saw it.
#[derive(Debug, Default)]
pub(crate) struct FlowReport {
    /// Start time.
    pub(crate) start: Time,
    pub(crate) probe: Probe,
    /// Response times of web traffic.
    pub(crate) responses: Option<ResponseTimes>,
    /// Time at which a command finished.
    pub(crate) completed: Option<Time>,
    /// Reason it failed.
    pub(crate) failure: Option<String>,
}

/// All flows as their programs saw them.
#[derive(Debug, Default)]
pub(crate) struct ProgramsReport {
    pub(crate) flows: Vec<FlowReport>,
    /// Lateness of the writes of timed sources, in nanoseconds.
    pub(crate) lateness: Histogram,
    /// Datagrams that the kernel did not accept.
    pub(crate) unsent: u64,
    /// cwnd and ssthresh in packets and smoothed RTT in seconds of each flow, at each sampling time.
    pub(crate) samples: Vec<Vec<[f64; 3]>>,
}

/// Event due at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Start(usize),
    Write(usize),
    Stop(usize),
    Session(usize),
    Probe,
    Indications,
    Sample,
}

/// A socket and its purpose.
pub(super) enum Entry {
    /// Accepts the connection of a flow.
    Listener(usize, Socket),
    /// Reads and discards a flow's data.
    Receiver(usize, Socket),
    Sender(Sender),
    WebListener(usize, Socket),
    WebServer(WebServer),
    WebClient(WebClient),
}

/// A flow's source.
pub(super) struct Source {
    pub(super) stop: Time,
    pub(super) generator: Option<Generator>,
    pub(super) next: Option<Write>,
    /// Bytes of data left to send.
    pub(super) left: u64,
    /// Token of its TCP socket among the entries, once it has one.
    pub(super) entry: Option<u64>,
    pub(super) datagrams: Option<Socket>,
}

/// All programs of a run.
pub(crate) struct Programs<'run> {
    pub(super) plan: &'run Plan,
    pub(super) namespaces: &'run [LiveNetns],
    pub(super) controls: &'run Controls,
    pub(super) schedule: Schedule,
    pub(super) clock: RunClock,
    pub(super) epoll: Epoll,
    /// Entries, each with a number that changes whenever its place is reused, so that stale events are recognised.
    pub(super) entries: Vec<(u32, Option<Entry>)>,
    pub(super) free: Vec<usize>,
    pub(super) timers: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    pub(super) timers_set: u64,
    pub(super) sources: Vec<Source>,
    pub(super) sessions: Vec<WebSession>,
    /// Kept open so that the host accepts their packets; never read.
    pub(super) sinks: Vec<Socket>,
    pub(super) inside: Option<usize>,
    pub(super) next_sample: Option<Time>,
    pub(super) report: ProgramsReport,
    pub(super) zeroes: Vec<u8>,
}

impl<'run> Programs<'run> {
    pub(super) fn group(&self, flow: usize) -> &'run FlowGroup {
        &self.plan.network.flows[flow].group
    }

    pub(super) fn at(&mut self, time: Time, timer: Timer) {
        self.timers_set += 1;
        self.timers.push(Reverse((time, self.timers_set, timer)));
    }

    /// Adds an entry and watches its socket, edge-triggered.
    pub(super) fn add(&mut self, entry: Entry) -> Result<u64, LabError> {
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

    pub(super) fn accept(
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
                // The peer reset it before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Ok(Err(error).attempted("accept a connection")?),
            }
        }
    }

    /// Moves this thread into the namespace of `endpoint`; sockets stay in the namespace they were created in.
    pub(super) fn enter(&mut self, endpoint: usize) -> Result<(), LabError> {
        let netns = self.plan.endpoints[endpoint].netns;
        if self.inside != Some(netns) {
            self.namespaces[netns].namespace.enter()?;
            self.inside = Some(netns);
        }
        Ok(())
    }
}

impl Entry {
    pub(super) fn socket(&self) -> &Socket {
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
