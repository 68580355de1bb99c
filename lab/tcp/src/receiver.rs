// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving end of a connection.

mod low_priority;
mod opening;
mod prefetch;
mod quick_acks;
mod requests;

use std::sync::Arc;

use netnice_congestion::congestion_control::MarkFeedback;
use netnice_parameters::exchange::Report;
use netnice_queue::Time;

use super::config::nanos;
use super::ranges::Ranges;
use super::segment::NO_SACK;
use super::timeout::RetransmissionTimeout;
use super::{Flags, Opener, ReceiverConfig, SackBlock, Segment};
use crate::NEVER_NS;
use low_priority::{Arrivals, JIFFY_NS, Marks, WindowControl};
use quick_acks::QuickAcks;
use requests::Requests;

pub use low_priority::{LARGEST_GOVERNED_WINDOW, LowPriority};

/// Marks that routers set on the packet that carried a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// CE (RFC 3168 section 5).
    pub congestion_experienced: bool,
    /// Tagged IN at the edge, or not tagged at all.
    pub in_profile: bool,
}

impl Mark {
    /// No marks.
    pub const NONE: Mark = Mark {
        congestion_experienced: false,
        in_profile: true,
    };
}

/// A receiver's counters since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverStatistics {
    /// Data segments that arrived, duplicates included.
    pub segments: u64,
    /// Of them, those that arrived beyond a gap.
    pub out_of_order: u64,
    /// Of them, those of which every byte had arrived before.
    pub duplicates: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// SYNs, SYN-ACKs and requests sent, retransmissions included.
    pub openings: u64,
    /// SYNs and requests retransmitted.
    pub openings_retransmitted: u64,
}

/// With it the echo of AccECN is never empty, so that no packet passes its counter by. No bit on a wire.
const ACCURATE: Flags = Flags::ECHO_IN_PROFILE;
/// AccECN's counter begins with it (RFC 9768 section 3.2.1).
pub(super) const FIRST_COUNT: u8 = 5;
/// So many marks are acknowledged at once (n of RFC 9768 section 3.2.2.5.1).
const MARKS_PER_ACK: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for the peer, or for `open`.
    Listening,
    /// Waits for the SYN-ACK.
    SynSent,
    /// Waits for the data that answer the request.
    Requesting,
    /// Has received data, and waits for more that it has asked for.
    Asking,
    /// Receives data.
    Established,
}

/// The segment to send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    Ack,
    /// An ACK that reports `Receiver::duplicate` (RFC 2883).
    DuplicateAck,
    /// `Receiver::ack_before_change`.
    AckBeforeChange,
    Syn,
    SynAck,
    Request,
}

/// The receiving end of a connection: acknowledges, and counts the bytes that arrive in order.
///
/// With thousands of connections each packet finds its receiver in memory, not in the cache. So the fields that every
/// packet needs come first; `prefetch.rs` relies on it.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Receiver {
    /// RCV.NXT: every byte before has arrived.
    next: u64,
    last_ack_sent: u64,
    /// Sequence number of the FIN, after the last byte; `u64::MAX` until it is known.
    fin_at: u64,
    ack_deadline: u64,
    opening_deadline: u64,
    /// [`ReceiverStatistics::segments`] and [`ReceiverStatistics::acks`].
    segments: u64,
    acks: u64,
    /// In-order segments that no ACK covers yet.
    unacknowledged: u32,
    pending: Pending,
    state: State,
    /// ECE bits of ACKs: until the sender's CWR arrives (RFC 3168 section 6.1.3), or while packets are marked
    /// (RFC 8257 section 3.2). With AccECN the counter in ACE (RFC 9768).
    echo: Flags,
    /// Tells the variant of `kind_state` without reading that.
    kind: Kind,

    out_of_order: Ranges,
    /// Connections share it, so that it stays in the cache.
    config: Arc<ReceiverConfig>,
    /// TS.Recent of RFC 7323 section 4.3; `last_ack_sent` is Last.ACK.sent. Not recorded where no timestamps are sent.
    recent_timestamp: u32,
    openings: u32,
    /// A byte of each of the blocks reported most recently, the newest first (RFC 2018 section 4).
    recent_blocks: [u64; 3],
    /// The bytes of the newest segment that had arrived before, until an ACK reports them.
    duplicate: Option<Box<(u64, u64)>>,
    out_of_order_segments: u64,
    duplicates: u64,
    /// SYNs and requests of this end, where it has sent any.
    asking: Option<Box<Asking>>,
    /// AccECN: r.cep modulo 8, the marked packets that have arrived (RFC 9768 section 3.2.2).
    marked_packets: u8,
    /// AccECN: of them, those that no ACK has reported.
    unreported_marks: u8,
    /// AccECN: the newest data packet was marked.
    newest_marked: bool,
    /// State of a receiver that is not plain.
    kind_state: Option<Box<KindState>>,
    /// The ACK of packets that came before a change of marks, and what is pending after it.
    ack_before_change: Option<Box<(Segment, Pending)>>,
}

