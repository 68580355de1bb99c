// SPDX-License-Identifier: MIT OR Apache-2.0
//! The set-associative hash of CAKE.
//!
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways" (2018),
//! section III-C: a hash selects a set of eight slots and the first slot to look at within it, so that two flows share a slot only
//! if all eight are in use.

/// Slots of a table.
pub(crate) const SLOTS: usize = 1024;
/// Slots of a set.
const WAYS: usize = 8;

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The slot reserved for this hash.
    Reserved(usize),
    /// A slot that nobody uses.
    Free(usize),
    /// All slots of the set are in use by others; this is the one that the hash selects.
    Collision(usize),
}

/// Searches the set of `hash` for a slot with this hash as its tag, then for one that is free. `tag` returns a slot's tag, if it
/// has ever had one.
pub(crate) fn find(
    hash: u64,
    tag: impl Fn(usize) -> Option<u64>,
    is_free: impl Fn(usize) -> bool,
) -> Found {
    let selected = (hash % SLOTS as u64) as usize;
    let set = selected - selected % WAYS;
    let ways = || (0..WAYS).map(|way| set + (selected + way) % WAYS);
    if let Some(slot) = ways().find(|&slot| tag(slot) == Some(hash)) {
        return Found::Reserved(slot);
    }
    match ways().find(|&slot| is_free(slot)) {
        Some(slot) => Found::Free(slot),
        None => Found::Collision(selected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_takes_eight_hashes_before_two_collide() {
        let mut tags = [None; SLOTS];
        let mut add = |hash| {
            let found = find(hash, |slot| tags[slot], |slot| tags[slot].is_none());
            if let Found::Free(slot) = found {
                tags[slot] = Some(hash);
            }
            found
        };
        // All of them select slot 13, of the set of slots 8 to 15.
        let hash = |number: u64| 13 + 1024 * number;
        let slots: Vec<Found> = (0..8).map(|number| add(hash(number))).collect();
        assert_eq!(slots, [13, 14, 15, 8, 9, 10, 11, 12].map(Found::Free));
        assert_eq!(add(hash(8)), Found::Collision(13));
        assert_eq!(add(hash(3)), Found::Reserved(8));
        assert_eq!(add(16), Found::Free(16));
    }
}
