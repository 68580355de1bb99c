// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which part of a network each core simulates.
//!
//! Parts are sets of nodes; a link belongs to the part of the node that sends onto it. Two parts share no link but those that lead from
//! one to the other, and each of these is a cut: what one part sends arrives in the other a propagation delay later at the earliest.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::options::EngineOptions;
use crate::flows::path::Path;
use crate::flows::spec::{FlowSpec, Program};
use crate::ids::LinkId;
use crate::links::network::{LinkSpec, Queue};

/// Links with a shorter delay are not cut: parts would wait for each other more than they work.
const SHORTEST_CUT: Duration = Duration::from_millis(1);
/// Of the delays of links, the longest so many are tried as the least delay of a cut.
const DELAYS_TRIED: usize = 16;
/// Packets that all links of a part together take in within a window, on average, so that meeting after it costs little beside them.
const PACKETS_IN_WINDOW: f64 = 100.0;
/// Bits of a packet, roughly.
const PACKET_BITS: f64 = 8000.0;
/// The largest part may have this share of the work; otherwise splitting is not worth it.
const WORTH: f64 = 0.9;
/// Cuts with shorter delays have to reduce the largest part to this share of what it was.
const BETTER: f64 = 0.9;
/// No shorter delays are tried where the largest part is not larger than all would be alike by this factor.
const EVEN: f64 = 1.25;

/// The parts of a network.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Number of parts, 2 at least.
    pub parts: usize,
    /// The part of each link.
    links: Vec<u32>,
    /// The part at the far end of each link.
    far: Vec<u32>,
    /// The parts of each flow's two ends.
    ends: Vec<Ends>,
    /// The smallest delay of a cut; `None` where no flow crosses one.
    pub window: Option<Duration>,
}

/// The parts of the sender of a flow's data and of their receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub sender: u32,
    pub receiver: u32,
}

/// A part of a partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share<'a> {
    pub partition: &'a Partition,
    pub part: u32,
}

impl Share<'_> {
    /// The link belongs to this part.
    pub fn has_link(self, link: usize) -> bool {
        self.partition.links[link] == self.part
    }

    /// The part where packets come out of a link of this part, if it is another.
    pub fn cut_to(self, link: usize) -> Option<u32> {
        let far = self.partition.far[link];
        (self.has_link(link) && far != self.part).then_some(far)
    }

    /// The flow's sender is in this part, and its receiver is.
    pub fn has_ends(self, flow: usize) -> (bool, bool) {
        let Ends { sender, receiver } = self.partition.ends[flow];
        (sender == self.part, receiver == self.part)
    }
}

impl Partition {
    /// The part of a link.
    pub fn part_of(&self, link: usize) -> u32 {
        self.links[link]
    }

    /// The parts of a flow's ends.
    pub fn ends(&self, flow: usize) -> Ends {
        self.ends[flow]
    }

    /// Up to `cores` parts; `None` where the network cannot be split, or not so that each has a share worth a core.
    pub fn of<F: Borrow<FlowSpec>>(
        links: &[LinkSpec],
        flows: &[F],
        cores: usize,
        engine: EngineOptions,
    ) -> Option<Partition> {
        let network = Described::new(links, flows, engine.computed_departures)?;
        // Without a cut, and then with ever shorter ones.
        let delays: BTreeSet<Duration> = (0..links.len())
            .filter_map(|link| network.cuttable[link])
            .collect();
        let packets_per_s = network.load.iter().sum::<f64>() / PACKET_BITS / cores as f64;
        let worth = |delay: &Duration| {
            engine.any_split || packets_per_s * delay.as_secs_f64() >= PACKETS_IN_WINDOW
        };
        let delays = delays.into_iter().rev().filter(worth).take(DELAYS_TRIED);
        let tried = std::iter::once(Duration::MAX).chain(delays);
        let mut best: Option<(f64, Vec<u32>)> = None;
        for least in tried {
            if best
                .as_ref()
                .is_some_and(|&(largest, _)| largest <= EVEN / cores as f64)
            {
                break;
            }
            let (largest, parts) = network.divided(cores, least);
            if best
                .as_ref()
                .is_none_or(|(before, _)| largest <= BETTER * before)
            {
                best = Some((largest, parts));
            }
        }
        let (_, nodes) = best.filter(|&(largest, _)| largest <= WORTH)?;
        Some(network.partition(&nodes)).filter(|partition| partition.parts > 1)
    }
}

