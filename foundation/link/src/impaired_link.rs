// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: queue, marker and impairments, composed as in the simulator, and their measurements.

use netnice_measure::{Delays, Histogram};
use netnice_queue::{
    ColourCounters, Delivery, Discipline, DisciplineError, DropCounters, Dropped, Link,
    LinkCounters, LinkDescription, LinkUsage, Marker, Queued, Rate, ReorderingJitter, Time,
};

use crate::packet::Frame;

/// A link with its queue, marker, loss and jitter: a direction of the emulated link, or a link of a scenario.
#[derive(Debug)]
pub struct ImpairedLink {
    link: Link<Frame, Discipline<Queued<Frame>>>,
    marker: Option<Marker>,
    reordering: Option<ReorderingJitter<Frame>>,
    drops: DropCounters,
    colours: ColourCounters,
    waiting: Histogram,
    baseline: LinkCounters,
    usage_before: LinkUsage,
}

impl ImpairedLink {
    /// Creates the link. Its random draws are those of the simulator for a link of this name with this seed.
    ///
    /// # Errors
    /// If the link's queue cannot be made.
    pub fn new(link: &LinkDescription, seed: u64) -> Result<ImpairedLink, DisciplineError> {
        let setup = link.setup(seed)?;
        let (parts, reordering) = setup.seeded(link.streams(seed));
        Ok(ImpairedLink {
            link: Link::new(parts.config, parts.queue)
                .with_jitter(parts.jitter)
                .with_conditions(&parts.conditions),
            marker: parts.marker,
            reordering,
            drops: DropCounters::default(),
            colours: ColourCounters::default(),
            waiting: Histogram::default(),
            baseline: LinkCounters::default(),
            usage_before: LinkUsage::default(),
        })
    }

    /// Takes in a packet; the error is the packet that was dropped.
    pub fn offer(&mut self, now: Time, mut frame: Frame) -> Result<(), Dropped<Frame>> {
        if let Some(marker) = &mut self.marker {
            marker.tag(now, &mut frame);
        }
        self.colours.count_arrival(&frame);
        let offered = self.link.offer(now, frame);
        offered.inspect_err(|dropped| self.count_drop(dropped))
    }

    /// Returns the next packet that the queue dropped after it had admitted it. Call it after [`ImpairedLink::offer`] and
    /// [`ImpairedLink::deliver`] until it returns `None`.
    pub fn take_dropped(&mut self) -> Option<Dropped<Frame>> {
        let dropped = self.link.take_dropped()?;
        self.count_drop(&dropped);
        Some(dropped)
    }

    fn count_drop(&mut self, dropped: &Dropped<Frame>) {
        self.colours.count_drop(&dropped.packet);
        self.drops.count(dropped.cause, dropped.packet.class);
    }

    /// Returns the time at which to call [`ImpairedLink::deliver`] next.
    pub fn next_event(&self) -> Option<Time> {
        let held = self
            .reordering
            .as_ref()
            .and_then(ReorderingJitter::next_due);
        [self.link.next_event(), held].into_iter().flatten().min()
    }

    /// Returns the next packet due at or before `now`, and the time at which it was due. Calls `seen` with each packet that
    /// comes out of the link, before it is reordered.
    pub fn deliver(
        &mut self,
        now: Time,
        mut seen: impl FnMut(&Delivery<Frame>),
    ) -> Option<(Frame, Time)> {
        while let Some(delivery) = self.link.deliver(now) {
            self.waiting.record(delivery.waited_ns);
            seen(&delivery);
            match &mut self.reordering {
                None => return Some((delivery.packet, delivery.due)),
                Some(reordering) => {
                    reordering.hold(delivery.due, delivery.packet);
                }
            }
        }
        let reordering = self.reordering.as_mut()?;
        reordering.next_due().filter(|&due| due <= now)?;
        reordering.release().map(|(due, frame)| (frame, due))
    }

    /// Counts since the link began.
    pub fn counters(&self) -> LinkCounters {
        self.link.counters()
    }

    /// Returns the number of packets that entered and have not left.
    pub fn inside(&self) -> usize {
        let held = self.reordering.as_ref();
        self.link.inside() + held.map_or(0, ReorderingJitter::held)
    }

    /// Returns the packets waiting, and the time in seconds that sending their bytes takes.
    pub fn queue(&mut self, now: Time) -> (f64, f64) {
        let bits = self.link.queue_bytes(now) as f64 * 8.0;
        let rate = self.link.config().rate;
        let delay = rate.map_or(0.0, |rate| bits / rate.as_f64());
        (self.link.queue_packets(now) as f64, delay)
    }

    /// Resets what was measured so far.
    pub fn begin_measurement(&mut self, now: Time) {
        self.usage_before = self.link.usage(now);
        self.baseline = self.link.counters();
        self.drops = DropCounters::default();
        self.colours = ColourCounters::default();
        self.waiting = Histogram::default();
    }

    /// The figures since then; `None` of a link that has neither rate nor policer or that no packet has passed.
    pub fn measured(&mut self, now: Time) -> Option<LinkFigures> {
        let rate = self.link.nominal_rate()?;
        let usage = self.link.usage(now);
        let counters = self.link.counters();
        if counters.offered == 0 {
            return None;
        }
        Some(LinkFigures {
            rate,
            utilisation: usage.utilisation_since(&self.usage_before),
            arrived: counters.offered - self.baseline.offered,
            delivered: counters.delivered - self.baseline.delivered,
            marked: counters.marked - self.baseline.marked,
            drops: self.drops.clone(),
            colours: self.colours,
            mean_packets: usage.mean_packets_since(&self.usage_before),
            mean_bytes: usage.mean_bytes_since(&self.usage_before),
            max_packets: counters.max_queue_packets as u64,
            waiting: self.waiting.delays(),
        })
    }
}

/// Figures of one direction of a link between the begin of a measurement and its end.
#[derive(Debug, Clone)]
pub struct LinkFigures {
    /// Rate, or that of the policer.
    pub rate: Rate,
    /// Share of the time in which the link sent, 0 to 1.
    pub utilisation: f64,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that left.
    pub delivered: u64,
    /// Packets marked by the queue.
    pub marked: u64,
    /// Packets dropped, by cause and class.
    pub drops: DropCounters,
    /// Packets by colour.
    pub colours: ColourCounters,
    /// Mean length of the queue in packets.
    pub mean_packets: f64,
    /// Mean length of the queue in bytes.
    pub mean_bytes: f64,
    /// Longest queue since the link began, in packets.
    pub max_packets: u64,
    /// Times that packets waited in the queue.
    pub waiting: Delays,
}
