// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: a queue discipline, serialisation at a rate, a propagation delay, random loss and jitter.

use std::collections::VecDeque;
use std::time::Duration;

use crate::disciplines::DropTail;
use crate::links::conditions::{Conditions, LinkConditions, transmission_ns};
use crate::links::config::LinkConfig;
use crate::links::counters::{LinkCounters, LinkUsage};
use crate::links::impairments::{InOrderJitter, Jitter, RandomLoss};
use crate::queue_discipline::{Colour, DropCause, Dropped, IpFields, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::Rate;

/// A packet that has come out of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// Time at which the packet comes out in virtual time; a late driver delivers it later.
    pub due: Time,
    /// Time between arrival and start of transmission, in nanoseconds.
    pub waited_ns: u64,
}

/// A packet with its arrival time, as the discipline holds it.
#[derive(Debug, Clone)]
pub struct Queued<P> {
    packet: P,
    arrived: Time,
    ip_fields: IpFields,
}

impl<P: Packet> Packet for Queued<P> {
    #[inline]
    fn length(&self) -> usize {
        self.packet.length()
    }

    fn flow(&self) -> u64 {
        self.packet.flow()
    }

    fn class(&self) -> u8 {
        self.packet.class()
    }

    fn ecn_capable(&self) -> bool {
        self.packet.ecn_capable()
    }

    fn scalable(&self) -> bool {
        self.packet.scalable()
    }

    fn mark_congestion_experienced(&mut self) {
        self.packet.mark_congestion_experienced();
    }

    fn in_profile(&self) -> bool {
        self.packet.in_profile()
    }

    fn set_in_profile(&mut self, in_profile: bool) {
        self.packet.set_in_profile(in_profile);
    }

    fn colour(&self) -> Colour {
        self.packet.colour()
    }

    fn set_colour(&mut self, colour: Colour) {
        self.packet.set_colour(colour);
    }

    fn is_tagged(&self) -> bool {
        self.packet.is_tagged()
    }

    fn ip_fields(&self) -> IpFields {
        self.ip_fields
    }
}

/// One direction of a link, computed on a virtual clock.
///
/// Transmission begins at the later of the packet's arrival and the end of the previous transmission, both in virtual
/// time: a driver that calls late delivers late, but a backlogged link still sends at exactly its rate.
#[derive(Debug)]
pub struct Link<P: Packet, Q: QueueDiscipline<Queued<P>> = DropTail<Queued<P>>> {
    config: LinkConfig,
    delay_ns: u64,
    discipline: Q,
    /// Packets that have left the discipline, in the order in which they come out.
    pipe: VecDeque<Delivery<P>>,
    pipe_bytes: u64,
    /// End of the last transmission, rounded down; adding `remainder / rate` nanoseconds makes it exact.
    free_at: Time,
    remainder: u64,
    loss: Option<RandomLoss>,
    jitter: Option<InOrderJitter>,
    conditions: Option<Box<Conditions>>,
    /// Busy time of the transmission that ends at `free_at` or, with conditions, before.
    last_took_ns: u64,
    /// End of the last transmission; differs from `free_at` under conditions only.
    last_end: Time,
    /// Packets that the discipline dropped after it had admitted them, until the driver takes them.
    dropped: VecDeque<Dropped<P>>,
    /// Every counter except `delivered`, `delivered_bytes` and `marked`, which `counters()` derives.
    counters: LinkCounters,
    dropped_bytes: u64,
    /// Time spent transmitting up to `free_at`, in nanoseconds.
    busy_ns: u64,
    /// Sum of the times at which packets left the queue, minus those at which they entered it, in wrapping arithmetic:
    /// adding the packets waiting times `now` gives the integral of the queue length up to `now`.
    queue_packet_ns: u128,
    /// As `queue_packet_ns`, with each time multiplied by the packet's bytes.
    queue_byte_ns: u128,
}

impl<P: Packet, Q: QueueDiscipline<Queued<P>>> Link<P, Q> {
    /// Creates an empty link whose packets wait in `discipline`.
    pub fn new(config: LinkConfig, discipline: Q) -> Link<P, Q> {
        Link {
            delay_ns: config.delay_ns(),
            discipline,
            pipe: VecDeque::new(),
            pipe_bytes: 0,
            free_at: Time::ZERO,
            remainder: 0,
            loss: RandomLoss::new(&config),
            jitter: None,
            conditions: None,
            last_took_ns: 0,
            last_end: Time::ZERO,
            dropped: VecDeque::new(),
            counters: LinkCounters::default(),
            dropped_bytes: 0,
            busy_ns: 0,
            queue_packet_ns: 0,
            queue_byte_ns: 0,
            config,
        }
    }

