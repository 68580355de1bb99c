// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receive windows that are too small for the next segment: avoidance of the silly window syndrome, and the persist timer
//! (RFC 9293 sections 3.8.6.1 and 3.8.6.2.1).

use netnice_queue::Time;

use super::Sender;
use crate::NEVER_NS;
use crate::config::nanos;
use crate::{Flags, Segment};

/// Shortest time of the persist timer: Linux's `TCP_RTO_MIN`.
const LEAST_PERSIST_NS: u64 = 200_000_000;

impl Sender {
    /// Returns true if a part of a segment, as large as the receive window, may be sent with nothing outstanding: if the
    /// window is half the largest one that the receiver has advertised (RFC 9293 section 3.8.6.2.1), or the persist timer
    /// has expired. Otherwise the sender persists.
    #[cold]
    pub(super) fn may_send_part(&mut self, room: u64) -> bool {
        let may = room > 0 && (self.probe_due || 2 * room >= u64::from(self.largest_window));
        self.persisting |= !may;
        may
    }

    /// Starts the persist timer, or returns a probe of a window of zero if the timer has expired.
    ///
    /// Linux's timer expires after an RTO, 200 ms at least (`tcp_probe0_base`). It doubles with each probe of a window of
    /// zero, and not with data that fill a small window.
    #[cold]
    pub(super) fn poll_persisting(&mut self, now: Time) -> Option<Segment> {
        let probes = self.probe_due;
        self.zero_window_probes += u32::from(probes);
        self.probe_due = false;
        if self.timer_ns == NEVER_NS {
            let base_ns = u128::from(self.timeout.value_ns().max(LEAST_PERSIST_NS));
            let backed_off_ns = base_ns << self.zero_window_probes.min(64);
            let wait_ns = backed_off_ns.min(nanos(self.config.timeout.max).into()) as u64;
            self.timer_ns = now.as_nanos().saturating_add(wait_ns);
        }
        if !probes {
            return self.poll_bare_ack(now);
        }
        // Outside of the window, so that the receiver answers with an ACK (RFC 9293 section 3.10.7.4).
        let mut probe = Segment {
            sequence: self.unacknowledged.saturating_sub(1),
            flags: Flags::ACK,
            ..Segment::default()
        };
        self.stamp(now, &mut probe);
        Some(probe)
    }

    /// Stops the persist timer as data are sent.
    #[inline]
    pub(super) fn end_persisting(&mut self) {
        if self.persisting || self.probe_due {
            self.persisting = false;
            self.probe_due = false;
            self.zero_window_probes = 0;
            self.timer_ns = NEVER_NS;
        }
    }
}
