// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which packets can be carried to the end of their route as soon as all that will become of them is known, and how far.
//!
//! On the last link that its flow shares with others a packet meets other flows for the last time. When it comes to its host,
//! and what the host then sends onto a link of its own, is decided as soon as that link has taken it in, if it is a drop-tail
//! link: so all of it can be done then, as far ahead of the present as it lies (the lookahead of conservative parallel
//! simulation, within one thread), and `fast_forward.rs` does it. Of a packet of data and its ACK over three links each, two come
//! out of links as events in place of six, and what the hosts keep is looked at once for each in place of three times.
//!
//! Results are the same to the byte. Each end of a connection, and each link that only one flow uses, sees the same in the
//! same order and at the same times; and simultaneous events are told apart by where they happen, not by when they were put
//! down. Whatever looks at all, or changes a flow from outside, is a barrier that no packet is carried beyond: the end of the
//! warm-up, a sample, a mark, the end of a flow's program, the end of the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netnice_queue::Time;

use crate::flows::state::Work;
use crate::links::kinds::{Kind, takes_time};
use crate::links::routes::Hop;
use crate::links::state::SimulatedLink;
use crate::lookahead::prefetch_batches::LOOK_AHEAD;
use crate::packet::Route;
use crate::simulation::Simulation;

/// Where barriers follow on one another sooner than that, nothing is carried: after each, all packets on links are looked at.
const WORTH: Duration = Duration::from_millis(500);

/// How far packets are carried.
#[derive(Debug, Default)]
pub(crate) struct Through {
    /// There are links from which packets can be carried.
    any: bool,
    /// No packet comes to its end in any other way.
    all: bool,
    /// Nothing is done ahead that happens at this time or later.
    limit: Time,
    /// However long packets wait, those that come out of the links from which they can be carried before this time are at
    /// their ends before the limit.
    surely_before: Time,
    /// No packet takes longer from there to its end, in nanoseconds.
    longest_way_ns: u64,
    /// The times of barriers to come, one for each event.
    barriers: BinaryHeap<Reverse<Time>>,
    /// Bytes of the longest packet, headers included.
    longest_packet: u32,
}

impl Through {
    /// Nothing is done ahead that happens at this time or later.
    #[inline(always)]
    pub fn limit(&self) -> Time {
        self.limit
    }

    /// What is carried from a link that it comes out of before this time is at its end before the limit.
    #[inline(always)]
    pub fn surely_before(&self) -> Time {
        self.surely_before
    }

    /// There may be packets of so many bytes.
    pub fn know_packet(&mut self, bytes: u32) {
        self.longest_packet = self.longest_packet.max(bytes);
    }
}

/// How links and routes are used.
struct Survey {
    /// How often routes lead over each link: 2 stands for 2 and more.
    uses: Vec<u8>,
    /// Of each place in the arena of routes: there is a route on which packets can be carried from there on, and one on which
    /// they can't.
    can: Vec<bool>,
    cannot: Vec<bool>,
}

impl Survey {
    fn only_one_uses(&self, link: usize) -> bool {
        self.uses[link] == 1
    }

    /// Packets on this route can be carried from its link number `first` on.
    fn note(&mut self, route: Route, links: &[usize], first: usize) {
        for number in 0..links.len() {
            let place = route.cursor as usize + number;
            if number < first {
                self.cannot[place] = true;
            } else {
                self.can[place] = true;
            }
        }
    }
}

impl Simulation {
    /// Finds out, as all flows are known, from which links packets can be carried.
    pub(crate) fn find_through(&mut self) {
        // Traces, jitter and conditioners need packets as they come out of links.
        if !self.extras.is_empty() {
            return;
        }
        let survey = self.survey();
        self.through.all = true;
        for (place, (can, cannot)) in survey.can.into_iter().zip(survey.cannot).enumerate() {
            if can && !cannot {
                self.routes.set_through(place);
                self.through.any = true;
            } else {
                let end = self.routes.is_last(place);
                self.through.all &= !end;
            }
        }
        for Kind { kind, .. } in &mut self.links.kinds.all {
            kind.set_longest(self.through.longest_packet);
        }
        self.through.longest_way_ns = self.longest_way_ns();
        self.set_limit();
    }

    /// How long packets are on their way at most that are carried, in nanoseconds.
    fn longest_way_ns(&self) -> u64 {
        let routes = self
            .flows
            .iter()
            .flat_map(|flow| self.routes_of(&flow.work));
        let ways = routes.map(|route| {
            let hops = self.routes.hops(route);
            let behind = hops.skip_while(|hop| !hop.is_through()).skip(1);
            let links = behind.filter_map(Hop::link);
            links.fold(0, |way_ns: u64, link| {
                way_ns.saturating_add(self.links.longest_stay_ns(link))
            })
        });
        ways.max().unwrap_or(0)
    }

