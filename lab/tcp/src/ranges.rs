// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of bytes that have arrived out of order.

use std::collections::VecDeque;

use crate::prefetch::prefetch_object;

/// Disjoint ranges `[start, end)` in order, none touching another. Nothing is allocated while it is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges(VecDeque<(u64, u64)>);

impl Ranges {
    /// Begins to fetch the first of them.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_object(self.0.as_slices().0);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `[start, end)`; calls `new_part` for each part that was not in the set.
    pub fn insert(&mut self, start: u64, end: u64, mut new_part: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // From `from` on, ranges end at or beyond our start; those up to `to` also begin before or at our end.
        let from = self.0.partition_point(|range| range.1 < start);
        let mut to = from;
        let mut merged = (start, end);
        let mut covered = start;
        while let Some(&(other_start, other_end)) = self.0.get(to) {
            if other_start > end {
                break;
            }
            if covered < other_start {
                new_part(covered, other_start);
            }
            covered = covered.max(other_end);
            merged = (merged.0.min(other_start), merged.1.max(other_end));
            to += 1;
        }
        if covered < end {
            new_part(covered, end);
        }
        if from == to {
            self.0.insert(from, merged);
        } else {
            self.0[from] = merged;
            self.0.drain(from + 1..to);
        }
    }

    /// Returns the range that contains `byte`.
    pub fn containing(&self, byte: u64) -> Option<(u64, u64)> {
        let index = self.0.partition_point(|range| range.1 <= byte);
        self.0.get(index).copied().filter(|range| range.0 <= byte)
    }

    /// Forgets everything below `byte`.
    pub fn remove_below(&mut self, byte: u64) {
        while let Some(front) = self.0.front_mut() {
            if front.1 > byte {
                front.0 = front.0.max(byte);
                return;
            }
            self.0.pop_front();
        }
    }

    /// Removes the first range if it begins at or before `byte`, and returns its end.
    pub fn take_front_reaching(&mut self, byte: u64) -> Option<u64> {
        let &(start, end) = self.0.front()?;
        if start > byte {
            return None;
        }
        self.0.pop_front();
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_merge_and_tell_what_is_new() {
        let mut ranges = Ranges::default();
        let mut add = |start, end| {
            let mut new = vec![];
            ranges.insert(start, end, |a, b| new.push((a, b)));
            new
        };
        assert_eq!(add(10, 20), [(10, 20)]);
        assert_eq!(add(30, 40), [(30, 40)]);
        assert_eq!(add(10, 20), []);
        assert_eq!(add(20, 25), [(20, 25)]);
        assert_eq!(add(5, 50), [(5, 10), (25, 30), (40, 50)]);
        assert_eq!(ranges.0, [(5, 50)]);
        assert_eq!(ranges.containing(49), Some((5, 50)));
        assert_eq!(ranges.containing(50), None);
        ranges.remove_below(12);
        assert_eq!(ranges.take_front_reaching(11), None);
        assert_eq!(ranges.take_front_reaching(12), Some(50));
        assert!(ranges.is_empty());
    }

    proptest! {
        #[test]
        fn as_a_set_of_bytes(inserts in proptest::collection::vec((0u64..100, 1u64..20), 0..40)) {
            let mut ranges = Ranges::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (start, length) in inserts {
                ranges.insert(start, start + length, |a, b| {
                    for byte in a..b {
                        assert!(bytes.insert(byte), "{byte} was there");
                    }
                });
                for byte in 0..120 {
                    prop_assert_eq!(ranges.containing(byte).is_some(), bytes.contains(&byte));
                }
                let sorted = ranges.0.iter().zip(ranges.0.iter().skip(1)).all(|(a, b)| a.1 < b.0);
                prop_assert!(sorted);
            }
        }
    }
}
