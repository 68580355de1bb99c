// SPDX-License-Identifier: MIT OR Apache-2.0
//! DRR: deficit round robin over flows.
//!
//! Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin" (1996): each flow has its own queue and
//! sends about a quantum of bytes per turn. This queue has no limit: [`Priority`](crate::Priority) enforces one.

use rustc_hash::FxHashMap;

use crate::disciplines::fair_queue::{FairQueue, Turn};
use crate::queue_discipline::Packet;

/// A fair queue with one slot for each flow that has packets.
#[derive(Debug, Clone)]
pub(crate) struct Drr<P> {
    queue: FairQueue<P>,
    slot_of: FxHashMap<u64, u32>,
    /// The flow of each slot in use.
    flow_of: Vec<u64>,
    free: Vec<u32>,
}

impl<P: Packet> Drr<P> {
    /// Creates an empty queue that grants each flow `quantum` bytes per turn.
    pub(crate) fn new(quantum: u64) -> Drr<P> {
        Drr {
            queue: FairQueue::new(0, Turn::Quantum(quantum)),
            slot_of: FxHashMap::default(),
            flow_of: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Enqueues `packet` and returns the slot it went to.
    pub(crate) fn push(&mut self, packet: P) -> u32 {
        let flow = packet.flow();
        let slot = *self.slot_of.entry(flow).or_insert_with(|| {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.flow_of.push(flow);
                self.queue.add_slot()
            });
            self.flow_of[slot as usize] = flow;
            slot
        });
        self.queue.push(slot, packet);
        slot
    }

    /// Dequeues the next packet.
    pub(crate) fn pop(&mut self) -> Option<P> {
        self.queue.pop(|slot| {
            self.slot_of.remove(&self.flow_of[slot as usize]);
            self.free.push(slot);
        })
    }

    /// Returns true if no flow has packets or what is left of a turn.
    pub(crate) fn is_untouched(&self) -> bool {
        self.queue.is_untouched()
    }

    /// Removes the last packet of the flow with the most packets; returns its slot and the packet.
    pub(crate) fn push_out(&mut self) -> Option<(u32, P)> {
        let slot = self.queue.longest()?;
        Some((slot, self.queue.pop_last(slot)?))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
