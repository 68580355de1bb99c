// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the state of a receiver lies in memory, and how it is fetched into the cache before a packet comes.

use std::mem::offset_of;

use crate::prefetch::{prefetch, prefetch_lines};

use super::Receiver;

/// The fields that every packet needs end with the timestamp.
const _: () =
    assert!(offset_of!(Receiver, recent_timestamp) + size_of::<u32>() <= Receiver::HOT_LINES * 64);

impl Receiver {
    /// Cache lines in front that every packet needs.
    const HOT_LINES: usize = 2;
    const LINES: usize = size_of::<Receiver>() / 64;

    /// Begins to fetch the fields that a packet needs. Changes nothing, and reads nothing.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self, Receiver::HOT_LINES);
    }

    /// Returns true if `sequence` is the next byte expected.
    #[inline]
    pub fn expects(&self, sequence: u64) -> bool {
        sequence == self.next
    }

    /// Begins to fetch the fields that only other segments than the next need. Changes nothing.
    #[inline]
    pub fn prefetch_unusual(&self) {
        prefetch_lines(self, Receiver::HOT_LINES..Receiver::LINES);
        self.out_of_order.prefetch();
    }
}
