// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lays a scenario out: hosts of groups, directions of links, single flows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{
    Bytes, Discipline, DisciplineConfig, LinkChange, LinkConditions, LinkDescription,
};

use super::check::check_values;
use super::link::{LinkIndex, NetworkLink, NodeIndex};
use super::paths::{MAX_ROUTERS, Paths};
use super::problem::{Place, Problem};
use super::{FlowGroup, Layout, NetworkFlow, NetworkNode};
use crate::did_you_mean::among;
use crate::model::{
    Application, Clock, Dscp, Flow, Link, LossModel, Outage, REVERSE, Route, Scenario, TimeSpan,
    TimedChange, TrafficClass,
};

/// More nodes than this are a slip of the keyboard, and would not fit into memory.
const MAX_NODES: u64 = 2_000_000;
/// The bound on flows and on sessions of web traffic, each of which is as large as a flow.
const MAX_FLOWS: u64 = 1_000_000;
/// Where no flow passes, a link's packets are taken to be as large as on Ethernet.
const ETHERNET: Bytes = Bytes::new(1500);

impl Layout {
    /// Lays out `scenario`, or returns all that is wrong with it.
    pub fn new(scenario: &Scenario) -> Result<Layout, Vec<Problem>> {
        let mut problems = check_values(scenario);
        let mut builder = Builder::default();
        builder.nodes(scenario, &mut problems);
        if problems.is_empty() {
            builder.links(&scenario.links, &mut problems);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(mut network) = builder.routes(scenario, &mut problems) {
            for (index, flow) in scenario.flows.iter().enumerate() {
                builder.flow(index, flow, scenario, &mut network, &mut problems);
            }
            if problems.is_empty() {
                set_rtt_and_packet_size(&mut network);
                builder.check_queues(scenario, &network, &mut problems);
            }
            if problems.is_empty() {
                return Ok(network);
            }
        }
        Err(problems)
    }
}

/// The hosts that a name stands for: a range of indices.
#[derive(Debug, Clone, Copy)]
struct Group {
    first: NodeIndex,
    count: usize,
}

impl Group {
    fn member(self, number: usize) -> NodeIndex {
        self.first + number % self.count
    }

    fn all(self) -> Vec<NodeIndex> {
        (self.first..self.first + self.count).collect()
    }
}

/// Lays out one part of the scenario after the other.
#[derive(Default)]
struct Builder {
    /// For each link of the scenario, the index of its first direction.
    first_links: Vec<LinkIndex>,
    groups: BTreeMap<String, Group>,
    nodes: Vec<NetworkNode>,
    links: Vec<NetworkLink>,
    /// Flows so far, and sessions of web traffic.
    flows: u64,
}

impl Builder {
    /// Declared nodes first, then those that only links name, in the order of the file.
    fn nodes(&mut self, scenario: &Scenario, problems: &mut Vec<Problem>) {
        let total: u64 = scenario
            .nodes
            .iter()
            .map(|node| u64::from(node.count))
            .sum();
        if total > MAX_NODES {
            problems.push(Place::key("nodes").problem(format!(
                "{total} nodes are more than the {MAX_NODES} allowed"
            )));
            return;
        }
        for (index, node) in scenario.nodes.iter().enumerate() {
            let place = Place::key("nodes").at(index);
            if node.count == 0 {
                problems.push(place.at("count").problem("0 is not allowed; at least 1 is"));
            } else if !self.add_node(&node.name, node.count as usize, node.clock) {
                let text = format!("there is a node `{}` already", node.name);
                problems.push(place.at("name").problem(text));
            }
        }
        for link in &scenario.links {
            for name in [&link.from, &link.to] {
                self.add_node(name, 1, Clock::default());
            }
        }
    }

    fn add_node(&mut self, name: &str, count: usize, clock: Clock) -> bool {
        if self.groups.contains_key(name) {
            return false;
        }
        let first = self.nodes.len();
        self.groups.insert(name.to_owned(), Group { first, count });
        let group: Arc<str> = name.into();
        self.nodes.extend((0..count).map(|member| NetworkNode {
            name: numbered(name, member, count),
            group: group.clone(),
            clock,
        }));
        true
    }

