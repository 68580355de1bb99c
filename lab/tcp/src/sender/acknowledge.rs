// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a sender handles ACKs: delivery, round-trip times, losses, congestion.

use netnice_congestion::congestion_control::{Ack, CaState, Congestion};
use netnice_queue::Time;

use super::rack::LossTimer;
use super::sent::{APP_LIMITED, EVER_RETRANSMITTED, SACKED, Sent};
use super::{LastReduction, Sender, SenderState};
use crate::NEVER_NS;
use crate::{Flags, Recovery, Segment};

/// Number of duplicate ACKs that indicates a loss (RFC 5681 section 3.2).
const DUPLICATE_ACKS: u32 = 3;

/// The packets that one ACK delivers.
#[derive(Debug, Default)]
struct Delivery {
    packets: u32,
    /// Of them, the one sent last.
    newest: Option<Sent>,
    /// When the first packet that the cumulative acknowledgement covers was sent.
    oldest_ns: Option<u64>,
    /// A packet that it covers was sent more than once.
    retransmitted: bool,
    /// When the first packet that a SACK block covers was sent, of those sent once.
    first_sacked_ns: Option<u64>,
    /// When the packet that ends at `Sender::timed_end` was sent.
    timed_ns: u64,
}

impl Delivery {
    #[inline]
    fn add(&mut self, sent: &Sent) {
        self.packets += 1;
        if self
            .newest
            .is_none_or(|newest| newest.sent_ns <= sent.sent_ns)
        {
            self.newest = Some(*sent);
        }
    }

    #[inline]
    fn add_cumulative(&mut self, sent: &Sent, timed_end: u64) {
        if sent.end() == timed_end {
            self.timed_ns = sent.sent_ns;
        }
        self.retransmitted |= sent.flags & EVER_RETRANSMITTED != 0;
        if sent.flags & SACKED == 0 {
            self.oldest_ns.get_or_insert(sent.sent_ns);
            self.add(sent);
        }
    }
}

impl Sender {
    /// Returns whether the segment is a request over the open connection, by a receiver that has everything it asked for
    /// before.
    #[cold]
    fn is_next_request(&self, segment: &Segment) -> bool {
        segment.flags.contains(Flags::REQUEST.with(Flags::ACK))
            && segment.acknowledgement > 0
            && segment.acknowledgement == self.supplied
            && segment.acknowledgement == self.next_sequence
    }

    /// Handles a request that does not wait for what the receiver asked for before. Returns true if it also acknowledges new data.
    #[cold]
    fn on_numbered_request(&mut self, segment: &Segment) -> bool {
        self.numbered_request = segment.request;
        self.ack_to_send = true;
        self.state = SenderState::Answering;
        let (acknowledgement, window) = (segment.acknowledgement, u64::from(segment.window));
        // One that acknowledges nothing new is no duplicate ACK, since it carries data (RFC 5681 section 2).
        if acknowledgement == self.unacknowledged {
            self.window_edge = self.window_edge_at_first().max(acknowledgement + window);
        }
        (self.unacknowledged + 1..=self.next_sequence).contains(&acknowledgement)
    }

