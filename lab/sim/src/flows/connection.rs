// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP connections: between the sans-IO endpoints and the network.

use std::sync::Arc;

use crate::tcp::prefetch::prefetch;
use netnice_congestion::congestion_control::MarkFeedback;
use netnice_queue::Time;

use crate::flows::bodies::Body;
use crate::flows::spec::TcpSpec;
use crate::measure::{FlowCounters, TimeWeighted};
use crate::packet::{Marks, Packet, Route};
use crate::tcp::{Flags, Mark, Receiver, ReceiverConfig, Segment, Sender, SenderConfig};

/// Marks a connection that belongs to no web session.
pub(crate) const NO_SESSION: u32 = WATCHED - 1;
/// Marks a connection whose data a player watches.
pub(crate) const PLAYER: u32 = u32::MAX;
/// Marks a connection whose data a program watches as they arrive: with the number of its streams where it has several.
pub(crate) const WATCHED: u32 = 1 << 31;

/// Both ends of a connection.
///
/// With thousands of connections none of it is in the cache as a packet comes, so what each end needs lies together: the
/// sender with the line after it, and the receiver with the line before it, in which is what both ends need.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Connection {
    pub sender: Sender,
    /// State beside the sender.
    sending: Sending,
    shared: Shared,
    pub receiver: Receiver,
}

/// Counters and state of the sending end.
#[derive(Debug)]
#[repr(C, align(64))]
struct Sending {
    cwnd: TimeWeighted,
    /// The earliest pending event for the timer, and when the timer ends: it may have moved on since.
    armed: Time,
    deadline: Time,
    /// Packets of data, retransmissions included, and their bytes with headers.
    packets: u64,
    bytes: u64,
}

/// State that packets of both directions read, and counters of the receiving end.
#[derive(Debug)]
#[repr(C, align(64))]
struct Shared {
    flow: u32,
    /// The routes of data and of ACKs.
    forward: Route,
    back: Route,
    /// Its packets in the network; a slot is used again when there are none.
    under_way: u32,
    /// Its web session, or one of the marks above.
    session: u32,
    header_bytes: u16,
    class: u8,
    state: State,
    /// The earliest pending event for the receiver's timer, which may have moved on since then.
    receiver_armed: Time,
    /// When the newest data packet that arrived was sent.
    newest_data_sent: Time,
    /// Packets of data that arrived, and their bytes with headers.
    packets: u64,
    bytes: u64,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Living,
    /// All data have arrived.
    Completed,
    /// Its slot is free.
    Ended,
}

/// The outcome of a timer event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerEvent {
    /// The timer has expired.
    Expired,
    /// The timer was set to this later time.
    Moved(Time),
    /// The timer is not set, or another event will come for it.
    Obsolete,
}

/// Each of the two is a cache line, and nothing is filled up.
const _: () = assert!(size_of::<Sending>() == 64 && size_of::<Shared>() == 64);
const _: () = assert!(size_of::<Connection>() == 832);

/// All connections, one behind the other. Those of web objects that have ended make room for new ones.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    all: Vec<Connection>,
    free: Vec<u32>,
    pub configs: Configs,
}

/// The configurations of the connection made last: most connections are configured alike, and share theirs.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    sender: Option<Arc<SenderConfig>>,
    receiver: Option<Arc<ReceiverConfig>>,
}

impl Configs {
    fn sender(&mut self, mut wanted: SenderConfig) -> Arc<SenderConfig> {
        wanted.settle();
        share(&mut self.sender, wanted)
    }

    fn receiver(&mut self, wanted: ReceiverConfig) -> Arc<ReceiverConfig> {
        share(&mut self.receiver, wanted)
    }
}

/// The configuration made last if it is the one wanted, else a new one.
fn share<C: PartialEq>(last: &mut Option<Arc<C>>, wanted: C) -> Arc<C> {
    match last {
        Some(last) if **last == wanted => last.clone(),
        _ => last.insert(Arc::new(wanted)).clone(),
    }
}

impl Connections {
    /// No connections, with room for `connections`.
    pub fn with_capacity(connections: usize) -> Connections {
        Connections {
            all: Vec::with_capacity(connections),
            ..Connections::default()
        }
    }