    fn links(&mut self, links: &[Link], problems: &mut Vec<Problem>) {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        // The links of many hosts are most of a network, so it has no room for more of them.
        let count = |link: &Link| {
            self.groups[&link.from]
                .count
                .max(self.groups[&link.to].count)
        };
        let directions = links.iter().map(|link| 2 * count(link)).sum();
        self.links.reserve_exact(directions);
        for (index, link) in links.iter().enumerate() {
            let place = Place::key("links").at(index);
            let (from, to) = (self.groups[&link.from], self.groups[&link.to]);
            if link.from == link.to {
                problems.push(place.at("to").problem(format!(
                    "the link begins and ends at `{}`; it must join two nodes",
                    link.to
                )));
                continue;
            }
            if from.count > 1 && to.count > 1 && from.count != to.count {
                problems.push(place.at("to").problem(format!(
                    "`{}` has {} hosts and `{}` has {}; a link between groups needs as many on both sides",
                    link.from, from.count, link.to, to.count
                )));
                continue;
            }
            let name = link.label();
            if let Some(first) = names.insert(name.clone(), index) {
                let field = if link.name.is_some() { "name" } else { "to" };
                problems.push(place.at(field).problem(format!(
                    "links[{first}] is called `{name}` already; give this one another `name`"
                )));
                continue;
            }
            let count = from.count.max(to.count);
            self.first_links.push(self.links.len());
            let reverse = format!("{name}{REVERSE}");
            let directions = [
                Direction::new(link, &name),
                Direction::new(&link.reversed(), &reverse),
            ];
            for member in 0..count {
                let name = numbered(&name, member, count);
                self.link(&directions, name, member, (from, to));
            }
        }
    }

    fn link(
        &mut self,
        [there, back]: &[Direction; 2],
        name: String,
        member: usize,
        (from, to): (Group, Group),
    ) {
        let (from, to) = (from.member(member), to.member(member));
        let extra = there
            .described
            .delay_step
            .get()
            .saturating_mul(member as u32);
        let reverse = format!("{name}{REVERSE}");
        self.links.push(there.link(name, (from, to), extra));
        self.links.push(back.link(reverse, (to, from), extra));
    }

    /// Builds each queue once, to report invalid ones (`min_threshold` above `max_threshold`, a time without a rate).
    fn check_queues(&self, scenario: &Scenario, network: &Layout, problems: &mut Vec<Problem>) {
        for (index, &first) in self.first_links.iter().enumerate() {
            let place = Place::key("links").at(index);
            for (link, given) in [(first, true), (first + 1, false)] {
                let link = &network.links[link];
                let queue = Discipline::<Vec<u8>>::new(&link.queue, &link.discipline_context(), 0);
                let Err(error) = queue else { continue };
                let place = match given || scenario.links[index].reverse.queue.is_none() {
                    true => place.at("queue"),
                    false => place.at("reverse").at("queue"),
                };
                problems.push(place.problem(error.to_string()));
                break;
            }
        }
    }

    fn routes(&mut self, scenario: &Scenario, problems: &mut Vec<Problem>) -> Option<Layout> {
        let mut paths = match Paths::new(self.nodes.len(), &self.links) {
            Ok(paths) => paths,
            Err(routers) => {
                let text = format!(
                    "{routers} nodes are not hosts with a single link, to a node with more; \
                     {MAX_ROUTERS} are allowed"
                );
                problems.push(Place::key("links").problem(text));
                return None;
            }
        };
        for (index, route) in scenario.routes.iter().enumerate() {
            let place = Place::key("routes").at(index);
            let Some(groups) = self.route_groups(route, &place, problems) else {
                continue;
            };
            let count = groups.iter().map(|group| group.count).max().unwrap_or(1);
            for member in 0..count {
                let mut nodes: Vec<NodeIndex> =
                    groups.iter().map(|group| group.member(member)).collect();
                if let Some(again) = first_again(&nodes) {
                    let text = format!(
                        "`{}` is passed twice, so that packets would go in a circle; a route passes each node once",
                        self.nodes[again].name
                    );
                    problems.push(place.at("via").problem(text));
                    break;
                }
                let mut given = paths.give(&nodes);
                if route.both_ways && given.is_ok() {
                    nodes.reverse();
                    given = paths.give(&nodes);
                }
                if let Err((a, b)) = given {
                    let (a, b) = (&self.nodes[a].name, &self.nodes[b].name);
                    let text = format!("no link joins `{a}` and `{b}`");
                    problems.push(place.at("via").problem(text));
                    break;
                }
            }
        }
        Some(Layout {
            nodes: std::mem::take(&mut self.nodes),
            links: std::mem::take(&mut self.links),
            flows: Vec::new(),
            paths: Arc::new(paths),
        })
    }

