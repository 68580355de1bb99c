// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pending events of a run, earliest first; of those at one time, the lowest source first.

use netnice_queue::Time;

use crate::simulation::source;

/// Two heaps: one of the links, whose events lie milliseconds ahead and come and go with every packet, and one of
/// everything else, mostly timers, of which each flow has one that is seldom touched. So with 100,000 flows the heap
/// that is used most is still a small one.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    links: Heap,
    others: Heap,
}

impl EventQueue {
    /// Something is due from `source` at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, source: u32) {
        let key = (u128::from(time.as_nanos()) << 32) | u128::from(source);
        if source & source::KIND == source::LINK {
            self.links.push(key);
        } else {
            self.others.push(key);
        }
    }

    /// Takes the earliest event, if it is due at or before `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)> {
        let (link, other) = (self.links.first(), self.others.first());
        let key = link.min(other);
        let time = Time::from_nanos((key >> 32) as u64);
        // An empty heap's first key is later than all others, and so is its time.
        if time > limit || key == u128::MAX {
            return None;
        }
        if link < other {
            self.links.take_first();
        } else {
            self.others.take_first();
        }
        Some((time, key as u32))
    }
}

impl EventQueue {
    /// After an event was taken: up to four events of links, as [`EventQueue::push`] packs them. Where that event was a
    /// link's, the one due next on any link is among them, unless the event taken causes an earlier one.
    #[inline]
    pub fn upcoming(&self) -> &[u128] {
        let heap = &self.links.heap[..];
        &heap[heap.len().min(1)..heap.len().min(1 + ARITY)]
    }
}

/// A 4-ary heap of (time, source) packed into 128 bits, so that one comparison without a branch orders both.
///
/// Most events, when handled, cause exactly one other: taking the earliest leaves a hole at the root, and the next
/// insertion fills it, which saves one of two passes through the heap.
#[derive(Debug, Default)]
struct Heap {
    heap: Vec<u128>,
    /// The root has been taken and holds nothing.
    hole: bool,
}

const ARITY: usize = 4;

impl Heap {
    #[inline]
    fn push(&mut self, key: u128) {
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.heap.push(key);
            self.sift_up(key);
        }
    }

    /// The earliest key; the largest number where there is none.
    #[inline]
    fn first(&mut self) -> u128 {
        if self.hole {
            self.fill_hole();
        }
        self.heap.first().copied().unwrap_or(u128::MAX)
    }

    /// The earliest key is no more.
    #[inline]
    fn take_first(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn of_simultaneous_events_the_lowest_source_is_first() {
        let mut queue = EventQueue::default();
        let time = Time::from_millis(5);
        for source in [3, source::WRITE | 1, 2] {
            queue.push(time, source);
        }
        assert_eq!(queue.pop_until(Time::from_millis(4)), None);
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop_until(time))
            .map(|e| e.1)
            .collect();
        assert_eq!(order, [2, 3, source::WRITE | 1]);
    }

    proptest! {
        #[test]
        fn it_sorts_as_an_ordered_set_does(steps in prop::collection::vec((any::<bool>(), 0u64..50), 1..400)) {
            let mut queue = EventQueue::default();
            let mut model = BTreeSet::new();
            for (source, (push, time)) in steps.into_iter().enumerate() {
                if push {
                    let source = source as u32 | if source % 3 == 0 { source::SENDER_TIMER } else { source::LINK };
                    queue.push(Time::from_nanos(time), source);
                    model.insert((time, source));
                } else {
                    let limit = Time::from_nanos(time);
                    let expected = model.first().copied().filter(|&(at, _)| at <= time);
                    let got = queue.pop_until(limit).map(|(at, source)| (at.as_nanos(), source));
                    prop_assert_eq!(got, expected);
                    if let Some(first) = expected {
                        model.remove(&first);
                    }
                }
            }
        }
    }
}
