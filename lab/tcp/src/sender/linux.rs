// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of Linux's sender that no RFC has, where the configuration asks for them.

use netnice_queue::Time;

use super::Sender;
use super::proportional_rate::ProportionalRate;
use super::rack::{Undo, WindowUse};
use crate::{Recovery, Segment};

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
            self.proportional_rate.out += u32::from(rack.reduces_by_marks_to.is_some());
        }
    }

    /// The cwnd to which marks bring it down, while they do: it does not grow meanwhile.
    pub(super) fn reduction_by_marks(&self) -> Option<u32> {
        self.rack.as_deref()?.reduces_by_marks_to
    }

    /// Spreads a reduction that marks have caused over a round trip, as that of a recovery: PRR brings cwnd down from `before` to what the
    /// control has set (`tcp_enter_cwr`, `tcp_cwnd_reduction`). An earlier reduction can no longer be taken back.
    #[cold]
    pub(super) fn spread_reduction(&mut self, before: f64) {
        let reduces = self.config.prr
            && self.config.recovery == Recovery::Sack
            && !self.control.governs_recovery()
            && self.window.cwnd < before;
        let Some(rack) = self.rack.as_deref_mut().filter(|_| reduces) else {
            return;
        };
        rack.reduces_by_marks_to = Some(self.window.cwnd.max(1.0) as u32);
        rack.undo = None;
        self.window.cwnd = before;
        self.round_ssthresh();
        self.proportional_rate = ProportionalRate::new(before as u32);
    }

    /// Ends that reduction once what was outstanding at its beginning has been acknowledged, and a packet beyond, so that the receiver
    /// has seen CWR (`tcp_end_cwnd_reduction`).
    #[cold]
    pub(super) fn end_reduction_by_marks(&mut self) {
        if self.unacknowledged > self.recover {
            if let Some(cwnd) = self.take_reduction_by_marks() {
                self.window.cwnd = f64::from(cwnd);
            }
        }
    }

    /// Ends that reduction. Returns the cwnd at which it aims, if there was one.
    pub(super) fn take_reduction_by_marks(&mut self) -> Option<u32> {
        self.rack.as_deref_mut()?.reduces_by_marks_to.take()
    }

    /// Begins PRR in a recovery, with so many packets in flight before; it goes on with what is left of a reduction by marks.
    #[cold]
    pub(super) fn begin_proportional_reduction(&mut self, flight: u32) {
        if self.take_reduction_by_marks().is_none() {
            self.proportional_rate = ProportionalRate::new(flight);
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

    /// Samples a round-trip time by a packet SACKed, sent once at `sent_ns`, where the cumulative acknowledgement does not advance, and
    /// restarts the RTO's timer if the first packet outstanding was retransmitted after it (`tcp_ack_update_rtt`,
    /// `tcp_clean_rtx_queue`): for a round trip from a retransmission on, each SACK of the flight before it does.
    #[cold]
    pub(super) fn sample_by_sack(&mut self, sent_ns: u64, now_ns: u64) {
        self.rack_samples(sent_ns, now_ns);
        if self.outstanding.first_sent_ns() > sent_ns {
            self.restart_timer(now_ns);
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
    pub(super) fn undo_needless_reduction(
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
        let (Some(first), false) = (undo.first_tick, !self.control.allows_undo()) else {
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
        self.control.on_undo(&mut self.window);
        true
    }
}
