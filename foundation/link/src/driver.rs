// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that carries packets between TUN devices: it reads each packet, passes it to a computed network, and
//! writes it when it is due.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use netnice_queue::Time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;

use crate::clock::RunClock;
use crate::packet::Frame;
use crate::tun;

/// Packets read from one device before the others are served.
const BATCH: usize = 32;

/// A computed network between the devices: an emulated link, or the network of an experiment. It does I/O only through
/// [`Devices`].
pub trait Network {
    /// Takes in a packet read from device number `device` at `now`.
    fn enter(&mut self, now: Time, device: usize, frame: Frame, devices: &mut Devices);

    /// Forwards everything that is due at `now`.
    fn advance(&mut self, now: Time, devices: &mut Devices);

    /// Returns the time at which to call [`Network::advance`] next; `None` if nothing is due before another packet
    /// enters.
    fn next_event(&mut self) -> Option<Time>;
}

/// Devices by number, and a pool of frames for reuse.
pub struct Devices {
    files: Vec<OwnedFd>,
    pool: Vec<Frame>,
    /// Largest packet, in bytes.
    mtu: usize,
}

impl Devices {
    /// Writes a packet to a device. Returns false if the device refuses it.
    pub fn write(&mut self, device: Option<usize>, frame: Frame) -> bool {
        let file = device.and_then(|device| self.files.get(device));
        let written = file.is_some_and(|file| nix::unistd::write(file, frame.bytes()).is_ok());
        self.recycle(frame);
        written
    }

    /// Returns the frame of a packet that goes nowhere to the pool.
    pub fn recycle(&mut self, frame: Frame) {
        self.pool.push(frame);
    }

    /// Reads the next packet that waits at a device; `None` if none waits.
    fn read(&mut self, device: usize) -> io::Result<Option<Frame>> {
        let frame = self.pool.pop();
        let mut frame = frame.unwrap_or_else(|| Frame::new(self.mtu));
        match tun::read_packet(&self.files[device], &mut frame.buffer)? {
            Some(length) => {
                frame.length = length;
                Ok(Some(frame))
            }
            None => {
                self.recycle(frame);
                Ok(None)
            }
        }
    }
}

/// State of the thread.
pub struct Driver<N> {
    /// The network that packets pass.
    pub network: N,
    devices: Devices,
    clock: RunClock,
}

impl<N: Network> Driver<N> {
    /// Creates a driver between `files`, for packets of at most `mtu` bytes.
    pub fn new(network: N, files: Vec<OwnedFd>, mtu: usize, clock: RunClock) -> Driver<N> {
        Driver {
            network,
            devices: Devices {
                files,
                pool: Vec::new(),
                mtu,
            },
            clock,
        }
    }

    /// Carries packets until `requested`, called after each write to `wake`, breaks, or until a device fails. Call on a
    /// thread of its own (`scheduling::make_carrier`).
    pub fn run(
        &mut self,
        wake: &EventFd,
        mut requested: impl FnMut(&mut N) -> ControlFlow<()>,
    ) -> io::Result<()> {
        loop {
            if self.turn(wake)? && requested(&mut self.network).is_break() {
                return Ok(());
            }
        }
    }

    /// Carries what is due and waits for more. Returns true if `wake` was written.
    fn turn(&mut self, wake: &EventFd) -> io::Result<bool> {
        self.network.advance(self.clock.now(), &mut self.devices);
        let timeout = self.network.next_event();
        let timeout = timeout.map(|next| TimeSpec::from_duration(self.clock.until(next)));
        let files = self.devices.files.iter().map(AsFd::as_fd);
        let mut polled: Vec<PollFd> = files
            .chain([wake.as_fd()])
            .map(|file| PollFd::new(file, PollFlags::POLLIN))
            .collect();
        match ppoll(&mut polled, timeout, None) {
            Ok(0) | Err(nix::Error::EINTR) => return Ok(false),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let events: Vec<PollFlags> = polled
            .iter()
            .map(|polled| polled.revents().unwrap_or(PollFlags::empty()))
            .collect();
        let (of_wake, of_devices) = events.split_last().expect("one more than devices");
        for (device, events) in of_devices.iter().enumerate() {
            if events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL) {
                return Err(io::Error::other("one of its TUN devices was removed"));
            }
            if events.contains(PollFlags::POLLIN) {
                self.read(device)?;
            }
        }
        let woken = of_wake.contains(PollFlags::POLLIN);
        if woken {
            let _ = wake.read();
        }
        Ok(woken)
    }

    /// Reads packets that wait at a device.
    fn read(&mut self, device: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let Some(frame) = self.devices.read(device)? else {
                return Ok(());
            };
            let now = self.clock.now();
            self.network.enter(now, device, frame, &mut self.devices);
        }
        Ok(())
    }
}