/// The network and its load.
struct Described<'a> {
    links: &'a [LinkSpec],
    /// The delay of links that may be cut.
    cuttable: Vec<Option<Duration>>,
    /// First and last node of each flow's data.
    hosts: Vec<(usize, usize)>,
    /// Nodes that must be in one part.
    together: Sets,
    /// The work at each node: bits a second over all links, roughly.
    load: Vec<f64>,
    /// Links that flows use.
    used: Vec<bool>,
}

impl<'a> Described<'a> {
    /// `None` if a flow's way is not whole, which is for the run to report.
    fn new<F: Borrow<FlowSpec>>(
        links: &'a [LinkSpec],
        flows: &[F],
        computed_departures: bool,
    ) -> Option<Described<'a>> {
        let ends = |link: &LinkSpec| (link.from.0 as usize, link.to.0 as usize);
        let nodes = links.iter().map(|link| ends(link).0.max(ends(link).1) + 1);
        let nodes = nodes.max()?;
        let cuttable: Vec<_> = links
            .iter()
            .map(|link| cuttable(link, computed_departures))
            .collect();
        let mut uses = vec![0u32; links.len()];
        for flow in flows {
            let mut whole = true;
            each_way(flow.borrow(), |way| {
                whole &= !way.is_empty();
                for link in way {
                    match uses.get_mut(link.index()) {
                        Some(uses) => *uses += 1,
                        None => whole = false,
                    }
                }
            });
            if !whole {
                return None;
            }
        }
        let mut described = Described {
            links,
            cuttable,
            hosts: Vec::with_capacity(flows.len()),
            together: Sets::new(nodes),
            load: vec![0.0; nodes],
            used: uses.iter().map(|&uses| uses > 0).collect(),
        };
        let mut web: Option<usize> = None;
        for flow in flows {
            let flow = flow.borrow();
            let crosses = may_cross(flow);
            let (together, load) = (&mut described.together, &mut described.load);
            let mut hosts = None;
            each_way(flow, |way| {
                let on = way.iter().map(|link| link.index());
                // The rate that it has if all flows share all links equally.
                let share = |link: usize| {
                    let rate = links[link].setup.config.rate?;
                    Some(rate.as_f64() / f64::from(uses[link]))
                };
                let rate = on.clone().filter_map(share).fold(1e9, f64::min);
                for link in on.clone() {
                    load[ends(&links[link]).0] += rate;
                }
                let (first, last) = (ends(&links[way[0].index()]).0, way[way.len() - 1].index());
                let last = ends(&links[last]).1;
                load[first] += rate;
                load[last] += rate;
                hosts.get_or_insert((first, last));
                if !crosses {
                    for link in on {
                        together.join(first, ends(&links[link]).1);
                    }
                }
            });
            let hosts = hosts?;
            described.hosts.push(hosts);
            if matches!(flow.program, Program::Web { .. }) {
                // Objects' connections take numbers that others have left, by which some disciplines distinguish flows.
                let first = *web.get_or_insert(hosts.0);
                described.together.join(first, hosts.0);
            }
        }
        // The trace of events has one order, and so has that of the packets of several links.
        for in_one_trace in [|link: &LinkSpec| link.recorded, LinkSpec::is_merged] {
            let mut nodes = links
                .iter()
                .filter(|link| in_one_trace(link))
                .map(|link| ends(link).0);
            if let Some(first) = nodes.next() {
                nodes.for_each(|node| described.together.join(first, node));
            }
        }
        Some(described)
    }

    /// The part of each node, with cuts of at least this delay, and the share of the load that the largest has.
    fn divided(&self, cores: usize, least_delay: Duration) -> (f64, Vec<u32>) {
        let mut sets = self.together.clone();
        for (index, link) in self.links.iter().enumerate() {
            let cut = self.cuttable[index].is_some_and(|delay| delay >= least_delay);
            if self.used[index] && !cut {
                sets.join(link.from.0 as usize, link.to.0 as usize);
            }
        }
        let nodes = self.load.len();
        let of: Vec<usize> = (0..nodes).map(|node| sets.of(node)).collect();
        let mut load = vec![0.0; nodes];
        for node in 0..nodes {
            load[of[node]] += self.load[node];
        }
        let total: f64 = load.iter().sum();
        // By their lowest node: what was described together is mostly joined.
        let groups: Vec<usize> = (0..nodes).filter(|&node| of[node] == node).collect();
        let in_order = in_order(&groups, &load, cores, total);
        let by_load = by_load(&groups, &load, cores);
        let largest = |part_of: &[u32]| {
            let mut loads = vec![0.0; cores];
            for &group in &groups {
                loads[part_of[group] as usize] += load[group];
            }
            loads.into_iter().fold(0.0, f64::max) / total.max(f64::MIN_POSITIVE)
        };
        // Fewer packets cross where neighbours are together.
        let (a, b) = (largest(&in_order), largest(&by_load));
        let (largest, parts) = if a <= b / BETTER {
            (a, in_order)
        } else {
            (b, by_load)
        };
        (largest, of.into_iter().map(|group| parts[group]).collect())
    }

    fn partition(&self, nodes: &[u32]) -> Partition {
        // Parts without load have no number.
        let highest = nodes.iter().copied().max().unwrap_or(0);
        let mut numbers = vec![u32::MAX; highest as usize + 1];
        let mut parts = 0;
        let mut number = |part: u32| {
            let number = &mut numbers[part as usize];
            if *number == u32::MAX {
                *number = parts;
                parts += 1;
            }
            *number
        };
        let nodes: Vec<u32> = nodes.iter().map(|&part| number(part)).collect();
        let part = |node: u32| nodes[node as usize];
        let links = self.links.iter();
        let cut = |&(index, link): &(usize, &LinkSpec)| {
            self.used[index] && part(link.from.0) != part(link.to.0)
        };
        let cuts = links.clone().enumerate().filter(cut);
        Partition {
            parts: parts as usize,
            window: cuts.filter_map(|(index, _)| self.cuttable[index]).min(),
            links: links.clone().map(|link| part(link.from.0)).collect(),
            far: links.map(|link| part(link.to.0)).collect(),
            ends: self
                .hosts
                .iter()
                .map(|&(sender, receiver)| Ends {
                    sender: nodes[sender],
                    receiver: nodes[receiver],
                })
                .collect(),
        }
    }
}

