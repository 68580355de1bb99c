// SPDX-License-Identifier: MIT OR Apache-2.0
//! The advertised window of a receiver at low priority: a control of `receivers` of the congestion crate decides, and the
//! window follows it as in Linux, where `receive.h` sets `TCP_WINDOW_CLAMP` to its result.

use std::sync::{Arc, Mutex};

use netnice_congestion::decisions::Observer;
use netnice_congestion::netnice_receiver::{Advertised, Segment as Leaving};
use netnice_congestion::receivers::{Member, Opening, ReceiverPolicy, Shared, Wanted};
use netnice_parameters::exchange::Report;
use netnice_queue::Time;

use super::quick_acks::QuickAcks;
use crate::config::nanos;
use crate::{Clock, Flags, ReceiverConfig, Segment};

/// Largest window of such a receiver in bytes, as `receive.h` limits it: its window scale is 8 at most.
pub const LARGEST_GOVERNED_WINDOW: u32 = (16 << 20) - 1;
/// Linux's timers expire up to a jiffy late: at 250 Hz, 4 ms. Exact delayed ACKs of 40 ms would meet the packets of a path of
/// 40 ms.
pub(super) const JIFFY_NS: u64 = 4_000_000;
/// Linux's smallest window clamp: half of `SOCK_MIN_RCVBUF`.
const SMALLEST_CLAMP: u32 = 1152;
/// Linux does not open the window for shorter segments (`tcp_event_data_recv`).
const LEAST_GROWING: u32 = 128;
/// Packets that a handshake offers room for: as many as a sender may begin with (RFC 6928). `receive.h` asks for it.
const FIRST_PACKETS: u32 = 10;

/// Settings of a receiver at low priority.
#[derive(Debug, Clone)]
pub struct LowPriority {
    /// The control, with its parameters.
    pub control: Wanted,
    /// Most bytes of data in a packet of the peer: the MSS that this end has advertised, less its options.
    pub mss: u32,
    /// Shared by the connections of a group from one sender to one receiver; `None` where each knows only itself.
    pub shared: Option<Arc<Mutex<Shared>>>,
    /// Told of netnice's decisions, if somebody wants to know them.
    pub observer: Option<Observer>,
}

/// The advertised window of one connection. Its part in Linux is `tcp_set_window_clamp`, `tcp_grow_window` and
/// `tcp_select_window`; programs read at once, so that the whole buffer is free.
#[derive(Debug, Clone)]
pub(super) struct WindowControl {
    wanted: LowPriority,
    /// Its place among the connections that share their knowledge.
    member: Option<Member>,
    /// `None` until the connection is established.
    policy: Option<Box<dyn ReceiverPolicy>>,
    /// Segments carry timestamps (RFC 7323).
    timestamps: bool,
    clock: Clock,
    least_rto_ns: u64,
    /// Shift of the window field: windows are multiples of 2^scale bytes.
    scale: u32,
    /// Receive buffer in bytes.
    buffer: u32,
    clamp: u32,
    /// The window is to be zero once what was offered has arrived, as `receive.h` has it in segments that leave.
    closed: bool,
    /// Linux's `rcv_ssthresh`: bound of the window, which follows a larger clamp only as data arrive.
    bound: u32,
    /// Window advertised last.
    window: u32,
    /// Sequence number up to which data were ever offered a place.
    edge: u64,
    /// Sequence number up to which data had arrived when the last segment left.
    reported: u64,
    quick_acks: QuickAcks,
    /// AccECN: the segment before told of marks, and their number as of those told last.
    tells_marks: bool,
    told_marks: u8,
    /// Stamps of the newest segment of the peer.
    tsval: u32,
    tsecr: u32,
    /// Most bytes of data in a packet so far.
    largest_segment: u32,
}

