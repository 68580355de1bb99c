// SPDX-License-Identifier: MIT OR Apache-2.0
//! RACK-TLP (RFC 8985): losses found by the times at which packets were sent, and a probe where ACKs stay away at the end of a flight.
//!
//! A retransmission lost in fast recovery reduces cwnd no further, as in Linux.

use std::collections::VecDeque;

use netnice_congestion::control::Window;
use netnice_queue::Time;

use super::outstanding::{EVER_RETRANSMITTED, Sent};
use super::proportional_rate::ProportionalRate;
use super::{LastReduction, Sender};
use crate::tcp::Segment;
use crate::tcp::timeout::LinuxVariance;
use crate::time::NEVER_NS;

/// Number of SACKed packets that indicates a loss at once, as long as no packet was reordered: DupThresh of section 6.2, step 4.
const DUP_THRESH: u32 = 3;

/// Number of recoveries for which a wider reordering window persists (section 6.2, step 4).
const RECOVERIES_OF_WIDER_WINDOW: u8 = 16;

/// Time by which the ACK of a lone packet may be delayed: TLP.max_ack_delay of section 7.2, with the value of Linux.
const MAX_ACK_DELAY_NS: u64 = 200_000_000;

/// Time that Linux adds to the timers of RACK-TLP (`TCP_TIMEOUT_MIN_US`).
const LINUX_ADDS_NS: u64 = 2_000_000;

/// How Linux takes back a reduction for packets that were not lost: by DSACKs for all that was retransmitted, or by an ACK that echoes a
/// timestamp from before the first retransmission (RFC 3522). The two steps of F-RTO (RFC 5682) are not here: timestamps say the same.
#[derive(Debug)]
struct Undo {
    /// The window before the reduction.
    window: Window,
    /// Retransmissions that no DSACK has reported, and when the first left, in ticks of the timestamps.
    retransmissions: u32,
    first_tick: Option<u32>,
}

