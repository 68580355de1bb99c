// SPDX-License-Identifier: MIT OR Apache-2.0
//! RACK-TLP (RFC 8985): losses found by the times at which packets were sent, and a probe where ACKs stay away at the end of a flight.
//!
//! A retransmission lost in fast recovery reduces cwnd no further, as in Linux.

use std::collections::VecDeque;

use netnice_congestion::congestion_control::Window;

use super::sent::{EVER_RETRANSMITTED, Sent};
use crate::NEVER_NS;
use crate::Segment;
use crate::timeout::LinuxVariance;

/// Number of SACKed packets that indicates a loss at once, as long as no packet was reordered: DupThresh of section 6.2, step 4.
const DUP_THRESH: u32 = 3;

/// Number of recoveries for which a wider reordering window persists (section 6.2, step 4).
const RECOVERIES_OF_WIDER_WINDOW: u8 = 16;

/// The reduction that Linux undoes if its packets were not lost, as shown by DSACKs for all that was retransmitted, or by an ACK
/// that echoes a timestamp from before the first retransmission (RFC 3522). The two steps of F-RTO (RFC 5682) are not here:
/// timestamps show the same.
#[derive(Debug)]
pub(super) struct Undo {
    /// The window before the reduction.
    pub window: Window,
    /// Retransmissions that no DSACK has reported, and when the first left, in ticks of the timestamps.
    pub retransmissions: u32,
    pub first_tick: Option<u32>,
}

/// How much of cwnd a sender uses, as Linux has it (`tcp_cwnd_validate`): from it follows that cwnd may grow.
#[derive(Debug, Default)]
pub(super) struct WindowUse {
    /// cwnd has limited the sender in this window of data.
    pub limited: bool,
    /// Otherwise the most packets that were outstanding in it.
    pub most: u32,
    /// The next byte to send as this was noted.
    pub end: u64,
    /// Packets were sent since it was looked at.
    pub sent: bool,
}

/// Purpose of the sender's timer with RACK-TLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossTimer {
    /// The sender does without RACK-TLP.
    Off,
    /// The RTO, or none.
    Timeout,
    /// End of the wait for packets that may have been reordered.
    Reordering,
    /// The probe timeout, PTO.
    Probe,
    /// The PTO has expired: the next packet is the probe.
    ProbeDue,
}

/// State of RACK-TLP.
#[derive(Debug)]
pub(super) struct Rack {
    /// RACK.xmit_ts: when the packet was sent that was sent last of those delivered; RACK.end_seq: its end.
    pub sent_ns: u64,
    pub end: u64,
    /// RACK.rtt: the round-trip time of the newest packet delivered.
    pub rtt_ns: u64,
    /// RACK.fack: the highest end of a packet delivered.
    pub highest_delivered: u64,
    pub reordering_seen: bool,
    /// A packet was delivered since losses were looked for.
    pub advanced: bool,
    /// RACK.dsack_round: until this byte is acknowledged DSACKs widen the reordering window no further.
    pub dsack_round: Option<u64>,
    /// RACK.reo_wnd_mult: quarters of the smallest round-trip time that the reordering window has.
    pub window_quarters: u8,
    /// RACK.reo_wnd_persist: recoveries after which it is narrow again.
    pub recoveries_left: u8,
    /// A round-trip time was measured since the last probe.
    pub measured: bool,
    /// TLP.end_seq: SND.NXT after the probe was sent, until the fate of the probe is known.
    pub probe_end: Option<u64>,
    /// TLP.is_retrans: the probe was no new packet.
    pub probe_again: bool,
    /// When the RTO expires, while a shorter timer runs.
    pub timeout_at_ns: u64,
    /// Linux's variance of round-trip times, and the reduction that it may take back.
    pub variance: LinuxVariance,
    pub undo: Option<Undo>,
    /// cwnd comes down to this because of marks (TCP_CA_CWR of Linux), until `Sender::recover` has been acknowledged.
    pub reduces_by_marks_to: Option<u32>,
    pub window_use: WindowUse,
    /// Probes sent since the start.
    pub probes: u64,
    /// Numbers of retransmitted packets and when they left, in the order sent.
    pub retransmitted: VecDeque<(u64, u64)>,
}

/// Result of a search for lost packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// A retransmission was lost.
    pub retransmission: bool,
    /// Nanoseconds until further packets are deemed lost unless an ACK comes first; 0 where none would be.
    pub wait_ns: u64,
}

