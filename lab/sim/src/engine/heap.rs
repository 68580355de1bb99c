// SPDX-License-Identifier: MIT OR Apache-2.0
//! A heap: the least of many keys that are inserted and removed.

/// A 4-ary heap of (time, source) packed into 128 bits, so that one comparison without a branch orders both.
///
/// Most events, when handled, cause exactly one other: taking the earliest leaves a hole at the root, and the next
/// insertion fills it, which saves one of two passes through the heap.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    heap: Vec<u128>,
    /// The root has been taken and holds nothing.
    hole: bool,
}

const ARITY: usize = 4;

impl Heap {
    #[inline]
    pub fn push(&mut self, key: u128) {
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.heap.push(key);
            self.sift_up(key);
        }
    }

    /// Makes room for so many more keys at once.
    pub fn reserve(&mut self, keys: usize) {
        self.heap.reserve(keys);
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    /// The earliest key; the largest number where there is none.
    #[inline]
    pub fn first(&mut self) -> u128 {
        if self.hole {
            self.fill_hole();
        }
        self.heap.first().copied().unwrap_or(u128::MAX)
    }

    /// Removes the earliest key.
    #[inline]
    pub fn take_first(&mut self) {
        self.hole = true;
    }

    #[inline]
    fn fill_hole(&mut self) {
        self.hole = false;
        if let Some(last) = self.heap.pop() {
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
    }

    /// Puts `key` where it belongs, from the root downwards. The root counts as empty.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let heap = &mut self.heap[..];
        let mut position = 0;
        loop {
            let first = position * ARITY + 1;
            let smallest = if let Some(children) = heap.get(first..first + ARITY) {
                // A tournament of two rounds; compiles to conditional moves.
                let left = usize::from(children[1] < children[0]);
                let right = 2 + usize::from(children[3] < children[2]);
                if children[right] < children[left] {
                    first + right
                } else {
                    first + left
                }
            } else if first < heap.len() {
                let mut smallest = first;
                for child in first + 1..heap.len() {
                    if heap[child] < heap[smallest] {
                        smallest = child;
                    }
                }
                smallest
            } else {
                break;
            };
            if heap[smallest] >= key {
                break;
            }
            heap[position] = heap[smallest];
            position = smallest;
        }
        heap[position] = key;
    }

    /// Puts `key`, for which the last place was made, where it belongs.
    #[inline]
    fn sift_up(&mut self, key: u128) {
        let heap = &mut self.heap[..];
        let mut position = heap.len() - 1;
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if heap[parent] <= key {
                break;
            }
            heap[position] = heap[parent];
            position = parent;
        }
        heap[position] = key;
    }
}
