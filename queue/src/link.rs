// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: a queue discipline, serialisation at a rate, a propagation delay, random loss and jitter.

mod account;
mod pipe;
mod tail;

use std::mem;
use std::time::Duration;

use pipe::Pipe;
use tail::Tail;

use crate::impairments::Impairments;
use crate::transmission::{Transmission, Transmissions};
use crate::{
    DropCause, DropTail, Dropped, Jitter, LossFraction, Packet, QueueDiscipline, Rate, Time,
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
/// So what such a packet needs stands in front, with room for one packet, in two cache lines that processors fetch
/// together; the rest is looked at when a second packet comes, or one has to wait.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Link<P: Packet, Q: QueueDiscipline<Queued<P>> = DropTail<Queued<P>>> {
    /// End of the last transmission known, rounded down; `remainder / rate` nanoseconds more make it exact.
    free_at: Time,
    remainder: u64,
    /// The packet that comes out next.
    first: Option<Delivery<P>>,
    /// Packets that have left the discipline, `first` among them.
    in_pipe: u32,
    /// Packets in the discipline.
    waiting: u32,
    /// Up to this length packets need not be shown to the discipline, nor to chance, while nothing waits.
    passes_unseen: u32,
    /// Of the packet sent last.
    length: u32,
    // Here a line ends for packets of 16 bytes.
    delay_ns: u64,
    transmissions: Transmissions,
    /// Time spent sending, up to `free_at`.
    busy_ns: u64,
    /// Packets offered, and their bytes.
    offered: u64,
    offered_bytes: u64,
    rest: Box<Rest<P, Q>>,
}

/// What a packet does not need that finds the link empty.
#[derive(Debug)]
#[repr(C)]
struct Rest<P, Q> {
    /// Packets after the first, in the order they come out.
    pipe: Pipe<Delivery<P>>,
    /// Where the queue is such that departures can be told on arrival: these packets are in the pipe, and the discipline
    /// is not used.
    tail: Option<Tail>,
    impairments: Option<Box<Impairments>>,
    before: Transmission,
    discipline: Q,
    tally: Tally,
    config: LinkConfig,
}

/// What is counted when packets wait or are dropped; in front what is counted of those that wait.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Tally {
    pub max_queue_packets: usize,
    pub max_queue_bytes: u64,
    /// The sum of the times at which packets left the queue, less those at which they entered it, in wrapping
    /// arithmetic: with the packets waiting times now it is the integral of the queue's length up to now. Of packets
    /// whose departure was told on arrival both times are in it from then on.
    pub queue_packet_ns: u128,
    /// The same, each time multiplied by the packet's bytes.
    pub queue_byte_ns: u128,
    pub max_queue_wait_ns: u64,

    pub dropped_bytes: u64,
    pub dropped: [u64; DropCause::ALL.len()],
}

impl Tally {
    /// Bytes in front that are of packets that wait.
    pub const OF_WAITING: usize = std::mem::offset_of!(Tally, dropped_bytes);
}

impl<P: Packet, Q: QueueDiscipline<Queued<P>>> Link<P, Q> {
    /// An empty link whose packets wait in `discipline`.
    pub fn new(config: LinkConfig, discipline: Q) -> Link<P, Q> {
        let link = Link {
            free_at: Time::ZERO,
            remainder: 0,
            first: None,
            in_pipe: 0,
            waiting: 0,
            passes_unseen: 0,
            length: 0,
            delay_ns: u64::try_from(config.delay.as_nanos()).unwrap_or(u64::MAX),
            transmissions: Transmissions::new(config.rate),
            busy_ns: 0,
            offered: 0,
            offered_bytes: 0,
            rest: Box::new(Rest {
                pipe: Pipe::new(),
                tail: None,
                impairments: None,
                before: Transmission::default(),
                discipline,
                tally: Tally::default(),
                config,
            }),
        };
        link.with_jitter(Jitter::None)
    }

    /// The same link with a random delay after the propagation. Packets stay in order: none comes out before one sent
    /// earlier.
    pub fn with_jitter(mut self, jitter: Jitter) -> Link<P, Q> {
        let rest = &mut *self.rest;
        rest.impairments = Impairments::new(&rest.config, jitter);
        self.passes_unseen = match rest.impairments {
            Some(_) => 0,
            None => rest.discipline.passes_unseen(),
        };
        // Random delays would hide when transmissions end.
        rest.tail = match rest.impairments.as_ref().is_some_and(|some| some.delays()) {
            true => None,
            false => rest.discipline.tail_bound().map(Tail::new),
        };
        self
    }

