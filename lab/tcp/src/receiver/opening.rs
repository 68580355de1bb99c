// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments by which a receiver asks: its part of the handshake, and requests.

use netnice_congestion::congestion_control::MarkFeedback;
use netnice_queue::Time;

use super::{Kind, Pending, Receiver, State};
use crate::NEVER_NS;
use crate::{Flags, Segment};

impl Receiver {
    /// Returns the SYN, SYN-ACK or request that is pending.
    #[cold]
    #[inline]
    pub(super) fn opening(&mut self, now: Time) -> Segment {
        let plain = || self.config.window.min(u32::from(u16::MAX));
        let mut segment = Segment {
            window: self
                .window_control()
                .map_or_else(plain, |control| control.latest()),
            ..Segment::default()
        };
        match self.pending {
            Pending::Syn => {
                segment.flags = Flags::SYN;
                if self.config.ecn {
                    segment.flags = segment.flags.with(Flags::ECE).with(Flags::CWR);
                    if self.config.mark_feedback == MarkFeedback::Accurate {
                        segment.flags = segment.flags.with(Flags::AE);
                    }
                }
            }
            Pending::SynAck => {
                segment.flags = Flags::SYN.with(Flags::ACK);
                if self.config.ecn {
                    let answer = match self.config.mark_feedback {
                        MarkFeedback::Accurate => Flags::CWR,
                        _ => Flags::ECE,
                    };
                    segment.flags = segment.flags.with(answer);
                }
            }
            _ => {
                segment.flags = Flags::ACK.with(Flags::REQUEST);
                segment.length = self.config.request_length;
                segment.request = self.next_request(now);
                let one_of_several = segment.request != 0;
                if self.state == State::Asking || one_of_several && self.state == State::Established
                {
                    // As any segment it acknowledges what has arrived.
                    segment.flags = segment.flags.with(self.echo);
                    segment.acknowledgement = self.next;
                    self.unacknowledged = 0;
                    self.unreported_marks = 0;
                    self.ack_deadline = NEVER_NS;
                    self.last_ack_sent = self.next;
                    self.note_ack();
                }
                segment.window = if self.kind == Kind::LowPriority {
                    self.governed_window(now, true)
                } else {
                    self.window()
                };
            }
        }
        // RFC 6298 section 5.1: the timer runs on where an earlier request has no answer yet.
        let runs = segment.request != 0 && self.opening_deadline != NEVER_NS;
        if self.pending != Pending::SynAck && !runs {
            let asking = self.asking();
            asking.sent_ns = now.as_nanos();
            let deadline = asking.sent_ns.saturating_add(asking.timeout.value_ns());
            self.opening_deadline = deadline;
        }
        self.pending = match segment.request {
            0 => Pending::Nothing,
            _ => self.pending_request(),
        };
        self.openings += 1;
        (segment.tsval, segment.tsecr) = self.timestamps(now);
        segment
    }
}
