// SPDX-License-Identifier: MIT OR Apache-2.0
//! ACKs that Linux does not delay: those of a connection's first data, of data after a long gap, and of the first mark that is echoed.

use netnice_queue::Time;

/// Most of them in a row (`TCP_MAX_QUICKACKS`).
const MOST_QUICK_ACKS: u32 = 16;
/// Fewest (`tcp_incr_quickack`).
const LEAST_QUICK_ACKS: u32 = 2;

/// Counts the ACKs that are not delayed, as `tcp_event_data_recv` and `tcp_dec_quickack_mode`.
#[derive(Debug, Clone, Default)]
pub(super) struct QuickAcks {
    /// How many of the next ACKs are not delayed.
    remaining: u32,
    /// Gap between two packets of data after which ACKs are not delayed: this end's RTO.
    gap_ns: u64,
    /// When the newest packet of data arrived.
    arrived: Option<Time>,
}

impl QuickAcks {
    /// Sets the gap to the RTO after a first round trip (RFC 6298 section 2.2).
    pub(super) fn set_first_round_trip(&mut self, rtt_ns: u64, least_rto_ns: u64) {
        self.gap_ns = least_rto_ns.max(3 * rtt_ns);
    }

    /// Takes note of data in order. `window` is the newest one advertised, `mss` the data of a full packet, both in bytes.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, window: u32, mss: u32) {
        let gap_ns = self
            .arrived
            .map(|arrived| now.as_nanos() - arrived.as_nanos());
        self.arrived = Some(now);
        if gap_ns.is_none_or(|gap_ns| gap_ns > self.gap_ns) {
            let granted = window / (2 * mss.max(1));
            let granted = granted.clamp(LEAST_QUICK_ACKS, MOST_QUICK_ACKS);
            self.remaining = self.remaining.max(granted);
        }
    }

    /// Takes note of a mark: the window of the sender may be small (`tcp_data_ecn_check`).
    pub(super) fn on_first_mark(&mut self) {
        self.remaining = self.remaining.max(LEAST_QUICK_ACKS);
    }

    /// Takes note of a segment that leaves: each acknowledges.
    #[inline]
    pub(super) fn on_ack(&mut self) {
        self.remaining = self.remaining.saturating_sub(1);
    }

    /// Returns true if the next ACK is not delayed.
    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.remaining > 0
    }

    /// When the newest packet of data arrived.
    pub(super) fn arrived(&self) -> Option<Time> {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u32 = 1 << 20;
    const MSS: u32 = 1448;

    fn acks_without_delay(quick: &mut QuickAcks) -> u32 {
        (0..)
            .take_while(|_| {
                let quick_now = quick.is_quick();
                quick.on_ack();
                quick_now
            })
            .count() as u32
    }

    #[test]
    fn first_data_and_data_after_a_gap_are_quick() {
        let mut quick = QuickAcks::default();
        // RTO: the least, as 3 * 40 ms is less.
        quick.set_first_round_trip(40_000_000, 200_000_000);
        quick.on_data(Time::from_millis(0), WINDOW, MSS);
        assert_eq!(acks_without_delay(&mut quick), 16);
        quick.on_data(Time::from_millis(200), WINDOW, MSS);
        assert_eq!(acks_without_delay(&mut quick), 0);
        quick.on_data(Time::from_millis(401), WINDOW, MSS);
        assert_eq!(acks_without_delay(&mut quick), 16);
        // A window of six packets: 6 / 2.
        quick.on_data(Time::from_millis(1000), 6 * MSS, MSS);
        assert_eq!(acks_without_delay(&mut quick), 3);
        // 3 * 100 ms.
        quick.set_first_round_trip(100_000_000, 200_000_000);
        quick.on_data(Time::from_millis(1300), WINDOW, MSS);
        assert_eq!(acks_without_delay(&mut quick), 0);
    }
}
