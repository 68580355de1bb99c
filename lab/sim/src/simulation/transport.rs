// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP: between the ends of connections, which do no I/O, and the network.

use crate::engine::event_source;
use crate::engine::scheduler::Scheduler;
use crate::flows::bodies::Body;
use crate::flows::state::Work;
use crate::packet::Packet;
use crate::simulation::run::Run;
use crate::tcp::{Flags, Segment};

impl<S: Scheduler> Run<S> {
    /// A flow's program begins.
    pub(super) fn start(&mut self, index: usize) {
        let flow = &mut self.flows.all[index];
        if let Work::Tcp { connection, .. } = flow.work {
            if let Some(player) = &mut flow.player {
                player.ask(self.now);
            }
            self.open_connection(connection as usize);
        }
    }

    /// A flow's program writes no more. A bulk transfer's writes as the sender takes it, other programs have written by then
    /// what the sender still has.
    pub(super) fn stop(&mut self, index: usize) {
        let flow = &mut self.flows.all[index];
        let Work::Tcp { connection, bulk } = flow.work else {
            return;
        };
        if let Some(player) = &mut flow.player {
            player.stop(self.now);
        }
        self.sample_sender(connection as usize);
        let sender = &mut self.flows.connections.get_mut(connection as usize).sender;
        if bulk {
            sender.end_supply();
        } else {
            sender.close();
        }
        self.pump_sender(connection as usize);
    }

    /// Both ends begin; whichever the opener is sends first.
    pub(super) fn open_connection(&mut self, index: usize) {
        self.sample_sender(index);
        let connection = self.flows.connections.get_mut(index);
        let flow = &self.flows.all[connection.flow()];
        connection.open(self.now, flow.class, flow.header_bytes);
        self.pump_receiver(index);
        self.pump_sender(index);
    }

    /// The program writes `bytes` to the sender, and then maybe no more.
    pub(super) fn supply(&mut self, index: usize, bytes: u64, last: bool) {
        self.sample_sender(index);
        let sender = &mut self.flows.connections.get_mut(index).sender;
        sender.supply(bytes);
        if last {
            sender.close();
        }
        self.pump_sender(index);
    }

    /// A segment has come to the receiver of the data.
    #[inline]
    pub(super) fn segment_at_receiver(&mut self, index: usize, packet: &Packet, body: &Body) {
        let connection = self.flows.connections.get(index);
        self.sample_receiver(connection.flow());
        let connection = self.flows.connections.get_mut(index);
        if body.segment.length > 0 {
            let flow = &mut self.flows.all[connection.flow()];
            flow.data_arrived(self.now, self.warm_up, body.sent);
        }
        if connection.segment_at_receiver(self.now, packet, body) {
            self.all_data_arrived(index);
        }
        self.pump_receiver(index);
        if self.flows.connections.get(index).is_watched() {
            self.watched_data_arrived(index, &body.segment);
        }
        self.reuse_if_ended(index);
    }

    /// A segment has come back to the sender of the data.
    #[inline]
    pub(super) fn segment_at_sender(&mut self, index: usize, body: &Body) {
        self.sample_sender(index);
        let connection = self.flows.connections.get_mut(index);
        if self.now >= self.warm_up && !body.segment.flags.any_of(Flags::OPENS) {
            let flow = &mut self.flows.all[connection.flow()];
            flow.round_trip
                .record(self.now.as_nanos() - body.sent.as_nanos());
        }
        connection.segment_at_sender(self.now, &body.segment);
        if body.segment.flags.contains(Flags::REQUEST) {
            self.request_at_sender(index, &body.segment);
        }
        self.pump_sender(index);
        self.reuse_if_ended(index);
    }

    /// A segment of data that a program watches has come over the connection `index`.
    #[inline(never)]
    fn watched_data_arrived(&mut self, index: usize, segment: &Segment) {
        match self.flows.connections.get(index).streams() {
            Some(streams) => self.data_on_streams(streams, segment),
            None => self.data_at_player(index),
        }
    }

    /// A request has come to the sender of the data over the connection `index`.
    #[cold]
    fn request_at_sender(&mut self, index: usize, segment: &Segment) {
        match self.flows.connections.get(index).streams() {
            Some(streams) => self.request_for_stream(streams, segment.request),
            None => self.request_for_chunk(index),
        }
    }

    /// Counts a dropped segment; the sender gets no notice.
    pub(super) fn count_lost_segment(&mut self, index: usize, segment: &Segment) {
        let connection = self.flows.connections.get_mut(index);
        connection.count_lost_segment();
        let counters = &mut self.flows.all[connection.flow()].counters;
        if segment.length > 0 && !segment.flags.contains(Flags::REQUEST) {
            counters.lost_packets += 1;
        } else {
            counters.control_lost += 1;
        }
        self.reuse_if_ended(index);
    }

    /// The sender sends what it may and sets its timer.
    #[inline]
    pub(super) fn pump_sender(&mut self, index: usize) {
        let now = self.now;
        loop {
            let connection = self.flows.connections.get_mut(index);
            let Some((segment, mut packet)) = connection.next_of_sender(now, index) else {
                break;
            };
            if segment.length == 0 {
                self.flows.all[connection.flow()].counters.control_sent += 1;
            }
            packet.body = self.flows.bodies.insert(&Body { segment, sent: now });
            self.forward(packet);
        }
        let connection = self.flows.connections.get_mut(index);
        if let Some(due) = connection.set_sender_timer(now) {
            self.scheduler
                .insert(due, event_source::SENDER_TIMER | index as u32);
        }
    }

    /// The receiver sends what it has to and sets its timer.
    #[inline]
    pub(super) fn pump_receiver(&mut self, index: usize) {
        let now = self.now;
        loop {
            let connection = self.flows.connections.get_mut(index);
            let Some((body, mut packet)) = connection.next_of_receiver(now, index) else {
                break;
            };
            packet.body = self.flows.bodies.insert(&body);
            self.forward(packet);
        }
        let connection = self.flows.connections.get_mut(index);
        if let Some(due) = connection.set_receiver_timer(now) {
            self.scheduler
                .insert(due, event_source::RECEIVER_TIMER | index as u32);
        }
    }

    /// The last byte, and that there are no more, has arrived.
    fn all_data_arrived(&mut self, index: usize) {
        let connection = self.flows.connections.get(index);
        let flow = connection.flow();
        match connection.session() {
            Some(session) => {
                let (bytes, opened) = (connection.receiver.goodput_bytes(), connection.opened());
                self.object_arrived_alone(session, index as u32, bytes, opened);
            }
            None => self.flows.all[flow].completed = self.now,
        }
    }

    /// A web object's connection that has ended on both sides, with nothing under way, makes room.
    #[inline(always)]
    fn reuse_if_ended(&mut self, index: usize) {
        if self.flows.connections.get(index).may_end() {
            self.end_connection(index);
        }
    }

    #[inline(never)]
    fn end_connection(&mut self, index: usize) {
        let flow = self.flows.connections.get(index).flow();
        let counters = &mut self.flows.all[flow].counters;
        self.flows.connections.end(index, counters);
    }
}
