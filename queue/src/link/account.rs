// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link tells of itself.

use std::time::Duration;

use super::{Link, Queued, Rest, Tally};
use crate::{DropCause, LinkCounters, LinkUsage, Packet, QueueDiscipline, Time};

impl<P: Packet, Q: QueueDiscipline<Queued<P>>> Link<P, Q> {
    /// What the link has seen so far.
    pub fn counters(&self) -> LinkCounters {
        let Rest {
            discipline, tally, ..
        } = &*self.rest;
        let gone = tally.dropped.iter().sum::<u64>() + self.inside() as u64;
        let in_pipe = self.first.iter().chain(self.rest.pipe.iter());
        let in_pipe: u64 = in_pipe.map(|one| one.packet.length() as u64).sum();
        let bytes_gone = tally.dropped_bytes + discipline.bytes() + in_pipe;
        LinkCounters {
            offered: self.offered,
            offered_bytes: self.offered_bytes,
            delivered: self.offered - gone,
            delivered_bytes: self.offered_bytes - bytes_gone,
            marked: discipline.marks(),
            ..tally.counters()
        }
    }

    /// How much of the link and of its queue was in use from the beginning until `now`.
    pub fn usage(&mut self, now: Time) -> LinkUsage {
        self.advance(now);
        self.settle_tail(now);
        let after_now = self.free_at - now;
        let Rest {
            discipline,
            tally,
            pipe,
            tail,
            ..
        } = &*self.rest;
        let waiting = |sum: u128, number: u64| {
            sum.wrapping_add(u128::from(now.as_nanos()) * u128::from(number))
        };
        let mut queue_packet_ns = waiting(tally.queue_packet_ns, discipline.packets() as u64);
        let mut queue_byte_ns = waiting(tally.queue_byte_ns, discipline.bytes());
        // The part of the tail's waiting that is yet to come.
        let in_tail = tail.as_ref().map_or(0, |tail| tail.packets);
        for index in pipe.len() - in_tail..pipe.len() {
            let (start_ns, length) = self.start_ns_and_length(index);
            let left_ns = u128::from(start_ns - now.as_nanos());
            queue_packet_ns -= left_ns;
            queue_byte_ns -= left_ns * u128::from(length);
        }
        LinkUsage {
            until: now,
            // What lies after now was counted ahead; the link is busy without a pause until then.
            busy: Duration::from_nanos(self.busy_ns) - after_now,
            queue_packet_ns,
            queue_byte_ns,
        }
    }

    /// Packets offered but neither delivered nor dropped yet: waiting, in transmission or in propagation.
    pub fn inside(&self) -> usize {
        (self.waiting + self.in_pipe) as usize
    }

    /// Packets waiting for transmission at `now`.
    pub fn queue_packets(&mut self, now: Time) -> usize {
        self.advance(now);
        self.settle_tail(now);
        let tail = self.rest.tail.as_ref().map(|tail| tail.packets);
        tail.unwrap_or_else(|| self.rest.discipline.packets())
    }

    /// The longest queue so far is the one at `now`.
    pub fn restart_max_queue(&mut self, now: Time) {
        let (packets, bytes) = (self.queue_packets(now), self.queue_bytes(now));
        let tally = &mut self.rest.tally;
        (tally.max_queue_packets, tally.max_queue_bytes) = (packets, bytes);
    }

    /// Bytes waiting for transmission at `now`.
    pub fn queue_bytes(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.settle_tail(now);
        let tail = self.rest.tail.as_ref().map(|tail| tail.bytes);
        tail.unwrap_or_else(|| self.rest.discipline.bytes())
    }
}

impl Tally {
    /// What is told of it.
    pub fn counters(&self) -> LinkCounters {
        let dropped = |cause: DropCause| self.dropped[cause as usize];
        LinkCounters {
            queue_full: dropped(DropCause::QueueFull),
            random_loss: dropped(DropCause::RandomLoss),
            early_drop: dropped(DropCause::EarlyDrop),
            forced_drop: dropped(DropCause::ForcedDrop),
            pushed_out: dropped(DropCause::PushedOut),
            max_queue_packets: self.max_queue_packets,
            max_queue_bytes: self.max_queue_bytes,
            max_queue_wait: Duration::from_nanos(self.max_queue_wait_ns),
            ..LinkCounters::default()
        }
    }
}
