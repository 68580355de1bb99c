// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP connections: between the sans-IO endpoints and the network.

mod timers;

use netnice_queue::{Time, prefetch};

use crate::engine::source;
use crate::flows::bodies::Body;
use crate::flows::spec::TcpSpec;
use crate::flows::state::Work;
use crate::huge_pages;
use crate::measure::{FlowCounters, TimeWeighted};
use crate::packet::Route;
use crate::packet::{Marks, Packet};
use crate::simulation::Simulation;
use crate::tcp::{Flags, Mark, Receiver, Segment, Sender};
use crate::time::NEVER;

/// Marks a connection that belongs to no web session.
pub(crate) const NO_SESSION: u32 = u32::MAX;

/// Both ends of a connection.
///
/// With thousands of connections none of it is in the cache as a packet comes, so what each end needs lies together: the
/// sender with the line after it, and the receiver with the line before it, in which is what both ends need.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Connection {
    pub sender: Sender,
    /// What is beside the sender.
    sending: Sending,
    shared: Shared,
    pub receiver: Receiver,

    pub opened: Time,
}

/// What the sending end counts and keeps.
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

/// What packets look at in either direction, and what the receiving end counts and keeps.
#[derive(Debug)]
#[repr(C, align(64))]
struct Shared {
    flow: u32,
    /// The routes of data and of ACKs.
    forward: Route,
    back: Route,
    /// Its packets in the network; a slot is used again when there are none.
    under_way: u32,
    session: u32,
    header_bytes: u16,
    class: u8,
    state: State,
    /// The earliest pending event for the receiver's timer, likewise.
    receiver_armed: Time,
    /// When the newest data packet that arrived was sent.
    newest_data_sent: Time,
    /// Packets of data that arrived, and their bytes with headers.
    packets: u64,
    bytes: u64,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Living,
    /// All data have arrived.
    Completed,
    /// Its slot is free.
    Ended,
}

/// Each of the two is a cache line.
const _: () = assert!(size_of::<Sending>() == 64 && size_of::<Shared>() == 64);

/// All connections, one behind the other. Those of web objects that have ended make room for new ones.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    all: Vec<Connection>,
    free: Vec<u32>,
}

impl Connections {
    /// Has room for so many.
    pub fn with_capacity(connections: usize) -> Connections {
        let mut all = Vec::new();
        huge_pages::reserve(&mut all, connections);
        Connections {
            all,
            free: Vec::new(),
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

    /// Begins to fetch what a segment needs that comes to a receiver.
    #[inline]
    pub fn prefetch_receiver(&self, index: usize) {
        let connection = &self.all[index];
        prefetch(&connection.shared, 1);
        connection.receiver.prefetch();
    }

    /// Likewise what both ends need.
    #[inline]
    pub fn prefetch_shared(&self, index: usize) {
        prefetch(&self.all[index].shared, 1);
    }

    /// Likewise of a sender.
    #[inline]
    pub fn prefetch_sender(&self, index: usize) {
        let connection = &self.all[index];
        prefetch(&connection.shared, 1);
        connection.sender.prefetch();
        prefetch(&connection.sending, 1);
    }

    /// Begins to fetch what tells whether a sender's timer has moved on.
    #[inline]
    pub fn prefetch_sender_timer(&self, index: usize) {
        prefetch(&self.all[index].sending, 1);
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

    pub fn insert(&mut self, connection: Connection) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = connection;
            slot
        } else {
            huge_pages::make_room(&mut self.all);
            self.all.push(connection);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^28 connections at once")
        }
    }
}

impl Connection {
    /// A connection of a web session, or of [`NO_SESSION`].
    pub fn new(
        spec: &TcpSpec,
        (flow, session): (u32, u32),
        (forward, back): (Route, Route),
        now: Time,
    ) -> Connection {
        let sender = Sender::new(spec.sender, (spec.control)());
        Connection {
            sending: Sending {
                cwnd: TimeWeighted::new(now, sender.cwnd()),
                armed: NEVER,
                deadline: NEVER,
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
                receiver_armed: NEVER,
                newest_data_sent: now,
                packets: 0,
                bytes: 0,
            },
            receiver: Receiver::new(spec.receiver),
            opened: now,
        }
    }

