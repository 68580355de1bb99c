// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the state of a sender lies in memory, and how it is fetched into the cache before an ACK comes.

use std::mem::offset_of;

use crate::prefetch::{prefetch, prefetch_lines, prefetch_object};
use netnice_congestion::control::Window;

use super::{Sender, SenderConfig};

/// What every ACK needs of the configuration is in the line of the flags before it.
const _: () =
    assert!(offset_of!(Sender, config) + offset_of!(SenderConfig, clock) == Sender::HOT_LINES * 64);

impl Sender {
    /// Cache lines in front that every ACK needs.
    const HOT_LINES: usize = 4;

    /// Begins to fetch what an ACK will need of the sender itself. Changes nothing, and looks at nothing.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self, Sender::HOT_LINES);
        prefetch(&self.outstanding, 1);
    }

    /// An ACK with this number acknowledges nothing new.
    #[inline]
    pub(crate) fn has_seen(&self, acknowledgement: u64) -> bool {
        acknowledgement <= self.unacknowledged
    }

    /// Begins to fetch what such an ACK needs beside that. Changes nothing.
    #[inline]
    pub(crate) fn prefetch_unusual(&self) {
        let last = offset_of!(Sender, outstanding) / 64;
        prefetch_lines(self, Sender::HOT_LINES..last);
    }

    /// Begins to fetch what that leads to.
    #[inline]
    pub(crate) fn prefetch_beyond(&self) {
        self.outstanding.prefetch();
        prefetch_object(&*self.control);
    }

    /// The next ACK may let several packets go at once: in slow start, after losses, and where the window comes to be a packet
    /// larger.
    #[inline]
    pub(crate) fn may_burst(&self) -> bool {
        let Window { cwnd, ssthresh } = self.window;
        let one_more = (cwnd + cwnd.recip()) as u32 > cwnd as u32;
        one_more | (cwnd < ssthresh) | self.fast_recovery | self.after_timeout
    }
}