    /// Adds a random delay after propagation. Packets stay in order: none comes out before an earlier one.
    pub fn with_jitter(mut self, jitter: Jitter) -> Link<P, Q> {
        self.jitter = InOrderJitter::new(jitter, self.config.seed);
        self
    }

    /// Adds a policer, a shaper, a delivery trace and the like.
    pub fn with_conditions(mut self, conditions: &LinkConditions) -> Link<P, Q> {
        self.conditions = Conditions::new(conditions, &self.config).map(Box::new);
        if conditions
            .changes
            .iter()
            .any(|change| change.loss.is_some())
        {
            self.loss
                .get_or_insert_with(|| RandomLoss::from_seed(&self.config));
        }
        self
    }

    /// The rate of the link, or of its policer if the link has none.
    pub fn nominal_rate(&self) -> Option<Rate> {
        let policed = || self.conditions.as_ref()?.policed_rate();
        self.config.rate.or_else(policed)
    }

    /// Accepts a packet that arrives at `now`. An error returns the dropped packet: this one, or a waiting one that was
    /// pushed out. Other packets may have been dropped: call [`Link::take_dropped`] afterwards.
    ///
    /// `now` must not be earlier than in any previous call.
    pub fn offer(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let ip_fields = packet.ip_fields();
        self.offer_with(now, packet, ip_fields)
    }

    /// As [`Link::offer`], for a packet that does not carry the fields of its IP header. They need to be given only if the
    /// discipline reads them ([`QueueDiscipline::reads_ip_fields`]).
    pub fn offer_with(
        &mut self,
        now: Time,
        packet: P,
        ip_fields: IpFields,
    ) -> Result<(), Dropped<P>> {
        let length = packet.length() as u64;
        self.counters.offered += 1;
        self.counters.offered_bytes += length;
        self.begin_transmissions(now);
        if let (Some(conditions), Some(loss)) = (&mut self.conditions, &mut self.loss) {
            if let Some(fraction) = conditions.changed_loss(now) {
                loss.set(fraction);
            }
        }
        if self.loss.as_mut().is_some_and(RandomLoss::strikes) {
            let cause = DropCause::RandomLoss;
            return Err(self.dropped(Dropped { packet, cause }));
        }
        if let Some(conditions) = &mut self.conditions {
            if let Some(cause) = conditions.refuse(now, length) {
                return Err(self.dropped(Dropped { packet, cause }));
            }
            if self.free_at <= now {
                let available = conditions.available(now);
                // An idle link keeps `free_at` in the past, from which idle time is counted.
                if available > now {
                    self.free_at = available;
                }
            }
        }
        // An idle link sends the packet at once: the packet passes through the discipline but does not wait.
        let idle = self.free_at <= now;
        let arrived = now;
        if idle && self.discipline.lets_through() {
            self.transmit(now, arrived, packet);
            return Ok(());
        }
        let queued = Queued {
            packet,
            arrived,
            ip_fields,
        };
        let outcome = self.discipline.enqueue(now, queued);
        self.enters_queue(now, length);
        if idle {
            self.begin_transmission(now);
        } else {
            let counters = &mut self.counters;
            let (packets, bytes) = (self.discipline.packets(), self.discipline.bytes());
            counters.max_queue_packets = counters.max_queue_packets.max(packets);
            counters.max_queue_bytes = counters.max_queue_bytes.max(bytes);
        }
        self.collect_dropped(now);
        outcome.map_err(|Dropped { packet, cause }| {
            self.leaves_queue(now, packet.length() as u64);
            let packet = packet.packet;
            self.dropped(Dropped { packet, cause })
        })
    }

    /// Returns when to call [`Link::deliver`] next; `None` while the link is empty.
    pub fn next_event(&self) -> Option<Time> {
        match self.pipe.front() {
            Some(first) => Some(first.due),
            None if self.discipline.packets() > 0 => Some(self.free_at),
            None => None,
        }
    }

