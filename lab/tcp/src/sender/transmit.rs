// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a sender chooses, paces and builds its next segment.

use netnice_queue::Time;

use super::rack::LossTimer;
use super::sent::{APP_LIMITED, EVER_RETRANSMITTED, FIN, Sent};
use super::{Sender, SenderState};
use crate::NEVER_NS;
use crate::segment::NO_SACK;
use crate::{Flags, Recovery, Segment};

/// The next transmission, pacing ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Nothing,
    /// Retransmits the packet of this number.
    Again(u64),
    /// Retransmits this packet, though nothing indicates its loss.
    Rescue(u64),
    /// Sends this many bytes of new data; a FIN alone has none.
    New(u32),
}

impl Sender {
    /// Returns the next segment to send at `now`; call it until it returns `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.state != SenderState::Established {
            return self.poll_handshake(now);
        }
        let now_ns = now.as_nanos();
        let plan = self.plan();
        if plan == Plan::Nothing {
            self.wants_pacing = false;
            if self.config.linux {
                self.note_use_of_window();
            }
            if self.persisting {
                return self.poll_persisting(now);
            }
            return self.poll_bare_ack(now);
        }
        let in_burst = self.burst_left > 0 && self.last_sent_ns == now_ns;
        let probes = self.loss_timer == LossTimer::ProbeDue;
        if self.pacing_until_ns > now_ns && !in_burst && !probes {
            self.wants_pacing = true;
            if self.config.pacing && self.config.linux {
                self.note_use_of_window();
            }
            return None;
        }
        self.wants_pacing = false;
        let segment = match plan {
            Plan::Nothing => return None,
            Plan::Again(number) => {
                // HighRxt of RFC 6675, which the rescue does not change.
                self.outstanding.retransmit_from = number + 1;
                self.send_again(now, number)?
            }
            Plan::Rescue(number) => {
                self.rescued = true;
                self.send_again(now, number)?
            }
            Plan::New(length) => self.send_new(now, length),
        };
        self.proportional_rate.out += u32::from(self.fast_recovery);
        if self.config.linux {
            self.note_sent();
        }
        if self.timer_ns == NEVER_NS {
            self.restart_timer(now_ns);
        }
        if probes {
            self.note_probe(now_ns, !matches!(plan, Plan::New(_)));
        } else if self.loss_timer != LossTimer::Off && matches!(plan, Plan::New(_)) {
            self.schedule_probe(now_ns);
        }
        self.last_sent_ns = now_ns;
        if self.config.pacing || self.config.linux {
            let retransmission = !matches!(plan, Plan::New(_));
            self.pace(now_ns, segment.length, in_burst, retransmission);
        } else if in_burst {
            self.burst_left -= 1;
        } else {
            self.pace_by_control(now_ns);
        }
        Some(segment)
    }

    /// Packets that may be in flight, by the congestion window, its inflation in fast recovery, and limited transmit.
    #[inline]
    fn allowed(&self) -> u32 {
        let mut allowed = self.window.cwnd as u32;
        if self.inflation != 0 || self.duplicate_acks != 0 {
            allowed = allowed.saturating_add_signed(self.inflation).max(1);
            if self.duplicate_acks < 3 && self.config.limited_transmit {
                allowed = allowed.saturating_add(self.duplicate_acks);
            }
        }
        allowed.min(self.config.max_window)
    }

    #[inline]
    fn plan(&mut self) -> Plan {
        if self.retransmit_first {
            if let Some(number) = self.first_to_retransmit() {
                return Plan::Again(number);
            }
            self.retransmit_first = false;
        }
        if self.loss_timer == LossTimer::ProbeDue {
            return self.plan_probe();
        }
        if self.config.recovery == Recovery::Sack {
            return self.plan_by_pipe();
        }
        let in_flight = self.outstanding.next - self.outstanding.first();
        if in_flight >= u64::from(self.allowed()) {
            self.cwnd_limited = true;
            return Plan::Nothing;
        }
        if self.outstanding.next < self.outstanding.end() {
            return Plan::Again(self.outstanding.next);
        }
        self.plan_new()
    }

    /// The packet that begins a recovery: the first, or with RACK one that is deemed lost. There is none of these if all are retransmitted
    /// already, where the recovery before has just ended.
    #[cold]
    fn first_to_retransmit(&mut self) -> Option<u64> {
        match self.loss_timer {
            LossTimer::Off => Some(self.outstanding.first()),
            _ => self.outstanding.next_overdue(),
        }
    }

    /// The probe at the end of a flight, whatever cwnd is: new data, if the receive window and
    /// `max_window` allow, or the last packet once more (RFC 8985 section 7.3).
    #[cold]
    fn plan_probe(&mut self) -> Plan {
        let outstanding = self.outstanding.len();
        if outstanding < self.config.max_window {
            let new = self.plan_new();
            if new != Plan::Nothing {
                return new;
            }
        }
        match outstanding {
            0 => Plan::Nothing,
            _ => Plan::Rescue(self.outstanding.end() - 1),
        }
    }

    /// NextSeg of RFC 6675 section 4.
    fn plan_by_pipe(&mut self) -> Plan {
        let recovering = self.fast_recovery || self.after_timeout;
        let in_flight = if recovering || self.config.limited_transmit {
            self.outstanding.pipe()
        } else {
            self.outstanding.len()
        };
        if in_flight >= (self.window.cwnd as u32).min(self.config.max_window) {
            self.cwnd_limited = true;
            return Plan::Nothing;
        }
        let by_time = self.loss_timer != LossTimer::Off;
        if recovering && self.outstanding.any_lost() {
            let next = match by_time {
                true => self.outstanding.next_overdue(),
                false => self.outstanding.next_lost(false),
            };
            if let Some(number) = next {
                return Plan::Again(number);
            }
        }
        let new = if self.outstanding.len() < self.config.max_window {
            self.plan_new()
        } else {
            Plan::Nothing
        };
        if new != Plan::Nothing || !self.fast_recovery || by_time {
            return new;
        }
        if let Some(number) = self.outstanding.next_lost(true) {
            return Plan::Again(number);
        }
        if self.config.rescue_retransmission && !self.rescued {
            if let Some(number) = self.outstanding.last_unknown() {
                return Plan::Rescue(number);
            }
        }
        Plan::Nothing
    }

    /// New data, as far as the program and the receive window allow.
    #[inline]
    fn plan_new(&mut self) -> Plan {
        let available = self.supplied - self.data_sent();
        if available == 0 {
            self.cwnd_limited = false;
            if self.closing && !self.fin_sent {
                return Plan::New(0);
            }
            // A sample of a flight that the program did not fill says nothing about the path.
            self.app_limited_until = self.delivered + u64::from(self.outstanding.len());
            return Plan::Nothing;
        }
        let room = self.window_edge.saturating_sub(self.next_sequence);
        let length = available.min(u64::from(self.config.mss));
        if length > room {
            self.cwnd_limited = false;
            if !self.outstanding.is_empty() || !self.may_send_part(room) {
                return Plan::Nothing;
            }
            return Plan::New(room as u32);
        }
        Plan::New(length as u32)
    }

    #[inline]
    fn send_new(&mut self, now: Time, length: u32) -> Segment {
        let now_ns = now.as_nanos();
        if self.outstanding.is_empty() {
            self.begin_flight(now_ns);
        }
        let mut flags = 0;
        if self.delivered < self.app_limited_until {
            flags |= APP_LIMITED;
        }
        if self.closing && self.next_sequence + u64::from(length) == self.supplied {
            flags |= FIN;
            self.fin_sent = true;
        }
        let sent = Sent {
            sequence: self.next_sequence,
            sent_ns: now_ns,
            delivered_ns: self.delivered_ns,
            delivered: self.delivered as u32,
            send_elapsed_ns: u32::try_from(now_ns - self.first_sent_ns).unwrap_or(u32::MAX),
            length,
            flags,
        };
        self.next_sequence = sent.end();
        self.outstanding.push(sent);
        if self.duplicate_acks != 0 && self.duplicate_acks < 3 && !self.fast_recovery {
            self.sent_by_limited_transmit += 1;
        }
        if self.timed_end == 0 && !self.config.timestamps {
            self.timed_end = sent.end();
        }
        let flags = if self.reduction_to_tell {
            self.reduction_to_tell = false;
            Flags::ACK.with(Flags::CWR)
        } else {
            Flags::ACK
        };
        self.data_segment(now, &sent, flags)
    }

    #[cold]
    fn send_again(&mut self, now: Time, number: u64) -> Option<Segment> {
        let now_ns = now.as_nanos();
        let outstanding = &mut self.outstanding;
        if self.retransmit_first {
            self.retransmit_first = false;
        } else if self.config.recovery != Recovery::Sack {
            outstanding.next = number + 1;
        }
        let sent = outstanding.get_mut(number)?;
        sent.flags |= EVER_RETRANSMITTED;
        sent.sent_ns = now_ns;
        sent.delivered = self.delivered as u32;
        sent.delivered_ns = self.delivered_ns;
        sent.send_elapsed_ns = u32::try_from(now_ns - self.first_sent_ns).unwrap_or(u32::MAX);
        let sent = *sent;
        if self.config.recovery == Recovery::Sack {
            outstanding.note_retransmission(number);
            if let Some(rack) = self.rack.as_deref_mut() {
                rack.retransmitted.push_back((number, now_ns));
            }
        }
        if number == outstanding.first() && outstanding.next == number {
            outstanding.next = number + 1;
        }
        if self.loss_timer != LossTimer::ProbeDue {
            self.note_retransmission_for_undo(now);
        }
        // Karn: an ACK of the timed segment may be for either transmission.
        self.timed_end = 0;
        self.retransmitted_segments += 1;
        self.retransmitted_bytes += u64::from(sent.length);
        Some(self.data_segment(now, &sent, Flags::ACK.with(Flags::RETRANSMISSION)))
    }

    /// Builds the segment in one expression: changing it after it is filled would stall the copy.
    #[inline(always)]
    fn data_segment(&mut self, now: Time, sent: &Sent, flags: Flags) -> Segment {
        self.ack_to_send = false;
        let (tsval, tsecr) = self.timestamps(now);
        Segment {
            sequence: sent.sequence,
            acknowledgement: 0,
            length: sent.length,
            window: 0,
            tsval,
            tsecr,
            sack: NO_SACK,
            flags: if sent.flags & FIN != 0 {
                flags.with(Flags::FIN)
            } else {
                flags
            },
            request: 0,
        }
    }

    #[inline]
    fn timestamps(&self, now: Time) -> (u32, u32) {
        if self.config.timestamps {
            (self.config.clock.ticks(now), self.recent_timestamp)
        } else {
            (0, 0)
        }
    }

    pub(super) fn stamp(&self, now: Time, segment: &mut Segment) {
        (segment.tsval, segment.tsecr) = self.timestamps(now);
    }

    /// Begins a flight with the first packet after nothing was outstanding.
    #[cold]
    fn begin_flight(&mut self, now_ns: u64) {
        self.end_persisting();
        self.first_sent_ns = now_ns;
        self.delivered_ns = now_ns;
        if self.next_sequence > 0 && now_ns - self.last_sent_ns > self.timeout.value_ns() {
            if self.config.slow_start_after_idle && !self.control.governs_recovery() {
                let initial = f64::from(self.config.initial_window);
                self.window.cwnd = self.window.cwnd.min(initial);
            }
            self.control.on_restart(now_ns, &mut self.window);
        }
    }

    /// Returns the ACK that ends the handshake if no data go with it, or the ACK of a request.
    #[inline]
    pub(super) fn poll_bare_ack(&mut self, now: Time) -> Option<Segment> {
        if !self.ack_to_send {
            return None;
        }
        self.ack_to_send = false;
        let mut segment = Segment {
            flags: Flags::ACK,
            request: std::mem::take(&mut self.numbered_request),
            ..Segment::default()
        };
        self.stamp(now, &mut segment);
        Some(segment)
    }
}