/// How much of cwnd a sender uses, as Linux has it (`tcp_cwnd_validate`): from it follows that cwnd may grow.
#[derive(Debug, Default)]
struct WindowUse {
    /// cwnd has limited the sender in this window of data.
    limited: bool,
    /// Otherwise the most packets that were outstanding in it.
    most: u32,
    /// The next byte to send as this was noted.
    end: u64,
    /// Packets were sent since it was looked at.
    sent: bool,
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
    sent_ns: u64,
    end: u64,
    /// RACK.rtt: the round-trip time of the newest packet delivered.
    rtt_ns: u64,
    /// RACK.fack: the highest end of a packet delivered.
    highest_delivered: u64,
    reordering_seen: bool,
    /// A packet was delivered since losses were looked for.
    advanced: bool,
    /// RACK.dsack_round: until this byte is acknowledged DSACKs widen the reordering window no further.
    dsack_round: Option<u64>,
    /// RACK.reo_wnd_mult: quarters of the smallest round-trip time that the reordering window has.
    window_quarters: u8,
    /// RACK.reo_wnd_persist: recoveries after which it is narrow again.
    recoveries_left: u8,
    /// A round-trip time was measured since the last probe.
    measured: bool,
    /// TLP.end_seq: SND.NXT after the probe was sent, until the fate of the probe is known.
    probe_end: Option<u64>,
    /// TLP.is_retrans: the probe was no new packet.
    probe_again: bool,
    /// When the RTO expires, while a shorter timer runs.
    timeout_at_ns: u64,
    /// Linux's variance of round-trip times, and the reduction that it may take back.
    pub variance: LinuxVariance,
    undo: Option<Undo>,
    window_use: WindowUse,
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
            window_use: WindowUse::default(),
            probes: 0,
            retransmitted: VecDeque::new(),
        }
    }

    /// Section 6.2, step 2: takes note of a packet delivered at `now_ns`. `stale` says that the ACK echoes a timestamp from before the
    /// packet's retransmission, and so is for an earlier transmission.
    fn update(&mut self, sent: &Sent, now_ns: u64, min_rtt_ns: u64, stale: bool) {
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
    fn look_for_reordering(&mut self, sent: &Sent, highest: u64) {
        self.reordering_seen |= sent.end() < highest && sent.flags & EVER_RETRANSMITTED == 0;
        self.highest_delivered = self.highest_delivered.max(sent.end());
    }

    /// Step 4: a DSACK says that a retransmission was needless, at most once a round trip.
    fn widen_window(&mut self, unacknowledged: u64, next_sequence: u64) {
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
    fn reordering_window_ns(
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
}

impl Sender {
    /// Takes note of the packets that an ACK delivers, in the order of their numbers.
    #[cold]
    pub(super) fn rack_delivers(
        &mut self,
        now: Time,
        segment: &Segment,
        delivered: &[Sent],
        highest: u64,
    ) {
        let now_ns = now.as_nanos();
        let timestamps = self.config.timestamps;
        let clock = self.config.clock;
        let stale = |sent: &Sent| {
            let at = clock.ticks(Time::from_nanos(sent.sent_ns));
            timestamps && (segment.tsecr.wrapping_sub(at) as i32) < 0
        };
        let min_rtt_ns = self.min_rtt_ns;
        let Some(rack) = self.rack.as_deref_mut() else {
            return;
        };
        for sent in delivered {
            rack.update(sent, now_ns, min_rtt_ns, stale(sent));
            rack.look_for_reordering(sent, highest);
            rack.measured |= timestamps || sent.flags & EVER_RETRANSMITTED == 0;
        }
    }

    /// The highest byte that RACK knows to be delivered.
    pub(super) fn rack_highest_delivered(&self) -> u64 {
        self.rack.as_ref().map_or(0, |rack| rack.highest_delivered)
    }

    /// Handles what an ACK says of the probe, and looks for losses by time. Returns true if recovery is to begin.
    #[cold]
    pub(super) fn rack_says_lost(
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
        let repaired = rack.probe_says_loss(segment, repeated, duplicate);
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
            self.proportional_rate = ProportionalRate::new(flight);
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
        self.reduction_to_tell = self.config.ecn;
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

/// What Linux does besides.
impl Sender {
    /// RecoverFS of PRR where an ACK that delivers so many packets begins a recovery: packets in flight before it, cwnd in Linux.
    pub(super) fn recovery_flight(&self, delivered: u32) -> u32 {
        match self.config.linux {
            true => self.window.cwnd as u32,
            false => self.outstanding.unsacked() + delivered,
        }
    }

    /// Rounds ssthresh, which Linux keeps in whole packets.
    pub(super) fn round_ssthresh(&mut self) {
        if self.config.linux {
            self.window.ssthresh = self.window.ssthresh.floor();
        }
    }

    /// Returns true if cwnd limits the sender. Linux lets it grow in slow start, too, while it is less than twice what was outstanding
    /// (`tcp_is_cwnd_limited`).
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        match self.config.linux {
            true => self.is_cwnd_limited_in_linux(),
            false => self.cwnd_limited,
        }
    }

    #[cold]
    fn is_cwnd_limited_in_linux(&self) -> bool {
        let Some(rack) = self.rack.as_deref() else {
            return self.cwnd_limited;
        };
        let WindowUse { limited, most, .. } = rack.window_use;
        limited || self.window.in_slow_start() && self.window.cwnd < f64::from(2 * most)
    }

    /// Takes note that a packet was sent.
    #[cold]
    pub(super) fn note_sent(&mut self) {
        if let Some(rack) = self.rack.as_deref_mut() {
            rack.window_use.sent = true;
        }
    }

    /// Takes note of how much of cwnd is used, once nothing more can be sent.
    #[cold]
    pub(super) fn note_use_of_window(&mut self) {
        let limited = self.outstanding.pipe() >= self.window.cwnd as u32;
        let outstanding = self.outstanding.len();
        let Some(rack) = self.rack.as_deref_mut() else {
            return;
        };
        let seen = &mut rack.window_use;
        if !std::mem::take(&mut seen.sent) && !limited {
            return;
        }
        let over = self.unacknowledged >= seen.end;
        if over || limited || !seen.limited && outstanding > seen.most {
            seen.limited = limited;
            seen.most = outstanding;
            seen.end = self.next_sequence;
        }
    }

    /// Samples a round-trip time for the RTO.
    #[cold]
    pub(super) fn rack_samples(&mut self, sent_ns: u64, now_ns: u64) {
        match self.rack.as_deref_mut().filter(|_| self.config.linux) {
            Some(rack) => self
                .timeout
                .sample_as_linux(&mut rack.variance, sent_ns, now_ns),
            None => self.timeout.sample(sent_ns, now_ns),
        }
    }

    /// Remembers the window before a reduction.
    #[cold]
    pub(super) fn remember_window(&mut self) {
        let window = self.window;
        if let Some(rack) = self.rack.as_deref_mut().filter(|_| self.config.linux) {
            rack.undo = Some(Undo {
                window,
                retransmissions: 0,
                first_tick: None,
            });
        }
    }

    /// Takes note of a retransmission, for PRR's and RACK's sake no probe.
    pub(super) fn note_retransmission_for_undo(&mut self, now: Time) {
        let tick = self.config.clock.ticks(now);
        let undo = self.rack.as_deref_mut().and_then(|rack| rack.undo.as_mut());
        if let Some(undo) = undo {
            undo.retransmissions += 1;
            undo.first_tick.get_or_insert(tick);
        }
    }

    /// Takes back a reduction if an ACK says that nothing was lost (`tcp_may_undo`, `tcp_undo_cwnd_reduction`).
    fn undo_needless_reduction(
        &mut self,
        now_ns: u64,
        segment: &Segment,
        repeated: bool,
        advances: bool,
    ) -> bool {
        let Some(rack) = self.rack.as_deref_mut() else {
            return false;
        };
        let Some(undo) = &mut rack.undo else {
            return false;
        };
        let (Some(first), false) = (undo.first_tick, self.control.governs_recovery()) else {
            return false;
        };
        undo.retransmissions -= u32::from(repeated && undo.retransmissions > 0);
        let echoes_original =
            advances && self.config.timestamps && (segment.tsecr.wrapping_sub(first) as i32) < 0;
        if undo.retransmissions > 0 && !echoes_original {
            return false;
        }
        let window = undo.window;
        rack.undo = None;
        if self.in_recovery() {
            self.fast_recovery = false;
            self.after_timeout = false;
            self.duplicate_acks = 0;
            self.retransmit_first = false;
            self.outstanding.deem_none_lost();
            self.control.on_recovery_end(now_ns, &mut self.window);
        }
        self.window.cwnd = self.window.cwnd.max(window.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(window.ssthresh);
        true
    }
}

impl Rack {
    /// Section 7.4.2: what an ACK says of the probe. Returns true if the probe repaired a loss.
    fn probe_says_loss(&mut self, ack: &Segment, repeated: Option<u64>, duplicate: bool) -> bool {
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
