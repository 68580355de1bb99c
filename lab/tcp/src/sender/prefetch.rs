// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the state of a sender lies in memory, and how it is fetched into the cache before an ACK comes.

use std::mem::offset_of;
use std::sync::Arc;

use crate::prefetch::{prefetch, prefetch_lines, prefetch_object};
use netnice_congestion::congestion_control::Window;

use super::{Sender, SenderConfig};

/// The fields that every ACK needs end with the pointer to the configuration.
const _: () =
    assert!(offset_of!(Sender, config) + size_of::<Arc<SenderConfig>>() <= Sender::HOT_LINES * 64);

impl Sender {
    /// Cache lines in front that every ACK needs.
    const HOT_LINES: usize = 4;

    /// Begins to fetch the sender's own fields that an ACK needs. Changes nothing, and reads nothing.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self, Sender::HOT_LINES);
        prefetch(&self.outstanding, 1);
    }

    /// Returns true if an ACK with this number acknowledges nothing new.
    #[inline]
    pub fn has_seen(&self, acknowledgement: u64) -> bool {
        acknowledgement <= self.unacknowledged
    }

    /// Begins to fetch the other fields that such an ACK needs. Changes nothing.
    #[inline]
    pub fn prefetch_unusual(&self) {
        let last = offset_of!(Sender, outstanding) / 64;
        prefetch_lines(self, Sender::HOT_LINES..last);
    }

    /// Begins to fetch the packets and the control that the sender's fields point to.
    #[inline]
    pub fn prefetch_beyond(&self) {
        self.outstanding.prefetch();
        prefetch_object(&*self.control);
    }

    /// Returns true if the next ACK may release several packets at once: in slow start, after losses, and where the
    /// window grows by a packet.
    #[inline]
    pub fn may_burst(&self) -> bool {
        let Window { cwnd, ssthresh } = self.window;
        let one_more = (cwnd + cwnd.recip()) as u32 > cwnd as u32;
        one_more | (cwnd < ssthresh) | self.fast_recovery | self.after_timeout
    }
}
