// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP connections: between the sans-IO endpoints and the network.

use netnice_queue::{Time, prefetch};

use crate::Packet;
use crate::flow::TcpSpec;
use crate::flow_state::Work;
use crate::measure::TimeWeighted;
use crate::packet::{Body, Marks};
use crate::route::{Hop, Routes};
use crate::simulation::{NEVER, Simulation, source};
use crate::tcp::{Flags, Mark, Receiver, Segment, Sender};

/// Marks a connection that belongs to no web session.
pub(crate) const NO_SESSION: u32 = u32::MAX;

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    /// The earliest pending event for each end's timer. A timer may have moved on since.
    sender_armed: Time,
    receiver_armed: Time,
    pub flow: u32,
    /// Cursors of the routes of data and of ACKs.
    pub forward: u32,
    pub back: u32,
    /// Its packets in the network; a slot is used again when there are none.
    under_way: u32,
    pub session: u32,
    header_bytes: u16,
    class: u8,
    /// All data have arrived.
    completed: bool,
    goodput_bytes: u64,
    /// When the newest data packet that arrived was sent.
    newest_data_sent: Time,
    pub opened: Time,
    pub cwnd: TimeWeighted,
}

/// All connections. Those of web objects that have ended make room for new ones.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    all: Vec<Option<Box<Connection>>>,
    /// Of which flow each is, kept here as well, so that flows can be fetched at the same time.
    flows: Vec<u32>,
    free: Vec<u32>,
}

impl Connections {
    #[inline]
    pub fn get(&self, index: usize) -> &Connection {
        self.all[index]
            .as_ref()
            .expect("packets and timers belong to living connections")
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> &mut Connection {
        self.all[index]
            .as_mut()
            .expect("packets and timers belong to living connections")
    }

    /// Begins to fetch what leads to a connection and its flow.
    #[inline]
    pub fn prefetch_place(&self, index: usize) {
        prefetch(&self.all[index], 1);
        prefetch(&self.flows[index], 1);
    }

    /// Begins to fetch the end of a connection that a segment is about to reach; tells its flow.
    #[inline]
    pub fn prefetch(&self, index: usize, end: Hop) -> u32 {
        if let Some(connection) = &self.all[index] {
            prefetch(&connection.flow, 1);
            if end == Hop::SENDER {
                prefetch(&connection.sender, 9);
            } else {
                prefetch(&connection.receiver, 3);
            }
        }
        self.flows[index]
    }

    /// Living connections.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.all.iter().flatten().map(|connection| &**connection)
    }

    /// Living connections.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.all
            .iter_mut()
            .flatten()
            .map(|connection| &mut **connection)
    }

    pub fn insert(&mut self, connection: Connection) -> u32 {
        let flow = connection.flow;
        let connection = Some(Box::new(connection));
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = connection;
            self.flows[slot as usize] = flow;
            slot
        } else {
            self.all.push(connection);
            self.flows.push(flow);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^28 connections at once")
        }
    }

    fn remove(&mut self, index: usize) -> Option<Box<Connection>> {
        self.free.push(index as u32);
        self.all[index].take()
    }

    /// The flow of a packet, and whether the packet goes back to the data's sender.
    pub fn flow_of(&self, packet: &Packet, routes: &Routes) -> (usize, bool) {
        if packet.connection & source::UDP != 0 {
            ((packet.connection & !source::UDP) as usize, false)
        } else {
            (
                self.get(packet.connection as usize).flow as usize,
                routes.leads_to_sender(packet.cursor),
            )
        }
    }
}

impl Connection {
    pub fn new(spec: &TcpSpec, flow: u32, (forward, back): (u32, u32), now: Time) -> Connection {
        let sender = Sender::new(spec.sender, (spec.control)());
        Connection {
            cwnd: TimeWeighted::new(now, sender.cwnd()),
            sender,
            receiver: Receiver::new(spec.receiver),
            sender_armed: NEVER,
            receiver_armed: NEVER,
            flow,
            forward,
            back,
            under_way: 0,
            session: NO_SESSION,
            header_bytes: 0,
            class: 0,
            completed: false,
            goodput_bytes: 0,
            newest_data_sent: now,
            opened: now,
        }
    }

    /// What its control has yielded to.
    pub fn yields(&self) -> u64 {
        self.sender
            .control()
            .report()
            .map_or(0, |report| u64::from(report.yields))
    }
}

impl Simulation {
    /// Both ends begin; whichever the opener is sends first.
    pub(crate) fn open_connection(&mut self, index: usize) {
        let now = self.now;
        let connection = self.connections.get_mut(index);
        let flow = &self.flows[connection.flow as usize];
        connection.header_bytes = flow.header_bytes;
        connection.class = flow.class;
        connection.opened = now;
        connection.cwnd.restart(now);
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
        let flow = &mut self.flows[connection.flow as usize];
        connection.under_way -= 1;
        if body.segment.length > 0 {
            flow.data_arrived(self.now, self.warm_up, packet.length, body.sent);
            connection.newest_data_sent = body.sent;
        }
        let mark = Mark {
            congestion_experienced: packet.marks.congestion_experienced(),
            in_profile: packet.marks.in_profile(),
        };
        connection
            .receiver
            .on_segment(self.now, &body.segment, mark);
        let goodput = connection.receiver.goodput_bytes();
        flow.counters.goodput_bytes += goodput - connection.goodput_bytes;
        connection.goodput_bytes = goodput;
        if connection.receiver.finished() && !connection.completed {
            connection.completed = true;
            self.all_data_arrived(index);
        }
        self.pump_receiver(index);
        self.reuse_if_ended(index);
    }

