// SPDX-License-Identifier: MIT OR Apache-2.0
//! Per-flow queues served round robin that keep track of the longest: the base of the fair disciplines.

use std::collections::VecDeque;

use crate::queue_discipline::Packet;

/// No slot: the end of a list.
const NONE: u32 = u32::MAX;

/// One flow's packets.
#[derive(Debug, Clone)]
struct Slot<P> {
    waiting: VecDeque<P>,
    /// Bytes the flow may still send in its turn (deficit round robin).
    deficit: u64,
    /// True if the flow has received the quantum of this turn.
    credited: bool,
    /// True if the slot is in the ring; pushing out may have emptied it there.
    in_ring: bool,
    /// Neighbours in the list of slots that hold as many packets.
    previous: u32,
    next: u32,
}

/// Amount that a flow may send in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// One packet of any size.
    Packet,
    /// A quantum in bytes; the unused part carries over: Shreedhar and Varghese, "Efficient Fair Queuing using Deficit
    /// Round Robin" (1996).
    Quantum(u64),
}

/// Slots, each a first-in first-out queue of one flow, served round robin.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue<P> {
    slots: Vec<Slot<P>>,
    /// Slots with packets, in the order of their turns.
    ring: VecDeque<u32>,
    /// For each number of packets, the slot that reached that number last; finds the longest slot in constant time.
    with_packets: Vec<u32>,
    longest: usize,
    packets: usize,
    bytes: u64,
    turn: Turn,
}

impl<P: Packet> FairQueue<P> {
    pub(crate) fn new(slots: usize, turn: Turn) -> FairQueue<P> {
        let mut queue = FairQueue {
            slots: Vec::new(),
            ring: VecDeque::new(),
            with_packets: vec![NONE],
            longest: 0,
            packets: 0,
            bytes: 0,
            turn,
        };
        (0..slots).for_each(|_| _ = queue.add_slot());
        queue
    }

    /// Adds an empty slot and returns its index.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.slots.push(Slot {
            waiting: VecDeque::new(),
            deficit: 0,
            credited: false,
            in_ring: false,
            previous: NONE,
            next: NONE,
        });
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if no slot has a turn; one whose packets were pushed out has it until it comes.
    pub(crate) fn is_untouched(&self) -> bool {
        self.ring.is_empty()
    }

    /// Packets waiting in `slot`.
    pub(crate) fn packets_in(&self, slot: u32) -> usize {
        self.slots[slot as usize].waiting.len()
    }

    /// Appends `packet` to `slot`.
    pub(crate) fn push(&mut self, slot: u32, packet: P) {
        self.bytes += packet.length() as u64;
        self.packets += 1;
        self.unlink(slot);
        let entry = &mut self.slots[slot as usize];
        entry.waiting.push_back(packet);
        if !entry.in_ring {
            entry.in_ring = true;
            self.ring.push_back(slot);
        }
        self.link(slot);
    }

    /// Dequeues the next packet in turn; calls `on_idle` with each slot that is empty when its turn ends.
    pub(crate) fn pop(&mut self, mut on_idle: impl FnMut(u32)) -> Option<P> {
        loop {
            let slot = *self.ring.front()?;
            let entry = &mut self.slots[slot as usize];
            let Some(head) = entry.waiting.front() else {
                self.leave_ring(slot);
                on_idle(slot);
                continue;
            };
            let length = head.length() as u64;
            if let Turn::Quantum(quantum) = self.turn {
                if !entry.credited {
                    entry.credited = true;
                    entry.deficit += quantum;
                }
                if length > entry.deficit {
                    entry.credited = false;
                    self.ring.rotate_left(1);
                    continue;
                }
                entry.deficit -= length;
            }
            let packet = self.take(slot, VecDeque::pop_front);
            if self.slots[slot as usize].waiting.is_empty() {
                self.leave_ring(slot);
                on_idle(slot);
            } else if self.turn == Turn::Packet {
                self.ring.rotate_left(1);
            }
            return packet;
        }
    }

    /// Returns the slot with the most packets; of several, the one that reached that number last. `None` if all are
    /// empty.
    pub(crate) fn longest(&self) -> Option<u32> {
        match self.longest {
            0 => None,
            packets => Some(self.with_packets[packets]),
        }
    }

    /// Removes the last packet of `slot`.
    pub(crate) fn pop_last(&mut self, slot: u32) -> Option<P> {
        self.take(slot, VecDeque::pop_back)
    }

    /// Removes all packets, slot by slot in the order of turns.
    pub(crate) fn drain(&mut self) -> Vec<P> {
        let mut packets = Vec::with_capacity(self.packets);
        while let Some(&slot) = self.ring.front() {
            while let Some(packet) = self.take(slot, VecDeque::pop_front) {
                packets.push(packet);
            }
            self.leave_ring(slot);
        }
        packets
    }

    fn take(&mut self, slot: u32, end: fn(&mut VecDeque<P>) -> Option<P>) -> Option<P> {
        if self.slots[slot as usize].waiting.is_empty() {
            return None;
        }
        self.unlink(slot);
        let packet = end(&mut self.slots[slot as usize].waiting)?;
        self.packets -= 1;
        self.bytes -= packet.length() as u64;
        self.link(slot);
        Some(packet)
    }

    fn leave_ring(&mut self, slot: u32) {
        self.ring.pop_front();
        let entry = &mut self.slots[slot as usize];
        entry.in_ring = false;
        entry.credited = false;
        entry.deficit = 0;
    }

    /// Adds `slot` to the list of slots that hold as many packets.
    fn link(&mut self, slot: u32) {
        let packets = self.slots[slot as usize].waiting.len();
        if packets == 0 {
            return;
        }
        if packets >= self.with_packets.len() {
            self.with_packets.resize(packets + 1, NONE);
        }
        let next = std::mem::replace(&mut self.with_packets[packets], slot);
        self.slots[slot as usize].previous = NONE;
        self.slots[slot as usize].next = next;
        if next != NONE {
            self.slots[next as usize].previous = slot;
        }
        self.longest = self.longest.max(packets);
    }

    fn unlink(&mut self, slot: u32) {
        let entry = &self.slots[slot as usize];
        let packets = entry.waiting.len();
        if packets == 0 {
            return;
        }
        let (previous, next) = (entry.previous, entry.next);
        match previous {
            NONE => self.with_packets[packets] = next,
            _ => self.slots[previous as usize].next = next,
        }
        if next != NONE {
            self.slots[next as usize].previous = previous;
        }
        // A slot loses one packet at a time, so the next longest has one packet less or is another of this length.
        if packets == self.longest && self.with_packets[packets] == NONE {
            self.longest = packets - 1;
        }
    }
}