/// Returns true if a packet sent at `a.0` that ends at byte `a.1` was sent after `b` (RACK_sent_after of section 6.2).
fn sent_after(a: (u64, u64), b: (u64, u64)) -> bool {
    a > b
}

impl Rack {
    pub fn new() -> Rack {
        Rack {
            sent_ns: 0,
            end: 0,
            rtt_ns: 0,
            highest_delivered: 0,
            reordering_seen: false,
            advanced: false,
            dsack_round: None,
            window_quarters: 1,
            recoveries_left: RECOVERIES_OF_WIDER_WINDOW,
            measured: true,
            probe_end: None,
            probe_again: false,
            timeout_at_ns: NEVER_NS,
            variance: LinuxVariance::default(),
            undo: None,
            reduces_by_marks_to: None,
            window_use: WindowUse::default(),
            probes: 0,
            retransmitted: VecDeque::new(),
        }
    }

    /// Section 6.2, step 2: takes note of a packet delivered at `now_ns`. `stale` says that the ACK is for an earlier transmission than
    /// the packet's retransmission, as its timestamp indicates.
    pub fn update(&mut self, sent: &Sent, now_ns: u64, min_rtt_ns: u64, stale: bool) {
        let rtt_ns = now_ns - sent.sent_ns;
        if sent.flags & EVER_RETRANSMITTED != 0 && (stale || rtt_ns < min_rtt_ns) {
            return;
        }
        self.rtt_ns = rtt_ns;
        self.advanced = true;
        if sent_after((sent.sent_ns, sent.end()), (self.sent_ns, self.end)) {
            self.sent_ns = sent.sent_ns;
            self.end = sent.end();
        }
    }

    /// Step 3: a packet of the original order delivered after one that follows it. `highest` is the highest end delivered before.
    pub fn look_for_reordering(&mut self, sent: &Sent, highest: u64) {
        self.reordering_seen |= sent.end() < highest && sent.flags & EVER_RETRANSMITTED == 0;
        self.highest_delivered = self.highest_delivered.max(sent.end());
    }

    /// Step 4: a DSACK says that a retransmission was needless, at most once a round trip.
    pub fn widen_window(&mut self, unacknowledged: u64, next_sequence: u64) {
        if self
            .dsack_round
            .is_some_and(|round| unacknowledged >= round)
        {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() {
            self.dsack_round = Some(next_sequence);
            self.window_quarters = self.window_quarters.saturating_add(1);
            self.recoveries_left = RECOVERIES_OF_WIDER_WINDOW;
        }
    }

    /// Step 4: the window is narrow again after sixteen recoveries without a DSACK.
    pub fn leave_recovery(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
        if self.recoveries_left == 0 {
            self.window_quarters = 1;
        }
    }

    /// RACK.reo_wnd of step 4 in nanoseconds.
    pub fn reordering_window_ns(
        &self,
        recovering: bool,
        sacked: u32,
        min_rtt_ns: u64,
        smoothed_rtt_ns: u64,
    ) -> u64 {
        if !self.reordering_seen && (recovering || sacked >= DUP_THRESH) {
            return 0;
        }
        (u64::from(self.window_quarters) * min_rtt_ns / 4).min(smoothed_rtt_ns)
    }

    /// Nanoseconds from `now_ns` until the packet is deemed lost, 0 if it is; `None` if no packet sent after it was delivered (step 5).
    pub fn remaining_ns(&self, sent: &Sent, window_ns: u64, now_ns: u64) -> Option<u64> {
        sent_after((self.sent_ns, self.end), (sent.sent_ns, sent.end()))
            .then(|| self.overdue_in_ns(sent, window_ns, now_ns))
    }

    /// Nanoseconds from `now_ns` until the packet has been in flight for a round trip and the reordering window.
    pub fn overdue_in_ns(&self, sent: &Sent, window_ns: u64, now_ns: u64) -> u64 {
        (sent.sent_ns + self.rtt_ns + window_ns).saturating_sub(now_ns)
    }

    /// Section 7.4.2: what an ACK says of the probe. Returns true if the probe repaired a loss.
    pub fn probe_indicates_loss(
        &mut self,
        ack: &Segment,
        repeated: Option<u64>,
        duplicate: bool,
    ) -> bool {
        let Some(end) = self.probe_end else {
            return false;
        };
        if ack.acknowledgement < end {
            return false;
        }
        let beyond = ack.acknowledgement > end;
        let arrived_twice = repeated == Some(end) || duplicate && !ack.sack[0].is_used();
        if !self.probe_again || beyond || arrived_twice {
            self.probe_end = None;
        }
        self.probe_again && beyond && repeated != Some(end)
    }
}
