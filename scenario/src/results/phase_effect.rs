// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that lose far more packets than their links drop: traffic phase effects (Floyd and Jacobson, "On Traffic Phase Effects
//! in Packet-Switched Gateways", 1992).
//!
//! Where hosts send without chance and links take the same time for each packet, the packets of all flows come to a full drop-tail queue
//! in step with its departures, and a flow may meet it at the wrong moment again and again. Real hosts and links are not so exact.

use std::collections::HashMap;

use netnice_queue::DisciplineConfig;

use super::{FlowResult, RunResults};
use crate::model::{Scenario, Transport};
use crate::network::{Layout, NetworkLink};

/// A flow that a phase effect hits.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseEffect {
    /// Name of the flow.
    pub flow: String,
    /// Share of its packets that were lost, 0 to 1.
    pub lost: f64,
    /// Share that would be lost if each link dropped from all flows alike, 0 to 1.
    pub expected: f64,
    /// Links without a rate that its packets pass.
    pub links: Vec<String>,
    /// The link that its packets enter first, if that link drops packets: nothing before it spreads them in time.
    pub begins_at: Option<String>,
}

/// Fewer packets say little.
const LEAST_PACKETS: u64 = 100;
/// Of a flow that has data throughout, fewer would be sent only if it lost most of them.
const LEAST_PACKETS_THROUGHOUT: u64 = 20;
/// Less loss is nobody's concern.
const LEAST_LOSS: f64 = 0.05;
/// As many times as high as that of the links: a flow's share of the drops varies with its round trip and its bursts, too.
const TIMES_EXPECTED: f64 = 10.0;
/// The layout of more flows would take longer than it is worth.
const MOST_FLOWS: usize = 10_000;

/// Finds the flows of a run of `scenario` in the simulator that a phase effect hits: those over drop-tail queues that lose ten times as
/// large a share as their links drop of all packets, and 5 % at least. They pass a link without a rate, begin at a queue that drops, or
/// use TCP throughout the run over links without any chance.
pub fn phase_effects(scenario: &Scenario, run: &RunResults) -> Vec<PhaseEffect> {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let suffers = |flow: &FlowResult| {
        let least = match is_throughout(flow) {
            true => LEAST_PACKETS_THROUGHOUT,
            false => LEAST_PACKETS,
        };
        flow.packets_sent >= least && share(flow.packets_lost, flow.packets_sent) >= LEAST_LOSS
    };
    let any = run.flows.iter().any(suffers);
    if run.lab.is_some() || !any || run.flows.len() > MOST_FLOWS {
        return Vec::new();
    }
    let Ok(network) = Layout::new(scenario) else {
        return Vec::new();
    };
    let drops: HashMap<&str, f64> = run
        .queues
        .iter()
        .map(|queue| {
            let dropped = queue.drops.iter().map(|drops| drops.packets).sum();
            (queue.link.as_str(), share(dropped, queue.arrived))
        })
        .collect();
    let flows = network.flows.iter().zip(&run.flows);
    let found = flows.filter_map(|(flow, result)| {
        let ([sender], [receiver]) = (&*flow.senders, &*flow.receivers) else {
            return None;
        };
        if !suffers(result) {
            return None;
        }
        let path = network.path(*sender, *receiver)?;
        let path: Vec<_> = path.into_iter().map(|link| &network.links[link]).collect();
        let of_link = |name: &str| drops.get(name).copied().unwrap_or(0.0);
        // Other disciplines have reasons of their own to drop one flow's packets.
        let fair = path.iter().all(|link| {
            of_link(&link.name) == 0.0 || matches!(*link.queue, DisciplineConfig::DropTail(_))
        });
        let kept: f64 = path.iter().map(|link| 1.0 - of_link(&link.name)).product();
        let (lost, expected) = (share(result.packets_lost, result.packets_sent), 1.0 - kept);
        let without_rate = path.iter().filter(|link| link.rate.is_none());
        let links: Vec<String> = without_rate
            .filter(|link| link.loss.as_f64() == 0.0 && link.conditions.policer.is_none())
            .map(|link| link.name.clone())
            .collect();
        let first = path.first().filter(|link| of_link(&link.name) > 0.0);
        let begins_at = first.map(|link| link.name.clone());
        let in_step = begins_at.is_some()
            || !links.is_empty()
            || is_throughout(result) && !path.iter().any(|link| has_chance(link));
        let hit = fair && expected > 0.0 && lost >= TIMES_EXPECTED * expected && in_step;
        hit.then(|| PhaseEffect {
            flow: result.name.clone(),
            lost,
            expected,
            links,
            begins_at,
        })
    });
    found.collect()
}

/// Returns true for a TCP flow that has data to the end. The few packets of a short one come in bursts, which a queue drops more of.
fn is_throughout(flow: &FlowResult) -> bool {
    flow.transport == Transport::Tcp && flow.mean_cwnd > 0.0 && flow.completion_s.is_none()
}

/// Returns true if packets do not all take the same time, or not all of them arrive.
fn has_chance(link: &NetworkLink) -> bool {
    link.jitter.is_some() || link.loss.as_f64() > 0.0 || link.conditions.loss_model.is_some()
}
