// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link at work, with what the run does and measures beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use netnice_queue::{Conditioner, DropCause, Link, LinkCounters, Packet as _, Time};

use crate::Packet;
use crate::capture::Capture;
use crate::measure::Histogram;
use crate::network::{Jitter, JitterDistribution, LinkSpec, Queue};
use crate::random::{Stream, seconds, seed_of};

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct LinkState {
    pub link: Link<Packet, Queue>,
    /// An event for the head of its pipe is pending.
    pub scheduled: bool,
    /// What few links have.
    pub extras: Option<Box<Extras>>,
    /// Waiting times, where they are measured.
    pub waiting: Option<Box<Waiting>>,
    pub record: Box<LinkRecord>,
}

/// What is looked at rarely.
#[derive(Debug)]
pub(crate) struct LinkRecord {
    pub name: String,
    /// Drops by cause and class since the measurement began.
    pub drops: Vec<(DropCause, u8, u64)>,
    /// The counters when the measurement began.
    pub baseline: LinkCounters,
    /// Queue length and the like are taken down at the sampling interval.
    pub sampled: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub conditioner: Option<Conditioner>,
    pub jitter: Option<JitterState>,
    pub capture: Option<Capture>,
}

impl LinkState {
    pub fn new(spec: LinkSpec, seed: u64) -> LinkState {
        let mut config = spec.config;
        config.seed = seed_of(seed, &spec.name);
        let waiting = Waiting {
            nanoseconds_per_byte: config
                .rate
                .map_or(0.0, |rate| 8e9 / rate.bits_per_second() as f64),
            delay: config.delay,
            times: Histogram::default(),
            byte_nanoseconds: 0,
        };
        let jitter = spec.jitter.map(|config| JitterState {
            config,
            stream: Stream::new(seed, &format!("{} jitter", spec.name)),
            held: BTreeMap::new(),
            sequence: 0,
            last: Time::ZERO,
        });
        let any = spec.conditioner.is_some() || jitter.is_some() || spec.capture.is_some();
        LinkState {
            link: Link::new(config, spec.queue),
            scheduled: false,
            extras: any.then(|| {
                Box::new(Extras {
                    conditioner: spec.conditioner,
                    jitter,
                    capture: spec.capture,
                })
            }),
            waiting: spec.measured.then(|| Box::new(waiting)),
            record: Box::new(LinkRecord {
                name: spec.name,
                drops: Vec::new(),
                baseline: LinkCounters::default(),
                sampled: spec.sampled,
            }),
        }
    }

    /// Counts a drop.
    pub fn count_drop(&mut self, cause: DropCause, class: u8) {
        let drops = &mut self.record.drops;
        match drops
            .iter_mut()
            .find(|known| (known.0, known.1) == (cause, class))
        {
            Some(known) => known.2 += 1,
            None => drops.push((cause, class, 1)),
        }
    }

    /// Forgets what was measured so far.
    pub fn begin_measurement(&mut self) {
        self.record.baseline = self.link.counters();
        self.record.drops.clear();
        if let Some(waiting) = &mut self.waiting {
            waiting.times = Histogram::default();
            waiting.byte_nanoseconds = 0;
        }
    }
}

/// Waiting times of the packets that have left a queue, and by Little's law its mean occupancy.
#[derive(Debug)]
pub(crate) struct Waiting {
    nanoseconds_per_byte: f64,
    delay: Duration,
    pub times: Histogram,
    /// Sum over packets of bytes times nanoseconds waited.
    pub byte_nanoseconds: u128,
}

impl Waiting {
    /// A packet offered at `offered` has come out at `now`.
    #[inline]
    pub fn record(&mut self, offered: Time, now: Time, packet: &Packet) {
        let length = packet.length() as u64;
        let transmission = (length as f64 * self.nanoseconds_per_byte) as u64;
        let inside = now.as_nanos() - offered.as_nanos();
        let rest = transmission + self.delay.as_nanos() as u64;
        // Link time is rounded to whole nanoseconds, and so the difference may be 1 ns without a wait.
        let waited = inside.saturating_sub(rest);
        let waited = if waited <= 1 { 0 } else { waited };
        self.times.record(waited);
        self.byte_nanoseconds += u128::from(waited) * u128::from(length);
    }
}

/// Packets held a little longer than the link's delay.
#[derive(Debug)]
pub(crate) struct JitterState {
    config: Jitter,
    stream: Stream,
    held: BTreeMap<(Time, u64), Packet>,
    sequence: u64,
    last: Time,
}

impl JitterState {
    /// Holds a packet; it is due at the time given back.
    pub fn hold(&mut self, now: Time, packet: Packet) -> Time {
        let size = self.config.size.as_secs_f64();
        let extra = match self.config.distribution {
            JitterDistribution::Uniform => size * self.stream.uniform(),
            JitterDistribution::Exponential => self.stream.exponential(size),
        };
        let mut due = now + seconds(extra);
        if !self.config.reordering {
            due = due.max(self.last);
            self.last = due;
        }
        self.held.insert((due, self.sequence), packet);
        self.sequence += 1;
        due
    }

    /// The packet due next.
    pub fn release(&mut self) -> Option<Packet> {
        self.held.pop_first().map(|(_, packet)| packet)
    }

    /// Packets held.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}