    /// Handles a segment from the receiver.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if self.state != SenderState::Established {
            self.on_handshake_segment(now, segment);
            return;
        }
        let acknowledgement = segment.acknowledgement;
        if acknowledgement < self.unacknowledged
            || acknowledgement > self.next_sequence
            || segment.flags.0 & (Flags::ACK.0 | Flags::SYN.0 | Flags::REQUEST.0) != Flags::ACK.0
        {
            if segment.request != 0 {
                if !self.on_numbered_request(segment) {
                    return;
                }
            } else if !self.is_next_request(segment) {
                // A duplicate request is acknowledged, too (RFC 9293 section 3.10.7.4).
                self.ack_to_send |= segment.flags.contains(Flags::REQUEST);
                return;
            } else {
                self.request = Some(segment.length);
            }
        }
        let now_ns = now.as_nanos();
        let advances = acknowledgement > self.unacknowledged;
        self.window_edge = self
            .window_edge_at_first()
            .max(acknowledgement + u64::from(segment.window));
        self.largest_window = self.largest_window.max(segment.window);
        if self.config.timestamps {
            self.recent_timestamp = segment.tsval;
        }

        let prior_in_flight = match self.uses_flight_samples {
            true => self.in_flight(),
            false => 0,
        };
        let lost_before = self.outstanding.lost_total;
        let mut delivery = Delivery::default();
        let by_time = self.loss_timer != LossTimer::Off;
        let highest = match by_time {
            true => self.rack_highest_delivered(),
            false => 0,
        };
        if segment.sack[0].is_used() && self.config.recovery == Recovery::Sack {
            if by_time {
                self.take_sack_by_time(now, segment, &mut delivery);
            } else {
                self.take_sack(segment, &mut delivery);
            }
        }
        let newly_sacked = delivery.packets > 0;
        let was_recovering = self.fast_recovery;
        let flight_before = self.flight_to_reduce();
        if advances {
            while let Some(sent) = self.outstanding.pop_acknowledged(acknowledgement) {
                delivery.add_cumulative(&sent, self.timed_end);
                if by_time && sent.flags & SACKED == 0 {
                    self.rack_delivers(now, segment, &sent, highest, true);
                }
            }
            self.outstanding.forget_acknowledged(acknowledgement);
            self.advance(now, segment, &delivery);
        } else if !self.outstanding.is_empty()
            && (newly_sacked || self.config.recovery != Recovery::Sack)
        {
            self.on_duplicate_ack(now_ns);
            if let Some(sent_ns) = delivery.first_sacked_ns.filter(|_| self.config.linux) {
                self.sample_by_sack(sent_ns, now_ns);
            }
        }
        let begins = if by_time {
            self.rack_indicates_loss(now_ns, segment, !advances)
        } else {
            if newly_sacked {
                self.outstanding.find_lost();
            }
            self.config.recovery == Recovery::Sack && self.sack_indicates_loss()
        };
        if self.config.linux {
            self.end_reduction_by_marks();
        }
        if begins {
            // RecoverFS: neither SACKed nor acknowledged before this ACK.
            let flight = self.recovery_flight(delivery.packets);
            self.enter_fast_recovery(now_ns);
            self.begin_proportional_reduction(flight);
        }
        let safe = advances && self.outstanding.lost_total == lost_before;
        if self.config.prr && self.fast_recovery && delivery.packets > 0 {
            self.reduce_proportionally(delivery.packets, safe);
        }
        let marked = match self.config.ecn {
            true => self.newly_marked(segment.flags, delivery.packets),
            false => 0,
        };
        let echo = marked > 0;
        if echo {
            self.on_echo(
                now_ns,
                segment.flags.contains(Flags::ECHO_IN_PROFILE),
                flight_before,
            );
        }
        let reduces = self.reduction_by_marks().is_some();
        if reduces && delivery.packets > 0 {
            self.reduce_proportionally(delivery.packets, safe);
        }
        if delivery.packets > 0 {
            // Reno leaves recovery before it handles the ACK that ends it, so that ACK grows the window.
            // So does Linux.
            let stays = self.config.recovery != Recovery::Reno && !self.config.linux;
            let ends_here = was_recovering && stays;
            let no_growth = self.fast_recovery || ends_here || !advances || echo || reduces;
            self.inform_control(
                now,
                segment,
                &delivery,
                (no_growth, marked, prior_in_flight),
            );
        } else if self.fast_recovery && !was_recovering && self.control.governs_recovery() {
            // Without SACK the duplicate ACK that enters recovery delivers nothing known.
            let ack = Ack {
                now_ns,
                smoothed_rtt_ns: self.smoothed_rtt_ns,
                min_rtt_ns: self.min_rtt_ns,
                newly_lost: self.newly_lost(),
                in_flight: self.in_flight(),
                prior_in_flight,
                lost: self.outstanding.lost_total.into(),
                next_send_ns: self.pacing_until_ns,
                delivered: self.delivered,
                prior_delivered: self.delivered,
                ca_state: self.ca_state(),
                may_grow: false,
                cwnd_limited: self.is_cwnd_limited(),
                ..Ack::default()
            };
            self.control.on_ack(&ack, &mut self.window);
        }
        if by_time && delivery.packets > 0 {
            self.schedule_probe(now_ns);
        }
    }

    /// The receive window's edge; 0 until the first ACK carries it where there was no handshake.
    #[inline]
    fn window_edge_at_first(&self) -> u64 {
        if self.window_edge == u64::MAX {
            0
        } else {
            self.window_edge
        }
    }

    /// Handles a cumulative acknowledgement of new data.
    #[inline]
    fn advance(&mut self, now: Time, segment: &Segment, delivery: &Delivery) {
        let now_ns = now.as_nanos();
        let acknowledgement = segment.acknowledgement;
        self.unacknowledged = acknowledgement;
        self.measure(now, segment, delivery);
        self.retransmit_first = false;
        self.sent_by_limited_transmit = 0;
        let mut restart = true;
        if self.fast_recovery && self.config.recovery != Recovery::Reno {
            if acknowledgement >= self.recover {
                self.leave_fast_recovery(now_ns);
            } else {
                restart = self.on_partial_ack(delivery.packets);
            }
        } else {
            self.duplicate_acks = 0;
            self.inflation = 0;
            if self.fast_recovery {
                self.leave_fast_recovery(now_ns);
            }
            if self.after_timeout && acknowledgement >= self.recover {
                self.after_timeout = false;
                if let Some(rack) = self.rack.as_deref_mut() {
                    rack.leave_recovery();
                }
            }
        }
        if self.outstanding.is_empty() {
            self.timer_ns = NEVER_NS;
            if self.loss_timer != LossTimer::Off {
                self.rack_notes_timeout();
            }
        } else if restart {
            self.restart_timer(now_ns);
        }
    }

    /// Samples round-trip times for the RTO: with timestamps by each ACK, otherwise of one segment at a time (RFC 6298
    /// section 3, RFC 7323 section 4).
    #[inline]
    fn measure(&mut self, now: Time, segment: &Segment, delivery: &Delivery) {
        let now_ns = now.as_nanos();
        if self.config.timestamps {
            let since_ns = match delivery.oldest_ns {
                Some(oldest_ns) if !delivery.retransmitted => oldest_ns,
                _ => now_ns.saturating_sub(self.echoed_rtt_ns(now, segment)),
            };
            if self.loss_timer == LossTimer::Off {
                self.timeout.sample(since_ns, now_ns);
            } else {
                self.rack_samples(since_ns, now_ns);
            }
        } else if self.timed_end != 0 && self.unacknowledged >= self.timed_end {
            self.timed_end = 0;
            self.timeout.sample(delivery.timed_ns, now_ns);
        }
    }

    /// The round-trip time by the timestamp that the ACK echoes, in whole ticks.
    fn echoed_rtt_ns(&self, now: Time, segment: &Segment) -> u64 {
        let ticks = self.config.clock.ticks(now).wrapping_sub(segment.tsecr);
        u64::from(ticks) * self.config.clock.tick_ns()
    }

    #[inline]
    pub(super) fn note_round_trip(&mut self, rtt_ns: u64) {
        if self.smoothed_rtt_ns == 0 {
            self.smoothed_rtt_ns = rtt_ns;
            self.min_rtt_ns = rtt_ns;
        } else {
            self.smoothed_rtt_ns = self.smoothed_rtt_ns - self.smoothed_rtt_ns / 8 + rtt_ns / 8;
            self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
        }
    }

    /// Records the packets that the SACK blocks report (RFC 2018).
    #[cold]
    fn take_sack(&mut self, segment: &Segment, delivery: &mut Delivery) {
        for block in segment.sack {
            let start = segment.acknowledgement + u64::from(block.start);
            let end = segment.acknowledgement + u64::from(block.end);
            if block.start < block.end && end <= self.next_sequence {
                self.outstanding.sack(start, end, |sent| delivery.add(sent));
            }
        }
    }

    /// As `take_sack`, in the order of the sequence numbers, which reordering is seen by.
    #[cold]
    fn take_sack_by_time(&mut self, now: Time, segment: &Segment, delivery: &mut Delivery) {
        let mut sorted = *segment;
        sorted.sack.sort_unstable_by_key(|block| block.start as i32);
        let mut delivered = Vec::new();
        for block in sorted.sack.into_iter().filter(|block| block.is_used()) {
            let start = segment.acknowledgement + u64::from(block.start);
            let end = segment.acknowledgement + u64::from(block.end);
            if block.start < block.end && end <= self.next_sequence {
                self.outstanding.sack(start, end, |sent| {
                    delivery.add(sent);
                    if sent.flags & EVER_RETRANSMITTED == 0 {
                        delivery.first_sacked_ns.get_or_insert(sent.sent_ns);
                    }
                    delivered.push(*sent);
                });
            }
        }
        for sent in delivered {
            let highest = self.rack_highest_delivered();
            self.rack_delivers(now, segment, &sent, highest, false);
        }
    }

    #[cold]
    fn on_duplicate_ack(&mut self, now_ns: u64) {
        self.duplicate_acks += 1;
        match self.config.recovery {
            Recovery::Sack => {}
            Recovery::NewReno if self.fast_recovery => self.inflation += 1,
            _ if self.duplicate_acks == DUPLICATE_ACKS && self.three_duplicates_mean_loss() => {
                self.enter_fast_recovery(now_ns);
            }
            Recovery::Reno if self.duplicate_acks > DUPLICATE_ACKS && self.fast_recovery => {
                self.inflation += 1;
            }
            _ => {}
        }
    }

    /// Returns false if retransmissions after an RTO, or in NewReno's fast recovery, can have caused the duplicates.
    fn three_duplicates_mean_loss(&self) -> bool {
        let beyond =
            self.unacknowledged > self.recover || self.last_reduction == LastReduction::Ecn;
        match self.config.recovery {
            Recovery::Reno => beyond || self.unacknowledged == 0,
            _ => beyond || self.recover == 0,
        }
    }

    /// RFC 6675 section 5, step 2; section 5.1 after an RTO.
    #[inline]
    fn sack_indicates_loss(&self) -> bool {
        !self.fast_recovery
            && self.outstanding.any_sacked()
            && (self.unacknowledged >= self.recover || self.last_reduction == LastReduction::Ecn)
            && (self.duplicate_acks >= DUPLICATE_ACKS || self.outstanding.any_lost())
    }

    #[cold]
    pub(super) fn enter_fast_recovery(&mut self, now_ns: u64) {
        // One reduction per window of data, whether a loss or an echo indicates it (RFC 3168 section 6.1.2).
        let reduced =
            self.last_reduction == LastReduction::Ecn && self.unacknowledged <= self.recover;
        if !reduced {
            let congestion = self.congestion(now_ns);
            self.remember_window();
            self.control.on_loss(&congestion, &mut self.window);
            self.round_ssthresh();
            self.reduce_to_ssthresh();
            self.reduction_to_tell = self.tells_reductions();
        }
        self.fast_recoveries += 1;
        self.recover = self.next_sequence;
        self.last_reduction = LastReduction::Loss;
        self.fast_recovery = true;
        self.after_timeout = false;
        self.partial_ack_seen = false;
        self.rescued = false;
        self.retransmit_first = true;
        self.timed_end = 0;
        if self.loss_timer != LossTimer::Off {
            self.forget_probe();
            self.outstanding.begin_recovery_by_time();
        } else if self.config.recovery == Recovery::Sack {
            self.outstanding.begin_recovery();
        } else {
            self.inflation = DUPLICATE_ACKS as i32;
        }
        self.restart_timer(now_ns);
    }

    /// Sets cwnd by an ACK in recovery, or while marks reduce it, that delivers so many packets (RFC 9937); `safe` is SafeACK.
    #[cold]
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, safe: bool) {
        if self.config.recovery == Recovery::Sack && !self.control.governs_recovery() {
            let ssthresh = self.window.ssthresh.max(1.0) as u32;
            let goal = self.reduction_by_marks().unwrap_or(ssthresh);
            let pipe = self.outstanding.pipe();
            let cwnd = self.proportional_rate.on_ack(pipe, goal, delivered, safe);
            self.window.cwnd = f64::from(cwnd);
        }
    }

    /// Sets cwnd to ssthresh, unless the control governs recovery and has set cwnd itself.
    pub(super) fn reduce_to_ssthresh(&mut self) {
        if !self.control.governs_recovery() {
            self.window.cwnd = self.window.ssthresh.max(1.0);
        }
    }

    /// Keeps NewReno and SACK in recovery. Returns true if the retransmission timer restarts.
    #[cold]
    fn on_partial_ack(&mut self, packets: u32) -> bool {
        if self.config.recovery == Recovery::Sack {
            self.duplicate_acks = 0;
            return true;
        }
        // RFC 6582 section 3.2, step 3: deflate by what left, inflate by one for the retransmission.
        self.retransmit_first = true;
        self.inflation = self.inflation.saturating_sub_unsigned(packets) + 1;
        let first = !self.partial_ack_seen;
        self.partial_ack_seen = true;
        first || !self.config.impatient
    }

    #[cold]
    fn leave_fast_recovery(&mut self, now_ns: u64) {
        self.fast_recovery = false;
        self.duplicate_acks = 0;
        self.inflation = 0;
        self.reduce_to_ssthresh();
        self.control.on_recovery_end(now_ns, &mut self.window);
        if let Some(rack) = self.rack.as_deref_mut() {
            rack.leave_recovery();
        }
    }

    /// The packets that an ACK of `delivered` packets reports as marked, at least one where it reports any.
    fn newly_marked(&mut self, flags: Flags, delivered: u32) -> u32 {
        if !self.config.accurate_ecn {
            return match flags.contains(Flags::ECE) {
                true => delivered.max(1),
                false => 0,
            };
        }
        // An ACK that delivers nothing may be an old one; its marks come with the next.
        if delivered == 0 {
            return 0;
        }
        let counter = flags.ace_counter();
        // d.cep, and with marks about the most that is likely: the counter may have cycled in ACKs that were lost
        // (dSafer.cep, RFC 9768 appendix A.2).
        let least = u32::from(counter.wrapping_sub(self.marked_packets) % 8);
        let marked = match least > 0 || self.marks_reported {
            true if delivered > least => delivered - (delivered - least) % 8,
            _ => least,
        };
        self.marked_packets = counter;
        self.marks_reported = least > 0;
        marked
    }

    /// Reacts to the receiver's ECN echo once per window of data (RFC 3168 section 6.1.2). `in_flight`: before its ACK, which
    /// otherwise leaves a window that the sender fills a packet short.
    fn on_echo(&mut self, now_ns: u64, in_profile: bool, in_flight: u32) {
        let reacted = self.recover > 0 && self.unacknowledged <= self.recover;
        if self.fast_recovery || self.after_timeout || reacted {
            return;
        }
        let congestion = Congestion {
            in_flight,
            ..self.congestion(now_ns)
        };
        let before = self.window.cwnd;
        self.control
            .on_ecn_echo(&congestion, in_profile, &mut self.window);
        if self.config.linux {
            self.spread_reduction(before);
        }
        self.ecn_reactions += 1;
        self.last_reduction = LastReduction::Ecn;
        self.recover = self.next_sequence;
        self.reduction_to_tell = self.tells_reductions();
    }

    /// The state in Linux's terms, which policies act on.
    fn ca_state(&self) -> CaState {
        let marked = self.last_reduction == LastReduction::Ecn;
        if self.fast_recovery {
            CaState::Recovery
        } else if self.after_timeout {
            CaState::Loss
        } else if marked && self.unacknowledged < self.recover {
            CaState::Cwr
        } else if self.duplicate_acks > 0 || self.outstanding.any_sacked() {
            CaState::Disorder
        } else {
            CaState::Open
        }
    }

    /// Packets deemed lost since the control was informed. Only a recovery needs the second cache line.
    #[inline]
    fn newly_lost(&mut self) -> u32 {
        match self.in_recovery() {
            true => self.outstanding.take_newly_lost(),
            false => 0,
        }
    }

    #[inline]
    fn inform_control(
        &mut self,
        now: Time,
        segment: &Segment,
        delivery: &Delivery,
        (no_growth, marked, prior_in_flight): (bool, u32, u32),
    ) {
        let Some(newest) = delivery.newest else {
            return;
        };
        let now_ns = now.as_nanos();
        self.delivered += u64::from(delivery.packets);
        self.delivered_ns = now_ns;
        let retransmitted = newest.flags & EVER_RETRANSMITTED != 0;
        let rtt_ns = if !retransmitted {
            Some(now_ns - newest.sent_ns)
        } else if self.config.timestamps {
            Some(self.echoed_rtt_ns(now, segment))
        } else {
            None
        };
        if let Some(rtt_ns) = rtt_ns {
            self.note_round_trip(rtt_ns);
        }
        let delivered_since_sent = (self.delivered as u32).wrapping_sub(newest.delivered);
        self.first_sent_ns = newest.sent_ns;
        let timestamps = self.config.timestamps;
        let mut ack = Ack {
            now_ns,
            rtt_ns,
            retransmitted,
            smoothed_rtt_ns: self.smoothed_rtt_ns,
            min_rtt_ns: self.min_rtt_ns,
            tsval: timestamps.then_some(segment.tsval),
            tsecr: timestamps.then_some(segment.tsecr),
            acked: delivery.packets,
            marked: marked.min(delivery.packets),
            in_flight: self.in_flight(),
            delivered: self.delivered,
            prior_delivered: self.delivered - u64::from(delivered_since_sent),
            ca_state: self.ca_state(),
            // The slow start after an RTO goes by cumulative ACKs too (RFC 5681 section 3.1): by SACKs alone it
            // would flood the path while the first packet is lost again and again.
            may_grow: !no_growth,
            cwnd_limited: self.is_cwnd_limited(),
            ..Ack::default()
        };
        if self.uses_flight_samples {
            // The longer of sending and acknowledging them: ACKs may come compressed.
            let interval_ns = u64::from(newest.send_elapsed_ns).max(now_ns - newest.delivered_ns);
            if interval_ns > 0 && interval_ns >= self.min_rtt_ns {
                ack.rate_delivered = delivered_since_sent;
                ack.rate_interval_ns = interval_ns;
            }
            ack.app_limited = newest.flags & APP_LIMITED != 0;
            ack.newly_lost = self.newly_lost();
            ack.prior_in_flight = prior_in_flight;
            ack.lost = self.outstanding.lost_total.into();
            ack.next_send_ns = self.pacing_until_ns;
        }
        self.control.on_ack(&ack, &mut self.window);
    }
}
