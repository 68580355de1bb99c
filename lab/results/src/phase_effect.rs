// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that lose far more packets than their links drop: traffic phase effects (Floyd and Jacobson, "On Traffic Phase Effects
//! in Packet-Switched Gateways", 1992).
//!
//! Where hosts send without chance and links take the same time for each packet, the packets of all flows come to a full drop-tail queue
//! in step with its departures, and a flow may meet it at the wrong moment again and again. Real hosts and links are not so exact.

use std::collections::HashMap;
use std::time::Duration;

use netnice_queue::{DisciplineConfig, DropCause};

use crate::{FlowResult, QueueResult, RunResults};
use netnice_scenario::Point;
use netnice_scenario::model::Transport;
use netnice_scenario::network::NetworkLink;

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
/// Recoveries and RTOs of a flow over TCP: it meets the full queue again and again, not once with the burst that it begins with.
const LEAST_EVENTS: u64 = 10;
/// A flow that has data throughout sends fewer if it is locked out: it loses this share of them at least, and waits for its RTO again and
/// again.
const LOCKED_OUT: f64 = 0.3;
const LEAST_TIMEOUTS: u64 = 2;
/// Less loss is nobody's concern.
const LEAST_LOSS: f64 = 0.05;
/// Times as high as that of the links: a flow's share of the drops varies with its round trip and its bursts, too.
const TIMES_EXPECTED: f64 = 10.0;
/// The layout of more flows would take longer than it is worth.
const MOST_FLOWS: usize = 10_000;

/// Finds the flows of a run of `point` in the simulator that a phase effect hits: those that lose ten times as large a share as their
/// links drop of all packets, and 5 % at least, where all drops are those of full drop-tail queues and nothing on their paths, there and
/// back, is left to chance. They pass a link without a rate, begin at a queue that drops, or use TCP throughout the run.
pub fn phase_effects(point: &Point, run: &RunResults) -> Vec<PhaseEffect> {
    let any = run.flows.iter().any(suffers);
    if run.lab.is_some() || !any || run.flows.len() > MOST_FLOWS {
        return Vec::new();
    }
    let Ok(network) = point.layout() else {
        return Vec::new();
    };
    let queues: HashMap<&str, &QueueResult> = run
        .queues
        .iter()
        .map(|queue| (queue.link.as_str(), queue))
        .collect();
    let of_link = |link: &NetworkLink| {
        let queue = queues.get(link.name.as_str());
        queue.map_or(0.0, |queue| share(queue.dropped(), queue.arrived))
    };
    let flows = network.flows.iter().zip(&run.flows);
    let found = flows.filter_map(|(flow, result)| {
        let ([sender], [receiver]) = (&*flow.senders, &*flow.receivers) else {
            return None;
        };
        if !suffers(result) {
            return None;
        }
        let links_of = |from, to| -> Option<Vec<&NetworkLink>> {
            let path = network.path(from, to)?;
            Some(path.into_iter().map(|link| &network.links[link]).collect())
        };
        let path = links_of(*sender, *receiver)?;
        let back = links_of(*receiver, *sender)?;
        // Other disciplines and causes have reasons of their own to drop one flow's packets.
        let only_full_queues = path.iter().all(|link| {
            let queue = queues.get(link.name.as_str());
            queue.is_none_or(|queue| {
                queue.dropped() == 0
                    || matches!(*link.queue, DisciplineConfig::DropTail(_)) && only_overflows(queue)
            })
        });
        let both_ways = || path.iter().chain(&back).copied();
        let longest = both_ways().filter_map(packet_time).max();
        let longest = longest.unwrap_or_default();
        if !only_full_queues || both_ways().any(|link| has_chance(link, longest)) {
            return None;
        }
        let kept: f64 = path.iter().map(|link| 1.0 - of_link(link)).product();
        let (lost, expected) = (lost(result), 1.0 - kept);
        let without_rate = path.iter().filter(|link| link.rate.is_none());
        let links: Vec<String> = without_rate.map(|link| link.name.clone()).collect();
        let first = path.first().filter(|link| of_link(link) > 0.0);
        let begins_at = first.map(|link| link.name.clone());
        let in_step = begins_at.is_some() || !links.is_empty() || is_throughout(result);
        let hit = expected > 0.0 && lost >= TIMES_EXPECTED * expected && in_step;
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

/// Returns true if the flow lost enough of its packets, and those were enough to tell.
fn suffers(flow: &FlowResult) -> bool {
    let lost = lost(flow);
    let locked_out = is_throughout(flow) && flow.timeouts >= LEAST_TIMEOUTS && lost >= LOCKED_OUT;
    let again = flow.transport != Transport::Tcp || flow.recoveries + flow.timeouts >= LEAST_EVENTS;
    lost >= LEAST_LOSS && (flow.packets_sent >= LEAST_PACKETS && again || locked_out)
}

/// Returns the share of its packets that the flow lost: all, if it has no connection for all its SYNs.
fn lost(flow: &FlowResult) -> f64 {
    match flow.packets_sent {
        0 if flow.timeouts > 0 => 1.0,
        sent => share(flow.packets_lost, sent),
    }
}

/// Returns true for a TCP flow that has data to the end. The few packets of a short one come in bursts, which a queue drops more of.
fn is_throughout(flow: &FlowResult) -> bool {
    flow.transport == Transport::Tcp && flow.mean_cwnd > 0.0 && flow.completion_s.is_none()
}

/// Returns true if packets do not all take the same time, or not all of them arrive, by more than what a queue does. Jitter counts where
/// it is a quarter of `packet_time` at least, the longest time that a packet takes on a link of the path: less leaves packets in step.
fn has_chance(link: &NetworkLink, packet_time: Duration) -> bool {
    let conditions = &link.conditions;
    let jitter = link.jitter.map(|jitter| jitter.size.get());
    jitter.is_some_and(|jitter| jitter > Duration::ZERO && 4 * jitter >= packet_time)
        || link.loses()
        || conditions.trace.is_some()
        || !conditions.outages.is_empty()
}

/// The time in which the link sends its largest packet; `None` if it takes none.
fn packet_time(link: &NetworkLink) -> Option<Duration> {
    link.rate.map(|rate| rate.time_to_send(link.packet_size))
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns true if the link dropped packets for a full queue only.
fn only_overflows(queue: &QueueResult) -> bool {
    let mut drops = queue.drops.iter().filter(|drops| drops.packets > 0);
    drops.all(|drops| drops.cause == DropCause::QueueFull.name())
}