    /// The flow that it is of.
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
        let report = self.sender.control().report();
        let yields = report.map_or(0, |report| u64::from(report.yields));
        counters.add_sender(&self.sender.statistics(), yields);
    }
}

/// Where the connection uses ECN, data are ECN-capable, but not those sent again: a receiver need not heed a mark on what it
/// has already (RFC 3168 section 6.1.5).
fn marks_of(segment: &Segment) -> Marks {
    Marks::new(segment.length > 0 && !segment.flags.contains(Flags::RETRANSMISSION))
}

impl Simulation {
    /// Both ends begin; whichever the opener is sends first.
    pub(crate) fn open_connection(&mut self, index: usize) {
        let now = self.now;
        let connection = self.connections.get_mut(index);
        let flow = &self.flows[connection.flow()];
        connection.shared.header_bytes = flow.header_bytes;
        connection.shared.class = flow.class;
        connection.opened = now;
        connection.restart_cwnd(now);
        connection.sender.open(now);
        connection.receiver.open(now);
        self.pump_receiver(index);
        self.pump_sender(index);
    }

    /// The program writes `bytes` to the sender, and then maybe no more.
    pub(crate) fn supply(&mut self, index: usize, bytes: u64, last: bool) {
        let sender = &mut self.connections.get_mut(index).sender;
        sender.supply(bytes);
        if last {
            sender.close();
        }
        self.pump_sender(index);
    }

    /// A segment has come to the receiver of the data.
    #[inline]
    pub(crate) fn segment_at_receiver(&mut self, index: usize, packet: &Packet, body: &Body) {
        let connection = self.connections.get_mut(index);
        let shared = &mut connection.shared;
        shared.under_way -= 1;
        if body.segment.length > 0 {
            shared.packets += 1;
            shared.bytes += u64::from(packet.length);
            shared.newest_data_sent = body.sent;
            self.flows[shared.flow as usize].data_arrived(self.now, self.warm_up, body.sent);
        }
        let mark = Mark {
            congestion_experienced: packet.marks.congestion_experienced(),
            in_profile: packet.marks.in_profile(),
        };
        connection
            .receiver
            .on_segment(self.now, &body.segment, mark);
        if connection.receiver.finished() && connection.shared.state == State::Living {
            connection.shared.state = State::Completed;
            self.all_data_arrived(index);
        }
        self.pump_receiver(index);
        self.reuse_if_ended(index);
    }

    /// A segment has come back to the sender of the data.
    #[inline]
    pub(crate) fn segment_at_sender(&mut self, index: usize, body: &Body) {
        let connection = self.connections.get_mut(index);
        connection.shared.under_way -= 1;
        if self.now >= self.warm_up && !body.segment.flags.any_of(Flags::OPENS) {
            let flow = &mut self.flows[connection.flow()];
            flow.round_trip
                .record(self.now.as_nanos() - body.sent.as_nanos());
        }
        connection.sender.on_segment(self.now, &body.segment);
        self.pump_sender(index);
        self.reuse_if_ended(index);
    }

    /// A segment was dropped.
    pub(crate) fn segment_lost(&mut self, index: usize, segment: &Segment) {
        let connection = self.connections.get_mut(index);
        connection.shared.under_way -= 1;
        let counters = &mut self.flows[connection.flow()].counters;
        if segment.length > 0 && !segment.flags.contains(Flags::REQUEST) {
            counters.lost_packets += 1;
        } else {
            counters.control_lost += 1;
        }
        self.reuse_if_ended(index);
    }