    #[inline]
    pub fn get(&self, index: usize) -> &Connection {
        &self.all[index]
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> &mut Connection {
        &mut self.all[index]
    }

    /// Begins to fetch the state that a receiver needs for a segment.
    #[inline]
    pub fn prefetch_receiver(&self, index: usize) {
        let connection = &self.all[index];
        prefetch(&connection.shared, 1);
        connection.receiver.prefetch();
    }

    /// Begins to fetch the state that both ends need.
    #[inline]
    pub fn prefetch_shared(&self, index: usize) {
        prefetch(&self.all[index].shared, 1);
    }

    /// Begins to fetch the state that a sender needs for a segment.
    #[inline]
    pub fn prefetch_sender(&self, index: usize) {
        let connection = &self.all[index];
        prefetch(&connection.shared, 1);
        connection.sender.prefetch();
        prefetch(&connection.sending, 1);
    }

    /// Living connections.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.all
            .iter()
            .filter(|connection| connection.shared.state != State::Ended)
    }

    /// Living connections.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.all
            .iter_mut()
            .filter(|connection| connection.shared.state != State::Ended)
    }

    /// Ends a connection for which [`Connection::may_end`] is true, if its sender has finished, too: its slot is free, and what
    /// it has counted is added to `counters`.
    pub fn end(&mut self, index: usize, counters: &mut FlowCounters) {
        let connection = &mut self.all[index];
        if connection.sender.finished() {
            connection.shared.state = State::Ended;
            connection.sending.armed = Time::NEVER;
            connection.shared.receiver_armed = Time::NEVER;
            connection.add_to(counters);
            self.free.push(index as u32);
        }
    }

    /// The number of a new connection.
    pub fn insert(&mut self, connection: Connection) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = connection;
            slot
        } else {
            self.all.push(connection);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^28 connections at once")
        }
    }
}

impl Connection {
    /// A connection of a web session, or of [`NO_SESSION`], [`PLAYER`] or [`WATCHED`].
    pub fn new(
        spec: &TcpSpec,
        configs: &mut Configs,
        (flow, session): (u32, u32),
        (forward, back): (Route, Route),
        now: Time,
    ) -> Connection {
        let mut sender = Sender::new(configs.sender(spec.sender), (spec.control)());
        sender.opened = now;
        let config = configs.receiver(spec.receiver);
        Connection {
            sending: Sending {
                cwnd: TimeWeighted::new(now, sender.cwnd()),
                armed: Time::NEVER,
                deadline: Time::NEVER,
                packets: 0,
                bytes: 0,
            },
            sender,
            shared: Shared {
                flow,
                forward,
                back,
                under_way: 0,
                session,
                header_bytes: 0,
                class: 0,
                state: State::Living,
                receiver_armed: Time::NEVER,
                newest_data_sent: now,
                packets: 0,
                bytes: 0,
            },
            receiver: match &spec.low_priority {
                Some(wanted) => Receiver::at_low_priority(config, wanted),
                None => Receiver::new(config),
            },
        }
    }

    /// When both ends begin.
    pub fn opened(&self) -> Time {
        self.sender.opened
    }

    /// Both ends begin at `now`, with packets of this class and with this many bytes of headers.
    pub fn open(&mut self, now: Time, class: u8, header_bytes: u16) {
        self.shared.header_bytes = header_bytes;
        self.shared.class = class;
        self.sender.opened = now;
        self.restart_cwnd(now);
        self.sender.open(now);
        self.receiver.open(now);
    }

    /// A segment arrives at the receiver of the data. True where with it all data have arrived.
    #[inline(always)]
    pub fn segment_at_receiver(&mut self, now: Time, packet: &Packet, body: &Body) -> bool {
        let shared = &mut self.shared;
        shared.under_way -= 1;
        if body.segment.length > 0 {
            shared.packets += 1;
            shared.bytes += u64::from(packet.length);
            shared.newest_data_sent = body.sent;
        }
        let mark = Mark {
            congestion_experienced: packet.marks.congestion_experienced(),
            in_profile: packet.marks.in_profile(),
        };
        self.receiver.on_segment(now, &body.segment, mark);
        let completed = self.receiver.finished() && self.shared.state == State::Living;
        if completed {
            self.shared.state = State::Completed;
        }
        completed
    }