    /// Takes in a packet arriving at `now`, or gives the packet back that was dropped: this one, or one that waited and
    /// was pushed out.
    ///
    /// `now` must not be earlier than in any call before.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let length = packet.length() as u64;
        self.offered += 1;
        self.offered_bytes += length;
        if self.free_at <= now && self.waiting == 0 && length <= u64::from(self.passes_unseen) {
            // The link is idle and nothing waits.
            self.transmit(now, packet, length, 0);
            return Ok(());
        }
        self.offer_beside_others(now, packet, length)
    }

    /// Chance or the queue have a say in what becomes of the packet.
    #[inline(never)]
    fn offer_beside_others(&mut self, now: Time, packet: P, length: u64) -> Result<(), Dropped<P>> {
        self.advance(now);
        if let Some(impairments) = &mut self.rest.impairments {
            if impairments.loses() {
                let cause = DropCause::RandomLoss;
                return Err(self.dropped(Dropped { packet, cause }));
            }
        }
        if self.free_at > now {
            return match self.rest.tail {
                Some(_) => self.join_tail(now, packet, length),
                None => self.enqueue(now, packet, length),
            };
        }
        if length > u64::from(self.rest.discipline.passes_unseen()) {
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
        let outcome = self.rest.discipline.pass(now, &mut queued);
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
        let rest = &mut *self.rest;
        let outcome = rest.discipline.enqueue(now, queued);
        let entered = u128::from(now.as_nanos());
        let mut bytes_entered = entered * u128::from(length);
        let tally = &mut rest.tally;
        let (packets, bytes) = (rest.discipline.packets(), rest.discipline.bytes());
        self.waiting = packets as u32;
        tally.max_queue_packets = tally.max_queue_packets.max(packets);
        tally.max_queue_bytes = tally.max_queue_bytes.max(bytes);
        let outcome = match outcome {
            Ok(()) => {
                tally.queue_packet_ns = tally.queue_packet_ns.wrapping_sub(entered);
                Ok(())
            }
            Err(dropped) => {
                // One entered and one left, or the same did both.
                let left = entered * u128::from(dropped.packet.length);
                bytes_entered = bytes_entered.wrapping_sub(left);
                Err(dropped)
            }
        };
        tally.queue_byte_ns = tally.queue_byte_ns.wrapping_sub(bytes_entered);
        outcome.map_err(|dropped| {
            self.dropped(Dropped {
                packet: dropped.packet.packet,
                cause: dropped.cause,
            })
        })
    }

    /// When [`Link::deliver`] should be called next; `None` while the link is empty.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        match &self.first {
            Some(first) => Some(first.due),
            None if self.waiting > 0 => Some(self.free_at),
            None => None,
        }
    }

    /// The next packet due at or before `now`, first in first out; `None` where there is none. Call until `None`.
    #[inline(always)]
    pub fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.advance(now);
        if self.first.as_ref()?.due > now {
            return None;
        }
        self.in_pipe -= 1;
        match self.in_pipe {
            0 => self.first.take(),
            _ => mem::replace(&mut self.first, self.rest.pipe.pop()),
        }
    }

    /// What this link was made to be.
    pub fn config(&self) -> &LinkConfig {
        &self.rest.config
    }

    /// The discipline, to look at. It stays empty where it is drop-tail.
    pub fn discipline(&self) -> &Q {
        &self.rest.discipline
    }

    /// Lets the discipline begin every transmission that the virtual clock puts at or before `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.free_at <= now && (self.waiting > 0 || self.passes_unseen == 0) {
            self.begin_transmissions(now);
        }
    }

    fn begin_transmissions(&mut self, now: Time) {
        while self.free_at <= now {
            let start = self.free_at;
            let rest = &mut *self.rest;
            let Some(queued) = rest.discipline.dequeue(start) else {
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
            let tally = &mut rest.tally;
            tally.queue_packet_ns = tally.queue_packet_ns.wrapping_add(left);
            tally.queue_byte_ns = tally.queue_byte_ns.wrapping_add(left * u128::from(length));
            tally.max_queue_wait_ns = tally.max_queue_wait_ns.max(waited_ns);
            self.transmit(start, packet, length, waited_ns);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, start: Time, packet: P, length: u64, waited_ns: u64) {
        if start > self.free_at {
            self.remainder = 0;
        }
        if length != u64::from(self.length) {
            let before = &mut self.rest.before;
            self.transmissions.find(length, &mut self.length, before);
        }
        let took_ns = self.transmissions.take(&mut self.remainder);
        self.busy_ns += took_ns;
        self.free_at = start.plus_nanos(took_ns);
        let mut due = self.free_at.plus_nanos(self.delay_ns);
        if self.passes_unseen == 0 {
            if let Some(impairments) = &mut self.rest.impairments {
                due = impairments.delay(due);
            }
        }
        let delivery = Delivery {
            packet,
            due,
            waited_ns,
        };
        self.in_pipe += 1;
        if self.in_pipe == 1 {
            self.first = Some(delivery);
        } else {
            self.rest.push(delivery);
        }
    }

    /// Counts a drop.
    #[cold]
    fn dropped(&mut self, dropped: Dropped<P>) -> Dropped<P> {
        let tally = &mut self.rest.tally;
        tally.dropped[dropped.cause as usize] += 1;
        tally.dropped_bytes += dropped.packet.length() as u64;
        dropped
    }
}

impl<P, Q> Rest<P, Q> {
    /// A packet is sent while others are under way.
    fn push(&mut self, delivery: Delivery<P>) {
        if delivery.waited_ns == 0 {
            if let Some(tail) = &mut self.tail {
                tail.clear();
            }
        }
        self.pipe.push(delivery);
    }
}
