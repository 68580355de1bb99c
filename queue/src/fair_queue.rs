// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of many flows served in turn, of which the longest is known: what fair disciplines are made of.

use std::collections::VecDeque;

use crate::Packet;

/// No slot.
const NONE: u32 = u32::MAX;

/// One flow's packets.
#[derive(Debug, Clone)]
struct Slot<P> {
    waiting: VecDeque<P>,
    /// What the flow may still send in its turn, in bytes (deficit round robin).
    deficit: u64,
    /// The quantum of this turn has been given.
    credited: bool,
    /// It is in the ring, though it may have been emptied there by pushing out.
    in_ring: bool,
    /// Neighbours in the list of slots that hold as many packets.
    previous: u32,
    next: u32,
}

/// What a turn may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// One packet, whatever its size.
    Packet,
    /// As many bytes as the quantum, unused ones carried over: Shreedhar and Varghese, "Efficient Fair Queuing using
    /// Deficit Round Robin" (1996).
    Quantum(u64),
}

/// Slots, each a first-in first-out queue of one flow, served round robin.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue<P> {
    slots: Vec<Slot<P>>,
    /// Slots with packets in the order of their turns.
    ring: VecDeque<u32>,
    /// For each number of packets, the slot that came to hold so many last. So the longest is found at once.
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

    /// A new, empty slot.
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

    /// Packets waiting in `slot`.
    pub(crate) fn packets_in(&self, slot: u32) -> usize {
        self.slots[slot as usize].waiting.len()
    }

    /// Puts `packet` last in `slot`.
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

    /// The next packet by turns; `on_idle` is told the slots that have none left when their turn ends.
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

    /// The slot with the most packets; of several, the one that came to hold so many last. `None` if all are empty.
    pub(crate) fn longest(&self) -> Option<u32> {
        match self.longest {
            0 => None,
            packets => Some(self.with_packets[packets]),
        }
    }

    /// Takes out the last packet of `slot`.
    pub(crate) fn pop_last(&mut self, slot: u32) -> Option<P> {
        self.take(slot, VecDeque::pop_back)
    }

    /// Takes all packets out, slot by slot in the order of turns.
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

    /// Enters `slot` among those that hold as many packets.
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
        // A slot loses one packet at a time, so the next longest has one less, or is another of this length.
        if packets == self.longest && self.with_packets[packets] == NONE {
            self.longest = packets - 1;
        }
    }
}
