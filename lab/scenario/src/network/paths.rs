// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shortest paths and given routes.
//!
//! Most nodes are hosts with one link: a path from one begins with that link. Paths between the others, the routers, are
//! computed once for all (Dijkstra), so that a hundred thousand hosts cost no more than their links.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use super::link::{LinkIndex, NetworkLink, NodeIndex};

/// The ways between nodes.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    nodes: Vec<Node>,
    /// For each router, by its number, how each router is reached from it: the last link and the router before it.
    trees: Vec<Vec<Option<(LinkIndex, usize)>>>,
    given: BTreeMap<(NodeIndex, NodeIndex), Vec<LinkIndex>>,
    /// Far ends of the links from each node, to follow given routes.
    leaving: Vec<Vec<(LinkIndex, NodeIndex)>>,
}

/// Each router has a tree of shortest paths to all others.
pub(super) const MAX_ROUTERS: usize = 5000;

/// A node's part in paths.
#[derive(Debug, Clone, Copy)]
enum Node {
    /// With a single link, to the router of this number.
    Host {
        out: LinkIndex,
        back: LinkIndex,
        router: usize,
    },
    /// With its number among the routers.
    Router(usize),
}

impl Paths {
    /// The shortest paths over `links`, of which 2n and 2n + 1 join the same nodes in opposite directions.
    ///
    /// An error says how many nodes are routers, where these are too many.
    pub(super) fn new(nodes: usize, links: &[NetworkLink]) -> Result<Paths, usize> {
        let mut leaving = vec![Vec::new(); nodes];
        for (index, link) in links.iter().enumerate() {
            leaving[link.from].push((index, link.to));
        }
        let is_host = |node: NodeIndex| match leaving[node][..] {
            [(_, far)] => leaving[far].len() > 1,
            _ => false,
        };
        let mut routers = Vec::new();
        let mut numbers = vec![usize::MAX; nodes];
        for node in (0..nodes).filter(|&node| !is_host(node)) {
            numbers[node] = routers.len();
            routers.push(node);
        }
        if routers.len() > MAX_ROUTERS {
            return Err(routers.len());
        }
        let nodes = (0..nodes)
            .map(|node| match numbers[node] {
                usize::MAX => {
                    let (out, far) = leaving[node][0];
                    Node::Host {
                        out,
                        back: out ^ 1,
                        router: numbers[far],
                    }
                }
                number => Node::Router(number),
            })
            .collect();
        let between_routers: Vec<Vec<(LinkIndex, usize, Duration)>> = routers
            .iter()
            .map(|&router| {
                let to_routers = leaving[router]
                    .iter()
                    .filter(|&&(_, far)| numbers[far] != usize::MAX);
                to_routers
                    .map(|&(link, far)| (link, numbers[far], links[link].delay))
                    .collect()
            })
            .collect();
        let trees = (0..routers.len())
            .map(|root| tree(root, &between_routers))
            .collect();
        Ok(Paths {
            nodes,
            trees,
            given: BTreeMap::new(),
            leaving,
        })
    }

    /// Fixes the path over these nodes, ends included. An error names the first two that no link joins.
    pub(super) fn give(&mut self, nodes: &[NodeIndex]) -> Result<(), (NodeIndex, NodeIndex)> {
        let (Some(&from), Some(&to)) = (nodes.first(), nodes.last()) else {
            return Ok(());
        };
        let mut links = Vec::with_capacity(nodes.len());
        for pair in nodes.windows(2) {
            let link = self.leaving[pair[0]].iter().find(|link| link.1 == pair[1]);
            links.push(link.ok_or((pair[0], pair[1]))?.0);
        }
        self.given.insert((from, to), links);
        Ok(())
    }

    /// The router at which paths between `node` and other nodes branch, and the host's links from and to it, if it is a host.
    fn attachment(&self, node: NodeIndex) -> (usize, Option<(LinkIndex, LinkIndex)>) {
        match self.nodes[node] {
            Node::Host { out, back, router } => (router, Some((out, back))),
            Node::Router(number) => (number, None),
        }
    }