    /// A segment has come back to the sender of the data.
    #[inline]
    pub(crate) fn segment_at_sender(&mut self, index: usize, body: &Body) {
        let connection = self.connections.get_mut(index);
        connection.under_way -= 1;
        if self.now >= self.warm_up && body.segment.flags == Flags::ACK {
            let flow = &mut self.flows[connection.flow as usize];
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
        connection.under_way -= 1;
        let counters = &mut self.flows[connection.flow as usize].counters;
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
            let counters = &mut self.flows[connection.flow as usize].counters;
            let length = segment.length as u16 + connection.header_bytes;
            let data = segment.length > 0;
            if data {
                counters.sent_packets += 1;
                counters.sent_bytes += u64::from(length);
            } else {
                counters.control_sent += 1;
            }
            connection.under_way += 1;
            let packet = Packet {
                cursor: connection.forward,
                connection: index as u32,
                body: self.bodies.insert(Body { segment, sent: now }),
                length,
                class: connection.class,
                marks: Marks::new(data && connection.sender.ecn_capable()),
            };
            self.forward(packet);
        }
        let connection = self.connections.get_mut(index);
        connection.cwnd.set(now, connection.sender.cwnd());
        if let Some(deadline) = connection.sender.next_timer() {
            if deadline < connection.sender_armed {
                connection.sender_armed = deadline;
                self.events
                    .push(deadline.max(now), source::SENDER_TIMER | index as u32);
            }
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
            let counters = &mut self.flows[connection.flow as usize].counters;
            counters.control_sent += 1;
            connection.under_way += 1;
            let sent = connection.newest_data_sent;
            let packet = Packet {
                cursor: connection.back,
                connection: index as u32,
                body: self.bodies.insert(Body { segment, sent }),
                length: segment.length as u16 + connection.header_bytes,
                class: connection.class,
                marks: Marks::default(),
            };
            self.forward(packet);
        }
        let connection = self.connections.get_mut(index);
        if let Some(deadline) = connection.receiver.next_timer() {
            if deadline < connection.receiver_armed {
                connection.receiver_armed = deadline;
                self.events
                    .push(deadline.max(now), source::RECEIVER_TIMER | index as u32);
            }
        }
    }

    /// An event for a sender's timer: it may have moved to a later time since, or the slot to another connection.
    pub(crate) fn on_sender_timer(&mut self, index: usize) {
        let Some(connection) = &mut self.connections.all[index] else {
            return;
        };
        if connection.sender_armed > self.now {
            return;
        }
        connection.sender_armed = NEVER;
        connection.sender.on_timer(self.now);
        self.pump_sender(index);
    }

    /// An event for a receiver's timer, likewise.
    pub(crate) fn on_receiver_timer(&mut self, index: usize) {
        let Some(connection) = &mut self.connections.all[index] else {
            return;
        };
        if connection.receiver_armed > self.now {
            return;
        }
        connection.receiver_armed = NEVER;
        connection.receiver.on_timer(self.now);
        self.pump_receiver(index);
    }

    /// The last byte, and that there are no more, has arrived.
    fn all_data_arrived(&mut self, index: usize) {
        let connection = self.connections.get(index);
        let (flow, session) = (connection.flow as usize, connection.session);
        if session != NO_SESSION {
            let (bytes, opened) = (connection.goodput_bytes, connection.opened);
            self.object_has_come(session as usize, flow, bytes, opened);
        } else {
            self.flows[flow].completed = Some(self.now);
        }
    }

    /// A web object's connection that has ended on both sides, with nothing under way, makes room.
    #[inline]
    fn reuse_if_ended(&mut self, index: usize) {
        let connection = self.connections.get(index);
        if connection.completed && connection.under_way == 0 && connection.session != NO_SESSION {
            self.end_connection(index);
        }
    }

    fn end_connection(&mut self, index: usize) {
        if !self.connections.get(index).sender.finished() {
            return;
        }
        if let Some(connection) = self.connections.remove(index) {
            let counters = &mut self.flows[connection.flow as usize].counters;
            counters.add_sender(&connection.sender.statistics(), connection.yields());
        }
    }

    /// A flow's program begins.
    pub(crate) fn start(&mut self, index: usize) {
        let Work::Tcp { connection } = self.flows[index].work else {
            return;
        };
        self.open_connection(connection as usize);
    }

    /// A flow's program writes no more.
    pub(crate) fn stop(&mut self, index: usize) {
        let Work::Tcp { connection } = self.flows[index].work else {
            return;
        };
        self.connections.get_mut(connection as usize).sender.close();
        self.pump_sender(connection as usize);
    }
}
