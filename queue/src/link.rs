// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: a queue discipline, serialisation at a rate, a propagation delay, random loss and jitter.

use std::collections::VecDeque;
use std::time::Duration;

use crate::impairments::Impairments;
use crate::transmission::{Transmission, Transmissions};
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
    /// The packet's length, kept beside it: a packet that is only moved as a whole moves faster than one that is looked
    /// into on the way.
    length: u64,
}

impl<P: Packet> Packet for Queued<P> {
    #[inline]
    fn length(&self) -> usize {
        self.length as usize
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
///
/// A network has many links that are idle when a packet comes, and most of their time goes into fetching them from memory.
/// So what such a packet needs stands in front, in two cache lines that processors fetch together; the discipline and
/// most counters are left alone until a packet has to wait.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Link<P: Packet, Q: QueueDiscipline<Queued<P>> = DropTail<Queued<P>>> {
    /// End of the last transmission begun, rounded down; `remainder / rate` nanoseconds more make it exact.
    free_at: Time,
    remainder: u64,
    delay_ns: u64,
    /// Time spent sending.
    busy_ns: u64,
    transmissions: Option<Transmissions>,
    /// Packets in transmission or in propagation, in the order they come out.
    pipe: VecDeque<Delivery<P>>,
    /// Packets offered, and their bytes.
    offered: u64,
    offered_bytes: u64,
    /// Packets in the discipline.
    waiting: u32,
    /// Up to this length packets need not be shown to the discipline while nothing waits.
    passes_unseen: u32,
    impairments: Option<Box<Impairments>>,
    // Here the second cache line ends.
    before: Transmission,
    discipline: Q,
    tally: Tally,
    config: LinkConfig,
}

/// What is counted when packets wait or are dropped.
#[derive(Debug, Default)]
struct Tally {
    dropped: [u64; DropCause::ALL.len()],
    dropped_bytes: u64,
    max_queue_packets: usize,
    max_queue_bytes: u64,
    max_queue_wait_ns: u64,
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
            free_at: Time::ZERO,
            remainder: 0,
            delay_ns: u64::try_from(config.delay.as_nanos()).unwrap_or(u64::MAX),
            busy_ns: 0,
            transmissions: config.rate.and_then(Transmissions::new),
            pipe: VecDeque::new(),
            offered: 0,
            offered_bytes: 0,
            waiting: 0,
            passes_unseen: discipline.passes_unseen(),
            impairments: Impairments::new(&config, Jitter::None),
            before: Transmission::default(),
            discipline,
            tally: Tally::default(),
            config,
        }
    }

    /// The same link with a random delay after the propagation. Packets stay in order: none comes out before one sent
    /// earlier.
    pub fn with_jitter(mut self, jitter: Jitter) -> Link<P, Q> {
        self.impairments = Impairments::new(&self.config, jitter);
        self
    }

    /// Takes in a packet arriving at `now`, or gives the packet back that was dropped: this one, or one that waited and
    /// was pushed out.
    ///
    /// `now` must not be earlier than in any call before.
    #[inline]
    pub fn offer(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.advance(now);
        let length = packet.length() as u64;
        self.offered += 1;
        self.offered_bytes += length;
        if let Some(impairments) = &mut self.impairments {
            if impairments.loses() {
                let cause = DropCause::RandomLoss;
                return Err(self.dropped(Dropped { packet, cause }));
            }
        }
        if self.free_at > now {
            return self.enqueue(now, packet, length);
        }
        // The link is idle and nothing waits.
        if length > u64::from(self.passes_unseen) {
            return self.pass(now, packet, length);
        }
        self.transmit(now, packet, length, 0);
        Ok(())
    }

    /// The discipline looks at a packet that need not wait.
    fn pass(&mut self, now: Time, packet: P, length: u64) -> Result<(), Dropped<P>> {
        let mut queued = Queued {
            packet,
            arrived: now,
            length,
        };
        let outcome = self.discipline.pass(now, &mut queued);
        let packet = queued.packet;
        match outcome {
            Ok(()) => {
                self.transmit(now, packet, length, 0);
                Ok(())
            }
            Err(cause) => Err(self.dropped(Dropped { packet, cause })),
        }
    }

    /// The link is busy: the discipline takes the packet in.
    fn enqueue(&mut self, now: Time, packet: P, length: u64) -> Result<(), Dropped<P>> {
        let queued = Queued {
            packet,
            arrived: now,
            length,
        };
        let outcome = self.discipline.enqueue(now, queued);
        let entered = u128::from(now.as_nanos());
        let mut bytes_entered = entered * u128::from(length);
        let outcome = match outcome {
            Ok(()) => {
                self.tally.queue_packet_ns = self.tally.queue_packet_ns.wrapping_sub(entered);
                Ok(())
            }
            Err(dropped) => {
                // One entered and one left, or the same did both.
                let left = entered * u128::from(dropped.packet.length);
                bytes_entered = bytes_entered.wrapping_sub(left);
                Err(self.dropped(Dropped {
                    packet: dropped.packet.packet,
                    cause: dropped.cause,
                }))
            }
        };
        self.tally.queue_byte_ns = self.tally.queue_byte_ns.wrapping_sub(bytes_entered);
        let (packets, bytes) = (self.discipline.packets(), self.discipline.bytes());
        self.waiting = packets as u32;
        self.tally.max_queue_packets = self.tally.max_queue_packets.max(packets);
        self.tally.max_queue_bytes = self.tally.max_queue_bytes.max(bytes);
        outcome
    }

    /// When [`Link::deliver`] should be called next; `None` while the link is empty.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        match self.pipe.front() {
            Some(first) => Some(first.due),
            None if self.waiting > 0 => Some(self.free_at),
            None => None,
        }
    }

    /// The next packet due at or before `now`, first in first out; `None` where there is none. Call until `None`.
    #[inline]
    pub fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.advance(now);
        let first = self.pipe.front()?;
        if first.due > now {
            return None;
        }
        self.pipe.pop_front()
    }

    /// The packet that will come out next, of those that are on their way.
    #[inline]
    pub fn first(&self) -> Option<&P> {
        self.pipe.front().map(|delivery| &delivery.packet)
    }

    /// What the link has seen so far.
    pub fn counters(&self) -> LinkCounters {
        let tally = &self.tally;
        let dropped = |cause: DropCause| tally.dropped[cause as usize];
        let gone = tally.dropped.iter().sum::<u64>() + self.inside() as u64;
        let in_pipe = self.pipe.iter().map(|first| first.packet.length() as u64);
        let bytes_gone = tally.dropped_bytes + self.discipline.bytes() + in_pipe.sum::<u64>();
        LinkCounters {
            offered: self.offered,
            offered_bytes: self.offered_bytes,
            delivered: self.offered - gone,
            delivered_bytes: self.offered_bytes - bytes_gone,
            queue_full: dropped(DropCause::QueueFull),
            random_loss: dropped(DropCause::RandomLoss),
            early_drop: dropped(DropCause::EarlyDrop),
            forced_drop: dropped(DropCause::ForcedDrop),
            pushed_out: dropped(DropCause::PushedOut),
            marked: self.discipline.marks(),
            max_queue_packets: tally.max_queue_packets,
            max_queue_bytes: tally.max_queue_bytes,
            max_queue_wait: Duration::from_nanos(tally.max_queue_wait_ns),
        }
    }

    /// How much of the link and of its queue was in use from the beginning until `now`.
    pub fn usage(&mut self, now: Time) -> LinkUsage {
        self.advance(now);
        let waiting = |sum: u128, number: u64| {
            sum.wrapping_add(u128::from(now.as_nanos()) * u128::from(number))
        };
        LinkUsage {
            until: now,
            // Nothing is sent ahead of time, so what lies after now is the rest of one transmission.
            busy: Duration::from_nanos(self.busy_ns) - (self.free_at - now),
            queue_packet_ns: waiting(self.tally.queue_packet_ns, self.discipline.packets() as u64),
            queue_byte_ns: waiting(self.tally.queue_byte_ns, self.discipline.bytes()),
        }
    }

    /// Packets offered but neither delivered nor dropped yet: waiting, in transmission or in propagation.
    pub fn inside(&self) -> usize {
        self.waiting as usize + self.pipe.len()
    }

    /// Packets waiting for transmission at `now`.
    pub fn queue_packets(&mut self, now: Time) -> usize {
        self.advance(now);
        self.discipline.packets()
    }

    /// Bytes waiting for transmission at `now`.
    pub fn queue_bytes(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.discipline.bytes()
    }

    /// What this link was made to be.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// The discipline, to look at.
    pub fn discipline(&self) -> &Q {
        &self.discipline
    }

    /// Begins every transmission that the virtual clock puts at or before `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.free_at <= now && (self.waiting > 0 || self.passes_unseen == 0) {
            self.begin_transmissions(now);
        }
    }

    fn begin_transmissions(&mut self, now: Time) {
        while self.free_at <= now {
            let start = self.free_at;
            let Some(queued) = self.discipline.dequeue(start) else {
                return;
            };
            self.waiting -= 1;
            let Queued {
                packet,
                arrived,
                length,
            } = queued;
            let left = u128::from(start.as_nanos());
            let waited_ns = start.as_nanos() - arrived.as_nanos();
            let tally = &mut self.tally;
            tally.queue_packet_ns = tally.queue_packet_ns.wrapping_add(left);
            tally.queue_byte_ns = tally.queue_byte_ns.wrapping_add(left * u128::from(length));
            tally.max_queue_wait_ns = tally.max_queue_wait_ns.max(waited_ns);
            self.transmit(start, packet, length, waited_ns);
        }
    }

    #[inline]
    fn transmit(&mut self, start: Time, packet: P, length: u64, waited_ns: u64) {
        if start > self.free_at {
            self.remainder = 0;
        }
        self.free_at = match &mut self.transmissions {
            Some(transmissions) => {
                let took_ns = transmissions.take(length, &mut self.remainder, &mut self.before);
                self.busy_ns += took_ns;
                start.plus_nanos(took_ns)
            }
            None => start,
        };
        let mut due = self.free_at.plus_nanos(self.delay_ns);
        if let Some(impairments) = &mut self.impairments {
            due = impairments.delay(due);
        }
        self.pipe.push_back(Delivery {
            packet,
            due,
            waited_ns,
        });
    }

    /// Counts a drop.
    #[cold]
    fn dropped(&mut self, dropped: Dropped<P>) -> Dropped<P> {
        self.tally.dropped[dropped.cause as usize] += 1;
        self.tally.dropped_bytes += dropped.packet.length() as u64;
        dropped
    }
}
