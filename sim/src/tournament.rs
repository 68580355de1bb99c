// SPDX-License-Identifier: MIT OR Apache-2.0
//! The least of many keys, of which each has its owner and changes often.

/// A key that is later than all others: the owner has none.
pub(crate) const NONE: u64 = u64::MAX;

/// A tree in which every node holds the lesser of its two children: a change goes from the owner's leaf to the root and has
/// no branch that depends on keys, which a heap has at every level. The processor knows ahead all places that it will look
/// at, and can fetch them at the same time.
#[derive(Debug)]
pub(crate) struct Tournament {
    /// Node 1 is the root, the children of node n are 2n and 2n + 1, and the leaves are the second half. Those that play
    /// against each other are together.
    pairs: Vec<[u64; 2]>,
}

impl Tournament {
    /// A place for each of `owners`; none of them has a key.
    pub fn new(owners: usize) -> Tournament {
        Tournament {
            pairs: vec![[NONE; 2]; owners.max(1).next_power_of_two()],
        }
    }

    /// Gives an owner another key.
    #[inline(always)]
    pub fn set(&mut self, owner: usize, mut key: u64) {
        let pairs = &mut self.pairs[..];
        let mut node = pairs.len() + owner;
        while node > 1 {
            let pair = &mut pairs[node / 2];
            let other = pair[1 - node % 2];
            pair[node % 2] = key;
            key = key.min(other);
            node /= 2;
        }
        pairs[0][1] = key;
    }

    /// The least key.
    #[inline(always)]
    pub fn first(&self) -> u64 {
        self.pairs[0][1]
    }

    /// Changes every key that an owner has.
    pub fn change_all(&mut self, change: impl Fn(u64) -> u64) {
        let leaves = self.pairs.len() / 2..self.pairs.len();
        for key in self.pairs[leaves].as_flattened_mut() {
            if *key != NONE {
                *key = change(*key);
            }
        }
        for node in (1..self.pairs.len()).rev() {
            let [left, right] = self.pairs[node];
            self.pairs[node / 2][node % 2] = left.min(right);
        }
    }
}
