// SPDX-License-Identifier: MIT OR Apache-2.0
//! The links of a run, with their measurements and optional parts.

use std::io;
use std::ops::Range;

use netnice_queue::random::LinkStreams;
use netnice_queue::{
    ColourCounters, DropCause, DropCounters, Link, LinkCounters, LinkUsage, LossFraction, Marker,
    QueueDiscipline as _, Rate, ReorderingJitter, Time,
};

use crate::links::drop_tail::DropTailLink;
use crate::links::groups::{LinkGroup, LinkGroups};
use crate::links::network::{LinkSpec, Queue};
use crate::links::routes::Routes;
use crate::measure::{Histogram, LinkWaits};
use crate::names::Names;
use crate::packet::Packet;
use crate::trace::captures::{Captures, TraceId};

/// A link of a run.
#[derive(Debug)]
pub(crate) enum SimulatedLink {
    /// Computes on a packet's arrival when it comes out, and does not keep the packet: a drop-tail queue, or RED.
    DropTail(DropTailLink),
    /// Any other. As long as it is not empty, an event for the head of its pipe is pending.
    Other(Box<Link<Packet, Queue>>),
}

/// A packet that finds a link idle needs one cache line.
const _: () = assert!(size_of::<SimulatedLink>() == 64);

/// The links of a run.
#[derive(Debug, Default)]
pub(crate) struct Links {
    pub all: Vec<SimulatedLink>,
    /// Properties that drop-tail links share.
    pub groups: LinkGroups,
    /// Measurements of each link.
    pub records: Vec<LinkRecord>,
    /// Numbers of the links whose queue length and the like are recorded at the sampling interval.
    pub sampled: Vec<usize>,
    pub waits: LinkWaits,
    names: Names,
    /// Optional parts of each link; empty if no link has any, so that a hop need not look.
    pub extras: Vec<Option<Box<Extras>>>,
    /// The traces of packets, and of each link its trace; empty if no link has one.
    pub captures: Captures,
    captured: Vec<Option<TraceId>>,
    /// A link has a part that a packet needs as it goes onto the link: a marker, or a record of events.
    pub tags: bool,
    /// A link has a marker: packets are counted by colour.
    pub colours: bool,
    /// On a drop-tail link chance takes or delays packets.
    pub any_chance: bool,
    pub routes: Routes,
}

impl Links {
    /// Returns an empty set with room for `links` links.
    pub fn with_capacity(links: usize) -> Links {
        Links {
            all: Vec::with_capacity(links),
            records: Vec::with_capacity(links),
            waits: LinkWaits::with_capacity(links),
            ..Links::default()
        }
    }

    /// Adds a link to a run of this seed; `computed_departures` as in [`EngineOptions`](crate::EngineOptions).
    pub fn add(&mut self, spec: LinkSpec, seed: u64, computed_departures: bool) {
        let (parts, reordering) = spec.setup.seeded(LinkStreams::new(seed, &spec.name));
        let any = parts.marker.is_some() || reordering.is_some() || spec.recorded;
        self.tags |= parts.marker.is_some() || spec.recorded;
        self.colours |= parts.marker.is_some();
        let extras = any.then(|| {
            Box::new(Extras {
                marker: parts.marker,
                reordering,
                recorded: spec.recorded,
            })
        });
        let computed = computed_departures && parts.conditions.is_none();
        let bound = match &parts.queue {
            Queue::DropTail(queue) => Some(queue.bound()),
            Queue::Red(queue) if parts.config.loss == LossFraction::NONE => Some(queue.bound()),
            _ => None,
        };
        self.all.push(match bound.filter(|_| computed) {
            Some(bound) => {
                let (config, jitter) = (&parts.config, parts.jitter);
                let longest_jitter_ns = (!jitter.is_none()).then(|| jitter.longest_ns());
                let key = (config.rate, config.delay, bound, longest_jitter_ns);
                let group = self.groups.of(key);
                let link = DropTailLink::new(group, config, jitter);
                self.any_chance |= link.has_chance();
                SimulatedLink::DropTail(match parts.queue {
                    Queue::Red(queue) => link.with_red(queue.into_admission()),
                    _ => link,
                })
            }
            None => {
                let link = Link::new(parts.config, parts.queue)
                    .with_jitter(parts.jitter)
                    .with_conditions(&parts.conditions);
                SimulatedLink::Other(Box::new(link))
            }
        });
        self.names.add(&spec.name);
        self.waits.add_link(spec.measured);
        self.records.push(LinkRecord::default());
        if spec.sampled {
            self.sampled.push(self.all.len() - 1);
        }
        if extras.is_some() {
            self.extras.resize_with(self.all.len() - 1, || None);
            self.extras.push(extras);
        }
        if let Some(capture) = spec.capture {
            self.captured.resize(self.all.len() - 1, None);
            self.captured.push(Some(self.captures.add(capture)));
        }
    }