/// Kinds of receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Some ACKs are not delayed.
    Quick,
    /// A control decides on the advertised window.
    LowPriority,
}

/// State of the receivers that are not plain.
#[derive(Debug, Clone)]
enum KindState {
    Quick(QuickAcks),
    LowPriority(WindowControl),
}

/// The state of an end that opens the connection, or asks for data.
#[derive(Debug, Clone)]
struct Asking {
    timeout: RetransmissionTimeout,
    /// When the newest SYN or request was sent.
    sent_ns: u64,
    /// SYNs and requests retransmitted since the start.
    retransmissions: u32,
    /// The newest was retransmitted.
    retransmitted: bool,
    /// Requests that do not wait for one another, if there are such.
    requests: Option<Box<Requests>>,
}

impl Asking {
    /// The answer to the newest SYN or request has come.
    fn answered(&mut self, now: Time) {
        if !self.retransmitted {
            self.timeout.sample(self.sent_ns, now.as_nanos());
        }
    }
}

impl Receiver {
    /// A receiver that waits for its sender. Connections of equal configurations may share one.
    pub fn new(config: impl Into<Arc<ReceiverConfig>>) -> Receiver {
        let config = config.into();
        let (kind, kind_state) = match config.quick_acks {
            true => (Kind::Quick, Some(KindState::Quick(QuickAcks::default()))),
            false => (Kind::Plain, None),
        };
        Receiver {
            next: 0,
            pending: Pending::Nothing,
            state: if config.handshake || config.opener == Opener::Receiver {
                State::Listening
            } else {
                State::Established
            },
            echo: match config.mark_feedback {
                MarkFeedback::Accurate if !config.handshake => {
                    ACCURATE.with(Flags::ace(FIRST_COUNT))
                }
                _ => Flags::default(),
            },
            unacknowledged: 0,
            ack_deadline: NEVER_NS,
            recent_timestamp: 0,
            last_ack_sent: 0,
            fin_at: u64::MAX,
            out_of_order: Ranges::default(),
            recent_blocks: [u64::MAX; 3],
            duplicate: None,
            segments: 0,
            acks: 0,
            out_of_order_segments: 0,
            duplicates: 0,
            openings: 0,
            asking: None,
            config,
            opening_deadline: NEVER_NS,
            kind,
            kind_state: kind_state.map(Box::new),
            ack_before_change: None,
            marked_packets: FIRST_COUNT,
            unreported_marks: 0,
            newest_marked: false,
        }
    }

    /// A receiver that controls its advertised window for low priority.
    pub fn at_low_priority(
        config: impl Into<Arc<ReceiverConfig>>,
        wanted: &LowPriority,
    ) -> Receiver {
        let config = config.into();
        Receiver {
            kind: Kind::LowPriority,
            kind_state: Some(Box::new(KindState::LowPriority(WindowControl::new(
                &config, wanted,
            )))),
            ..Receiver::new(config)
        }
    }