/// Neighbouring groups in each part, with about the same load.
fn in_order(groups: &[usize], load: &[f64], cores: usize, total: f64) -> Vec<u32> {
    let mut parts = vec![0; load.len()];
    let mut before = 0.0;
    for &group in groups {
        let middle = before + load[group] / 2.0;
        let part = (middle / total.max(f64::MIN_POSITIVE) * cores as f64) as usize;
        parts[group] = part.min(cores - 1) as u32;
        before += load[group];
    }
    parts
}

/// The group with the largest load first, each to the part that has least.
fn by_load(groups: &[usize], load: &[f64], cores: usize) -> Vec<u32> {
    let mut parts = vec![0; load.len()];
    let mut sorted = groups.to_vec();
    sorted.sort_by(|&a, &b| load[b].total_cmp(&load[a]).then(a.cmp(&b)));
    let mut loads = vec![0.0; cores];
    for group in sorted {
        let least = (0..cores).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b]));
        let least = least.unwrap_or(0);
        parts[group] = least as u32;
        loads[least] += load[group];
    }
    parts
}

/// The delay of a link that parts may be cut at: one that knows on a packet's arrival when it comes out, and where nothing else happens
/// to it.
fn cuttable(link: &LinkSpec, computed_departures: bool) -> Option<Duration> {
    let setup = &link.setup;
    let plain = matches!(setup.queue, Queue::DropTail(_))
        && setup.conditions.is_none()
        && setup.marker.is_none()
        && (setup.jitter.is_none() || !setup.jitter_reorders)
        && link.capture.is_none()
        && !link.recorded;
    (plain && computed_departures && setup.config.delay >= SHORTEST_CUT)
        .then_some(setup.config.delay)
}

/// The ends of the flow may be in two parts. Web sessions, players of videos and the receivers of calls know of both, and receivers at
/// low priority may share what they know.
fn may_cross(flow: &FlowSpec) -> bool {
    match &flow.program {
        Program::Udp { traffic, .. } => traffic.call_receiver(flow.start).is_none(),
        Program::Tcp { traffic, tcp, .. } => {
            traffic.player(flow.start).is_none() && tcp.low_priority.is_none()
        }
        Program::Web { .. } => false,
    }
}

/// Calls a function on each way of the flow's packets, that of the data first.
fn each_way(flow: &FlowSpec, mut call: impl FnMut(&[LinkId])) {
    let mut both = |path: &Path| {
        call(&path.forward);
        call(&path.back);
    };
    match &flow.program {
        Program::Udp { path, .. } => call(&path.forward),
        Program::Tcp { path, .. } => both(path),
        Program::Web { paths, .. } => {
            for &pair in &paths.covering {
                both(&paths.find(pair));
            }
        }
    }
}

/// Disjoint sets of nodes. The lowest node stands for each.
#[derive(Debug, Clone)]
struct Sets(Vec<usize>);

impl Sets {
    fn new(nodes: usize) -> Sets {
        Sets((0..nodes).collect())
    }

    fn of(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b)] = a.min(b);
    }
}