    fn route_groups(
        &self,
        route: &Route,
        place: &Place,
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<Group>> {
        let mut groups = vec![self.group(&route.from, &place.at("from"), problems)];
        for (index, via) in route.via.iter().enumerate() {
            groups.push(self.group(via, &place.at("via").at(index), problems));
        }
        groups.push(self.group(&route.to, &place.at("to"), problems));
        groups.into_iter().collect()
    }

    fn group(&self, name: &str, place: &Place, problems: &mut Vec<Problem>) -> Option<Group> {
        let group = self.groups.get(name).copied();
        if group.is_none() {
            let names = self.groups.keys().map(String::as_str);
            problems
                .push(place.problem(format!("there is no node `{name}`; {}", among(name, names))));
        }
        group
    }

    /// Counts these flows, if they may still be added.
    fn has_room(&mut self, flows: u64) -> bool {
        let has_room = self.flows + flows <= MAX_FLOWS;
        if has_room {
            self.flows += flows;
        }
        has_room
    }

    fn flow(
        &mut self,
        index: usize,
        flow: &Flow,
        scenario: &Scenario,
        network: &mut Layout,
        problems: &mut Vec<Problem>,
    ) {
        let place = Place::key("flows").at(index);
        let (Some(from), Some(to)) = (
            self.group(&flow.from, &place.at("from"), problems),
            self.group(&flow.to, &place.at("to"), problems),
        ) else {
            return;
        };
        if flow.from == flow.to {
            problems.push(place.at("to").problem(format!(
                "the flow begins and ends at `{}`; it must be between two nodes",
                flow.to
            )));
            return;
        }
        let (senders, receivers) = if flow.reverse { (to, from) } else { (from, to) };
        let group = Arc::new(flow_group(flow, scenario));
        let sessions = match &flow.application {
            Application::Web(web) => Some(web.sessions),
            Application::Arrivals(_) => Some(1),
            _ => None,
        };
        if let Some(sessions) = sessions {
            if !self.has_room(sessions.into()) {
                let place = place.at("application").at("sessions");
                problems.push(place.problem(format!(
                    "this makes more than the {MAX_FLOWS} sessions and flows allowed"
                )));
                return;
            }
            let far = reachable(network, senders.all(), receivers.all());
            if let Some((a, b)) = far {
                problems.push(unreachable(&place, network, a, b));
            }
            network.flows.push(NetworkFlow {
                name: flow.name.clone(),
                senders: senders.all(),
                receivers: receivers.all(),
                group,
            });
            return;
        }
        let count = flow
            .count
            .map_or(from.count.max(to.count), |count| count as usize);
        if !self.has_room(count as u64) {
            problems.push(place.at("count").problem(format!(
                "this makes more than the {MAX_FLOWS} flows allowed"
            )));
            return;
        }
        network.flows.reserve(count);
        for member in 0..count {
            let (sender, receiver) = (senders.member(member), receivers.member(member));
            if network.base_rtt(sender, receiver).is_none() {
                problems.push(unreachable(&place, network, sender, receiver));
                return;
            }
            network.flows.push(NetworkFlow {
                name: numbered(&flow.name, member, count),
                senders: vec![sender],
                receivers: vec![receiver],
                group: group.clone(),
            });
        }
    }
}

/// The first node that was there before.
fn first_again(nodes: &[NodeIndex]) -> Option<NodeIndex> {
    let mut passed = BTreeSet::new();
    nodes.iter().copied().find(|&node| !passed.insert(node))
}

/// A direction of the links of a group, with what they share.
struct Direction {
    described: Link,
    group: Arc<str>,
    queue: Arc<DisciplineConfig>,
    conditions: Arc<LinkConditions>,
}

impl Direction {
    fn new(link: &Link, group: &str) -> Direction {
        Direction {
            described: link.clone(),
            group: group.into(),
            queue: Arc::new(link.queue.clone()),
            conditions: Arc::new(conditions(link, Duration::ZERO)),
        }
    }