    /// The state of its SYNs and requests.
    fn asking(&mut self) -> &mut Asking {
        self.asking.get_or_insert_with(|| {
            Box::new(Asking {
                timeout: RetransmissionTimeout::new(&self.config.timeout),
                sent_ns: 0,
                retransmissions: 0,
                retransmitted: false,
                requests: None,
            })
        })
    }

    /// Begins the connection if the receiver is the opener; otherwise does nothing.
    pub fn open(&mut self, _now: Time) {
        if self.config.opener != Opener::Receiver || self.state != State::Listening {
            return;
        }
        if self.config.handshake {
            self.state = State::SynSent;
            self.pending = Pending::Syn;
        } else {
            self.state = State::Requesting;
            self.pending = Pending::Request;
        }
    }

    /// Asks for more data by a request over the open connection. Every byte of what it asked for before must have arrived,
    /// and [`Receiver::poll_transmit`] must have returned `None`.
    pub fn ask(&mut self) {
        if self.state == State::Established && !self.finished() {
            self.state = State::Asking;
            self.asking().retransmitted = false;
            self.pending = Pending::Request;
        }
    }

    /// Handles a segment from the sender, whose packet carried `mark`. [`Receiver::poll_transmit`] must have returned `None` since the
    /// segment before.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, mark: Mark) {
        if segment.sequence == self.next
            && self.state == State::Established
            && segment.flags.0 & !(Flags::ACK.0 | Flags::RETRANSMISSION.0) == 0
            && segment.length > 0
            && !mark.congestion_experienced
            && self.kind != Kind::LowPriority
            && self.echo == Flags::default()
            && self.out_of_order.is_empty()
        {
            self.segments += 1;
            if self.config.timestamps && segment.sequence <= self.last_ack_sent {
                self.recent_timestamp = segment.tsval;
            }
            self.next += u64::from(segment.length);
            self.acknowledge_later(now, segment);
        } else {
            self.on_unusual_segment(now, segment, mark);
        }
    }

    /// Anything but data in order, and all segments at low priority.
    #[cold]
    fn on_unusual_segment(&mut self, now: Time, segment: &Segment, mark: Mark) {
        self.handle_unusual_segment(now, segment, mark);
        if self.config.mark_feedback == MarkFeedback::EachPacket {
            self.put_ack_before_change_first();
        }
    }

    fn put_ack_before_change_first(&mut self) {
        if let Some((_, next)) = self.ack_before_change.as_deref_mut() {
            if self.pending != Pending::AckBeforeChange {
                *next = self.pending;
                self.pending = Pending::AckBeforeChange;
            }
        }
    }

    #[cold]
    #[inline]
    fn take_ack_before_change(&mut self) -> Option<Segment> {
        let (ack, next) = *self.ack_before_change.take()?;
        self.pending = next;
        Some(ack)
    }

    /// Returns the next segment to send at `now`; call it until it returns `None`.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        match self.pending {
            Pending::Nothing => None,
            Pending::Ack => Some(self.acknowledgement(now)),
            Pending::DuplicateAck => Some(self.acknowledgement_of_duplicate(now)),
            Pending::AckBeforeChange => self.take_ack_before_change(),
            _ => Some(self.opening(now)),
        }
    }

    /// Returns when to call [`Receiver::on_timer`]; `None` if no timer runs.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let deadline = self.ack_deadline.min(self.opening_deadline);
        (deadline != NEVER_NS).then(|| Time::from_nanos(deadline))
    }

    /// Handles the timers that are due at `now`.
    pub fn on_timer(&mut self, now: Time) {
        let now_ns = now.as_nanos();
        if self.ack_deadline <= now_ns {
            self.ack_deadline = NEVER_NS;
            self.pending = Pending::Ack;
        }
        if self.opening_deadline <= now_ns {
            self.opening_deadline = NEVER_NS;
            let opens = self.state == State::SynSent;
            let asking = self.asking();
            asking.retransmitted = true;
            asking.retransmissions += match &mut asking.requests {
                Some(requests) if !opens => requests.retransmit_all(),
                _ => 1,
            };
            asking.timeout.back_off();
            self.pending = match self.state {
                State::SynSent => Pending::Syn,
                _ => Pending::Request,
            };
        }
    }

    /// Bytes that have arrived in order, and so have reached the program.
    #[inline]
    pub fn goodput_bytes(&self) -> u64 {
        self.next - u64::from(self.finished())
    }

    /// Returns true if the bytes `[start, end)` have all arrived, whatever is missing before them.
    pub fn has(&self, start: u64, end: u64) -> bool {
        let around = self.out_of_order.containing(start);
        end <= self.next || around.is_some_and(|(_, covered)| end <= covered)
    }

    /// Returns true once all data and the FIN after them have arrived; their ACK may not have reached the sender yet.
    #[inline]
    pub fn finished(&self) -> bool {
        self.next > self.fin_at
    }

    /// Returns the counters since the start.
    pub fn statistics(&self) -> ReceiverStatistics {
        ReceiverStatistics {
            segments: self.segments,
            out_of_order: self.out_of_order_segments,
            duplicates: self.duplicates,
            acks: self.acks,
            openings: self.openings.into(),
            openings_retransmitted: self
                .asking
                .as_ref()
                .map_or(0, |asking| asking.retransmissions.into()),
        }
    }

    /// Report of the control of the advertised window; `None` without one, and before the connection is established.
    pub fn report(&self) -> Option<Report> {
        self.window_control()?.report()
    }

    /// The control of the advertised window.
    fn window_control(&self) -> Option<&WindowControl> {
        match self.kind_state.as_deref() {
            Some(KindState::LowPriority(control)) => Some(control),
            _ => None,
        }
    }

    /// The control of the advertised window.
    fn window_control_mut(&mut self) -> Option<&mut WindowControl> {
        match self.kind_state.as_deref_mut() {
            Some(KindState::LowPriority(control)) => Some(control),
            _ => None,
        }
    }

    #[inline]
    fn acknowledge_later(&mut self, now: Time, segment: &Segment) {
        if self.kind == Kind::Quick {
            self.note_data(now, segment);
        }
        self.unacknowledged += 1;
        match self.config.delayed_ack {
            Some(delayed) if self.unacknowledged < delayed.segments && !self.is_quick() => {
                if self.ack_deadline == NEVER_NS {
                    let jiffy_ns = match self.kind {
                        Kind::LowPriority => JIFFY_NS,
                        _ => 0,
                    };
                    let timeout_ns = nanos(delayed.timeout).saturating_add(jiffy_ns);
                    self.ack_deadline = now.as_nanos().saturating_add(timeout_ns);
                }
            }
            _ => self.pending = Pending::Ack,
        }
    }

    /// Returns true if the next ACK is not delayed, though fewer segments have arrived than one ACK covers.
    #[inline]
    fn is_quick(&self) -> bool {
        self.kind != Kind::Plain
            && match self.kind_state.as_deref() {
                Some(KindState::Quick(quick_acks)) => quick_acks.is_quick(),
                Some(KindState::LowPriority(control)) => control.is_quick(),
                None => false,
            }
    }

    /// Takes note of data in order, for quick ACKs.
    fn note_data(&mut self, now: Time, segment: &Segment) {
        let window = self.window();
        let Some(KindState::Quick(quick_acks)) = self.kind_state.as_deref_mut() else {
            return;
        };
        if quick_acks.arrived().is_none() {
            let rtt_ns = match self.config.timestamps {
                true => self.config.clock.round_trip_ns(now, segment.tsecr),
                false => 0,
            };
            quick_acks.set_first_round_trip(rtt_ns, nanos(self.config.timeout.min));
        }
        quick_acks.on_data(now, window, segment.length);
    }

    /// Takes note of a mark while no echo is sent, for quick ACKs.
    #[cold]
    fn note_first_mark(&mut self) {
        if let Some(KindState::Quick(quick_acks)) = self.kind_state.as_deref_mut() {
            quick_acks.on_first_mark();
        }
    }

    /// Takes note of an ACK that leaves, for quick ACKs.
    #[inline]
    fn note_ack(&mut self) {
        if let Some(KindState::Quick(quick_acks)) = self.kind_state.as_deref_mut() {
            quick_acks.on_ack();
        }
    }

    /// Builds the segment in one expression: changing it after it is filled would stall the copy.
    #[inline(always)]
    fn acknowledgement(&mut self, now: Time) -> Segment {
        self.pending = Pending::Nothing;
        self.unacknowledged = 0;
        self.ack_deadline = NEVER_NS;
        self.last_ack_sent = self.next;
        if self.kind == Kind::Quick {
            self.note_ack();
        }
        if self.echo.contains(ACCURATE) {
            self.unreported_marks = 0;
        }
        self.acks += 1;
        let (tsval, tsecr) = self.timestamps(now);
        Segment {
            sequence: 0,
            acknowledgement: self.next,
            length: 0,
            window: if self.kind == Kind::LowPriority {
                self.governed_window(now, false)
            } else {
                self.window()
            },
            tsval,
            tsecr,
            sack: if self.out_of_order.is_empty() || !self.config.sack {
                NO_SACK
            } else {
                self.sack_blocks()
            },
            flags: Flags::ACK.with(self.echo),
            request: 0,
        }
    }

    /// The receive window in bytes, as far as 16 bits and the scale can express it.
    #[inline]
    fn window(&self) -> u32 {
        let scale = self.config.window_scale.min(14);
        let units = (self.config.window >> scale).min(u32::from(u16::MAX));
        (units << scale).max(self.config.window.min(1 << scale))
    }

    /// The window to advertise at low priority, in a segment that carries data of our own or not.
    #[cold]
    fn governed_window(&mut self, now: Time, has_data: bool) -> u32 {
        let arrivals = Arrivals {
            next: self.next,
            gap: !self.out_of_order.is_empty(),
            marks: self.marks(),
            has_data,
        };
        match self.window_control_mut() {
            Some(control) => control.advertise(now, &arrivals),
            None => self.window(),
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

    fn handle_unusual_segment(&mut self, now: Time, segment: &Segment, mark: Mark) {
        if let Some(control) = self.window_control_mut() {
            control.on_segment(now, segment);
        }
        if segment.flags.contains(Flags::SYN) {
            self.on_syn(now, segment);
            return;
        }
        if self.state == State::Listening || self.state == State::SynSent {
            // The ACK that ends the sender's handshake, or data of a sender that has heard of us otherwise.
            if self.config.opener == Opener::Receiver {
                return;
            }
            self.state = State::Established;
        }
        if self.state == State::Requesting {
            // Only a request lets the sender send anything but its SYN-ACK.
            self.state = State::Established;
            if !self.numbers_requests() {
                self.opening_deadline = NEVER_NS;
                if self.pending == Pending::Request {
                    self.pending = Pending::Nothing;
                }
            }
        }
        if segment.request != 0 {
            self.request_answered(now, segment.request);
        }
        let fin = segment.flags.contains(Flags::FIN);
        let end = segment.sequence + u64::from(segment.length) + u64::from(fin);
        if self.state == State::Asking && end > self.next {
            self.state = State::Established;
            self.opening_deadline = NEVER_NS;
            if self.pending == Pending::Request {
                self.pending = Pending::Nothing;
            }
            self.asking().answered(now);
        }
        if segment.length == 0 && !fin {
            // A probe of a window of zero carries an old number; the ACK of a handshake or a request has none.
            if segment.sequence > 0 && segment.sequence < self.next {
                self.pending = Pending::Ack;
            }
            return;
        }
        self.segments += 1;
        let at_once = self.note_congestion(now, segment, mark);
        let start = segment.sequence;
        if self.config.timestamps && start <= self.last_ack_sent {
            let newer = segment.tsval.wrapping_sub(self.recent_timestamp) as i32 >= 0;
            if newer {
                self.recent_timestamp = segment.tsval;
            }
        }
        if fin {
            self.fin_at = end - 1;
        }
        if end <= self.next {
            self.duplicates += 1;
            self.acknowledge_duplicate(start, end);
        } else if start > self.next {
            self.out_of_order_segments += 1;
            if self.store(start, end) {
                self.pending = Pending::Ack;
            } else {
                self.acknowledge_duplicate(start, end);
            }
        } else if self.out_of_order.is_empty() {
            self.next = end;
            self.acknowledge_later(now, segment);
            if fin {
                self.pending = Pending::Ack;
            }
        } else {
            // A gap is filled, in whole or in part: an immediate ACK (RFC 5681 section 4.2).
            self.next = end;
            while let Some(end) = self.out_of_order.take_front_reaching(self.next) {
                self.next = self.next.max(end);
            }
            self.pending = Pending::Ack;
        }
        if at_once && self.pending == Pending::Nothing {
            self.pending = Pending::Ack;
        }
    }

    /// Acknowledges at once a segment of which every byte had arrived before.
    fn acknowledge_duplicate(&mut self, start: u64, end: u64) {
        self.pending = if self.config.duplicate_sack {
            self.duplicate = Some(Box::new((start, end)));
            Pending::DuplicateAck
        } else {
            Pending::Ack
        };
    }

    /// An ACK whose first block is the duplicate (RFC 2883 section 4).
    #[cold]
    #[inline]
    fn acknowledgement_of_duplicate(&mut self, now: Time) -> Segment {
        let mut ack = self.acknowledgement(now);
        let Some((start, end)) = self.duplicate.take().map(|bytes| *bytes) else {
            return ack;
        };
        let duplicate = SackBlock {
            start: start.wrapping_sub(self.next) as u32,
            end: end.wrapping_sub(self.next) as u32,
        };
        let [first, second, _] = ack.sack;
        ack.sack = [duplicate, first, second];
        ack
    }

    /// Stores data beyond a gap; returns false if every byte had arrived before.
    fn store(&mut self, start: u64, end: u64) -> bool {
        let mut new = false;
        self.out_of_order.insert(start, end, |_, _| new = true);
        if !new {
            self.duplicates += 1;
        }
        let Some(block) = self.out_of_order.containing(start) else {
            return new;
        };
        // Drop entries that are now part of this block, and acknowledged ones.
        let [a, b, c] = self.recent_blocks;
        let next = self.next;
        let elsewhere = |byte: u64| byte >= next && (byte < block.0 || byte >= block.1);
        self.recent_blocks = match (elsewhere(a), elsewhere(b)) {
            (true, true) => [start, a, b],
            (true, false) => [start, a, c],
            (false, true) => [start, b, c],
            (false, false) => [start, c, u64::MAX],
        };
        if !elsewhere(self.recent_blocks[2]) {
            self.recent_blocks[2] = u64::MAX;
        }
        new
    }

    #[cold]
    fn sack_blocks(&self) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let mut reported = 0;
        for byte in self.recent_blocks {
            let Some((start, end)) = self.out_of_order.containing(byte) else {
                continue;
            };
            let block = SackBlock {
                start: (start - self.next) as u32,
                end: (end - self.next) as u32,
            };
            // Report blocks that have merged only once.
            if !blocks[..reported].contains(&block) {
                blocks[reported] = block;
                reported += 1;
            }
        }
        blocks
    }

    /// Counts marked packets for AccECN; true if the packet is to be acknowledged at once. A mark after a packet without one, and
    /// each second mark that no ACK has reported, is (RFC 9768 section 3.2.2.5.1), and with quick ACKs a packet without a mark after one
    /// that had it (`tcp_ecn_received_counters`).
    fn count_mark(&mut self, marked: bool) -> bool {
        let before = std::mem::replace(&mut self.newest_marked, marked);
        if marked {
            self.marked_packets = (self.marked_packets + 1) % 8;
            self.unreported_marks += 1;
            self.echo = ACCURATE.with(Flags::ace(self.marked_packets));
        }
        let changes = before != marked && (marked || self.kind == Kind::Quick);
        changes || marked && self.unreported_marks >= MARKS_PER_ACK
    }

    /// The marks that the control of the advertised window is to know of.
    fn marks(&self) -> Marks {
        match self.config.mark_feedback {
            MarkFeedback::Accurate => Marks::Counted(self.marked_packets),
            _ => Marks::Echoed(self.echo.contains(Flags::ECE)),
        }
    }

    /// Takes the mark of a data packet in; true if the packet is to be acknowledged at once.
    fn note_congestion(&mut self, now: Time, segment: &Segment, mark: Mark) -> bool {
        if self.config.mark_feedback == MarkFeedback::Accurate {
            return self.count_mark(mark.congestion_experienced);
        }
        let echo = match (mark.congestion_experienced, mark.in_profile) {
            (false, _) => Flags::default(),
            (true, true) => Flags::ECE.with(Flags::ECHO_IN_PROFILE),
            (true, false) => Flags::ECE,
        };
        if self.config.mark_feedback == MarkFeedback::EachPacket {
            // An ACK reports packets of one kind only: a change sends the one that was delayed (RFC 8257 section 3.2).
            let changes = self.echo.contains(Flags::ECE) != mark.congestion_experienced;
            if changes && self.unacknowledged > 0 {
                let ack = self.acknowledgement(now);
                self.ack_before_change = Some(Box::new((ack, Pending::Nothing)));
            }
            self.echo = echo;
            return false;
        }
        // The sender's CWR ends the echo; a mark begins it (RFC 3168 section 6.1.3).
        let reduced = segment.flags.contains(Flags::CWR);
        if reduced {
            self.echo = Flags::default();
        }
        if mark.congestion_experienced {
            if self.echo == Flags::default() {
                self.note_first_mark();
            }
            self.echo = echo;
        }
        // A sender that has reduced cwnd may wait for this ACK (`tcp_ecn_accept_cwr`).
        reduced && self.kind == Kind::Quick
    }

    /// The handshake says whether both ends know AccECN; otherwise feedback is that of RFC 3168.
    fn agree_on_feedback(&mut self, accurate: bool) {
        if self.config.mark_feedback == MarkFeedback::Accurate {
            if accurate {
                self.echo = ACCURATE.with(Flags::ace(self.marked_packets));
            } else {
                Arc::make_mut(&mut self.config).mark_feedback = MarkFeedback::UntilAnswered;
            }
        }
    }

    fn on_syn(&mut self, now: Time, segment: &Segment) {
        match (self.config.opener, segment.flags.contains(Flags::ACK)) {
            (Opener::Sender, false) => {
                self.recent_timestamp = segment.tsval;
                if self.next == 0 && self.out_of_order.is_empty() {
                    self.state = State::Established;
                    self.pending = Pending::SynAck;
                    let knows_ecn = segment.flags.contains(Flags::ECE.with(Flags::CWR));
                    if self.config.ecn && !knows_ecn {
                        Arc::make_mut(&mut self.config).ecn = false;
                    }
                    self.agree_on_feedback(segment.flags.contains(Flags::AE));
                }
            }
            (Opener::Receiver, true) => {
                self.recent_timestamp = segment.tsval;
                if self.state == State::SynSent {
                    let asking = self.asking();
                    asking.answered(now);
                    if asking.retransmitted {
                        asking.timeout.after_lost_syn();
                    }
                    asking.retransmitted = false;
                    self.state = State::Requesting;
                    // CWR alone is AccECN's answer to a SYN that is not ECN-capable (RFC 9768 table 2).
                    let accurate = segment.flags.contains(Flags::CWR);
                    self.agree_on_feedback(accurate && !segment.flags.contains(Flags::ECE));
                }
                // A second SYN-ACK: the peer has not received the answer to the first.
                self.pending = match self.state {
                    State::Requesting => self.request_again(),
                    _ => Pending::Ack,
                };
            }
            _ => {}
        }
    }
}