    /// Ends the adding of links, and gives them lanes if `lanes`. Returns the number of lanes.
    pub fn seal(&mut self, lanes: bool) -> usize {
        self.names.seal();
        self.groups.seal();
        if self.all.iter().any(SimulatedLink::reads_ip_fields) {
            self.routes.keep_ends();
        }
        if !self.extras.is_empty() {
            self.extras.resize_with(self.all.len(), || None);
        }
        if self.any_captured() {
            self.captured.resize(self.all.len(), None);
        }
        if !lanes {
            return 0;
        }
        let links = self.all.iter_mut();
        self.groups.give_lanes(links.filter_map(|link| match link {
            SimulatedLink::DropTail(link) => Some(link.group_mut()),
            SimulatedLink::Other(_) => None,
        }))
    }

    /// The smallest range of links that has all those which cannot compute on a packet's arrival when it comes out: a few of
    /// thousands mostly, described one after the other.
    pub fn others(&self) -> Range<usize> {
        let other = |link: &SimulatedLink| matches!(link, SimulatedLink::Other(_));
        let first = self.all.iter().position(other);
        let last = self.all.iter().rposition(other);
        first
            .zip(last)
            .map_or(0..0, |(first, last)| first..last + 1)
    }

    /// Returns true if the packets that come out of a link are written to a trace.
    pub fn is_captured(&self, index: usize) -> bool {
        self.capture_of(index).is_some()
    }

    /// A link's trace of packets.
    #[inline]
    pub fn capture_of(&self, index: usize) -> Option<TraceId> {
        self.captured.get(index).copied().flatten()
    }

    /// Returns true if any link has a trace of packets.
    #[inline]
    pub fn any_captured(&self) -> bool {
        !self.captured.is_empty()
    }

    /// Returns true if nothing but the next hop is to be done where a packet comes out of a link, whichever it is.
    #[inline]
    pub fn all_plain(&self) -> bool {
        self.extras.is_empty() && self.captured.is_empty()
    }

    /// Writes what is left of all traces of packets.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.captures.finish()
    }

    /// The drop-tail link with this number, and its group. Panics if it is another kind of link.
    #[inline(always)]
    pub fn drop_tail(&mut self, index: usize) -> (&mut DropTailLink, &mut LinkGroup) {
        let SimulatedLink::DropTail(link) = &mut self.all[index] else {
            unreachable!("link {index} does not tell when packets come out");
        };
        let group = &mut self.groups.all[link.group()];
        (link, group)
    }

    /// Longest time that a packet spends on a link, in nanoseconds; `u64::MAX` if unknown.
    pub fn longest_stay_ns(&self, index: usize) -> u64 {
        match &self.all[index] {
            SimulatedLink::DropTail(link) => {
                self.groups.all[link.group()].properties.longest_stay_ns()
            }
            SimulatedLink::Other(_) => u64::MAX,
        }
    }

    /// The name of a link.
    pub fn name(&self, index: usize) -> &str {
        self.names.get(index)
    }

    /// Waiting times of a link since the measurement began, in nanoseconds; `None` where they are not measured. `counters` are
    /// the link's at present.
    pub fn waiting(&self, index: usize, counters: &LinkCounters) -> Option<Histogram> {
        let mut waiting = self.waits.histogram(index)?;
        // The others did not wait: on most links these are most.
        let before = self.records[index].counters_before();
        let delivered = counters.delivered - before.delivered;
        waiting.record_times(0, delivered - waiting.count());
        Some(waiting)
    }

    /// A link's rate, or that of its policer; without either it takes no time to send.
    pub fn rate(&self, index: usize) -> Option<Rate> {
        match &self.all[index] {
            SimulatedLink::DropTail(link) => self.groups.all[link.group()].properties.rate(),
            SimulatedLink::Other(link) => link.nominal_rate(),
        }
    }
}

/// Packets in a link, and their bytes.
pub(crate) type Inside = (u64, u64);