    /// A segment arrives at the sender of the data.
    #[inline(always)]
    pub fn segment_at_sender(&mut self, now: Time, segment: &Segment) {
        self.shared.under_way -= 1;
        self.sender.on_segment(now, segment);
    }

    /// Counts a dropped segment, which is under way no more; the sender gets no notice.
    pub fn count_lost_segment(&mut self) {
        self.shared.under_way -= 1;
    }

    /// The next segment that the sender sends at `now`, and its packet, whose body the caller sets. `index` is the
    /// number of the connection.
    #[inline(always)]
    pub fn next_of_sender(&mut self, now: Time, index: usize) -> Option<(Segment, Packet)> {
        let segment = self.sender.poll_transmit(now)?;
        let shared = &mut self.shared;
        let length = segment.length as u16 + shared.header_bytes;
        if segment.length > 0 {
            self.sending.packets += 1;
            self.sending.bytes += u64::from(length);
        }
        shared.under_way += 1;
        let packet = Packet {
            route: shared.forward,
            connection: index as u32,
            body: 0,
            length,
            class: shared.class,
            marks: if self.sender.ecn_capable() {
                marks_of(&segment, &self.sender)
            } else {
                Marks::NONE
            },
        };
        Some((segment, packet))
    }

    /// The next segment that the receiver sends at `now`, and its packet; the body holds the time at which the newest
    /// data that have arrived were sent.
    #[inline(always)]
    pub fn next_of_receiver(&mut self, now: Time, index: usize) -> Option<(Body, Packet)> {
        let segment = self.receiver.poll_transmit(now)?;
        let shared = &mut self.shared;
        shared.under_way += 1;
        let packet = Packet {
            route: shared.back,
            connection: index as u32,
            body: 0,
            length: segment.length as u16 + shared.header_bytes,
            class: shared.class,
            marks: Marks::default(),
        };
        let sent = shared.newest_data_sent;
        Some((Body { segment, sent }, packet))
    }

    /// The sender has sent what it may: measures cwnd, and gives the time of a new event for its timer where one is needed.
    #[inline(always)]
    pub fn set_sender_timer(&mut self, now: Time) -> Option<Time> {
        let sending = &mut self.sending;
        sending.cwnd.set(now, self.sender.cwnd());
        sending.deadline = self.sender.next_timer().unwrap_or(Time::NEVER);
        if sending.deadline >= sending.armed {
            return None;
        }
        sending.armed = sending.deadline;
        Some(sending.armed.max(now))
    }

    /// The receiver has sent what it has to: the time of a new event for its timer where one is needed.
    #[inline(always)]
    pub fn set_receiver_timer(&mut self, now: Time) -> Option<Time> {
        let deadline = self.receiver.next_timer()?;
        if deadline >= self.shared.receiver_armed {
            return None;
        }
        self.shared.receiver_armed = deadline;
        Some(deadline.max(now))
    }

    /// An event for the sender's timer: it may have moved to a later time since, or the slot to another connection or to none.
    ///
    /// It mostly has moved, as each ACK moves it; the event of such a connection reads a single cache line.
    #[inline(always)]
    pub fn sender_timer_event(&mut self, now: Time) -> TimerEvent {
        let sending = &mut self.sending;
        if sending.armed > now {
            return TimerEvent::Obsolete;
        }
        if sending.deadline > now {
            sending.armed = sending.deadline;
            return match sending.armed {
                Time::NEVER => TimerEvent::Obsolete,
                later => TimerEvent::Moved(later),
            };
        }
        sending.armed = Time::NEVER;
        TimerEvent::Expired
    }

    /// An event for the receiver's timer; see [`Connection::sender_timer_event`].
    #[inline(always)]
    pub fn receiver_timer_event(&mut self, now: Time) -> TimerEvent {
        if self.shared.receiver_armed > now {
            return TimerEvent::Obsolete;
        }
        self.shared.receiver_armed = Time::NEVER;
        TimerEvent::Expired
    }

