// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's part in opening a connection.

use std::sync::Arc;

use netnice_queue::Time;

use super::{Sender, SenderState};
use crate::NEVER_NS;
use crate::{Flags, Opener, Segment};

impl Sender {
    /// Begins the connection, or waits for the receiver if that is the opener.
    pub fn open(&mut self, _now: Time) {
        if self.state != SenderState::Closed {
            return;
        }
        self.state = match (self.config.opener, self.config.handshake) {
            (Opener::Receiver, _) => SenderState::Listening,
            (Opener::Sender, true) => SenderState::SynSent,
            (Opener::Sender, false) => SenderState::Established,
        };
        self.handshake_to_send = self.state == SenderState::SynSent;
    }

    /// Returns the length in bytes of a request of a receiver that is the opener: once for each, after it has arrived.
    pub fn take_request(&mut self) -> Option<u32> {
        self.request.take()
    }

    /// Returns the SYN, SYN-ACK or ACK of a request that is due.
    pub(super) fn poll_handshake(&mut self, now: Time) -> Option<Segment> {
        if self.state == SenderState::Answering {
            self.state = SenderState::Established;
            return self.poll_bare_ack(now);
        }
        if !self.handshake_to_send {
            return None;
        }
        self.handshake_to_send = false;
        let now_ns = now.as_nanos();
        let mut segment = Segment::default();
        let congestion = if self.state == SenderState::SynSent {
            segment.flags = Flags::SYN;
            self.restart_timer(now_ns);
            let both = Flags::ECE.with(Flags::CWR);
            match self.config.accurate_ecn {
                true => both.with(Flags::AE),
                false => both,
            }
        } else {
            segment.flags = Flags::SYN.with(Flags::ACK);
            match self.config.accurate_ecn {
                true => Flags::CWR,
                false => Flags::ECE,
            }
        };
        if self.config.ecn {
            segment.flags = segment.flags.with(congestion);
        }
        // The handshake gives the first round-trip time sample, unless it was retransmitted.
        self.handshake_sends += 1;
        self.handshake_sent_ns = now_ns;
        self.stamp(now, &mut segment);
        Some(segment)
    }

    /// Retransmits the SYN after an RTO. A SYN-ACK is retransmitted when the SYN arrives again.
    pub(super) fn on_handshake_timeout(&mut self) {
        self.timeouts += 1;
        self.timeout.back_off();
        self.handshake_to_send = true;
        // A middlebox may have dropped it for its ECN bits (RFC 3168 section 6.1.1.1). Linux tries AccECN twice (RFC 9768 section
        // 3.1.4.1).
        let tries = if self.config.accurate_ecn { 2 } else { 1 };
        if self.config.linux && self.state == SenderState::SynSent && self.handshake_sends >= tries
        {
            self.agree_on_ecn(false, false);
        }
    }

    pub(super) fn on_handshake_segment(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        match self.state {
            SenderState::SynSent if flags.contains(Flags::SYN.with(Flags::ACK)) => {
                // CWR alone is AccECN's answer to a SYN that is not ECN-capable (RFC 9768 table 2).
                let accurate = flags.contains(Flags::CWR) && !flags.contains(Flags::ECE);
                let accurate = self.config.accurate_ecn && accurate;
                self.agree_on_ecn(accurate || flags.contains(Flags::ECE), accurate);
                self.establish(now, segment);
                self.ack_to_send = true;
            }
            SenderState::Listening | SenderState::SynReceived if flags.contains(Flags::SYN) => {
                let ecn = flags.contains(Flags::ECE.with(Flags::CWR));
                self.agree_on_ecn(ecn, flags.contains(Flags::AE));
                self.state = SenderState::SynReceived;
                self.recent_timestamp = segment.tsval;
                self.handshake_to_send = true;
            }
            SenderState::SynReceived if flags.contains(Flags::ACK) => {
                self.establish(now, segment);
            }
            SenderState::Listening if !self.config.handshake && flags.contains(Flags::REQUEST) => {
                self.establish(now, segment);
            }
            _ => return,
        }
        if flags.contains(Flags::REQUEST) {
            self.request = Some(segment.length);
            self.numbered_request = segment.request;
            // A bare ACK, before the program has read the request, as Linux sends it, which delays no ACKs at the
            // beginning of a connection, and as ns-2's one-way agents do.
            self.ack_to_send = true;
            self.state = SenderState::Answering;
        }
    }

    /// Turns off what the receiver does not know.
    fn agree_on_ecn(&mut self, ecn: bool, accurate: bool) {
        if self.config.ecn && !ecn {
            Arc::make_mut(&mut self.config).ecn = false;
        }
        if self.config.accurate_ecn && !accurate {
            Arc::make_mut(&mut self.config).accurate_ecn = false;
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        let now_ns = now.as_nanos();
        self.state = SenderState::Established;
        self.timer_ns = NEVER_NS;
        self.recent_timestamp = segment.tsval;
        self.window_edge = u64::from(segment.window);
        self.largest_window = segment.window;
        if self.handshake_sends == 1 {
            let rtt_ns = now_ns - self.handshake_sent_ns;
            self.note_round_trip(rtt_ns);
            self.timeout.sample(self.handshake_sent_ns, now_ns);
            self.control.on_handshake(rtt_ns);
        } else if self.handshake_sends > 1 {
            self.timeout.after_lost_syn();
            // RFC 5681 section 3.1: the initial window is one segment after a lost SYN or SYN-ACK.
            self.window.cwnd = 1.0;
        }
    }
}
