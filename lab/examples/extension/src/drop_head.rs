// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drop-head: a full queue drops its oldest packet, so that senders learn of the congestion a queue's length earlier.

use std::collections::VecDeque;

use netnice_queue::{DropCause, Dropped, Packet, QueueDiscipline, Time};

/// A first-in first-out queue of at most `limit` packets, which drops the packet at its head to take in another.
#[derive(Debug)]
pub struct DropHead<P> {
    waiting: VecDeque<P>,
    limit: usize,
}

impl<P> DropHead<P> {
    /// An empty queue.
    pub fn new(limit: usize) -> DropHead<P> {
        DropHead {
            waiting: VecDeque::new(),
            limit,
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for DropHead<P> {
    fn enqueue(&mut self, _now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.waiting.push_back(packet);
        if self.waiting.len() <= self.limit {
            return Ok(());
        }
        let cause = DropCause::PushedOut;
        match self.waiting.pop_front() {
            Some(packet) => Err(Dropped { packet, cause }),
            None => Ok(()),
        }
    }

    fn dequeue(&mut self, _now: Time) -> Option<P> {
        self.waiting.pop_front()
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.waiting
            .iter()
            .map(|packet| packet.length() as u64)
            .sum()
    }
}