    /// The web session whose object the connection is for, if any.
    #[inline(always)]
    pub fn session(&self) -> Option<usize> {
        (self.shared.session < NO_SESSION).then_some(self.shared.session as usize)
    }

    /// A program watches the data that arrive.
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        self.shared.session >= WATCHED
    }

    /// The number of its streams, if it has several.
    pub fn streams(&self) -> Option<usize> {
        let session = self.shared.session;
        (WATCHED..PLAYER)
            .contains(&session)
            .then(|| (session - WATCHED) as usize)
    }

    /// It is for a web object, all its data have arrived, and no packet of it is in the network.
    #[inline(always)]
    pub fn may_end(&self) -> bool {
        let shared = &self.shared;
        shared.session < NO_SESSION && shared.state == State::Completed && shared.under_way == 0
    }

    /// The flow of the connection.
    pub fn flow(&self) -> usize {
        self.shared.flow as usize
    }

    /// The routes of data and of ACKs.
    pub fn routes(&self) -> (Route, Route) {
        (self.shared.forward, self.shared.back)
    }

    /// Measures cwnd from `now` on.
    pub fn restart_cwnd(&mut self, now: Time) {
        self.sending.cwnd.restart(now);
    }

    /// The mean over time of cwnd up to `now`, in packets.
    pub fn mean_cwnd(&self, now: Time) -> f64 {
        self.sending.cwnd.mean(now)
    }

    /// Adds what both ends and the control have counted since the beginning.
    pub fn add_to(&self, counters: &mut FlowCounters) {
        counters.sent_packets += self.sending.packets;
        counters.sent_bytes += self.sending.bytes;
        counters.received_packets += self.shared.packets;
        counters.received_bytes += self.shared.bytes;
        counters.goodput_bytes += self.receiver.goodput_bytes();
        let receiver = self.receiver.statistics();
        counters.control_sent += receiver.acks + receiver.openings;
        let reports = [self.sender.control().report(), self.receiver.report()];
        let yields = reports.into_iter().flatten();
        let yields = yields.map(|report| u64::from(report.yields)).sum();
        counters.add_sender(&self.sender.statistics(), yields);
    }
}

impl Connection {
    /// Packets of data that have arrived, and the bytes delivered to the program, each once: two of its counters.
    pub fn received(&self) -> (u64, u64) {
        (self.shared.packets, self.receiver.goodput_bytes())
    }

    /// When the receiver's timer expires, if before `time`.
    #[inline]
    pub fn receiver_timer_before(&self, time: Time) -> Option<Time> {
        let armed = self.shared.receiver_armed;
        (armed < time).then_some(armed)
    }

    /// When the sender's timer expires, if before `time`.
    #[inline]
    pub fn sender_timer_before(&self, time: Time) -> Option<Time> {
        let deadline = self.sending.deadline;
        (deadline < time).then_some(deadline)
    }

    /// The new time, as far as it is known, of the event for the sender's timer that was scheduled for `time`; `None`
    /// if another event has replaced it, or the timer is not set.
    #[inline]
    pub fn move_sender_event(&mut self, time: Time) -> Option<Time> {
        let sending = &mut self.sending;
        if sending.armed != time {
            return None;
        }
        // No earlier: the event is never later than the timer.
        sending.armed = sending.deadline;
        (sending.armed != Time::NEVER).then_some(sending.armed)
    }
}

/// Where the connection uses ECN, data are ECN-capable, but not those retransmitted: a receiver need not heed a mark on what it
/// has already (RFC 3168 section 6.1.5). All packets of DCTCP's sender are, as in Linux: a queue that stays above its marking
/// threshold would drop all others, SYNs and retransmissions.
fn marks_of(segment: &Segment, sender: &Sender) -> Marks {
    if sender.control().is_scalable() {
        return Marks::scalable();
    }
    let new_data = segment.length > 0 && !segment.flags.contains(Flags::RETRANSMISSION);
    Marks::new(new_data || sender.control().mark_feedback() == MarkFeedback::EachPacket)
}
