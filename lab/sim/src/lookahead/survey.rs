// SPDX-License-Identifier: MIT OR Apache-2.0
//! From which links packets can be fast-forwarded.
//!
//! On the last link that its flow shares with others a packet meets other flows for the last time. When it arrives at its
//! host, and what the host then sends onto a link of its own, is decided as soon as that link has taken it in, if it is a
//! drop-tail link, and otherwise when its transmission begins. So all of it can be done then, ahead of the present (the
//! lookahead of conservative parallel simulation, within one thread). Of a packet of data and its ACK over three links each, two
//! leave links as events in place of six, and the state of a host is read once for each in place of three times.
//!
//! Results are the same to the byte. Each end of a connection, and each link that only one flow uses, sees the same in the
//! same order and at the same times; and simultaneous events are ordered by where they happen, not by when they were
//! inserted. What looks at all flows, or changes a flow from outside, is a barrier that no packet passes ahead of the
//! present: the end of the warm-up, a checkpoint, the end of a flow's program, the end of the run. Samples of time series are none: what
//! is sampled is read before it next changes.

use crate::flows::Flows;
use crate::flows::state::Work;
use crate::links::groups::{LinkGroup, takes_time};
use crate::links::routes::Hop;
use crate::links::state::{Links, SimulatedLink};
use crate::lookahead::limits::Limits;
use crate::packet::Route;

/// How links and routes are used.
struct Survey {
    /// How often routes lead over each link: 2 stands for 2 and more.
    uses: Vec<u8>,
    /// Of each place in the arena of routes: there is a route on which packets can be fast-forwarded from there on, and one on
    /// which they cannot.
    can: Vec<bool>,
    cannot: Vec<bool>,
}

impl Survey {
    fn only_one_uses(&self, link: usize) -> bool {
        self.uses[link] == 1
    }

    /// Packets on this route can be fast-forwarded from its link number `first` on.
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

/// Finds out, as all flows are known, from which links packets can be fast-forwarded, and marks these hops.
pub(crate) fn mark_hops(links: &mut Links, flows: &Flows, limits: &mut Limits) {
    let survey = Network { links, flows }.survey();
    let (mut any, mut all) = (false, true);
    for (place, (can, cannot)) in survey.can.into_iter().zip(survey.cannot).enumerate() {
        if can && !cannot {
            links.routes.allow_fast_forward(place);
            any = true;
        } else {
            all &= !links.routes.is_last(place);
        }
    }
    for LinkGroup { properties, .. } in &mut links.groups.all {
        properties.set_longest(limits.longest_packet());
    }
    if any {
        let network = Network { links, flows };
        limits.allow(all, network.longest_way_ns());
    }
}

/// The links and the flows of a run, between which this survey looks for shared links. (`links::network::Network` is the
/// description from which they were built.)
#[derive(Clone, Copy)]
struct Network<'a> {
    links: &'a Links,
    flows: &'a Flows,
}

impl Network<'_> {
    /// The longest time that a fast-forwarded packet takes after the first link, in nanoseconds.
    fn longest_way_ns(&self) -> u64 {
        let routes = self
            .flows
            .all
            .iter()
            .flat_map(|flow| self.routes_of(&flow.work));
        let ways = routes.map(|route| {
            let hops = self.links.routes.hops(route);
            let behind = hops.skip_while(|hop| !hop.allows_fast_forward()).skip(1);
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
            can: vec![false; self.links.routes.places()],
            cannot: vec![false; self.links.routes.places()],
        };
        let mut links = Vec::new();
        for route in self
            .flows
            .all
            .iter()
            .flat_map(|flow| self.routes_of(&flow.work))
        {
            self.links_of(route, &mut links);
            for &link in &links {
                survey.uses[link] = (survey.uses[link] + 1).min(2);
            }
        }
        let mut answers = Vec::new();
        for flow in &self.flows.all {
            match flow.work {
                Work::Udp { route } => {
                    self.links_of(route, &mut links);
                    let first = self.first_allowed(&survey, &links, flow.header_bytes);
                    survey.note(route, &links, first);
                }
                Work::Tcp { connection, .. } => {
                    let (forward, back) = self.flows.connections.get(connection as usize).routes();
                    self.links_of(forward, &mut links);
                    self.links_of(back, &mut answers);
                    // Packets that an end sends ahead of the present must not reach links that others use.
                    let own = |link| survey.only_one_uses(link) && self.is_drop_tail(link);
                    // A player changes the receiver from outside, and a program that writes now and then the sender.
                    let receiver = own(answers[0]) && flow.player.is_none();
                    let sender = own(links[0]) && flow.generator.is_none() && flow.player.is_none();
                    let first = |links: &[usize], can: bool, sent_ahead: bool| {
                        if !can {
                            return links.len();
                        }
                        let first = self.first_allowed(&survey, links, flow.header_bytes);
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
                let (forward, back) = self.flows.connections.get(*connection as usize).routes();
                vec![forward, back]
            }
            Work::Web { routes, .. } => {
                let pairs = routes.known();
                pairs.flat_map(|(forward, back)| [forward, back]).collect()
            }
        }
    }

    fn links_of(&self, route: Route, links: &mut Vec<usize>) {
        links.clear();
        links.extend(self.links.routes.hops(route).map_while(Hop::link));
    }

    /// The first of a route's links from which a packet can be fast-forwarded: the last one that others use too, or that decides
    /// on a packet as it comes or later, or the link behind it if when packets come out of that one is not known before.
    fn first_allowed(&self, survey: &Survey, links: &[usize], header_bytes: u16) -> usize {
        let mut first = links.len();
        while first > 0 {
            let link = links[first - 1];
            // Packets of one link must not come out at the same time, as some are fast-forwarded and others not.
            if !takes_time(self.links.rate(link), header_bytes) {
                break;
            }
            if !self.is_drop_tail(link) {
                first -= usize::from(self.computes_departures(link));
                break;
            }
            // The trace of a link that others use would have data and ACKs in the order in which they are fast-forwarded.
            let shared = !survey.only_one_uses(link);
            if shared && self.links.is_captured(link) {
                break;
            }
            first -= 1;
            // RED decides as packets go onto the link, and is not asked about those that are fast-forwarded to it.
            if shared || self.is_red(link) {
                break;
            }
        }
        first
    }

    fn is_red(&self, link: usize) -> bool {
        matches!(&self.links.all[link], SimulatedLink::DropTail(link) if link.is_red())
    }

    /// A link of which it is known when packets come out as soon as their transmission has begun, and where nothing else is to be done
    /// then.
    fn computes_departures(&self, link: usize) -> bool {
        let SimulatedLink::Other(link) = &self.links.all[link] else {
            return false;
        };
        self.links.all_plain() && link.computes_departures()
    }

    /// A link with nothing but a drop-tail queue and a trace of its packets: jitter that reorders, markers, and the trace of events, which
    /// links share, need packets as they go onto links and come out of them.
    fn is_drop_tail(&self, link: usize) -> bool {
        let extras = self.links.extras.get(link).and_then(Option::as_ref);
        matches!(self.links.all[link], SimulatedLink::DropTail(_)) && extras.is_none()
    }
}
