// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario laid out for a run: groups expanded to hosts, links to directions, flows to single flows; names are
//! numbers, there is a path between any two nodes that talk, and each link is given the round trip and packet size that its
//! queue's limit needs.

mod build;
mod check;
mod check_figure;
mod check_flow;
mod findings;
mod link;
mod paths;
mod problem;
mod simulation;
mod unloaded;

use std::sync::Arc;
use std::time::Duration;

use netnice_queue::Bytes;

use crate::model::{
    Application, Clock, CongestionControl, Dscp, ReceiverControl, Scenario, Tcp, TrafficClass,
    Transport,
};

pub(crate) use check_flow::trace_mistake;
pub(crate) use findings::is_of_name;
pub use link::{LinkIndex, NetworkLink, NodeIndex};
pub use paths::Paths;
pub use problem::{Place, Problem, Problems, Step};
pub use simulation::not_simulated;
pub use unloaded::UnloadedPath;

/// A scenario laid out for a run: nodes, links, flows and the paths between them. The same scenario always gives the same
/// layout, in the same order.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Hosts and routers.
    pub nodes: Vec<NetworkNode>,
    /// Directions of links: those of one link are neighbours, 2n from `from` to `to` and 2n + 1 back.
    pub links: Vec<NetworkLink>,
    /// Single flows, and one entry for each group of web sessions or of arriving transfers.
    pub flows: Vec<NetworkFlow>,
    paths: Arc<Paths>,
}

/// A host or router.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkNode {
    /// Name; members of a group are `name[0]`, `name[1]` and so on.
    pub name: String,
    /// The name in the scenario.
    pub group: Arc<str>,
    /// The clock of its TCP timestamps.
    pub clock: Clock,
}

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkFlow {
    /// Name; several of one group are `name[0]`, `name[1]` and so on. Unique, and the same from run to run.
    pub name: String,
    /// The senders of data. For web traffic and arriving transfers all servers, else one.
    pub senders: Vec<NodeIndex>,
    /// The receivers of data. For web traffic and arriving transfers all clients, else one.
    pub receivers: Vec<NodeIndex>,
    /// The settings that it shares with the others of its group.
    pub group: Arc<FlowGroup>,
}

/// The settings shared by the flows of one entry in the scenario, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowGroup {
    /// Name in the scenario: results are grouped by it.
    pub name: String,
    /// Transport protocol.
    pub transport: Transport,
    /// Congestion control of TCP.
    pub congestion_control: CongestionControl,
    /// Control of the window that the receiver advertises.
    pub receiver: ReceiverControl,
    /// Full packet on the link, headers included.
    pub packet_size: Bytes,
    /// Headers in each packet, less than `packet_size`.
    pub header_size: Bytes,
    /// Begin, before the random part.
    pub start: Duration,
    /// Random part of the begin: uniform from 0 to this.
    pub start_spread: Duration,
    /// The application's last moment, at most the end of the run.
    pub stop: Duration,
    /// Bytes to send, where the flow ends by itself.
    pub bytes: Option<Bytes>,
    /// When the bytes of all flows of the group are to be sent.
    pub by: Option<Duration>,
    /// Priority.
    pub class: TrafficClass,
    /// Code point.
    pub dscp: Dscp,
    /// The source of traffic.
    pub application: Application,
    /// Settings of TCP.
    pub tcp: Tcp,
}

impl Layout {
    /// The links from `from` to `to`: the given route, else the shortest path (least propagation delay, then fewest
    /// links, then first in the file). Empty where they are one node, `None` where there is no way.
    pub fn path(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<LinkIndex>> {
        self.paths.path(from, to)
    }

    /// The ways between nodes, to be kept longer than the network.
    pub fn paths(&self) -> Arc<Paths> {
        self.paths.clone()
    }

    /// Pairs of a sender and a receiver of a flow, by their places in its lists: their ways, there and back, lead over all links
    /// that those of the other pairs do, and the one of the longest round trip over each link is among them.
    pub fn covering_pairs(&self, flow: &NetworkFlow) -> Vec<(usize, usize)> {
        let delay_of = |link: LinkIndex| self.links[link].delay;
        self.paths
            .covering_pairs(&flow.senders, &flow.receivers, delay_of)
    }

    /// Pairs of a sender and a receiver of a flow, as their numbers. Among the links of their ways from sender to receiver
    /// `has` holds for one on some way, and for none on some way, just as among those of all pairs.
    pub(crate) fn pairs_by(
        &self,
        flow: &NetworkFlow,
        has: impl Fn(&NetworkLink) -> bool,
    ) -> impl Iterator<Item = (NodeIndex, NodeIndex)> {
        let kind_of = |link: LinkIndex| has(&self.links[link]);
        let pairs = (self.paths).pairs_of_kinds(&flow.senders, &flow.receivers, kind_of);
        pairs
            .into_iter()
            .map(|(sender, receiver)| (flow.senders[sender], flow.receivers[receiver]))
    }

    /// Samples of the time series of a run of `scenario`, whose layout this is: one more or less, and those of quantities that a flow
    /// turns out to lack.
    pub fn samples(&self, scenario: &Scenario) -> u64 {
        // cwnd, ssthresh, RTT, one-way delay and goodput; without a sender that has a window the last two. Of a queue its packets and its
        // delay.
        let (of_tcp, of_others, of_link) = (5, 2, 2);
        let Some(interval) = scenario.sampling.interval else {
            return 0;
        };
        let sampling = &scenario.sampling;
        let flows = (self.flows.iter())
            .filter(|flow| sampling.takes_flow(&flow.name, &flow.group.name))
            .map(|flow| match flow.group.transport {
                Transport::Tcp if flow.senders.len() == 1 => of_tcp,
                _ => of_others,
            });
        let links = (self.links.iter())
            .filter(|link| link.rate.is_some() && sampling.takes_link(&link.name, &link.group))
            .map(|_| of_link);
        let times = scenario.duration.get().as_nanos() / interval.get().as_nanos().max(1);
        let times = u64::try_from(times).unwrap_or(u64::MAX);
        flows.chain(links).sum::<u64>().saturating_mul(times)
    }

    /// Propagation there and back between two nodes; `None` where there is no way.
    pub fn base_rtt(&self, from: NodeIndex, to: NodeIndex) -> Option<Duration> {
        let there = self.path(from, to)?;
        let back = self.path(to, from)?;
        Some(
            there
                .iter()
                .chain(&back)
                .map(|&link| self.links[link].delay)
                .sum(),
        )
    }
}