impl WindowControl {
    pub(super) fn new(config: &ReceiverConfig, wanted: &LowPriority) -> WindowControl {
        let buffer = config.window.min(LARGEST_GOVERNED_WINDOW);
        // The handshake's windows are not scaled (RFC 7323 section 2.2).
        let first = buffer
            .min(u32::from(u16::MAX))
            .min(FIRST_PACKETS * wanted.mss);
        WindowControl {
            wanted: wanted.clone(),
            member: wanted.shared.as_ref().map(Member::next_of),
            policy: None,
            timestamps: config.timestamps,
            clock: config.clock,
            least_rto_ns: nanos(config.timeout.min),
            scale: u32::from(config.window_scale.min(14)),
            buffer,
            clamp: buffer,
            closed: false,
            bound: first,
            window: first,
            edge: u64::from(first),
            reported: 0,
            quick_acks: QuickAcks::default(),
            tells_marks: false,
            told_marks: super::FIRST_COUNT,
            tsval: 0,
            tsecr: 0,
            largest_segment: 0,
        }
    }

    /// Latest window, in bytes: in a handshake, the one to begin with.
    pub(super) fn latest(&self) -> u32 {
        self.window
    }

    /// Takes note of a segment of the peer.
    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
            return;
        }
        self.tsval = segment.tsval;
        self.tsecr = segment.tsecr;
        self.establish(now);
        if segment.length == 0 {
            return;
        }
        self.quick_acks.on_data(now, self.window, self.wanted.mss);
        self.largest_segment = self.largest_segment.max(segment.length);
        if segment.length >= LEAST_GROWING {
            let most = self.clamp.min(self.buffer).max(self.bound);
            self.bound = most.min(self.bound.saturating_add(2 * self.wanted.mss));
        }
    }

    /// Returns true if the next ACK is not delayed.
    pub(super) fn is_quick(&self) -> bool {
        self.quick_acks.is_quick()
    }

    pub(super) fn report(&self) -> Option<Report> {
        self.policy.as_ref().map(|policy| policy.report())
    }

    fn establish(&mut self, now: Time) -> &mut Box<dyn ReceiverPolicy> {
        if self.policy.is_none() {
            let first_rtt_ns = u64::from(self.round_trip_us(now)) * 1000;
            self.quick_acks
                .set_first_round_trip(first_rtt_ns, self.least_rto_ns);
        }
        self.policy.get_or_insert_with(|| {
            let now_us = microseconds(&self.clock, now);
            let mut policy = self.wanted.control.open(Opening {
                window_bytes: self.window,
                mss: self.wanted.mss,
                now_us,
                timestamps: self.timestamps,
                member: self.member.clone(),
            });
            if let Some(observer) = &self.wanted.observer {
                policy.observe(observer, now.as_nanos(), now_us);
            }
            policy
        })
    }

    /// Largest window that the field can express.
    fn limit(&self) -> u32 {
        (u32::from(u16::MAX) << self.scale).min(LARGEST_GOVERNED_WINDOW)
    }

    /// Returns true if the policy is to know of a mark: `tells_mark` of `receive.h`.
    fn tells_mark(&mut self, marks: Marks) -> bool {
        let count = match marks {
            Marks::Echoed(ce) => return ce,
            Marks::Counted(count) => count,
        };
        self.tells_marks = !self.tells_marks && count != self.told_marks;
        if self.tells_marks {
            self.told_marks = count;
        }
        self.tells_marks
    }

    /// Describes the segment that is about to leave as `receive.h` does.
    fn leaving(&mut self, now: Time, arrivals: &Arrivals) -> Leaving {
        Leaving {
            now_us: microseconds(&self.clock, now),
            rtt_us: self.round_trip_us(now),
            tsval: self.tsval,
            bytes: (arrivals.next - self.reported) as u32,
            mss: self.largest_segment,
            limit_bytes: self.limit(),
            bound_bytes: self.bound,
            gap: arrivals.gap,
            ce: self.tells_mark(arrivals.marks),
            delayed_ack: self
                .quick_acks
                .arrived()
                .is_some_and(|arrived| arrived != now),
            has_data: arrivals.has_data,
            may_close: self.member.is_some(),
            unscaled: self.scale == 0,
        }
    }

    /// Returns `now` less the stamp that the peer has echoed, as precise as the stamp; 0 without an echo.
    fn round_trip_us(&self, now: Time) -> u32 {
        if !self.timestamps {
            return 0;
        }
        (self.clock.round_trip_ns(now, self.tsecr) / 1000) as u32
    }

    /// Returns the window to advertise in a segment that leaves at `now`.
    pub(super) fn advertise(&mut self, now: Time, arrivals: &Arrivals) -> u32 {
        let leaving = self.leaving(now, arrivals);
        let advertised = Advertised {
            left_us: leaving.now_us,
            received: arrivals.next as u32,
            edge: self.edge as u32,
        };
        let policy = self.establish(now);
        let wanted = policy.window(&leaving, &advertised);
        let clamp = policy.clamp_bytes();
        self.reported = arrivals.next;
        self.quick_acks.on_ack();
        self.set_clamp(clamp);
        self.closed = wanted == 0;
        self.select(arrivals.next)
    }

    /// As `tcp_set_window_clamp` since Linux 6.6.
    fn set_clamp(&mut self, wanted: u32) {
        let clamp = wanted.max(SMALLEST_CLAMP);
        self.bound = match clamp > self.clamp {
            true => self.bound.max(clamp.min(self.window)),
            false => self.bound.min(clamp),
        };
        self.clamp = clamp;
    }

    /// As `__tcp_select_window` and `tcp_select_window`: a multiple of the scale's unit, and never less than what was
    /// offered before (RFC 9293 section 3.8.6).
    fn select(&mut self, next: u64) -> u32 {
        let grain = 1 << self.scale;
        let offered = self.edge.saturating_sub(next) as u32;
        let open = if self.closed {
            0
        } else {
            self.bound.min(self.buffer)
        };
        self.window = open.max(offered).next_multiple_of(grain).min(self.limit());
        self.edge = self.edge.max(next + u64::from(self.window));
        self.window
    }
}

