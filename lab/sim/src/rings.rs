// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings of which a run has one for each of a hundred thousand flows or links.
//!
//! Together they are a quarter of such a run's memory. Each keeps room for the most that it ever held, and where it grew by doubling, for half as
//! much again on average.

use std::collections::VecDeque;

/// Adds a value behind all others. Where there is no room, makes some for a quarter more.
#[inline(always)]
pub(crate) fn push_back<T>(ring: &mut VecDeque<T>, value: T) {
    if ring.len() == ring.capacity() {
        grow(ring);
    }
    ring.push_back(value);
}

#[cold]
fn grow<T>(ring: &mut VecDeque<T>) {
    ring.reserve_exact((ring.len() / 4).max(4));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_by_a_quarter_and_values_stay_in_order() {
        let mut ring = VecDeque::new();
        for value in 0..1000u64 {
            push_back(&mut ring, value);
            // It begins anywhere in its room when it grows.
            if value % 3 == 0 {
                ring.pop_front();
            }
            assert!(ring.capacity() <= (ring.len() + 1) * 5 / 4 + 4);
        }
        assert!(ring.into_iter().eq(334..1000));
    }
}
