// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips counted in packets: a round ends when a packet is delivered that was sent after the round began.

use crate::congestion_control::Ack;

/// Detector of the ends of rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    /// [`Ack::delivered`] when the round began.
    start_delivered: u64,
}

impl Round {
    /// Returns whether this ACK ends the round; the next round then starts with it.
    pub(crate) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = ack.prior_delivered >= self.start_delivered;
        if ends {
            self.start_delivered = ack.delivered;
        }
        ends
    }
}
