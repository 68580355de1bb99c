// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is due at some time, mostly timers, of which each flow has one that mostly moves on before it ends.
//!
//! A heap of those of a hundred thousand flows is larger than the processor's cache, and every one that ends goes through all
//! its levels. So only those of the next few milliseconds are in a heap; the others wait in lists without any order.

use std::collections::BTreeMap;

use netnice_queue::Time;

use crate::engine::heap::Heap;

/// Of a key, the bits below the number of its list: 32 bits of source, and nanoseconds. A list has those of 4.2 ms.
const LIST_BITS: u32 = 32 + 22;
/// Lists near at hand, for 4.3 s.
const LISTS: usize = 1024;
/// As long as so few are pending, all are in the heap.
const FEW: usize = 256;

/// Keys of (time, source), the time in nanoseconds in the upper 96 bits.
#[derive(Debug)]
pub(crate) struct Timers {
    near: Heap,
    /// The earliest time that something in a list may have, as a key; the largest number where lists are empty.
    far_from: u128,
    /// The first list, from the origin of time, that was not poured into the heap.
    next: u64,
    /// Those from `next` on, in turn.
    lists: Vec<Vec<u128>>,
    /// A bit for each list that is not empty.
    filled: [u64; LISTS / 64],
    /// Lists further ahead.
    beyond: BTreeMap<u64, Vec<u128>>,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            near: Heap::default(),
            far_from: u128::MAX,
            next: 0,
            lists: vec![Vec::new(); LISTS],
            filled: [0; LISTS / 64],
            beyond: BTreeMap::new(),
        }
    }
}

impl Timers {
    /// Puts a key down, not earlier than any that was taken.
    #[inline]
    pub fn push(&mut self, key: u128) {
        let list = (key >> LIST_BITS) as u64;
        if list < self.next || (self.far_from == u128::MAX && self.near.len() < FEW) {
            self.near.push(key);
        } else {
            self.put_away(list, key);
        }
    }

    fn put_away(&mut self, list: u64, key: u128) {
        if list - self.next < LISTS as u64 {
            let place = list as usize % LISTS;
            self.lists[place].push(key);
            self.filled[place / 64] |= 1 << (place % 64);
        } else {
            self.beyond.entry(list).or_default().push(key);
        }
        self.far_from = self.far_from.min(u128::from(list) << LIST_BITS);
    }

    /// The earliest key; the largest number where there is none. Where a list comes first, no key of it is earlier.
    #[inline]
    pub fn first(&mut self) -> u128 {
        self.near.first().min(self.far_from)
    }

    /// The time of [`Timers::first`].
    #[inline(always)]
    pub fn first_due(&mut self) -> Time {
        let [near, far] = [self.near.first(), self.far_from].map(|key| (key >> 32) as u64);
        Time::from_nanos(near.min(far))
    }

    /// A list comes first: what it holds is to be taken by [`Timers::take_list`].
    #[inline]
    pub fn list_is_first(&mut self) -> bool {
        self.far_from <= self.near.first() && self.far_from != u128::MAX
    }

    /// The earliest key is no more.
    #[inline]
    pub fn take_first(&mut self) {
        self.near.take_first();
    }

    /// Takes out the first list that is not empty, with the earliest key that none of it reaches. Those that are not put
    /// down for later have to be put down again.
    pub fn take_list(&mut self) -> (Vec<u128>, u128) {
        let list = (self.far_from >> LIST_BITS) as u64;
        self.next = list + 1;
        let place = list as usize % LISTS;
        // What is further ahead by a whole turn of the lists is not among them.
        let mut keys = std::mem::take(&mut self.lists[place]);
        self.filled[place / 64] &= !(1 << (place % 64));
        keys.extend(self.beyond.remove(&list).unwrap_or_default());
        let near_at_hand = self.next_filled();
        let beyond = self.beyond.keys().next().copied();
        let first = near_at_hand.into_iter().chain(beyond).min();
        self.far_from = first.map_or(u128::MAX, |list| u128::from(list) << LIST_BITS);
        (keys, u128::from(self.next) << LIST_BITS)
    }

    /// The first list near at hand that is not empty.
    fn next_filled(&self) -> Option<u64> {
        let from = self.next as usize % LISTS;
        let words = LISTS / 64;
        // The word that `from` is in comes first and last: in the end its lower bits.
        (0..=words).find_map(|turn| {
            let word = (from / 64 + turn) % words;
            let bits = match turn {
                0 => self.filled[word] & (u64::MAX << (from % 64)),
                _ => self.filled[word],
            };
            let place = word * 64 + bits.trailing_zeros() as usize;
            (bits != 0).then(|| self.next + ((place + LISTS - from) % LISTS) as u64)
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
            let mut timers = Timers::default();
            let mut model = BTreeSet::new();
            let mut now = 0;
            for (number, (scale, later, times)) in steps.into_iter().enumerate() {
                let due = now + (later << scale >> 6);
                let key = (u128::from(due) << 32) | number as u128;
                timers.push(key);
                model.insert(key);
                // More come than go, until many are pending; then all go.
                while timers.list_is_first() {
                    let (keys, beyond) = timers.take_list();
                    for key in keys {
                        prop_assert!(key < beyond);
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