    /// The sender sends what it may and sets its timer.
    #[inline]
    pub(crate) fn pump_sender(&mut self, index: usize) {
        let now = self.now;
        loop {
            let connection = self.connections.get_mut(index);
            let Some(segment) = connection.sender.poll_transmit(now) else {
                break;
            };
            let shared = &mut connection.shared;
            let length = segment.length as u16 + shared.header_bytes;
            let data = segment.length > 0;
            if data {
                connection.sending.packets += 1;
                connection.sending.bytes += u64::from(length);
            } else {
                self.flows[shared.flow as usize].counters.control_sent += 1;
            }
            shared.under_way += 1;
            let packet = Packet {
                route: shared.forward,
                connection: index as u32,
                body: self.bodies.insert(&Body { segment, sent: now }),
                length,
                class: shared.class,
                marks: if connection.sender.ecn_capable() {
                    marks_of(&segment)
                } else {
                    Marks::NONE
                },
            };
            self.forward(packet);
        }
        let connection = self.connections.get_mut(index);
        connection.sending.cwnd.set(now, connection.sender.cwnd());
        let deadline = connection.sender.next_timer().unwrap_or(NEVER);
        connection.sending.deadline = deadline;
        if deadline < connection.sending.armed {
            connection.sending.armed = deadline;
            self.events
                .push(deadline.max(now), source::SENDER_TIMER | index as u32);
        }
    }

    /// The receiver sends what it has to and sets its timer.
    #[inline]
    fn pump_receiver(&mut self, index: usize) {
        let now = self.now;
        loop {
            let connection = self.connections.get_mut(index);
            let Some(segment) = connection.receiver.poll_transmit(now) else {
                break;
            };
            let shared = &mut connection.shared;
            shared.under_way += 1;
            let sent = shared.newest_data_sent;
            let packet = Packet {
                route: shared.back,
                connection: index as u32,
                body: self.bodies.insert(&Body { segment, sent }),
                length: segment.length as u16 + shared.header_bytes,
                class: shared.class,
                marks: Marks::default(),
            };
            self.forward(packet);
        }
        let connection = self.connections.get_mut(index);
        if let Some(deadline) = connection.receiver.next_timer() {
            if deadline < connection.shared.receiver_armed {
                connection.shared.receiver_armed = deadline;
                self.events
                    .push(deadline.max(now), source::RECEIVER_TIMER | index as u32);
            }
        }
    }

    /// The last byte, and that there are no more, has arrived.
    fn all_data_arrived(&mut self, index: usize) {
        let connection = self.connections.get(index);
        let (flow, session) = (connection.flow(), connection.shared.session);
        if session != NO_SESSION {
            let (bytes, opened) = (connection.receiver.goodput_bytes(), connection.opened);
            self.object_has_come(session as usize, flow, bytes, opened);
        } else {
            self.flows[flow].completed = Some(self.now);
        }
    }

    /// A web object's connection that has ended on both sides, with nothing under way, makes room.
    #[inline(always)]
    fn reuse_if_ended(&mut self, index: usize) {
        let shared = &self.connections.get(index).shared;
        if shared.session != NO_SESSION && shared.state == State::Completed && shared.under_way == 0
        {
            self.end_connection(index);
        }
    }

    #[inline(never)]
    fn end_connection(&mut self, index: usize) {
        let connection = self.connections.get_mut(index);
        if connection.sender.finished() {
            connection.shared.state = State::Ended;
            connection.sending.armed = NEVER;
            connection.shared.receiver_armed = NEVER;
            connection.add_to(&mut self.flows[connection.flow()].counters);
            self.connections.free.push(index as u32);
        }
    }

    /// A flow's program begins.
    pub(crate) fn start(&mut self, index: usize) {
        let Work::Tcp { connection, .. } = self.flows[index].work else {
            return;
        };
        self.open_connection(connection as usize);
    }

    /// A flow's program writes no more. A bulk transfer's writes as the sender takes it, other programs have written by then
    /// what the sender still has.
    pub(crate) fn stop(&mut self, index: usize) {
        let Work::Tcp { connection, bulk } = self.flows[index].work else {
            return;
        };
        let sender = &mut self.connections.get_mut(connection as usize).sender;
        if bulk {
            sender.end_supply();
        } else {
            sender.close();
        }
        self.pump_sender(connection as usize);
    }
}
