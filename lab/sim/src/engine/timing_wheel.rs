// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers and other events: a timing wheel (Varghese and Lauck, 1987) before a heap.
//!
//! Each flow has a timer, and most timers are set again before they expire.
//!
//! A heap of those of a hundred thousand flows is larger than the processor's cache, and every expiry goes through all
//! its levels. So only those of the next few milliseconds are in a heap; the others wait in slots, unsorted.

use std::collections::BTreeMap;

use netnice_queue::Time;

use crate::engine::heap::Heap;

/// Low bits of a key that a slot ignores: 32 of the source, 22 of the time (4.2 ms).
const SLOT_BITS: u32 = 32 + 22;
/// Slots of the wheel: 4.3 s.
const SLOTS: usize = 1024;
/// As long as so few are pending, all are in the heap.
const FEW: usize = 256;

/// Keys of (time, source), the time in nanoseconds in the upper 96 bits.
#[derive(Debug)]
pub(crate) struct TimingWheel {
    near: Heap,
    /// The earliest time that something in a slot may have, as a key; the largest number where slots are empty.
    far_from: u128,
    /// The first slot, from the origin of time, that was not poured into the heap.
    next: u64,
    /// Slots of the next turn of the wheel, from `next` on, by slot number modulo [`SLOTS`].
    slots: Vec<Vec<u128>>,
    /// A bit for each slot that is not empty.
    filled: [u64; SLOTS / 64],
    /// Slots further ahead than a turn of the wheel.
    beyond: BTreeMap<u64, Vec<u128>>,
}

impl Default for TimingWheel {
    fn default() -> TimingWheel {
        TimingWheel {
            near: Heap::default(),
            far_from: u128::MAX,
            next: 0,
            slots: vec![Vec::new(); SLOTS],
            filled: [0; SLOTS / 64],
            beyond: BTreeMap::new(),
        }
    }
}

impl TimingWheel {
    /// Inserts a key, not earlier than any that was taken.
    #[inline]
    pub fn push(&mut self, key: u128) {
        let slot = (key >> SLOT_BITS) as u64;
        if slot < self.next || (self.far_from == u128::MAX && self.near.len() < FEW) {
            self.near.push(key);
        } else {
            self.put_away(slot, key);
        }
    }

    fn put_away(&mut self, slot: u64, key: u128) {
        if slot - self.next < SLOTS as u64 {
            let place = slot as usize % SLOTS;
            self.slots[place].push(key);
            self.filled[place / 64] |= 1 << (place % 64);
        } else {
            self.beyond.entry(slot).or_default().push(key);
        }
        self.far_from = self.far_from.min(u128::from(slot) << SLOT_BITS);
    }

    /// The earliest key; the largest number where there is none. Where a slot comes first, no key of it is earlier.
    #[inline]
    pub fn first(&mut self) -> u128 {
        self.near.first().min(self.far_from)
    }

    /// The time of [`TimingWheel::first`].
    #[inline(always)]
    pub fn first_due(&mut self) -> Time {
        // Not by `map` over both: that is a call, through memory, for each event.
        let near = (self.near.first() >> 32) as u64;
        let far = (self.far_from >> 32) as u64;
        Time::from_nanos(near.min(far))
    }

    /// Returns whether a slot comes first; [`TimingWheel::take_slot`] takes its keys.
    #[inline]
    pub fn slot_is_first(&mut self) -> bool {
        self.far_from <= self.near.first() && self.far_from != u128::MAX
    }

    /// Removes the earliest key.
    #[inline]
    pub fn take_first(&mut self) {
        self.near.take_first();
    }

    /// Takes out the first slot that is not empty. The caller
    /// inserts again those that are still due.
    pub fn take_slot(&mut self) -> Vec<u128> {
        let slot = (self.far_from >> SLOT_BITS) as u64;
        self.next = slot + 1;
        let place = slot as usize % SLOTS;
        // Keys a whole turn of the wheel ahead are in `beyond`, not in this slot.
        let mut keys = self.beyond.remove(&slot).unwrap_or_default();
        let near = std::mem::take(&mut self.slots[place]);
        self.filled[place / 64] &= !(1 << (place % 64));
        // All flows may end at one time: these keys are not copied, and the heap does not grow step by step.
        if keys.is_empty() {
            keys = near;
        } else {
            keys.extend(near);
        }
        self.near.reserve(keys.len());
        let near_at_hand = self.next_filled();
        let beyond = self.beyond.keys().next().copied();
        let first = near_at_hand.into_iter().chain(beyond).min();
        self.far_from = first.map_or(u128::MAX, |slot| u128::from(slot) << SLOT_BITS);
        keys
    }

    /// The first slot near at hand that is not empty.
    fn next_filled(&self) -> Option<u64> {
        let from = self.next as usize % SLOTS;
        let words = SLOTS / 64;
        // The word that `from` is in comes first and last: in the end its lower bits.
        (0..=words).find_map(|turn| {
            let word = (from / 64 + turn) % words;
            let bits = match turn {
                0 => self.filled[word] & (u64::MAX << (from % 64)),
                _ => self.filled[word],
            };
            let place = word * 64 + bits.trailing_zeros() as usize;
            (bits != 0).then(|| self.next + ((place + SLOTS - from) % SLOTS) as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn keys_come_out_in_order(
            // From nanoseconds to hours ahead.
            steps in prop::collection::vec((0u32..45, 0u64..64, 1u8..4), 1..1500),
        ) {
            let mut timers = TimingWheel::default();
            let mut model = BTreeSet::new();
            let mut now = 0;
            for (number, (scale, later, times)) in steps.into_iter().enumerate() {
                let due = now + (later << scale >> 6);
                let key = (u128::from(due) << 32) | number as u128;
                timers.push(key);
                model.insert(key);
                // More come than go, until many are pending; then all go.
                while timers.slot_is_first() {
                    for key in timers.take_slot() {
                        timers.push(key);
                    }
                }
                for _ in 1..if number % 500 == 499 { u32::MAX } else { u32::from(times) - u32::from(times > 2) } {
                    let expected = model.pop_first();
                    prop_assert_eq!(timers.first(), expected.unwrap_or(u128::MAX));
                    let Some(key) = expected else { break };
                    timers.take_first();
                    now = (key >> 32) as u64;
                }
            }
        }
    }
}