    /// Returns the next packet due at or before `now`, in order; `None` if there is none. Call it until it returns
    /// `None`.
    pub fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.begin_transmissions(now);
        self.pipe.front().filter(|first| first.due <= now)?;
        self.take_known_delivery()
    }

    /// Returns the packet that comes out of the link after `before` others; `None` if there are no more in transmission or in
    /// propagation.
    pub fn packet_behind(&self, before: usize) -> Option<&P> {
        self.pipe.get(before).map(|delivery| &delivery.packet)
    }

    /// Returns the packet that comes out of the link next, once its transmission has begun: when it comes out is known.
    #[inline]
    pub fn known_delivery(&self) -> Option<&Delivery<P>> {
        self.pipe.front()
    }

    /// Removes that packet before it is due. [`Link::counters`] counts it as delivered from now on.
    #[inline]
    pub fn take_known_delivery(&mut self) -> Option<Delivery<P>> {
        let delivery = self.pipe.pop_front()?;
        self.pipe_bytes -= delivery.packet.length() as u64;
        Some(delivery)
    }

    /// Returns a time before which no packet comes out, the latest that is known; `None` while the link is empty. A driver that calls
    /// [`Link::deliver`] then, and not at [`Link::next_event`] already, misses no packet: transmissions begin in virtual time. Packets
    /// that the discipline drops meanwhile are known later.
    pub fn earliest_delivery(&self) -> Option<Time> {
        if self.pipe.is_empty() && self.computes_departures() {
            let waits = self.discipline.packets() > 0;
            return waits.then(|| self.free_at.plus_nanos(self.delay_ns));
        }
        self.next_event()
    }

    /// Returns true if each packet comes out a transmission time and the delay after its transmission has begun: there is no jitter, and
    /// there are no conditions.
    pub fn computes_departures(&self) -> bool {
        self.jitter.is_none() && self.conditions.is_none()
    }

    /// Returns the next packet that the discipline dropped after it had admitted it; `None` if there is none. Call it
    /// after [`Link::offer`] and [`Link::deliver`] until it returns `None`. Until then the packet counts as inside.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<Dropped<P>> {
        let dropped = self.dropped.pop_front()?;
        Some(self.dropped(dropped))
    }

    /// The link's configuration.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// The queue discipline.
    pub fn discipline(&self) -> &Q {
        &self.discipline
    }

    /// Counters of the link since its start.
    pub fn counters(&self) -> LinkCounters {
        let gone = self.counters.dropped() + self.inside() as u64;
        let untaken: u64 = self
            .dropped
            .iter()
            .map(|drop| drop.packet.length() as u64)
            .sum();
        let bytes_gone = self.dropped_bytes + untaken + self.discipline.bytes() + self.pipe_bytes;
        LinkCounters {
            delivered: self.counters.offered - gone,
            delivered_bytes: self.counters.offered_bytes - bytes_gone,
            marked: self.discipline.marks(),
            ..self.counters
        }
    }

    /// Busy time and queue length of the link, integrated from the start until `now`.
    pub fn usage(&mut self, now: Time) -> LinkUsage {
        self.begin_transmissions(now);
        let waiting = |sum: u128, number: u64| {
            sum.wrapping_add(u128::from(now.as_nanos()) * u128::from(number))
        };
        LinkUsage {
            until: now,
            busy: Duration::from_nanos(self.busy_ns) - self.busy_after(now),
            queue_packet_ns: waiting(self.queue_packet_ns, self.discipline.packets() as u64),
            queue_byte_ns: waiting(self.queue_byte_ns, self.discipline.bytes()),
        }
    }

    /// Packets offered but neither delivered nor dropped yet: waiting, in transmission or in propagation, or dropped and
    /// not yet taken.
    pub fn inside(&self) -> usize {
        self.discipline.packets() + self.pipe.len() + self.dropped.len()
    }

    /// Packets waiting for transmission at `now`.
    pub fn queue_packets(&mut self, now: Time) -> usize {
        self.begin_transmissions(now);
        self.discipline.packets()
    }

    /// Bytes waiting for transmission at `now`.
    pub fn queue_bytes(&mut self, now: Time) -> u64 {
        self.begin_transmissions(now);
        self.discipline.bytes()
    }

    /// Resets the largest queue length to the length at `now`.
    pub fn restart_max_queue(&mut self, now: Time) {
        self.counters.max_queue_packets = self.queue_packets(now);
        self.counters.max_queue_bytes = self.queue_bytes(now);
    }

    /// The part of `busy_ns` after `now`: that of the last transmission.
    fn busy_after(&self, now: Time) -> Duration {
        match self.conditions {
            // The link is busy without a pause until `free_at`.
            None => self.free_at - now,
            Some(_) => (self.last_end - now).min(Duration::from_nanos(self.last_took_ns)),
        }
    }

    /// Begins every transmission that starts at or before `now` in virtual time.
    fn begin_transmissions(&mut self, now: Time) {
        while self.free_at <= now
            && (self.wait_for_service() || self.begin_transmission(self.free_at))
        {}
    }

    /// Moves `free_at` to when conditions let a waiting packet begin its transmission; returns true if that is later.
    #[inline]
    fn wait_for_service(&mut self) -> bool {
        let Some(conditions) = &mut self.conditions else {
            return false;
        };
        if self.discipline.packets() == 0 {
            return false;
        }
        let available = conditions.available(self.free_at);
        let later = available > self.free_at;
        self.free_at = available;
        later
    }

    /// Begins to transmit the packet that the discipline selects at `start`; returns false if none waits.
    fn begin_transmission(&mut self, start: Time) -> bool {
        let next = self.discipline.dequeue(start);
        self.collect_dropped(start);
        let Some(Queued {
            packet, arrived, ..
        }) = next
        else {
            return false;
        };
        self.leaves_queue(start, packet.length() as u64);
        self.transmit(start, arrived, packet);
        true
    }

    /// Begins to transmit a packet that arrived at `arrived` at `start`.
    #[inline]
    fn transmit(&mut self, start: Time, arrived: Time, packet: P) {
        if self.conditions.is_some() {
            return self.transmit_under_conditions(start, arrived, packet);
        }
        let length = packet.length() as u64;
        let waited_ns = start.as_nanos() - arrived.as_nanos();
        self.counters.max_queue_wait = self
            .counters
            .max_queue_wait
            .max(Duration::from_nanos(waited_ns));
        if start > self.free_at {
            self.remainder = 0;
        }
        let took_ns = self.transmission_ns(length);
        self.busy_ns += took_ns;
        self.free_at = start.plus_nanos(took_ns);
        let mut due = self.free_at.plus_nanos(self.delay_ns);
        if let Some(jitter) = &mut self.jitter {
            due = jitter.delay(due);
        }
        self.pipe_bytes += length;
        self.pipe.push_back(Delivery {
            packet,
            due,
            waited_ns,
        });
    }

    /// Nanoseconds to send `length` bytes, rounded down. The fraction carries over to the next packet, so that a
    /// backlogged link does not drift.
    fn transmission_ns(&mut self, length: u64) -> u64 {
        transmission_ns(self.config.rate, length, &mut self.remainder)
    }

    #[inline(never)]
    fn transmit_under_conditions(&mut self, start: Time, arrived: Time, packet: P) {
        let Some(conditions) = &mut self.conditions else {
            return;
        };
        let length = packet.length() as u64;
        if start > self.free_at {
            self.remainder = 0;
        }
        let service = conditions.serve(start, length, &mut self.remainder);
        let waited_ns = service.begins.as_nanos() - arrived.as_nanos();
        let waited = Duration::from_nanos(waited_ns);
        self.counters.max_queue_wait = self.counters.max_queue_wait.max(waited);
        self.busy_ns += service.took_ns;
        self.last_took_ns = service.took_ns;
        self.last_end = service.ends;
        self.free_at = service.free_at;
        let mut due = service.ends.plus_nanos(service.delay_ns);
        if let Some(jitter) = &mut self.jitter {
            due = jitter.delay(due);
        }
        let due = conditions.due(due);
        self.pipe_bytes += length;
        self.pipe.push_back(Delivery {
            packet,
            due,
            waited_ns,
        });
    }

    /// Takes over the packets that the discipline has dropped at `now`.
    #[inline]
    fn collect_dropped(&mut self, now: Time) {
        while let Some(Dropped { packet, cause }) = self.discipline.take_dropped() {
            self.leaves_queue(now, packet.length() as u64);
            let packet = packet.packet;
            self.dropped.push_back(Dropped { packet, cause });
        }
    }

    fn enters_queue(&mut self, now: Time, length: u64) {
        let now_ns = u128::from(now.as_nanos());
        self.queue_packet_ns = self.queue_packet_ns.wrapping_sub(now_ns);
        self.queue_byte_ns = self.queue_byte_ns.wrapping_sub(now_ns * u128::from(length));
    }

    fn leaves_queue(&mut self, now: Time, length: u64) {
        let now_ns = u128::from(now.as_nanos());
        self.queue_packet_ns = self.queue_packet_ns.wrapping_add(now_ns);
        self.queue_byte_ns = self.queue_byte_ns.wrapping_add(now_ns * u128::from(length));
    }

    /// Counts a drop.
    fn dropped(&mut self, dropped: Dropped<P>) -> Dropped<P> {
        self.counters.count_drop(dropped.cause);
        self.dropped_bytes += dropped.packet.length() as u64;
        dropped
    }
}