    fn survey(&self) -> Survey {
        let mut survey = Survey {
            uses: vec![0; self.links.all.len()],
            can: vec![false; self.routes.places()],
            cannot: vec![false; self.routes.places()],
        };
        let mut links = Vec::new();
        for route in self
            .flows
            .iter()
            .flat_map(|flow| self.routes_of(&flow.work))
        {
            self.links_of(route, &mut links);
            for &link in &links {
                survey.uses[link] = (survey.uses[link] + 1).min(2);
            }
        }
        let mut answers = Vec::new();
        for flow in &self.flows {
            match flow.work {
                Work::Udp { route } => {
                    self.links_of(route, &mut links);
                    let first = self.carried_from(&survey, &links, flow.header_bytes);
                    survey.note(route, &links, first);
                }
                Work::Tcp { connection, .. } => {
                    let (forward, back) = self.connections.get(connection as usize).routes();
                    self.links_of(forward, &mut links);
                    self.links_of(back, &mut answers);
                    // What an end sends that is ahead of the present must not come to others.
                    let own = |link| survey.only_one_uses(link) && self.is_drop_tail(link);
                    let receiver = own(answers[0]);
                    // A program that writes now and then changes the sender from outside.
                    let sender = own(links[0]) && flow.generator.is_none();
                    let first = |links: &[usize], can: bool, sent_ahead: bool| {
                        if !can {
                            return links.len();
                        }
                        let first = self.carried_from(&survey, links, flow.header_bytes);
                        first.max(usize::from(sent_ahead))
                    };
                    let data = first(&links, receiver, sender);
                    let acks = first(&answers, sender, receiver);
                    survey.note(forward, &links, data);
                    survey.note(back, &answers, acks);
                }
                Work::Web { .. } => {
                    for route in self.routes_of(&flow.work) {
                        self.links_of(route, &mut links);
                        survey.note(route, &links, links.len());
                    }
                }
            }
        }
        survey
    }

    /// The routes of a flow.
    fn routes_of(&self, work: &Work) -> Vec<Route> {
        match work {
            Work::Udp { route } => vec![*route],
            Work::Tcp { connection, .. } => {
                let (forward, back) = self.connections.get(*connection as usize).routes();
                vec![forward, back]
            }
            Work::Web { routes, .. } => {
                let pairs = routes.iter().flatten();
                pairs.flat_map(|&(forward, back)| [forward, back]).collect()
            }
        }
    }

    fn links_of(&self, route: Route, links: &mut Vec<usize>) {
        links.clear();
        links.extend(self.routes.hops(route).map_while(Hop::link));
    }

    /// The first of a route's links from which a packet can be carried: the last one that others use too, or the one behind
    /// it where that does not tell when the packet will come out.
    fn carried_from(&self, survey: &Survey, links: &[usize], header_bytes: u16) -> usize {
        let mut first = links.len();
        while first > 0 {
            let link = links[first - 1];
            // Packets of one link must not come out at the same time, as some are carried and others not.
            if !takes_time(self.links.rate(link), header_bytes) || !self.is_drop_tail(link) {
                break;
            }
            first -= 1;
            if !survey.only_one_uses(link) {
                break;
            }
        }
        first
    }

    fn is_drop_tail(&self, link: usize) -> bool {
        matches!(self.links.all[link], SimulatedLink::DropTail(_))
    }

    /// An event that is a barrier.
    pub(crate) fn push_barrier(&mut self, time: Time, source: u32) {
        self.through.barriers.push(Reverse(time));
        self.events.push(time, source);
    }

    /// The event at a barrier is over.
    pub(crate) fn pass_barrier(&mut self) {
        self.through.barriers.pop();
        if self.through.any {
            self.set_limit();
            if self.through.limit > self.now {
                self.carry_all();
            }
        }
    }

