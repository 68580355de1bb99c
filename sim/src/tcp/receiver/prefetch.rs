// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the state of a receiver lies in memory, and how it is fetched into the cache before a packet comes.

use std::mem::offset_of;

use crate::prefetch::{prefetch, prefetch_lines};

use super::{Receiver, ReceiverConfig};

/// The clock, which timestamps need, and what is behind it are no part of it.
const _: () = assert!(
    offset_of!(Receiver, config) + offset_of!(ReceiverConfig, clock) == Receiver::HOT_LINES * 64
);

impl Receiver {
    /// Cache lines in front that every packet needs.
    const HOT_LINES: usize = 2;
    const LINES: usize = size_of::<Receiver>() / 64;

    /// Begins to fetch what a packet will need. Changes nothing, and looks at nothing.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self, Receiver::HOT_LINES);
    }

    /// A segment of this sequence number is the next one.
    #[inline]
    pub(crate) fn expects(&self, sequence: u64) -> bool {
        sequence == self.next
    }

    /// Begins to fetch what anything but the next segment needs. Changes nothing.
    #[inline]
    pub(crate) fn prefetch_unusual(&self) {
        prefetch_lines(self, Receiver::HOT_LINES..Receiver::LINES);
        self.out_of_order.prefetch();
    }
}
