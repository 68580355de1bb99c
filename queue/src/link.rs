// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: a queue discipline, serialisation at a rate, a propagation delay, random loss and jitter.

use std::collections::VecDeque;
use std::time::Duration;

use crate::impairments::{InOrderJitter, RandomLoss};
use crate::{
    DropCause, DropTail, Dropped, Jitter, LinkCounters, LinkUsage, LossFraction, Packet,
    QueueDiscipline, Rate, Time,
};

/// What a link does to the packets that its queue lets through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkConfig {
    /// Rate at which packets are put on the link; `None` is a link that takes no time to send and so never queues.
    pub rate: Option<Rate>,
    /// One-way propagation delay, after the last bit is sent.
    pub delay: Duration,
    /// Random loss of arriving packets, before the queue: a lost packet takes neither room nor link time. The fate of
    /// the n-th packet offered depends on the seed and n only, never on timing.
    pub loss: LossFraction,
    /// Seed of this direction's own random streams: one for loss, one for jitter.
    pub seed: u64,
}

impl LinkConfig {
    /// The propagation delay in nanoseconds, 584 years at most.
    pub fn delay_ns(&self) -> u64 {
        u64::try_from(self.delay.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A packet that has come out of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// When it should have come out; later than this by the driver's lateness.
    pub due: Time,
    /// How long it waited before its transmission began, in nanoseconds.
    pub waited_ns: u64,
}

/// A packet with its arrival, as the discipline holds it.
#[derive(Debug, Clone)]
pub struct Queued<P> {
    packet: P,
    arrived: Time,
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

    fn mark_congestion_experienced(&mut self) {
        self.packet.mark_congestion_experienced();
    }

    fn in_profile(&self) -> bool {
        self.packet.in_profile()
    }

    fn set_in_profile(&mut self, in_profile: bool) {
        self.packet.set_in_profile(in_profile);
    }
}

/// One direction of a link, computed on a virtual clock.
///
/// Transmission begins at the later of the packet's arrival and the end of the transmission before it, both in virtual
/// time: a driver that calls late delivers late, but a backlogged link still has exactly its rate.
#[derive(Debug)]
pub struct Link<P: Packet, Q: QueueDiscipline<Queued<P>> = DropTail<Queued<P>>> {
    config: LinkConfig,
    delay_ns: u64,
    discipline: Q,
    /// Packets that have left the discipline, in the order in which they come out, and their bytes.
    pipe: VecDeque<Delivery<P>>,
    pipe_bytes: u64,
    /// End of the last transmission, rounded down; `remainder / rate` nanoseconds more make it exact.
    free_at: Time,
    remainder: u64,
    loss: Option<RandomLoss>,
    jitter: Option<InOrderJitter>,
    /// All but `delivered`, `delivered_bytes` and `marked`, which follow from the rest.
    counters: LinkCounters,
    dropped_bytes: u64,
    /// Time spent sending, up to `free_at`.
    busy_ns: u64,
    /// The sum of the times at which packets left the queue, less those at which they entered it, in wrapping
    /// arithmetic: with the packets waiting times now it is the integral of the queue's length up to now.
    queue_packet_ns: u128,
    /// The same, each time multiplied by the packet's bytes.
    queue_byte_ns: u128,
}

impl<P: Packet, Q: QueueDiscipline<Queued<P>>> Link<P, Q> {
    /// An empty link whose packets wait in `discipline`.
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
            counters: LinkCounters::default(),
            dropped_bytes: 0,
            busy_ns: 0,
            queue_packet_ns: 0,
            queue_byte_ns: 0,
            config,
        }
    }

    /// The same link with a random delay after the propagation. Packets stay in order: none comes out before one sent
    /// earlier.
    pub fn with_jitter(mut self, jitter: Jitter) -> Link<P, Q> {
        self.jitter = InOrderJitter::new(jitter, self.config.seed);
        self
    }

