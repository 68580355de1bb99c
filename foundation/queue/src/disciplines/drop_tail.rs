// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drop-tail: first in, first out; arrivals at a full queue are dropped.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{QueueBound, QueueLimit};

/// Configuration of a drop-tail queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropTailConfig {
    /// Bound beyond which arrivals are dropped.
    pub limit: QueueLimit,
}

impl DropTailConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        false
    }
}

/// A first-in first-out queue that drops arrivals while it is full.
///
/// A limit in bytes admits a packet only if it fits as a whole, so a small packet may fit where a large one did not.
#[derive(Debug, Clone)]
pub struct DropTail<P> {
    waiting: VecDeque<P>,
    bytes: u64,
    bound: QueueBound,
}

impl<P> DropTail<P> {
    /// Creates a queue of at most `bound`.
    pub fn new(bound: QueueBound) -> DropTail<P> {
        DropTail {
            waiting: VecDeque::new(),
            bytes: 0,
            bound,
        }
    }

    /// Creates a queue of at most `limit` packets of any size.
    pub fn packets(limit: usize) -> DropTail<P> {
        DropTail::new(QueueBound::Packets(limit))
    }

    /// Creates a queue of at most `limit` bytes.
    pub fn bytes(limit: u64) -> DropTail<P> {
        DropTail::new(QueueBound::Bytes(limit))
    }
}

impl<P: Packet> DropTail<P> {
    /// Creates the queue that `config` describes. The queue is not random, so `seed` has no effect.
    pub fn from_config(
        config: &DropTailConfig,
        context: &DisciplineContext,
        _seed: u64,
    ) -> Result<DropTail<P>, DisciplineError> {
        Ok(DropTail::new(context.bound(config.limit)?))
    }

    /// The bound of the queue.
    pub fn bound(&self) -> QueueBound {
        self.bound
    }

    /// Returns whether there is room for a packet of `length` bytes.
    #[inline]
    pub(crate) fn fits(&self, length: u64) -> bool {
        self.bound.fits(self.waiting.len(), self.bytes, length)
    }
}

impl<P: Packet> QueueDiscipline<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, _now: Time, packet: P) -> Result<(), Dropped<P>> {
        let length = packet.length() as u64;
        if !self.fits(length) {
            return Err(Dropped {
                packet,
                cause: DropCause::QueueFull,
            });
        }
        self.bytes += length;
        self.waiting.push_back(packet);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Time) -> Option<P> {
        self.bytes -= self.waiting.front()?.length() as u64;
        self.waiting.pop_front()
    }

    #[inline]
    fn lets_through(&self) -> bool {
        self.waiting.is_empty() && matches!(self.bound, QueueBound::Packets(1..))
    }

    #[inline]
    fn packets(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(length: usize) -> Vec<u8> {
        vec![0; length]
    }

    #[test]
    fn a_limit_in_packets_ignores_their_size() {
        let mut queue = DropTail::packets(2);
        assert!(queue.enqueue(Time::ZERO, packet(1500)).is_ok());
        assert!(queue.enqueue(Time::ZERO, packet(40)).is_ok());
        let dropped = queue.enqueue(Time::ZERO, packet(1)).unwrap_err();
        assert_eq!(dropped.cause, DropCause::QueueFull);
        assert_eq!(dropped.packet.len(), 1);
        assert_eq!(
            (
                QueueDiscipline::packets(&queue),
                QueueDiscipline::bytes(&queue)
            ),
            (2, 1540)
        );
    }

    #[test]
    fn a_limit_in_bytes_takes_what_fits_as_a_whole() {
        let mut queue = DropTail::bytes(3000);
        assert!(queue.enqueue(Time::ZERO, packet(1500)).is_ok());
        assert!(queue.enqueue(Time::ZERO, packet(1501)).is_err());
        assert!(queue.enqueue(Time::ZERO, packet(1500)).is_ok());
        assert!(queue.enqueue(Time::ZERO, packet(1)).is_err());
        assert_eq!(queue.dequeue(Time::ZERO).unwrap().len(), 1500);
        assert_eq!(QueueDiscipline::bytes(&queue), 1500);
    }
}
