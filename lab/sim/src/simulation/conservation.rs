// SPDX-License-Identifier: MIT OR Apache-2.0
//! The law that a simulation must never break: a packet is delivered, dropped with a cause, or under way.

use crate::engine::scheduler::Scheduler;
use crate::ids::{FlowId, LinkId};
use crate::simulation::run::Run;

impl<S: Scheduler> Run<S> {
    /// Checks the counters of all links and flows against each other, at any time of a run without a warm-up; an error
    /// names those that do not agree.
    pub fn check_conservation(&self) -> Result<(), String> {
        let (mut inside, mut dropped) = (0, 0);
        for link in (0..self.links.all.len()).map(LinkId::new) {
            let counters = self.link_counters(link);
            let held = self.packets_in_link(link) as u64;
            inside += held;
            dropped += counters.dropped();
            // Packets that jitter holds count as delivered already.
            let gone = counters.delivered + counters.dropped();
            if counters.offered < gone || counters.offered > gone + held {
                return Err(format!("link {link:?} with {held} packets: {counters:?}"));
            }
        }
        if inside != self.flows.bodies.len() as u64 {
            let known = self.flows.bodies.len();
            return Err(format!("{inside} packets in links, {known} under way"));
        }
        let (mut sent, mut received, mut lost) = (0, 0, 0);
        for flow in (0..self.flows.all.len()).map(FlowId::new) {
            let counters = self.counters(flow);
            if counters.received_packets + counters.lost_packets > counters.sent_packets
                || counters.control_lost > counters.control_sent
                || counters.goodput_bytes > counters.received_bytes
            {
                return Err(format!("flow {flow:?}: {counters:?}"));
            }
            sent += counters.sent_packets + counters.control_sent;
            received += counters.received_packets;
            lost += counters.lost_packets + counters.control_lost;
        }
        if dropped != lost {
            return Err(format!(
                "links dropped {dropped} packets, flows lost {lost}"
            ));
        }
        if received + lost + inside > sent {
            return Err(format!(
                "of {sent} packets {received} were received, {lost} lost, {inside} are under way"
            ));
        }
        Ok(())
    }
}