    /// The direction of one link; `extra` is added to its delay.
    fn link(
        &self,
        name: String,
        (from, to): (NodeIndex, NodeIndex),
        extra: Duration,
    ) -> NetworkLink {
        let link = &self.described;
        let trace = self.conditions.trace.as_ref();
        let own_delays = !extra.is_zero() && !self.conditions.changes.is_empty();
        let description = LinkDescription {
            name,
            rate: link.rate.or(trace.map(|trace| trace.mean_rate())),
            delay: link.delay.get().saturating_add(extra),
            queue: self.queue.clone(),
            loss: link.loss,
            jitter: link.jitter.filter(|jitter| !jitter.size.get().is_zero()),
            marker: link.marker,
            conditions: match own_delays {
                true => Arc::new(conditions(link, extra)),
                false => self.conditions.clone(),
            },
            base_rtt: Duration::ZERO,
            packet_size: ETHERNET,
        };
        NetworkLink {
            from,
            to,
            group: self.group.clone(),
            description,
        }
    }
}

/// The conditions of a link whose delays are longer by `extra`.
fn conditions(link: &Link, extra: Duration) -> LinkConditions {
    let outage = |outage: &Outage| netnice_queue::Outage {
        at: outage.at.get(),
        duration: outage.duration.get(),
        every: outage.every.map(TimeSpan::get),
    };
    let change = |change: &TimedChange| LinkChange {
        at: change.at.get(),
        rate: change.rate,
        delay: change.delay.map(|delay| delay.get().saturating_add(extra)),
        loss: change.loss,
    };
    LinkConditions {
        policer: link.policer,
        shaper: link.shaper,
        trace: link.trace.as_ref().and_then(|trace| trace.read.clone()),
        outages: link.outages.iter().map(outage).collect(),
        changes: link.changes.iter().map(change).collect(),
        loss_model: link.loss_model.as_ref().map(loss_model),
        batch_interval: link.batch_interval.unwrap_or_default().get(),
    }
}

fn loss_model(model: &LossModel) -> netnice_queue::LossModel {
    match *model {
        LossModel::GilbertElliott {
            to_bad,
            to_good,
            loss_in_bad,
            loss_in_good,
        } => netnice_queue::LossModel::GilbertElliott {
            to_bad,
            to_good,
            loss_in_bad,
            loss_in_good,
        },
        LossModel::Periodic { every } => netnice_queue::LossModel::Periodic {
            every: u64::from(every),
        },
        LossModel::Listed { ref packets } => netnice_queue::LossModel::Listed {
            packets: packets.as_slice().into(),
        },
    }
}

/// Two nodes between which there is no way, if there are any.
fn reachable(
    network: &Layout,
    senders: Vec<NodeIndex>,
    receivers: Vec<NodeIndex>,
) -> Option<(NodeIndex, NodeIndex)> {
    // Links go both ways, so reaching one of the others from each is enough.
    let (&sender, &receiver) = (senders.first()?, receivers.first()?);
    let pairs = senders.iter().map(|&node| (node, receiver));
    let mut pairs = pairs.chain(receivers.iter().map(|&node| (sender, node)));
    pairs.find(|&(a, b)| network.base_rtt(a, b).is_none())
}

fn unreachable(place: &Place, network: &Layout, from: NodeIndex, to: NodeIndex) -> Problem {
    let (from, to) = (&network.nodes[from].name, &network.nodes[to].name);
    place.at("to").problem(format!(
        "no links lead from `{from}` to `{to}`; join them by [[links]]"
    ))
}

fn flow_group(flow: &Flow, scenario: &Scenario) -> FlowGroup {
    let of_class = match flow.class {
        TrafficClass::Low => Dscp::LE,
        TrafficClass::BestEffort => Dscp::default(),
    };
    let end = scenario.duration.get();
    FlowGroup {
        name: flow.name.clone(),
        transport: flow.transport,
        congestion_control: flow.congestion_control.clone(),
        receiver: flow.receiver.clone(),
        packet_size: flow.full_packet(),
        header_size: flow.headers(),
        start: flow.start.get(),
        start_spread: flow.start_spread.get(),
        stop: flow.stop.map_or(end, |stop| stop.get().min(end)),
        bytes: flow.bytes,
        by: flow.by.map(TimeSpan::get),
        class: flow.class,
        dscp: flow.dscp.unwrap_or(of_class),
        application: flow.application.clone(),
        tcp: flow.tcp.clone(),
    }
}

/// Gives each link the largest round trip and packet of the flows over it.
fn set_rtt_and_packet_size(network: &mut Layout) {
    let mut of_links: Vec<Option<(Duration, Bytes)>> = vec![None; network.links.len()];
    for flow in &network.flows {
        for (sender, receiver) in network.covering_pairs(flow) {
            let (sender, receiver) = (flow.senders[sender], flow.receivers[receiver]);
            let there = network.path(sender, receiver).unwrap_or_default();
            let back = network.path(receiver, sender).unwrap_or_default();
            let links: Vec<LinkIndex> = there.into_iter().chain(back).collect();
            let rtt: Duration = links.iter().map(|&link| network.links[link].delay).sum();
            for link in links {
                let (largest_rtt, largest_packet) =
                    of_links[link].get_or_insert((Duration::ZERO, Bytes::new(0)));
                *largest_rtt = rtt.max(*largest_rtt);
                *largest_packet = flow.group.packet_size.max(*largest_packet);
            }
        }
    }
    for (index, found) in of_links.into_iter().enumerate() {
        let there_and_back = network.links[index].delay + network.links[index ^ 1].delay;
        let link = &mut network.links[index];
        let link = &mut link.description;
        (link.base_rtt, link.packet_size) = found.unwrap_or((there_and_back, ETHERNET));
    }
}

/// `name`, or `name[2]` for a member of several.
fn numbered(name: &str, member: usize, count: usize) -> String {
    match count {
        1 => name.to_owned(),
        _ => format!("{name}[{member}]"),
    }
}
