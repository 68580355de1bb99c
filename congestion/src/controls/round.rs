// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips, told by packets: a round ends when a packet is delivered that was sent after the round began.

use crate::control::Ack;

/// Counts rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    /// [`Ack::delivered`] when the round began.
    start_delivered: u64,
}

impl Round {
    /// Whether this ACK ends the round; the next one then begins with it.
    pub(crate) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = ack.prior_delivered >= self.start_delivered;
        if ends {
            self.start_delivered = ack.delivered;
        }
        ends
    }
}
