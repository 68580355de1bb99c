// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's part in RACK-TLP (RFC 8985): when it looks for losses, and when it probes.

use netnice_queue::Time;

use super::rack::{Found, LossTimer};
use super::sent::{EVER_RETRANSMITTED, Sent};
use super::{LastReduction, Sender};
use crate::Segment;

/// Time by which the ACK of a lone packet may be delayed: TLP.max_ack_delay of section 7.2, with the value of Linux.
const MAX_ACK_DELAY_NS: u64 = 200_000_000;

/// Time that Linux adds to the timers of RACK-TLP (`TCP_TIMEOUT_MIN_US`).
const LINUX_ADDS_NS: u64 = 2_000_000;

impl Sender {
    /// Takes note of a packet that an ACK delivers, of several in the order of their numbers. `cumulative`: the acknowledgement number
    /// covers it, and not a SACK block alone.
    #[cold]
    pub(super) fn rack_delivers(
        &mut self,
        now: Time,
        segment: &Segment,
        sent: &Sent,
        highest: u64,
        cumulative: bool,
    ) {
        let now_ns = now.as_nanos();
        let timestamps = self.config.timestamps;
        // The ACK of a packet beyond a gap echoes the timestamp of one before the gap (RFC 7323 section 4.3), so that TSecr says nothing
        // of the packet, and the round-trip time alone decides. Linux always goes by that.
        let by_timestamp = timestamps && cumulative && !self.config.linux;
        let at = self.config.clock.ticks(Time::from_nanos(sent.sent_ns));
        let stale = by_timestamp && (segment.tsecr.wrapping_sub(at) as i32) < 0;
        let min_rtt_ns = self.min_rtt_ns;
        let Some(rack) = self.rack.as_deref_mut() else {
            return;
        };
        rack.update(sent, now_ns, min_rtt_ns, stale);
        rack.look_for_reordering(sent, highest);
        rack.measured |= timestamps || sent.flags & EVER_RETRANSMITTED == 0;
    }

    /// The highest byte that RACK knows to be delivered.
    pub(super) fn rack_highest_delivered(&self) -> u64 {
        self.rack.as_ref().map_or(0, |rack| rack.highest_delivered)
    }

    /// Handles what an ACK says of the probe, and looks for losses by time. Returns true if recovery is to begin.
    #[cold]
    pub(super) fn rack_indicates_loss(
        &mut self,
        now_ns: u64,
        segment: &Segment,
        duplicate: bool,
    ) -> bool {
        let repeated = self.repeated_block(segment);
        let Some(rack) = self.rack.as_deref_mut() else {
            return false;
        };
        // Linux widens it for no other DSACKs than those that reordering may have caused.
        let linux = self.config.linux;
        let of_probe = repeated.is_some() && repeated == rack.probe_end;
        if repeated.is_some() && (!linux || rack.reordering_seen && !of_probe) {
            rack.widen_window(segment.acknowledgement, self.next_sequence);
        }
        let repaired = rack.probe_indicates_loss(segment, repeated, duplicate);
        let look = std::mem::take(&mut rack.advanced);
        let undone =
            linux && self.undo_needless_reduction(now_ns, segment, repeated.is_some(), !duplicate);
        if repaired {
            self.on_loss_repaired_by_probe(now_ns);
        }
        if !look || undone {
            return false;
        }
        if self.loss_timer == LossTimer::Reordering {
            self.return_to_timeout();
        }
        let found = self.find_lost_by_time(now_ns);
        self.begins_recovery(found)
    }

    /// The end of a block that repeats what was acknowledged before (RFC 2883 section 4).
    fn repeated_block(&self, segment: &Segment) -> Option<u64> {
        let [first, second, _] = segment.sack;
        let below = (first.start as i32) < 0;
        let within = second.is_used() && second.start <= first.start && first.end <= second.end;
        (first.is_used() && (below || within)).then(|| {
            segment
                .acknowledgement
                .wrapping_add_signed(i64::from(first.end as i32))
        })
    }

    /// Section 6.2, step 5, and the timer after it.
    fn find_lost_by_time(&mut self, now_ns: u64) -> Found {
        let recovering = self.in_recovery();
        let Some(rack) = self.rack.as_deref_mut() else {
            return Found::default();
        };
        let min_rtt_ns = match self.min_rtt_ns {
            0 => rack.rtt_ns,
            min_rtt_ns => min_rtt_ns.min(rack.rtt_ns),
        };
        let srtt_ns = match self.smoothed_rtt_ns {
            0 => rack.rtt_ns,
            srtt_ns => srtt_ns,
        };
        let sacked = self.outstanding.sacked();
        let window_ns = rack.reordering_window_ns(recovering, sacked, min_rtt_ns, srtt_ns);
        let found = self.outstanding.find_lost_by_time(rack, window_ns, now_ns);
        if found.wait_ns > 0 {
            let linux_ns = if self.config.linux { LINUX_ADDS_NS } else { 0 };
            let at_ns = now_ns.saturating_add(found.wait_ns + linux_ns);
            if at_ns < rack.timeout_at_ns {
                self.timer_ns = at_ns;
                self.loss_timer = LossTimer::Reordering;
            }
        }
        found
    }

