// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that carries packets: reads a TUN device, asks the sans-IO link when each is due, writes it then.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use hdrhistogram::Histogram;
use netnice_queue::{DropTail, Link, Packet, Queued, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::signal::SigSet;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use super::report::{DirectionReport, Lateness, LinkReport, Verdict};
use super::scheduling::{self, SchedulingClass};
use super::{Direction, LinkSpec, MTU, tun};

/// Packets handled in one direction before the other gets its turn.
const BATCH: usize = 32;
/// Lateness beyond which only "at least this" is recorded.
const MAX_LATENESS_NANOS: u64 = 100_000_000_000;

/// A packet's bytes in a buffer that is used again and again.
#[derive(Debug)]
pub(super) struct Frame {
    buffer: Box<[u8; MTU]>,
    length: usize,
}

impl Packet for Frame {
    fn length(&self) -> usize {
        self.length
    }
}

/// What the thread is asked by [`super::EmulatedLink`], which writes to the event file descriptor afterwards.
pub(super) enum Request {
    Report(SyncSender<Progress>),
    Stop,
}

/// The link so far, and what made it stop if something did.
pub(super) struct Progress {
    pub(super) report: LinkReport,
    pub(super) failure: Option<String>,
}

/// One direction: from the device packets are read from to the one they are written to.
struct Lane {
    link: Link<Frame, DropTail<Queued<Frame>>>,
    lateness: Histogram<u64>,
    refused: u64,
}

impl Lane {
    fn new(spec: &LinkSpec, direction: Direction) -> Lane {
        Lane {
            link: spec.link(direction),
            lateness: Histogram::new_with_bounds(1, MAX_LATENESS_NANOS, 3)
                .expect("the bounds are constants"),
            refused: 0,
        }
    }

    /// Takes in what waits at `source`. Whether there may be more.
    fn read(&mut self, source: &OwnedFd, pool: &mut Vec<Frame>) -> io::Result<bool> {
        for _ in 0..BATCH {
            let mut frame = pool.pop().unwrap_or_else(|| Frame {
                buffer: Box::new([0; MTU]),
                length: 0,
            });
            match tun::read_packet(source, &mut frame.buffer[..])? {
                Some(length) => frame.length = length,
                None => {
                    pool.push(frame);
                    return Ok(false);
                }
            }
            if let Err(dropped) = self.link.offer(now(), frame) {
                pool.push(dropped.packet);
            }
        }
        Ok(true)
    }

    /// Hands over what is due. Whether there may be more.
    fn write(&mut self, sink: &OwnedFd, pool: &mut Vec<Frame>) -> bool {
        for _ in 0..BATCH {
            let now = now();
            let Some(delivery) = self.link.deliver(now) else {
                return false;
            };
            let lateness = now.saturating_since(delivery.due).as_nanos() as u64;
            self.lateness.saturating_record(lateness.max(1));
            let frame = delivery.packet;
            if nix::unistd::write(sink, &frame.buffer[..frame.length]).is_err() {
                self.refused += 1;
            }
            pool.push(frame);
        }
        true
    }

    fn report(&self, bound: Duration) -> DirectionReport {
        let lateness = Lateness::of(&self.lateness, bound);
        DirectionReport::new(
            self.link.counters(),
            self.link.inside(),
            self.refused,
            lateness,
        )
    }
}

/// The thread's state.
pub(super) struct Driver {
    lanes: [Lane; 2],
    /// The near device, then the far one: lane 0 reads the first and writes the second, lane 1 the other way round.
    devices: [OwnedFd; 2],
    pool: Vec<Frame>,
    lateness_bound: Duration,
    scheduling: SchedulingClass,
    spec: String,
    began: Time,
    stolen_before: Duration,
}

impl Driver {
    pub(super) fn new(spec: &LinkSpec, near: OwnedFd, far: OwnedFd) -> Driver {
        Driver {
            lanes: [
                Lane::new(spec, Direction::Up),
                Lane::new(spec, Direction::Down),
            ],
            devices: [near, far],
            pool: Vec::new(),
            lateness_bound: spec.lateness_bound,
            scheduling: SchedulingClass::Ordinary,
            spec: spec.to_string(),
            began: now(),
            stolen_before: scheduling::stolen_time(),
        }
    }

    /// Carries packets until asked to stop, then says how it went. Call on a thread of its own, which becomes a
    /// real-time one.
    pub(super) fn run(
        mut self,
        spec: &LinkSpec,
        wake: &EventFd,
        requests: &Receiver<Request>,
    ) -> Progress {
        // Signals are for the threads that serve the terminal.
        let _ = SigSet::all().thread_block();
        let _awake = scheduling::keep_awake();
        scheduling::make_responsive();
        let rate = spec
            .up
            .rate
            .zip(spec.down.rate)
            .map(|(up, down)| up.max(down));
        self.scheduling = scheduling::make_link_thread(rate);
        let failure = loop {
            match self.turn(wake) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(error) => break Some(error.to_string()),
            }
            while let Ok(request) = requests.try_recv() {
                match request {
                    Request::Report(reply) => {
                        let _ = reply.try_send(self.progress(None));
                    }
                    Request::Stop => return self.progress(None),
                }
            }
        };
        // The devices are gone, but whoever holds the link may still ask.
        while let Ok(Request::Report(reply)) = requests.recv() {
            let _ = reply.try_send(self.progress(failure.clone()));
        }
        self.progress(failure)
    }

    /// Waits for a packet, a due time or a request, and carries what can be carried. Whether there was a request.
    fn turn(&mut self, wake: &EventFd) -> io::Result<bool> {
        let mut idle = true;
        for (lane, sink) in self.lanes.iter_mut().zip([1, 0]) {
            if lane.link.next_event().is_some_and(|due| due <= now()) {
                idle &= !lane.write(&self.devices[sink], &mut self.pool);
            }
        }
        let timeout = match idle {
            true => self
                .lanes
                .iter()
                .filter_map(|lane| lane.link.next_event())
                .min()
                .map(|due| due - now()),
            false => Some(Duration::ZERO),
        };
        let mut polled = [
            PollFd::new(self.devices[0].as_fd(), PollFlags::POLLIN),
            PollFd::new(self.devices[1].as_fd(), PollFlags::POLLIN),
            PollFd::new(wake.as_fd(), PollFlags::POLLIN),
        ];
        match ppoll(&mut polled, timeout.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let events = polled.map(|polled| polled.revents().unwrap_or(PollFlags::empty()));
        for (lane, source) in self.lanes.iter_mut().zip([0, 1]) {
            if events[source]
                .intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL)
            {
                return Err(io::Error::other("one of its TUN devices was removed"));
            }
            if events[source].contains(PollFlags::POLLIN) {
                lane.read(&self.devices[source], &mut self.pool)?;
            }
        }
        let requested = events[2].contains(PollFlags::POLLIN);
        if requested {
            let _ = wake.read();
        }
        Ok(requested)
    }

    fn progress(&self, failure: Option<String>) -> Progress {
        let processor_time =
            clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        let report = LinkReport {
            up: self.lanes[0].report(self.lateness_bound),
            down: self.lanes[1].report(self.lateness_bound),
            spec: self.spec.clone(),
            scheduling: self.scheduling,
            processor_time,
            stolen_time: scheduling::stolen_time().saturating_sub(self.stolen_before),
            elapsed: now() - self.began,
            lateness_bound: self.lateness_bound,
            verdict: Verdict::default(),
            trustworthy: false,
            reason: String::new(),
        };
        Progress { report, failure }
    }
}

/// The monotonic clock.
fn now() -> Time {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("the monotonic clock exists");
    Time::from_nanos(Duration::from(now).as_nanos() as u64)
}