    fn set_limit(&mut self) {
        let end = self.end.plus_nanos(1);
        let next = self.through.barriers.peek();
        let next = next.map_or(end, |&Reverse(next)| next.min(end));
        self.through.limit = if self.through.any && next - self.now >= WORTH {
            next
        } else {
            Time::ZERO
        };
        let limit_ns = self.through.limit.as_nanos();
        let surely_before = limit_ns.saturating_sub(self.through.longest_way_ns);
        self.through.surely_before = Time::from_nanos(surely_before);
        // Where all packets are carried nothing is fetched for those that come out of links.
        let all_carried = self.through.all && self.through.limit > self.now;
        let ahead = (!all_carried).then_some(LOOK_AHEAD);
        self.events.flights_mut().know_ahead(ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use netnice_congestion::{parameters::ControlParameters, registry};
    use netnice_queue::{Jitter, LinkConfig, Rate};

    use crate::tcp::{ReceiverConfig, SenderConfig};
    use crate::traffic::{PacketSize, Poisson, Traffic};
    use crate::{FlowSpec, LinkId, LinkSpec, Network, NodeId, Path, Program, RunOptions, TcpSpec};

    /// Two hosts at each of two routers, and links 0 and 1 between the routers there and back; of host number `n` link
    /// `2 + 2n` up and `3 + 2n` down. Hosts 0 and 1 are on the left.
    fn network(jitter: Jitter) -> Network {
        let mut network = Network::new();
        let [left, right] = ["left", "right"].map(|name| network.node(name));
        let link = |network: &mut Network, ends: (NodeId, NodeId), jitter| {
            let config = LinkConfig {
                rate: Rate::from_bits_per_second(1_000_000).ok(),
                delay: Duration::from_millis(10),
                ..LinkConfig::default()
            };
            let name = format!("{ends:?}");
            let mut spec = LinkSpec::drop_tail(name, ends, config, 20);
            spec.jitter = jitter;
            network.link(spec).unwrap();
        };
        link(&mut network, (left, right), jitter);
        link(&mut network, (right, left), jitter);
        for number in 0..4 {
            let host = network.node(format!("host {number}"));
            let router = if number < 2 { left } else { right };
            link(&mut network, (host, router), Jitter::None);
            link(&mut network, (router, host), Jitter::None);
        }
        network
    }

    /// On which links of flows over such routes, there and back, packets can be carried.
    fn through(jitter: Jitter, traffic: &Traffic, routes: &[[&[u32]; 2]]) -> Vec<[Vec<bool>; 2]> {
        let links = |links: &[u32]| links.iter().map(|&link| LinkId(link)).collect();
        let flows = routes.iter().map(|[forward, back]| {
            let program = Program::Tcp {
                path: Path {
                    forward: links(forward),
                    back: links(back),
                },
                traffic: traffic.clone(),
                tcp: TcpSpec {
                    sender: SenderConfig::ns2(960),
                    receiver: ReceiverConfig::ns2(),
                    control: Arc::new(|| {
                        registry::create("reno", &ControlParameters::default()).unwrap()
                    }),
                },
            };
            FlowSpec::new("flow", program)
        });
        let flows: Vec<_> = flows.collect();
        let options = RunOptions::new(Duration::from_secs(3), 1);
        let simulation = Simulation::new(network(jitter), &flows, &options).unwrap();
        let connections = simulation.connections.iter().map(|connection| {
            let (forward, back) = connection.routes();
            [forward, back].map(|route| {
                let hops = simulation.routes.hops(route);
                hops.filter(|hop| hop.link().is_some())
                    .map(Hop::is_through)
                    .collect()
            })
        });
        connections.collect()
    }

    /// From host 0 to host 2 and from 1 to 3.
    const OWN: [[&[u32]; 2]; 2] = [[&[2, 0, 7], &[6, 1, 3]], [&[4, 0, 9], &[8, 1, 5]]];

    #[test]
    fn hosts_of_their_own_are_carried_to_from_the_link_between_the_routers() {
        let from_shared = vec![false, true, true];
        let both = [from_shared.clone(), from_shared];
        assert_eq!(
            through(Jitter::None, &Traffic::Bulk, &OWN),
            [both.clone(), both]
        );
    }

    #[test]
    fn where_that_does_not_tell_they_are_carried_from_the_next_one() {
        let jitter = Jitter::Uniform(Duration::from_millis(1));
        let last = vec![false, false, true];
        let both = [last.clone(), last];
        assert_eq!(through(jitter, &Traffic::Bulk, &OWN), [both.clone(), both]);
    }

    #[test]
    fn nothing_is_carried_to_an_end_that_sends_onto_links_of_others() {
        // Both flows end at the router on the right, whose answers are sent as the packets come: so they can be carried.
        let at_router: [[&[u32]; 2]; 2] = [[&[2, 0], &[1, 3]], [&[4, 0], &[1, 5]]];
        let both = [vec![false, false], vec![true, true]];
        assert_eq!(
            through(Jitter::None, &Traffic::Bulk, &at_router),
            [both.clone(), both]
        );
        // Both begin and end at the same hosts.
        let same = [OWN[0], OWN[0]];
        let none = [vec![false; 3], vec![false; 3]];
        assert_eq!(
            through(Jitter::None, &Traffic::Bulk, &same),
            [none.clone(), none]
        );
    }

    #[test]
    fn a_program_that_writes_now_and_then_keeps_acks_from_its_sender() {
        let traffic = Traffic::Poisson(Poisson {
            rate: Rate::from_bits_per_second(100_000).unwrap(),
            size: PacketSize::Fixed(700),
        });
        let [data, acks] = &through(Jitter::None, &traffic, &OWN)[0];
        assert_eq!(data, &[false, true, true]);
        assert_eq!(acks, &[false; 3]);
    }
}