impl SimulatedLink {
    /// The link's counters so far. A drop-tail link needs `inside`, the packets in it.
    pub fn counters(&self, inside: Inside) -> LinkCounters {
        match self {
            SimulatedLink::DropTail(link) => link.counters(inside),
            SimulatedLink::Other(link) => link.counters(),
        }
    }

    /// How much of the link and of its queue was in use from the beginning until `now`.
    pub fn usage(&mut self, now: Time) -> LinkUsage {
        match self {
            SimulatedLink::DropTail(link) => link.usage(now),
            SimulatedLink::Other(link) => link.usage(now),
        }
    }

    /// Returns true if the link's discipline reads fields of the IP header, which packets of the simulator do not carry.
    #[inline]
    pub fn reads_ip_fields(&self) -> bool {
        match self {
            SimulatedLink::DropTail(_) => false,
            SimulatedLink::Other(link) => link.discipline().reads_ip_fields(),
        }
    }

    /// Restarts the maximum of the queue from its length at `now`.
    fn restart_max_queue(&mut self, now: Time) {
        match self {
            SimulatedLink::DropTail(link) => link.restart_max_queue(now),
            SimulatedLink::Other(link) => link.restart_max_queue(now),
        }
    }

    /// Returns false only if [`queue`](SimulatedLink::queue) has been empty at all times so far.
    pub fn may_be_queued(&self) -> bool {
        match self {
            SimulatedLink::DropTail(link) => link.has_queued(),
            SimulatedLink::Other(_) => true,
        }
    }

    /// Packets waiting for transmission at `now`, and their bytes.
    pub fn queue(&mut self, now: Time) -> (usize, u64) {
        match self {
            SimulatedLink::DropTail(link) => link.queue(now),
            SimulatedLink::Other(link) => (link.queue_packets(now), link.queue_bytes(now)),
        }
    }
}

/// Measurements of a link, which are seldom read.
#[derive(Debug, Default)]
pub(crate) struct LinkRecord {
    /// `None` where nothing was dropped, and nothing had happened when the measurement began.
    seldom: Option<Box<Seldom>>,
}

/// Measurements that most links do not have. There may be hundreds of thousands of links.
#[derive(Debug, Default)]
struct Seldom {
    /// Drops since the measurement began.
    drops: DropCounters,
    /// Packets by colour since then, where any link has a marker.
    colours: ColourCounters,
    /// Counters and usage when the measurement began; zero if nothing had happened by then.
    before: (LinkCounters, LinkUsage),
}

/// Parts that few links have.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub marker: Option<Marker>,
    pub reordering: Option<ReorderingJitter<Packet>>,
    /// Events are written to the run's trace.
    pub recorded: bool,
}

impl LinkRecord {
    /// Counts a drop.
    pub fn count_drop(&mut self, cause: DropCause, class: u8) {
        let drops = &mut self.seldom.get_or_insert_default().drops;
        drops.count(cause, class);
    }

    /// The counters of packets by colour.
    #[inline]
    pub fn colours_mut(&mut self) -> &mut ColourCounters {
        &mut self.seldom.get_or_insert_default().colours
    }

    /// Packets by colour since the measurement began.
    pub fn colours(&self) -> ColourCounters {
        let seldom = self.seldom.as_ref();
        seldom.map_or_else(ColourCounters::default, |seldom| seldom.colours)
    }

    /// Drops by cause and class since the measurement began.
    pub fn drops(&self) -> DropCounters {
        let seldom = self.seldom.as_ref();
        seldom.map_or_else(DropCounters::default, |seldom| seldom.drops.clone())
    }

    /// The link's counters when the measurement began.
    pub fn counters_before(&self) -> LinkCounters {
        let seldom = self.seldom.as_ref();
        seldom.map_or_else(LinkCounters::default, |seldom| seldom.before.0)
    }

    /// The link's usage when the measurement began.
    pub fn usage_before(&self) -> LinkUsage {
        let seldom = self.seldom.as_ref();
        seldom.map_or_else(LinkUsage::default, |seldom| seldom.before.1)
    }

    /// Discards the measurements so far.
    pub fn begin_measurement(&mut self, now: Time, link: &mut SimulatedLink, inside: Inside) {
        let counters = link.counters(inside);
        let any = now > Time::ZERO || counters.offered > 0;
        self.seldom = any.then(|| {
            link.restart_max_queue(now);
            Box::new(Seldom {
                drops: DropCounters::default(),
                colours: ColourCounters::default(),
                before: (counters, link.usage(now)),
            })
        });
    }
}
