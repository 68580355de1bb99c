// SPDX-License-Identifier: MIT OR Apache-2.0
//! A winner tree: the least of many keys, each of which has one owner and changes often.

use std::ops::DerefMut;

/// A key that is later than all others: the owner has none.
pub(crate) const NONE: u64 = u64::MAX;

/// A winner tree (Knuth, TAOCP 3, section 5.4.1), in which every node holds the lesser of its two children: a change
/// goes from the owner's leaf to the root and has no branch that depends on keys, which a heap has at every level. The
/// processor knows ahead all places that it will read, and can fetch them at the same time.
///
/// Nodes are kept in `K`: where that is an array, it takes half the instructions, as no place has to be checked.
#[derive(Debug)]
pub(crate) struct WinnerTree<K> {
    /// Node 1 is the root, the children of node n are 2n and 2n + 1; their number is a power of two.
    keys: K,
    /// The first leaf; all nodes after it are leaves, too.
    leaves: usize,
}

impl WinnerTree<Vec<u64>> {
    /// A place for each of `owners`; none of them has a key.
    pub fn new(owners: usize) -> WinnerTree<Vec<u64>> {
        let leaves = owners.max(1).next_power_of_two();
        WinnerTree {
            keys: vec![NONE; 2 * leaves],
            leaves,
        }
    }
}

impl<const NODES: usize> WinnerTree<Box<[u64; NODES]>> {
    /// A place for each of `owners`, at most half as many as nodes; none of them has a key.
    pub fn of_few(owners: usize) -> WinnerTree<Box<[u64; NODES]>> {
        const { assert!(NODES.is_power_of_two()) };
        let leaves = owners.max(1).next_power_of_two();
        assert!(2 * leaves <= NODES, "more owners than there are places");
        WinnerTree {
            keys: Box::new([NONE; NODES]),
            leaves,
        }
    }
}

impl<K: DerefMut<Target: AsRef<[u64]> + AsMut<[u64]>>> WinnerTree<K> {
    /// Gives an owner another key.
    #[inline(always)]
    pub fn set(&mut self, owner: usize, mut key: u64) {
        debug_assert!(owner < self.leaves);
        let keys: &mut [u64] = (*self.keys).as_mut();
        // It is less than that; where their number is known, no place on the way to the root need be checked any more.
        let mut node = (self.leaves + owner) & (keys.len() - 1);
        keys[node] = key;
        while node > 1 {
            key = key.min(keys[node ^ 1]);
            node /= 2;
            keys[node] = key;
        }
    }

    /// The least key.
    #[inline(always)]
    pub fn first(&self) -> u64 {
        (*self.keys).as_ref()[1]
    }

    /// Changes every key that an owner has.
    pub fn change_all(&mut self, change: impl Fn(u64) -> u64) {
        let keys: &mut [u64] = (*self.keys).as_mut();
        for key in &mut keys[self.leaves..] {
            if *key != NONE {
                *key = change(*key);
            }
        }
        for node in (1..self.leaves).rev() {
            keys[node] = keys[2 * node].min(keys[2 * node + 1]);
        }
    }
}