    /// Takes in a packet arriving at `now`, or gives the packet back that was dropped: this one, or one that waited and
    /// was pushed out.
    ///
    /// `now` must not be earlier than in any call before.
    pub fn offer(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let length = packet.length() as u64;
        self.counters.offered += 1;
        self.counters.offered_bytes += length;
        self.begin_transmissions(now);
        if self.loss.as_mut().is_some_and(RandomLoss::strikes) {
            let cause = DropCause::RandomLoss;
            return Err(self.dropped(Dropped { packet, cause }));
        }
        // An idle link sends the packet at once: it passes through the discipline, but never waits.
        let idle = self.free_at <= now;
        let arrived = now;
        let outcome = self.discipline.enqueue(now, Queued { packet, arrived });
        self.enters_queue(now, length);
        if idle {
            self.begin_transmission(now);
        } else {
            let counters = &mut self.counters;
            let (packets, bytes) = (self.discipline.packets(), self.discipline.bytes());
            counters.max_queue_packets = counters.max_queue_packets.max(packets);
            counters.max_queue_bytes = counters.max_queue_bytes.max(bytes);
        }
        outcome.map_err(|Dropped { packet, cause }| {
            self.leaves_queue(now, packet.length() as u64);
            let packet = packet.packet;
            self.dropped(Dropped { packet, cause })
        })
    }

    /// When [`Link::deliver`] should be called next; `None` while the link is empty.
    pub fn next_event(&self) -> Option<Time> {
        match self.pipe.front() {
            Some(first) => Some(first.due),
            None if self.discipline.packets() > 0 => Some(self.free_at),
            None => None,
        }
    }

    /// The next packet due at or before `now`, first in first out; `None` where there is none. Call until `None`.
    pub fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.begin_transmissions(now);
        self.pipe.front().filter(|first| first.due <= now)?;
        let delivery = self.pipe.pop_front()?;
        self.pipe_bytes -= delivery.packet.length() as u64;
        Some(delivery)
    }

    /// The link's configuration.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// The discipline, to look at.
    pub fn discipline(&self) -> &Q {
        &self.discipline
    }

    /// What the link has seen so far.
    pub fn counters(&self) -> LinkCounters {
        let gone = self.counters.dropped() + self.inside() as u64;
        let bytes_gone = self.dropped_bytes + self.discipline.bytes() + self.pipe_bytes;
        LinkCounters {
            delivered: self.counters.offered - gone,
            delivered_bytes: self.counters.offered_bytes - bytes_gone,
            marked: self.discipline.marks(),
            ..self.counters
        }
    }

    /// How much of the link and of its queue was in use from the beginning until `now`.
    pub fn usage(&mut self, now: Time) -> LinkUsage {
        self.begin_transmissions(now);
        let waiting = |sum: u128, number: u64| {
            sum.wrapping_add(u128::from(now.as_nanos()) * u128::from(number))
        };
        LinkUsage {
            until: now,
            // The link is busy without a pause until `free_at`; what lies after now was counted ahead.
            busy: Duration::from_nanos(self.busy_ns) - (self.free_at - now),
            queue_packet_ns: waiting(self.queue_packet_ns, self.discipline.packets() as u64),
            queue_byte_ns: waiting(self.queue_byte_ns, self.discipline.bytes()),
        }
    }

    /// Packets offered but neither delivered nor dropped yet: waiting, in transmission or in propagation.
    pub fn inside(&self) -> usize {
        self.discipline.packets() + self.pipe.len()
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

    /// The longest queue so far is the one at `now`.
    pub fn restart_max_queue(&mut self, now: Time) {
        self.counters.max_queue_packets = self.queue_packets(now);
        self.counters.max_queue_bytes = self.queue_bytes(now);
    }

    /// Lets the discipline begin every transmission that the virtual clock puts at or before `now`.
    fn begin_transmissions(&mut self, now: Time) {
        while self.free_at <= now && self.begin_transmission(self.free_at) {}
    }

    /// Sends the packet that the discipline chooses at `start`, if any waits.
    fn begin_transmission(&mut self, start: Time) -> bool {
        let Some(Queued { packet, arrived }) = self.discipline.dequeue(start) else {
            return false;
        };
        let length = packet.length() as u64;
        self.leaves_queue(start, length);
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
        true
    }

    /// Nanoseconds to send `length` bytes, rounded down. What is rounded off is kept for the next packet, so that a
    /// backlogged link drifts by no nanosecond.
    fn transmission_ns(&mut self, length: u64) -> u64 {
        let Some(rate) = self.config.rate else {
            return 0;
        };
        let scaled = length * 8_000_000_000 + self.remainder;
        self.remainder = scaled % rate.bits_per_second();
        scaled / rate.bits_per_second()
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
