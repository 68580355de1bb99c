// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web sessions request objects, each over a connection of its own.

use netnice_queue::Time;

use crate::engine::event_source;
use crate::engine::scheduler::Scheduler;
use crate::flows::connection::Connection;
use crate::flows::state::Work;
use crate::links::routes::Hop;
use crate::simulation::run::Run;

impl<S: Scheduler> Run<S> {
    /// A session requests its next object, over a new connection.
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
            responses.unfinished += 1;
        }
        let routes = routes.of((object.client, object.server), |path| {
            let all = &mut self.links.routes;
            let forward = all.add_unmarked(&path.forward, Hop::RECEIVER);
            (forward, all.add_unmarked(&path.back, Hop::SENDER))
        });
        let mut connection = {
            let configs = &mut self.flows.connections.configs;
            Connection::new(tcp, configs, (state.flow, index as u32), routes, now)
        };
        connection.sender.supply(object.bytes);
        connection.sender.close();
        let slot = self.flows.connections.insert(connection);
        if let Some(unloaded) = &mut state.unloaded {
            let servers = unloaded.paths.get(object.client);
            if let Some(path) = servers.and_then(|paths| paths.get(object.server)) {
                let time = path.completion(object.bytes).as_nanos() as u64;
                unloaded.pending_ns.insert(slot, time);
            }
        }
        self.open_connection(slot as usize);
    }

    /// The last byte of an object requested at `asked` has arrived over the connection in `slot`.
    pub(super) fn object_arrived(
        &mut self,
        session: usize,
        (flow, slot): (usize, u32),
        bytes: u64,
        asked: Time,
    ) {
        let state = &mut self.flows.sessions[session];
        let unloaded = state.unloaded.as_mut();
        let unloaded = unloaded.and_then(|unloaded| unloaded.pending_ns.remove(&slot));
        let flow = &mut self.flows.all[flow];
        if let Some(responses) = &mut flow.responses {
            responses.unfinished -= 1;
            if asked >= self.warm_up {
                let taken = self.now.as_nanos() - asked.as_nanos();
                responses.record(bytes, taken, unloaded);
            }
        }
        let Work::Web { web, .. } = &flow.work else {
            return;
        };
        let session_state = &mut self.flows.sessions[session].session;
        if let Some(next) = session_state.object_has_come(web, self.now) {
            self.scheduler
                .insert(next, event_source::SESSION | session as u32);
        }
    }
}