/// Times of the host in microseconds, which wrap.
fn microseconds(clock: &Clock, now: Time) -> u32 {
    (clock.local_ns(now) / 1000) as u32
}

/// State of the data when a segment is about to leave.
pub(super) struct Arrivals {
    /// RCV.NXT.
    pub(super) next: u64,
    /// Data beyond a gap are queued.
    pub(super) gap: bool,
    pub(super) marks: Marks,
    /// The segment carries data of our own.
    pub(super) has_data: bool,
}

/// CE marks that have arrived, by the feedback that the ends have agreed on.
#[derive(Clone, Copy)]
pub(super) enum Marks {
    /// RFC 3168: one has, and no CWR since.
    Echoed(bool),
    /// AccECN: their number modulo 8.
    Counted(u8),
}

#[cfg(test)]
mod tests {
    use netnice_congestion::receivers;
    use netnice_parameters::ControlParameters;

    use super::*;

    #[test]
    fn counted_marks_are_told_as_new_ones_each() {
        let config = ReceiverConfig::default();
        let mut window = WindowControl::new(
            &config,
            &LowPriority {
                control: receivers::wanted("netnice", &ControlParameters::new()).unwrap(),
                mss: 1448,
                shared: None,
                observer: None,
            },
        );
        let mut told = |counts: &[u8]| -> Vec<bool> {
            let counts = counts.iter();
            counts
                .map(|&count| window.tells_mark(Marks::Counted(count)))
                .collect()
        };
        assert_eq!(told(&[5, 6, 6, 6]), [false, true, false, false]);
        // A policy takes the first of segments that tell of marks for a new one.
        assert_eq!(
            told(&[7, 0, 1, 2, 2, 2]),
            [true, false, true, false, true, false]
        );
    }
}
