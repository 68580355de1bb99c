// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tail of a queue whose packets leave in the order in which they came, so that each one's departure is known on arrival.

use super::{Link, Queued};
use crate::{DropCause, Dropped, Packet, QueueBound, QueueDiscipline, Time};

/// What waits, as of the last look: packets of which it was not yet seen that their transmission has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    bound: QueueBound,
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
}

impl Tail {
    pub(crate) fn new(bound: QueueBound) -> Tail {
        Tail {
            bound,
            packets: 0,
            bytes: 0,
        }
    }

    /// There is room for a packet of `length` bytes.
    pub(crate) fn fits(&self, length: u64) -> bool {
        self.bound.fits(self.packets, self.bytes, length)
    }

    /// Nothing waits.
    pub(crate) fn clear(&mut self) {
        self.packets = 0;
        self.bytes = 0;
    }
}

impl<P: Packet, Q: QueueDiscipline<Queued<P>>> Link<P, Q> {
    /// The link is busy, and those that wait leave in the order in which they came: so it is known when this one will.
    #[inline]
    pub(super) fn join_tail(
        &mut self,
        now: Time,
        packet: P,
        length: u64,
    ) -> Result<(), Dropped<P>> {
        self.settle_tail(now);
        let start = self.free_at;
        let rest = &mut *self.rest;
        let Some(tail) = rest.tail.as_mut().filter(|tail| tail.fits(length)) else {
            let cause = DropCause::QueueFull;
            return Err(self.dropped(Dropped { packet, cause }));
        };
        tail.packets += 1;
        tail.bytes += length;
        let waited_ns = start.as_nanos() - now.as_nanos();
        let tally = &mut rest.tally;
        tally.max_queue_wait_ns = tally.max_queue_wait_ns.max(waited_ns);
        tally.max_queue_packets = tally.max_queue_packets.max(tail.packets);
        tally.max_queue_bytes = tally.max_queue_bytes.max(tail.bytes);
        tally.queue_packet_ns = tally.queue_packet_ns.wrapping_add(u128::from(waited_ns));
        let byte_ns = u128::from(waited_ns) * u128::from(length);
        tally.queue_byte_ns = tally.queue_byte_ns.wrapping_add(byte_ns);
        self.transmit(start, packet, length, waited_ns);
        Ok(())
    }

    /// Strikes those packets off the tail of the queue whose transmission has begun by `now`.
    #[inline]
    pub(super) fn settle_tail(&mut self, now: Time) {
        let Some(mut tail) = self.rest.tail else {
            return;
        };
        if self.free_at <= now {
            tail.clear();
        } else {
            // The packet in transmission is in the pipe before all that wait.
            let most = (self.in_pipe - 1) as usize;
            if tail.packets > most {
                let lengths = self.rest.pipe.iter().map(|one| one.packet.length() as u64);
                tail.packets = most;
                tail.bytes = lengths.skip(self.rest.pipe.len() - most).sum();
            }
            while tail.packets > 0 {
                let index = self.rest.pipe.len() - tail.packets;
                let (start_ns, length) = self.start_ns_and_length(index);
                if start_ns > now.as_nanos() {
                    break;
                }
                tail.packets -= 1;
                tail.bytes -= length;
            }
        }
        self.rest.tail = Some(tail);
    }

    /// When the transmission of a packet began that had to wait, by its place in the pipe, and its length.
    #[inline]
    pub(super) fn start_ns_and_length(&self, index: usize) -> (u64, u64) {
        let pipe = &self.rest.pipe;
        // A transmission begins as the one before ends.
        let before = match index.checked_sub(1) {
            Some(before) => pipe.get(before),
            None => self.first.as_ref(),
        };
        let start_ns = before.map_or(0, |before| before.due.as_nanos() - self.delay_ns);
        let length = pipe.get(index).map_or(0, |one| one.packet.length());
        (start_ns, length as u64)
    }
}
