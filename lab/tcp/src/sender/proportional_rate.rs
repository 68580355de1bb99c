// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional Rate Reduction: how much may be sent for each ACK during fast recovery (RFC 9937 section 6).

/// The state of one recovery, in packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProportionalRate {
    /// RecoverFS: packets in flight before the recovery.
    flight: u32,
    /// prr_delivered: packets delivered since its beginning.
    delivered: u32,
    /// prr_out: packets sent since its beginning.
    pub(super) out: u32,
}

impl ProportionalRate {
    /// Begins a recovery with so many packets in flight before the ACK that indicated the loss.
    pub(super) fn new(flight: u32) -> ProportionalRate {
        ProportionalRate {
            flight: flight.max(1),
            delivered: 0,
            out: 0,
        }
    }

    /// Handles an ACK in recovery that delivers `newly_delivered` packets and leaves `pipe` in flight; returns cwnd. `safe` is
    /// SafeACK: the ACK acknowledges new data cumulatively and indicates no further loss.
    pub(super) fn on_ack(
        &mut self,
        pipe: u32,
        ssthresh: u32,
        newly_delivered: u32,
        safe: bool,
    ) -> u32 {
        self.delivered += newly_delivered;
        let mut may_send = if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            let share = share.div_ceil(u64::from(self.flight));
            (share as u32).saturating_sub(self.out)
        } else {
            // The reduction bound: as many as were delivered, and one more while recovery makes progress.
            let bound = self.delivered.saturating_sub(self.out).max(newly_delivered);
            (bound + u32::from(safe)).min(ssthresh - pipe)
        };
        if self.out == 0 {
            // The fast retransmission.
            may_send = may_send.max(1);
        }
        pipe + may_send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles `acks` with one packet each, sends all that is allowed, and returns how much that is for each ACK.
    fn sent(prr: &mut ProportionalRate, pipe: &mut u32, acks: u32, safe: bool) -> Vec<u32> {
        (0..acks)
            .map(|_| {
                *pipe -= 1;
                let sent = prr.on_ack(*pipe, 10, 1, safe) - *pipe;
                prr.out += sent;
                *pipe += sent;
                sent
            })
            .collect()
    }

    #[test]
    fn one_packet_leaves_for_every_second_ack() {
        // 20 packets in flight, ssthresh 10, one lost.
        let mut prr = ProportionalRate::new(20);
        let mut pipe = 19;
        assert_eq!(
            sent(&mut prr, &mut pipe, 8, false),
            [1, 0, 1, 0, 1, 0, 1, 0]
        );
        // ceil(18 * 10 / 20) = 9 packets for 18 ACKs, and then as many in flight as ssthresh.
        sent(&mut prr, &mut pipe, 10, false);
        assert_eq!((prr.out, pipe), (9, 10));
    }

    #[test]
    fn below_ssthresh_a_packet_leaves_for_each_ack() {
        // Of 20 packets 15 are lost: 5 in flight, the first of which indicates the loss.
        let mut prr = ProportionalRate::new(20);
        let mut pipe = 5;
        assert_eq!(sent(&mut prr, &mut pipe, 3, false), [1, 1, 1]);
        assert_eq!(pipe, 5);
        // With SafeACK one more, until ssthresh is in flight.
        assert_eq!(sent(&mut prr, &mut pipe, 7, true), [2, 2, 2, 2, 2, 1, 1]);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn a_stretch_ack_is_answered_by_what_it_delivered() {
        let mut prr = ProportionalRate::new(20);
        assert_eq!(prr.on_ack(4, 10, 4, false) - 4, 4);
        // Nothing was sent meanwhile, so that what was delivered before may go, too: 8, limited by ssthresh - pipe.
        assert_eq!(prr.on_ack(3, 10, 4, false) - 3, 7);
        assert_eq!(prr.on_ack(0, 10, 1, false), 9);
    }

    #[test]
    fn the_first_retransmission_always_leaves() {
        // The share of the first ACK rounds up to 1; with ssthresh in flight already the bound would be 0.
        assert_eq!(ProportionalRate::new(100).on_ack(99, 1, 1, false), 100);
        assert_eq!(ProportionalRate::new(20).on_ack(10, 10, 1, false), 11);
    }
}
