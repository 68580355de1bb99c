// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which flows' packets pass a link, for disciplines that tell them apart by DSCP or colour.

use std::collections::{BTreeSet, HashMap};

use netnice_queue::{DisciplineConfig, Dscp};

use crate::model::Transport;
use crate::network::{Layout, LinkIndex, NetworkFlow, NodeIndex};

/// Packets of the flows of an entry of the scenario, on a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Passer {
    /// Name in the scenario.
    pub(super) group: String,
    /// Packets to the senders of data: ACKs and requests.
    pub(super) acks: bool,
    /// Code point.
    pub(super) dscp: Dscp,
    /// A marker has tagged them, on this link or before.
    pub(super) marked: bool,
}

/// Packets by the direction of a link; of those alone whose discipline tells packets apart.
#[derive(Debug, Default)]
pub(super) struct Passing(HashMap<LinkIndex, BTreeSet<Passer>>);

impl Passing {
    pub(super) fn new(network: &Layout) -> Passing {
        let mut passing = Passing::default();
        let any = network.links.iter().any(|link| tells_apart(&link.queue));
        if any {
            for flow in &network.flows {
                passing.add(network, flow);
            }
        }
        passing
    }

    /// The packets that pass one of these directions.
    pub(super) fn over(&self, links: impl Iterator<Item = LinkIndex>) -> Vec<Passer> {
        let all: BTreeSet<&Passer> = links
            .filter_map(|link| self.0.get(&link))
            .flatten()
            .collect();
        all.into_iter().cloned().collect()
    }

    fn add(&mut self, network: &Layout, flow: &NetworkFlow) {
        let (Some(&sender), Some(&receiver)) = (flow.senders.first(), flow.receivers.first())
        else {
            return;
        };
        // Of many senders and receivers each takes part in one pair at least.
        let pairs = flow.senders.iter().map(|&node| (node, receiver));
        let others = flow.receivers.iter().skip(1).map(|&node| (sender, node));
        for (from, to) in pairs.chain(others) {
            self.add_path(network, flow, (from, to), false);
            if flow.group.transport == Transport::Tcp {
                self.add_path(network, flow, (to, from), true);
            }
        }
    }

    fn add_path(
        &mut self,
        network: &Layout,
        flow: &NetworkFlow,
        (from, to): (NodeIndex, NodeIndex),
        acks: bool,
    ) {
        let mut marked = false;
        for index in network.path(from, to).unwrap_or_default() {
            let link = &network.links[index];
            marked |= link.marker.is_some();
            if tells_apart(&link.queue) {
                self.0.entry(index).or_default().insert(Passer {
                    group: flow.group.name.clone(),
                    acks,
                    dscp: flow.group.dscp,
                    marked,
                });
            }
        }
    }
}

fn tells_apart(queue: &DisciplineConfig) -> bool {
    matches!(
        queue,
        DisciplineConfig::Rio(_) | DisciplineConfig::WeightedDrr(_)
    )
}