    /// Pairs of a sender and a receiver, by their places in these lists: the ways of these few, there and back, lead over every
    /// link that the ways of any pair lead over, and over each link leads that of the longest round trip.
    ///
    /// `delay_of` returns the delay of a link. Ways between hosts differ at their ends only where the routers at which
    /// they begin and end are the same. So for each sender it takes the farthest receiver at each router, and the other
    /// way round.
    pub(super) fn covering_pairs(
        &self,
        senders: &[NodeIndex],
        receivers: &[NodeIndex],
        delay_of: impl Fn(LinkIndex) -> Duration,
    ) -> Vec<(usize, usize)> {
        let all = || {
            let pairs = (0..senders.len()).map(|a| (0..receivers.len()).map(move |b| (a, b)));
            pairs.flatten().collect()
        };
        if senders.len() == 1 || receivers.len() == 1 || self.gives_any(senders, receivers) {
            return all();
        }
        // The place of the host at each router whose own links take longest.
        let farthest = |nodes: &[NodeIndex]| {
            let mut farthest: BTreeMap<usize, (Duration, usize)> = BTreeMap::new();
            for (place, &node) in nodes.iter().enumerate() {
                let (router, own) = self.attachment(node);
                let delay = own.map_or(Duration::ZERO, |(out, back)| {
                    delay_of(out).saturating_add(delay_of(back))
                });
                let found = farthest.entry(router).or_insert((delay, place));
                *found = (*found).max((delay, place));
            }
            farthest
        };
        let (from, to) = (farthest(senders), farthest(receivers));
        let mut pairs = BTreeSet::new();
        for sender in 0..senders.len() {
            pairs.extend(to.values().map(|&(_, receiver)| (sender, receiver)));
        }
        for receiver in 0..receivers.len() {
            pairs.extend(from.values().map(|&(_, sender)| (sender, receiver)));
        }
        pairs.into_iter().collect()
    }

    /// Pairs of a sender and a receiver, by their places in these lists, with a way of each kind among their ways. Ways are of one
    /// kind if they lead between the same routers and the hosts' own links at their ends are of one kind by `kind_of`. All pairs
    /// where a route between any of them was given.
    pub(super) fn pairs_of_kinds<K: Ord>(
        &self,
        senders: &[NodeIndex],
        receivers: &[NodeIndex],
        kind_of: impl Fn(LinkIndex) -> K,
    ) -> Vec<(usize, usize)> {
        let given = self.gives_any(senders, receivers);
        let first_of_each_kind = |nodes: &[NodeIndex], sends: bool| -> Vec<usize> {
            let mut kinds = BTreeMap::new();
            let places = nodes.iter().enumerate().filter(|&(_, &node)| {
                let (router, own) = self.attachment(node);
                let own = own.map(|(out, back)| kind_of(if sends { out } else { back }));
                // Two, so that a group that sends to itself has a pair of different nodes.
                let found = kinds.entry((router, own)).or_insert(0);
                *found += 1;
                *found <= 2 || given
            });
            places.map(|(place, _)| place).collect()
        };
        let to = first_of_each_kind(receivers, false);
        let from = first_of_each_kind(senders, true).into_iter();
        from.flat_map(|sender| to.iter().map(move |&receiver| (sender, receiver)))
            .collect()
    }

    /// Returns true if a path between one of these senders and one of these receivers was given.
    fn gives_any(&self, senders: &[NodeIndex], receivers: &[NodeIndex]) -> bool {
        if self.given.is_empty() {
            return false;
        }
        let senders: BTreeSet<_> = senders.iter().copied().collect();
        let receivers: BTreeSet<_> = receivers.iter().copied().collect();
        let joins = |a, b| senders.contains(a) && receivers.contains(b);
        self.given.keys().any(|(a, b)| joins(a, b) || joins(b, a))
    }

    /// The links from `from` to `to`; `None` where there is no way.
    pub fn path(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<LinkIndex>> {
        if let Some(links) = self.given.get(&(from, to)) {
            return Some(links.clone());
        }
        if from == to {
            return Some(Vec::new());
        }
        let mut links = Vec::new();
        let last = match self.nodes[to] {
            Node::Host { back, router, .. } => {
                links.push(back);
                router
            }
            Node::Router(number) => number,
        };
        let (first_link, first) = match self.nodes[from] {
            Node::Host { out, router, .. } => (Some(out), router),
            Node::Router(number) => (None, number),
        };
        let mut router = last;
        while router != first {
            let (link, before) = self.trees[first][router]?;
            links.push(link);
            router = before;
        }
        links.extend(first_link);
        links.reverse();
        Some(links)
    }
}

/// The shortest paths from one router. Of equal delays the fewest links win, then the order in the file.
fn tree(
    root: usize,
    leaving: &[Vec<(LinkIndex, usize, Duration)>],
) -> Vec<Option<(LinkIndex, usize)>> {
    let mut reached = vec![None; leaving.len()];
    let mut arrived_by = vec![None; leaving.len()];
    let mut next = BinaryHeap::from([Reverse((Duration::ZERO, 0usize, root))]);
    reached[root] = Some((Duration::ZERO, 0));
    while let Some(Reverse((delay, hops, node))) = next.pop() {
        if reached[node].is_some_and(|known| known < (delay, hops)) {
            continue;
        }
        for &(link, far, link_delay) in &leaving[node] {
            let cost = (delay.saturating_add(link_delay), hops + 1);
            if reached[far].is_none_or(|known| cost < known) {
                reached[far] = Some(cost);
                arrived_by[far] = Some((link, node));
                next.push(Reverse((cost.0, cost.1, far)));
            }
        }
    }
    arrived_by
}