    /// Returns true if fast recovery begins with the losses found. After an RTO they are retransmitted anyway, and only the loss of a
    /// retransmission is a new indication of congestion (RFC 5681 section 4.3).
    fn begins_recovery(&self, found: Found) -> bool {
        !self.fast_recovery
            && (found.retransmission || !self.after_timeout && self.outstanding.any_lost())
    }

    /// The wait for reordered packets is over.
    #[cold]
    pub(super) fn on_reordering_timer(&mut self, now_ns: u64) {
        self.return_to_timeout();
        let flight = self.recovery_flight(0);
        let found = self.find_lost_by_time(now_ns);
        if self.begins_recovery(found) {
            self.enter_fast_recovery(now_ns);
            self.begin_proportional_reduction(flight);
            if self.config.prr {
                self.reduce_proportionally(u32::from(self.config.linux), false);
            }
        }
    }

    /// The PTO has expired (section 7.3).
    #[cold]
    pub(super) fn on_probe_timer(&mut self) {
        self.return_to_timeout();
        self.loss_timer = LossTimer::ProbeDue;
    }

    /// The timer is that of the RTO, which began earlier.
    fn return_to_timeout(&mut self) {
        if let Some(rack) = &self.rack {
            self.timer_ns = rack.timeout_at_ns;
            self.loss_timer = LossTimer::Timeout;
        }
    }

    /// Takes note that the RTO's timer began anew, and ends others.
    #[cold]
    pub(super) fn rack_notes_timeout(&mut self) {
        if let Some(rack) = self.rack.as_deref_mut() {
            rack.timeout_at_ns = self.timer_ns;
            self.loss_timer = LossTimer::Timeout;
        }
    }

    /// Starts the PTO after new data were sent or acknowledged (section 7.2).
    #[cold]
    pub(super) fn schedule_probe(&mut self, now_ns: u64) {
        let idle =
            self.outstanding.is_empty() || self.in_recovery() || self.outstanding.any_sacked();
        let Some(rack) = self.rack.as_deref_mut() else {
            return;
        };
        let pending = matches!(self.loss_timer, LossTimer::Timeout | LossTimer::Probe);
        if idle || !pending || !rack.measured || rack.probe_end.is_some() {
            if self.loss_timer == LossTimer::Probe {
                self.return_to_timeout();
            }
            return;
        }
        let mut wait_ns = 2 * self.smoothed_rtt_ns;
        if wait_ns == 0 {
            wait_ns = 1_000_000_000;
        } else if self.outstanding.len() == 1 {
            wait_ns += MAX_ACK_DELAY_NS;
        } else if self.config.linux {
            wait_ns += LINUX_ADDS_NS;
        }
        self.timer_ns = now_ns.saturating_add(wait_ns).min(rack.timeout_at_ns);
        self.loss_timer = LossTimer::Probe;
    }

    /// Takes note of the probe sent, which was a retransmission or new; the RTO counts from now (section 7.3).
    #[cold]
    pub(super) fn note_probe(&mut self, now_ns: u64, again: bool) {
        if let Some(rack) = self.rack.as_deref_mut() {
            rack.probe_end = Some(self.next_sequence);
            rack.probe_again = again;
            rack.measured = false;
            rack.probes += 1;
        }
        self.restart_timer(now_ns);
    }

    /// Forgets the probe where a recovery begins (section 7.1).
    pub(super) fn forget_probe(&mut self) {
        if let Some(rack) = self.rack.as_deref_mut() {
            rack.probe_end = None;
        }
    }

    /// The probe repaired the loss of the last packet: congestion, as at the end of a recovery (section 7.4.2).
    fn on_loss_repaired_by_probe(&mut self, now_ns: u64) {
        if self.in_recovery() {
            return;
        }
        let congestion = self.congestion(now_ns);
        self.control.on_loss(&congestion, &mut self.window);
        self.round_ssthresh();
        self.reduce_to_ssthresh();
        self.control.on_recovery_end(now_ns, &mut self.window);
        self.take_reduction_by_marks();
        self.reduction_to_tell = self.tells_reductions();
        self.recover = self.next_sequence;
        self.last_reduction = LastReduction::Loss;
    }

    /// Deems lost, after an RTO, the first packet and those in flight for longer than a round trip (section 6.3).
    pub(super) fn rack_deems_lost_on_timeout(&mut self, now_ns: u64) {
        if let Some(rack) = self.rack.as_deref_mut() {
            rack.probe_end = None;
            self.outstanding.deem_overdue_lost(rack, now_ns);
            // RFC 5681 section 3.1: one packet, beside those that are deemed in flight.
            self.window.cwnd = f64::from(self.outstanding.pipe() + 1);
        }
    }
}
