// SPDX-License-Identifier: MIT OR Apache-2.0
//! Players of videos ask for chunks, one after the other over one connection.

use crate::engine::event_source;
use crate::engine::scheduler::Scheduler;
use crate::flows::state::Work;
use crate::simulation::run::Run;

impl<S: Scheduler> Run<S> {
    /// The player of a flow asks for its next chunk.
    pub(super) fn ask_for_chunk(&mut self, flow: usize) {
        let flow = &mut self.flows.all[flow];
        let (Work::Tcp { connection, .. }, Some(player)) = (&flow.work, &mut flow.player) else {
            return;
        };
        if player.ask(self.now) {
            let index = *connection as usize;
            self.flows.connections.get_mut(index).receiver.ask();
            self.pump_receiver(index);
        }
    }

    /// A request has come to the server of a video over the connection `index`.
    pub(super) fn request_for_chunk(&mut self, index: usize) {
        let connection = self.flows.connections.get_mut(index);
        let Some(player) = &mut self.flows.all[connection.flow()].player else {
            return;
        };
        if connection.sender.take_request().is_some() {
            connection.sender.supply(player.serve().unwrap_or(0));
        }
    }

    /// Data have come to the player at the connection `index`.
    pub(super) fn data_at_player(&mut self, index: usize) {
        let connection = self.flows.connections.get(index);
        let (flow, bytes) = (connection.flow(), connection.receiver.goodput_bytes());
        let player = self.flows.all[flow].player.as_mut();
        let next = player.and_then(|player| player.received(self.now, bytes));
        match next {
            None => {}
            Some(next) if next <= self.now => self.ask_for_chunk(flow),
            Some(next) => self
                .scheduler
                .insert(next, event_source::WRITE | flow as u32),
        }
    }
}
