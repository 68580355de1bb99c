// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web sessions request objects, each over a connection of its own or all from a server over one.

use netnice_queue::Time;
use netnice_scenario::model::Multiplexing;

use crate::engine::event_source;
use crate::engine::scheduler::Scheduler;
use crate::flows::connection::{Connection, WATCHED};
use crate::flows::state::Work;
use crate::flows::streams::{Asked, Order, Streams};
use crate::links::routes::Hop;
use crate::simulation::run::Run;
use crate::tcp::Segment;

impl<S: Scheduler> Run<S> {
    /// A session requests its next object.
    pub(super) fn request_object(&mut self, index: usize) {
        let now = self.now;
        let state = &mut self.flows.sessions[index];
        let flow = &mut self.flows.all[state.flow as usize];
        let (Work::Web { web, routes }, Some(tcp)) = (&mut flow.work, &flow.tcp) else {
            return;
        };
        if now >= flow.stop {
            return;
        }
        let (object, next) = state.session.request(web, now);
        if let Some(next) = next {
            self.scheduler
                .insert(next, event_source::SESSION | index as u32);
        }
        if let Some(responses) = &mut flow.responses {
            responses.object_begins(object.bytes);
        }
        if let Some(pages) = &mut state.pages {
            if pages.ask(&object, web.objects_per_page.max(1), now) {
                if let Some(responses) = &mut flow.responses {
                    responses.page_begins();
                }
            }
        }
        let routes = routes.of((object.client, object.server), |path| {
            let all = &mut self.links.routes;
            let forward = all.add_unmarked(&path.forward, Hop::RECEIVER);
            (forward, all.add_unmarked(&path.back, Hop::SENDER))
        });
        let order = match web.multiplexing {
            Multiplexing::None => {
                let configs = &mut self.flows.connections.configs;
                let ids = (state.flow, index as u32);
                let mut connection = Connection::new(tcp, configs, ids, routes, now);
                connection.sender.supply(object.bytes);
                connection.sender.close();
                let slot = self.flows.connections.insert(connection);
                state.note_connection(slot, &object);
                return self.open_connection(slot as usize);
            }
            Multiplexing::Http2 => Order::OfBytes,
            Multiplexing::Quic => Order::OfEachStream,
        };
        let asked = Asked {
            bytes: object.bytes,
            at: now,
            page: object.page,
        };
        let connections = &mut self.flows.connections;
        if let Some(&streams) = state.streams.get(&(object.client, object.server)) {
            let streams = &mut self.flows.streams[streams as usize];
            let slot = streams.connection as usize;
            let number = streams.ask(asked);
            connections.get_mut(slot).receiver.request(number);
            return self.pump_receiver(slot);
        }
        let number = self.flows.streams.len() as u32;
        let ids = (state.flow, WATCHED | number);
        let connection = Connection::new(tcp, &mut connections.configs, ids, routes, now);
        let slot = connections.insert(connection);
        let mut streams = Streams::new(order, index as u32, slot);
        let request = streams.ask(asked);
        connections.get_mut(slot as usize).receiver.request(request);
        state.streams.insert((object.client, object.server), number);
        self.flows.streams.push(streams);
        self.open_connection(slot as usize);
    }

    /// The last byte of an object requested at `asked` has arrived over the connection in `slot`, which it alone had.
    pub(super) fn object_arrived_alone(
        &mut self,
        session: usize,
        slot: u32,
        bytes: u64,
        asked: Time,
    ) {
        let state = &mut self.flows.sessions[session];
        let unloaded = state.unloaded.as_mut();
        let unloaded = unloaded.and_then(|unloaded| unloaded.pending_ns.remove(&slot));
        let pages = state.pages.as_mut();
        let page = pages.and_then(|pages| pages.of_connection.remove(&slot));
        self.object_arrived(session, bytes, asked, unloaded);
        if let Some(page) = page {
            self.object_of_page_arrived(session, page);
        }
    }

    /// A request has come to the server of these streams.
    pub(super) fn request_for_stream(&mut self, streams: usize, request: u32) {
        let streams = &mut self.flows.streams[streams];
        let bytes = streams.request_arrived(request);
        let connection = (self.flows.connections).get_mut(streams.connection as usize);
        connection.sender.supply(bytes);
    }

    /// A segment of data has come to the client of these streams.
    pub(super) fn data_on_streams(&mut self, streams: usize, segment: &Segment) {
        let streams = &mut self.flows.streams[streams];
        let session = streams.session as usize;
        let connection = self.flows.connections.get(streams.connection as usize);
        for object in streams.data_arrived(&connection.receiver, segment) {
            self.object_arrived(session, object.bytes, object.at, None);
            self.object_of_page_arrived(session, object.page);
        }
    }

    /// An object requested at `asked` is complete, which with nobody else on its path would have taken `unloaded` nanoseconds.
    fn object_arrived(&mut self, session: usize, bytes: u64, asked: Time, unloaded: Option<u64>) {
        let state = &mut self.flows.sessions[session];
        let flow = &mut self.flows.all[state.flow as usize];
        if let Some(responses) = &mut flow.responses {
            responses.object_ends(bytes);
            if asked >= self.warm_up {
                let taken = self.now.as_nanos() - asked.as_nanos();
                responses.record(bytes, taken, unloaded);
            }
        }
        let Work::Web { web, .. } = &flow.work else {
            return;
        };
        if let Some(next) = state.session.object_has_come(web, self.now) {
            self.scheduler
                .insert(next, event_source::SESSION | session as u32);
        }
    }

    /// An object of this page is complete, and with it maybe the page.
    fn object_of_page_arrived(&mut self, session: usize, page: u64) {
        let state = &mut self.flows.sessions[session];
        let pages = state.pages.as_mut();
        let Some(began) = pages.and_then(|pages| pages.object_arrived(page)) else {
            return;
        };
        if let Some(responses) = &mut self.flows.all[state.flow as usize].responses {
            let taken = self.now.as_nanos() - began.as_nanos();
            responses.page_ends((began >= self.warm_up).then_some(taken));
        }
    }
}
