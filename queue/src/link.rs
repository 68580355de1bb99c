// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: a queue discipline, serialisation at a rate, a propagation delay, random loss.

use std::collections::VecDeque;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::{DropCause, DropTail, Dropped, LossFraction, Packet, QueueDiscipline, Rate, Time};

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
    /// Seed of this direction's own random stream.
    pub seed: u64,
}

/// A packet that has come out of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// When it should have come out; later than this by the driver's lateness.
    pub due: Time,
}

/// What a link has seen so far. `offered = delivered + dropped() + inside` always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Bytes offered.
    pub offered_bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Arrivals dropped by the discipline because the queue was at its limit.
    pub queue_full: u64,
    /// Packets lost at random before the queue.
    pub random_loss: u64,
    /// Early drops, [`DropCause::EarlyDrop`].
    pub early_drop: u64,
    /// Forced drops, [`DropCause::ForcedDrop`].
    pub forced_drop: u64,
    /// Waiting packets that made room for others, [`DropCause::PushedOut`].
    pub pushed_out: u64,
    /// Packets marked with congestion experienced.
    pub marked: u64,
    /// Packets waiting at most, the one in transmission not counted.
    pub max_queue_packets: usize,
    /// Bytes waiting at most.
    pub max_queue_bytes: u64,
    /// Longest time a packet waited between its arrival and the beginning of its transmission.
    pub max_queue_wait: Duration,
}

impl LinkCounters {
    /// Packets dropped, for whatever cause.
    pub fn dropped(&self) -> u64 {
        self.queue_full + self.random_loss + self.early_drop + self.forced_drop + self.pushed_out
    }
}

/// A packet with its arrival, as the discipline holds it.
#[derive(Debug, Clone)]
pub struct Queued<P> {
    packet: P,
    arrived: Time,
}

impl<P: Packet> Packet for Queued<P> {
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
    discipline: Q,
    /// End of the last transmission begun, rounded down; `remainder / rate` nanoseconds more make it exact.
    free_at: Time,
    remainder: u64,
    /// Packets in transmission or in propagation, in the order they come out.
    pipe: VecDeque<Delivery<P>>,
    random: Xoshiro256PlusPlus,
    counters: LinkCounters,
}

impl<P: Packet, Q: QueueDiscipline<Queued<P>>> Link<P, Q> {
    /// An empty link whose packets wait in `discipline`.
    pub fn new(config: LinkConfig, discipline: Q) -> Link<P, Q> {
        Link {
            random: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            config,
            discipline,
            free_at: Time::ZERO,
            remainder: 0,
            pipe: VecDeque::new(),
            counters: LinkCounters::default(),
        }
    }

    /// Takes in a packet arriving at `now`, or gives the dropped packet back.
    ///
    /// `now` must not be earlier than in any call before.
    pub fn offer(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.advance(now);
        self.counters.offered += 1;
        self.counters.offered_bytes += packet.length() as u64;
        if self.config.loss.strikes(self.random.next_u64()) {
            self.counters.random_loss += 1;
            return Err(Dropped {
                packet,
                cause: DropCause::RandomLoss,
            });
        }
        let accepted = self.discipline.enqueue(
            now,
            Queued {
                packet,
                arrived: now,
            },
        );
        if self.free_at <= now {
            // The link is idle: whatever the discipline prefers begins now, without having waited.
            if let Some(queued) = self.discipline.dequeue(now) {
                self.transmit(now, queued);
            }
        }
        self.counters.max_queue_packets = self
            .counters
            .max_queue_packets
            .max(self.discipline.packets());
        self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(self.discipline.bytes());
        accepted.map_err(|dropped| {
            *match dropped.cause {
                DropCause::QueueFull => &mut self.counters.queue_full,
                DropCause::RandomLoss => &mut self.counters.random_loss,
                DropCause::EarlyDrop => &mut self.counters.early_drop,
                DropCause::ForcedDrop => &mut self.counters.forced_drop,
                DropCause::PushedOut => &mut self.counters.pushed_out,
            } += 1;
            Dropped {
                packet: dropped.packet.packet,
                cause: dropped.cause,
            }
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
        self.advance(now);
        if self.pipe.front()?.due > now {
            return None;
        }
        let delivery = self.pipe.pop_front()?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += delivery.packet.length() as u64;
        Some(delivery)
    }

    /// What the link has seen so far.
    pub fn counters(&self) -> LinkCounters {
        LinkCounters {
            marked: self.discipline.marks(),
            ..self.counters
        }
    }

    /// Packets offered but neither delivered nor dropped yet: waiting, in transmission or in propagation.
    pub fn inside(&self) -> usize {
        self.discipline.packets() + self.pipe.len()
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

    /// Begins every transmission that the virtual clock puts at or before `now`.
    fn advance(&mut self, now: Time) {
        while self.free_at <= now {
            let start = self.free_at;
            let Some(queued) = self.discipline.dequeue(start) else {
                return;
            };
            self.transmit(start, queued);
        }
    }

    fn transmit(&mut self, start: Time, queued: Queued<P>) {
        let waited = start - queued.arrived;
        self.counters.max_queue_wait = self.counters.max_queue_wait.max(waited);
        if let Some(rate) = self.config.rate {
            if start > self.free_at {
                self.remainder = 0;
            }
            // The remainder of the division is carried over, so that a backlogged link drifts by no nanosecond.
            let scaled = queued.packet.length() as u64 * 8 * 1_000_000_000 + self.remainder;
            let bits_per_second = rate.bits_per_second();
            self.free_at = start + Duration::from_nanos(scaled / bits_per_second);
            self.remainder = scaled % bits_per_second;
        } else {
            self.free_at = start;
        }
        self.pipe.push_back(Delivery {
            packet: queued.packet,
            due: self.free_at + self.config.delay,
        });
    }
}
