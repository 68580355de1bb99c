// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link of two directions between two devices, with its measurements.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use netnice_queue::Time;
use nix::sys::eventfd::EventFd;

use crate::clock::RunClock;
use crate::driver::{Devices, Driver, Network};
use crate::error::LinkError;
use crate::impaired_link::ImpairedLink;
use crate::lateness::LatenessRecord;
use crate::packet::Frame;
use crate::report::{DirectionReport, Lateness, LinkReport, Verdict};
use crate::scheduling::{self, SchedulingClass};
use crate::{Direction, EmulatedLinkSpec, MTU};

/// Request of [`crate::EmulatedLink`] to the thread; the sender then writes to the event file descriptor.
pub(crate) enum Request {
    Report(SyncSender<Progress>),
    Stop,
}

/// Report of the link so far, and the failure that stopped it, if any.
pub(crate) struct Progress {
    pub(crate) report: LinkReport,
    pub(crate) failure: Option<String>,
}

/// One direction, from the device it reads to the device it writes.
struct Lane {
    link: ImpairedLink,
    lateness: LatenessRecord,
    refused: u64,
}

impl Lane {
    fn new(spec: &EmulatedLinkSpec, direction: Direction) -> Result<Lane, LinkError> {
        Ok(Lane {
            link: spec.link(direction)?,
            lateness: LatenessRecord::new(spec.lateness_bound),
            refused: 0,
        })
    }

    /// Reuses the packets that the queue dropped after it had admitted them.
    fn recycle_dropped(&mut self, devices: &mut Devices) {
        while let Some(dropped) = self.link.take_dropped() {
            devices.recycle(dropped.packet);
        }
    }

    fn report(&self) -> DirectionReport {
        let lateness = Lateness::of(&self.lateness);
        DirectionReport::new(
            self.link.counters(),
            self.link.inside(),
            self.refused,
            lateness,
        )
    }
}

/// Both directions. The near device has number 0 and the far one 1: lane 0 reads the near and writes the far device,
/// lane 1 the reverse.
pub(crate) struct TwoWayLink {
    lanes: [Lane; 2],
    clock: RunClock,
    spec: EmulatedLinkSpec,
    stolen_before: Duration,
}

impl Network for TwoWayLink {
    fn enter(&mut self, now: Time, device: usize, frame: Frame, devices: &mut Devices) {
        if let Err(dropped) = self.lanes[device].link.offer(now, frame) {
            devices.recycle(dropped.packet);
        }
        self.lanes[device].recycle_dropped(devices);
    }

    fn advance(&mut self, now: Time, devices: &mut Devices) {
        for (lane, sink) in self.lanes.iter_mut().zip([1, 0]) {
            while let Some((frame, due)) = lane.link.deliver(now, |_| {}) {
                lane.lateness.record(self.clock.now().saturating_since(due));
                lane.refused += u64::from(!devices.write(Some(sink), frame));
            }
            lane.recycle_dropped(devices);
        }
    }

    fn next_event(&mut self) -> Option<Time> {
        let lanes = self.lanes.iter();
        lanes.filter_map(|lane| lane.link.next_event()).min()
    }
}

impl TwoWayLink {
    pub(crate) fn new(spec: &EmulatedLinkSpec) -> Result<TwoWayLink, LinkError> {
        Ok(TwoWayLink {
            lanes: [
                Lane::new(spec, Direction::Up)?,
                Lane::new(spec, Direction::Down)?,
            ],
            clock: RunClock::beginning_in(Duration::ZERO),
            spec: spec.clone(),
            stolen_before: scheduling::stolen_time(),
        })
    }

    /// Carries packets between the near and the far device until a request to stop, then returns. Call on a thread of
    /// its own; the call makes it a real-time thread.
    pub(crate) fn run(
        self,
        devices: [OwnedFd; 2],
        wake: &EventFd,
        requests: &Receiver<Request>,
    ) -> Progress {
        let (up, down) = (
            self.spec.up.effective_rate(),
            self.spec.down.effective_rate(),
        );
        let rate = up.zip(down).map(|(up, down)| up.max(down));
        let clock = self.clock;
        let mut driver = Driver::new(self, devices.into(), MTU, clock);
        let (scheduling, _awake) = scheduling::make_carrier(rate);
        let outcome = driver.run(wake, |link| {
            while let Ok(request) = requests.try_recv() {
                match request {
                    Request::Report(reply) => {
                        let _ = reply.try_send(link.progress(scheduling, None));
                    }
                    Request::Stop => return ControlFlow::Break(()),
                }
            }
            ControlFlow::Continue(())
        });
        let failure = outcome.err().map(|error| error.to_string());
        // The devices are gone, but the holder of the link may still request reports.
        while failure.is_some() {
            let Ok(Request::Report(reply)) = requests.recv() else {
                break;
            };
            let _ = reply.try_send(driver.network.progress(scheduling, failure.clone()));
        }
        driver.network.progress(scheduling, failure)
    }

    fn progress(&self, scheduling: SchedulingClass, failure: Option<String>) -> Progress {
        let report = LinkReport {
            up: self.lanes[0].report(),
            down: self.lanes[1].report(),
            spec: self.spec.to_string(),
            scheduling,
            processor_time: scheduling::processor_time(),
            stolen_time: scheduling::stolen_time().saturating_sub(self.stolen_before),
            elapsed: self.clock.now() - Time::ZERO,
            lateness_bound: self.spec.lateness_bound,
            verdict: Verdict::default(),
            trustworthy: false,
            reason: String::new(),
        };
        Progress { report, failure }
    }
}
