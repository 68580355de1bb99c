// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fast-forwarding: packets that meet no other flow any more (`lookahead/survey.rs`) go to the end of their route at once.
//!
//! Nothing looks at what such a packet does at its end before it leaves its link. So on networks of many links it is deferred
//! until then, and what it needs is prefetched (`lookahead/prefetch.rs`) while those before it are handled. Packets of data and
//! ACKs are deferred apart: a branch that goes one way for one packet and the other way for the next is often mispredicted, and
//! costs as much as a cache miss. Where links are few, everything is in the processor's cache, and nothing is deferred.

use netnice_queue::{DropCause, Time};

use crate::engine::flight::{Departure, Flight};
use crate::engine::scheduler::Scheduler;
use crate::links::groups::LinkGroup;
use crate::links::routes::Hop;
use crate::links::state::SimulatedLink;
use crate::lookahead::deferred::{BATCH, MOST, Steps};
use crate::lookahead::prefetch::{Arrival, Prefetch};
use crate::lookahead::prefetch_batches::LOOK_AHEAD;
use crate::lookahead::survey;
use crate::packet::{Packet, Route};
use crate::simulation::run::Run;

/// A packet that waits on a link because a barrier was in its way.
struct Waiting {
    number: usize,
    /// Links to the end of its route.
    hops_left: usize,
    to_sender: bool,
}

impl<S: Scheduler> Run<S> {
    /// All flows are known: finds out from which links packets can be fast-forwarded, unless lookahead is off.
    pub(super) fn begin_lookahead(&mut self, on: bool) {
        if on {
            let limits = &mut self.lookahead.limits;
            survey::mark_hops(&mut self.links, &self.flows, limits);
            if self.lookahead.limits.any() {
                self.set_limit();
            }
        } else {
            self.scheduler.set_preview(None);
        }
    }

    /// Adds an event that is a barrier.
    pub(super) fn push_barrier(&mut self, time: Time, source: u32) {
        self.lookahead.limits.add_barrier(time);
        self.scheduler.insert(time, source);
    }

    /// The event at a barrier is over.
    pub(super) fn pass_barrier(&mut self) {
        self.lookahead.limits.pass_barrier();
        if self.lookahead.limits.any() {
            self.set_limit();
            if !self.lookahead.limits.is_over(self.now) {
                self.fast_forward_waiting();
            }
        }
    }

    fn set_limit(&mut self) {
        let all_fast_forwarded = self.lookahead.limits.set(self.now, self.end);
        // Where all packets are fast-forwarded nothing is fetched for those that come out of links.
        let preview = (!all_fast_forwarded).then_some(LOOK_AHEAD);
        self.scheduler.set_preview(preview);
    }

    pub(super) fn prefetch(&self) -> Prefetch<'_> {
        Prefetch {
            links: &self.links,
            flows: &self.flows,
        }
    }

    /// A link from which packets are fast-forwarded, `hop`, has taken a packet in: fast-forwards it, at once or later.
    #[inline(always)]
    pub(super) fn defer(&mut self, hop: Hop, link: usize, departure: Departure, packet: Packet) {
        if departure.due >= self.lookahead.limits.limit() {
            return self.leave_on_link(link, departure, packet.apart());
        }
        if !S::NEEDS_LANES {
            return self.fast_forward_at_once(link, departure, &packet.apart());
        }
        let deferred = &mut self.lookahead.deferred;
        deferred.do_before(departure.due);
        deferred.note_link(link);
        let aside = if hop.is_back() {
            &mut deferred.to_senders
        } else {
            &mut deferred.to_receivers
        };
        aside.push(Flight::NONE);
        if let Some(flight) = aside.last_mut() {
            flight.set(link as u32, departure, packet);
        }
        if aside.len() >= MOST {
            self.run_deferred();
        }
    }

    /// Such a link has dropped a packet: counts that, at once or later. Nothing looks at it before the next barrier.
    pub(super) fn defer_drop(&mut self, link: usize, packet: Packet, cause: DropCause) {
        let limit = self.lookahead.limits.limit();
        if limit <= self.now || !S::NEEDS_LANES {
            return self.drop_packet(link, packet, cause);
        }
        self.lookahead.deferred.do_before(limit);
        self.lookahead
            .deferred
            .dropped
            .push((link as u32, cause, packet));
        if self.lookahead.deferred.dropped.len() >= MOST {
            self.run_deferred();
        }
    }

    /// A packet that had to wait has left a link: counts that, likewise.
    #[inline(always)]
    pub(super) fn defer_wait(&mut self, link: usize, waited_ns: u64) {
        let limit = self.lookahead.limits.limit();
        if limit <= self.now || !S::NEEDS_LANES {
            return self.count_wait(link, waited_ns);
        }
        self.lookahead.deferred.do_before(limit);
        self.lookahead.deferred.waits.push((link as u32, waited_ns));
        if self.lookahead.deferred.waits.len() >= MOST {
            self.run_deferred();
        }
    }

    /// A barrier is in the way of a packet. Those before it on its link may turn out to be in the same case, and must stay
    /// before it.
    #[inline(never)]
    fn leave_on_link(&mut self, link: usize, departure: Departure, packet: Packet) {
        if self.lookahead.deferred.may_have_link(link) {
            self.run_deferred();
        }
        self.put_on_link(link, departure, packet);
    }

    /// Does what was deferred.
    #[inline(never)]
    pub(super) fn run_deferred(&mut self) {
        self.lookahead.deferred.done();
        // Packets that an end sends meanwhile go onto a link of its own first, so nothing is deferred.
        let mut aside = std::mem::take(&mut self.lookahead.deferred.to_receivers);
        self.fast_forward_batches(
            &aside,
            |prefetch, arrival| prefetch.fetch_receiver(arrival),
            |prefetch, arrival| prefetch.fetch_around_receiver(arrival),
            |prefetch, arrival| prefetch.fetch_delay(arrival),
        );
        aside.clear();
        self.lookahead.deferred.to_receivers = aside;
        let mut aside = std::mem::take(&mut self.lookahead.deferred.to_senders);
        self.fast_forward_batches(
            &aside,
            |prefetch, arrival| prefetch.fetch_sender(arrival),
            |prefetch, arrival| prefetch.fetch_around_sender(arrival),
            |prefetch, arrival| prefetch.fetch_beyond_sender(arrival),
        );
        aside.clear();
        self.lookahead.deferred.to_senders = aside;
        self.drop_deferred();
        let mut waits = std::mem::take(&mut self.lookahead.deferred.waits);
        for (number, &(link, waited_ns)) in waits.iter().enumerate() {
            if let Some(&(ahead, _)) = waits.get(number + BATCH) {
                self.links.waits.prefetch(ahead as usize);
            }
            self.count_wait(link as usize, waited_ns);
        }
        waits.clear();
        self.lookahead.deferred.waits = waits;
    }

    /// Fast-forwards packets that go the same way, with the three steps of prefetching for the end that they come to.
    #[inline(always)]
    fn fast_forward_batches(
        &mut self,
        aside: &[Flight],
        first: impl Fn(Prefetch<'_>, &Arrival),
        second: impl Fn(Prefetch<'_>, &Arrival),
        third: impl Fn(Prefetch<'_>, &Arrival),
    ) {
        for at in (0..aside.len()).step_by(BATCH) {
            let steps = Steps { aside, at };
            let prefetch = self.prefetch();
            steps.take(
                |flight| {
                    prefetch.fetch_way(flight.packet.route);
                    first(prefetch, &Arrival::of(flight));
                },
                |flight| {
                    prefetch.fetch_way_if_busy(flight.packet.route, flight.due);
                    second(prefetch, &Arrival::of(flight));
                },
                |flight| third(prefetch, &Arrival::of(flight)),
            );
            for flight in steps.batch(0) {
                if !self.fast_forward_flight(flight) {
                    self.put_back(flight);
                }
            }
        }
    }

    fn drop_deferred(&mut self) {
        let mut aside = std::mem::take(&mut self.lookahead.deferred.dropped);
        for at in (0..aside.len()).step_by(BATCH) {
            let steps = Steps { aside: &aside, at };
            let prefetch = self.prefetch();
            steps.take(
                |(.., packet)| prefetch.fetch_dropped(packet.connection, packet.body),
                |(.., packet)| prefetch.fetch_counters(packet.connection),
                |_| (),
            );
            for &(link, cause, packet) in steps.batch(0) {
                self.drop_packet(link as usize, packet, cause);
            }
        }
        aside.clear();
        self.lookahead.deferred.dropped = aside;
    }

    /// Fast-forwards packets that wait on links because a barrier was in their way: no later packet may overtake them.
    pub(super) fn fast_forward_waiting(&mut self) {
        let all = self.scheduler.take_packets(self.now);
        let limit = self.lookahead.limits.limit();
        let mut moved = Vec::new();
        let mut may_be_moved = vec![false; self.links.all.len()];
        for (number, flight) in all.iter().enumerate() {
            let link_before = self.links.routes.hop(flight.packet.route.back());
            if link_before.allows_fast_forward() {
                may_be_moved[flight.link as usize] = true;
                if flight.due < limit {
                    let hops_left = self.links.routes.hops(flight.packet.route).count();
                    moved.push(Waiting {
                        number,
                        hops_left,
                        to_sender: link_before.is_back(),
                    });
                }
            }
        }
        // Before anything is sent behind them. Where a packet of another flow may be left on the link, they wait for it: those
        // of one link must stay in order. Links from which some packets are fast-forwarded and others not are none of those that an end
        // sends onto first.
        let waits = |flight: &Flight| may_be_moved[flight.link as usize];
        for flight in all.iter().filter(|flight| !waits(flight)) {
            self.put_back(flight);
        }
        // Of two packets of one flow the one that is further comes first.
        moved.sort_by_key(|waiting| waiting.hops_left);
        let mut done = vec![false; all.len()];
        for at in (0..moved.len()).step_by(BATCH) {
            let steps = Steps { aside: &moved, at };
            if S::NEEDS_LANES {
                self.prefetch_waiting(&all, &steps);
            }
            for waiting in steps.batch(0) {
                done[waiting.number] = self.fast_forward_flight(&all[waiting.number]);
            }
        }
        for (flight, done) in all.iter().zip(done) {
            if waits(flight) && !done {
                self.put_back(flight);
            }
        }
    }

    /// Takes the steps of prefetching for packets that are fast-forwarded because they wait.
    #[inline(always)]
    fn prefetch_waiting(&self, all: &[Flight], steps: &Steps<'_, Waiting>) {
        let prefetch = self.prefetch();
        steps.take(
            |waiting| {
                let flight = &all[waiting.number];
                prefetch.fetch_way(flight.packet.route);
                match waiting.to_sender {
                    true => prefetch.fetch_sender(&Arrival::of(flight)),
                    false => prefetch.fetch_receiver(&Arrival::of(flight)),
                }
            },
            |waiting| {
                let flight = &all[waiting.number];
                prefetch.fetch_way_if_busy(flight.packet.route, flight.due);
                match waiting.to_sender {
                    true => prefetch.fetch_around_sender(&Arrival::of(flight)),
                    false => prefetch.fetch_around_receiver(&Arrival::of(flight)),
                }
            },
            |waiting| {
                let arrival = Arrival::of(&all[waiting.number]);
                match waiting.to_sender {
                    true => prefetch.fetch_beyond_sender(&arrival),
                    false => prefetch.fetch_delay(&arrival),
                }
            },
        );
    }

    /// Fast-forwards a packet that a link has taken in to the end of its route; false where a barrier is in its way.
    #[inline(always)]
    fn fast_forward_flight(&mut self, flight: &Flight) -> bool {
        let departure = Departure {
            due: flight.due,
            waited_ns: flight.waited_ns,
        };
        let route = flight.packet.route;
        self.fast_forward(flight.link as usize, departure, &flight.packet, route)
    }

    /// Fast-forwards a packet that a link has taken in, or puts it on that link where a barrier is in its way.
    #[inline(never)]
    fn fast_forward_at_once(&mut self, link: usize, departure: Departure, packet: &Packet) {
        if !self.fast_forward(link, departure, packet, packet.route.onward()) {
            self.put_on_link(link, departure, *packet);
        }
    }

    #[inline(never)]
    fn put_back(&mut self, flight: &Flight) {
        let (departure, packet) = flight.put_back();
        let link = flight.link as usize;
        self.put_on_link(link, departure, packet);
    }

    /// Fast-forwards a packet that `link` has taken in along `route`, which is left; false where a barrier is in its way.
    #[inline(always)]
    fn fast_forward(
        &mut self,
        link: usize,
        departure: Departure,
        packet: &Packet,
        mut route: Route,
    ) -> bool {
        if departure.due >= self.lookahead.limits.surely_before() {
            let latest = self.latest_arrival(route, departure.due);
            if latest.is_none_or(|latest| latest >= self.lookahead.limits.limit()) {
                return false;
            }
        }
        self.handled += 1;
        self.count_wait(link, departure.waited_ns);
        let mut at = departure.due;
        let captures = self.links.any_captured();
        if captures {
            self.capture(link, at, packet);
        }
        let end = loop {
            let hop = self.links.routes.hop(route);
            let Some(index) = hop.link() else {
                break hop;
            };
            self.sample_link(index, at);
            self.count_colour(index, packet);
            let (link, LinkGroup { properties, .. }) = self.links.drop_tail(index);
            match link.offer(properties, at, u32::from(packet.length)) {
                Ok(departure) => {
                    self.handled += 1;
                    self.count_wait(index, departure.waited_ns);
                    at = departure.due;
                    if captures {
                        self.capture(index, at, packet);
                    }
                }
                Err(cause) => {
                    self.drop_packet(index, *packet, cause);
                    return true;
                }
            }
            route = route.onward();
        };
        let present = self.now;
        self.expire_timers_before(at, end, packet);
        self.now = at;
        self.arrive(end, packet);
        self.now = present;
        true
    }

    /// The latest time at which a packet that goes on along `route` at `at` reaches its end; `None` if a link on it
    /// does not know departure times. It does not depend on the packet's length, so that it is no earlier for any
    /// packet behind.
    #[inline(always)]
    fn latest_arrival(&self, mut route: Route, at: Time) -> Option<Time> {
        let mut latest = at;
        while let Some(index) = self.links.routes.hop(route).link() {
            let SimulatedLink::DropTail(link) = &self.links.all[index] else {
                return None;
            };
            let LinkGroup { properties, .. } = &self.links.groups.all[link.group()];
            latest = link.latest_departure(properties, latest);
            route = route.onward();
        }
        Some(latest)
    }

    /// Runs the end's timers that expire before the packet arrives. Their events later find that it is done.
    #[inline(always)]
    fn expire_timers_before(&mut self, at: Time, end: Hop, packet: &Packet) {
        let index = packet.connection as usize;
        if end == Hop::RECEIVER {
            while let Some(due) = self.flows.connections.get(index).receiver_timer_before(at) {
                self.now = due;
                self.on_receiver_timer(index);
            }
        } else if end == Hop::SENDER {
            while let Some(due) = self.flows.connections.get(index).sender_timer_before(at) {
                self.now = due;
                self.on_sender_timer(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use netnice_congestion::registry;
    use netnice_parameters::ControlParameters;
    use netnice_queue::{Jitter, LinkConfig, Rate};

    use crate::engine::reference::HeapScheduler;
    use crate::error::BuildError;
    use crate::flows::path::Path;
    use crate::flows::spec::{FlowSpec, Program, TcpSpec};
    use crate::ids::{LinkId, NodeId};
    use crate::links::network::{LinkSpec, Network};
    use crate::links::routes::Hop;
    use crate::simulation::RunOptions;
    use crate::simulation::run::Run;
    use crate::tcp::{ReceiverConfig, SenderConfig};
    use crate::traffic::{PacketSize, Poisson, Traffic};

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
            spec.setup.jitter = jitter;
            spec.setup.jitter_reorders = true;
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

    /// From which links of flows over such routes, there and back, packets are fast-forwarded.
    fn allowed(jitter: Jitter, traffic: &Traffic, routes: &[[&[u32]; 2]]) -> Vec<[Vec<bool>; 2]> {
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
                    low_priority: None,
                    control: Arc::new(|| {
                        registry::create("reno", &ControlParameters::default()).unwrap()
                    }),
                },
            };
            FlowSpec::new("flow", program)
        });
        let flows: Vec<_> = flows.collect();
        let options = RunOptions::new(Duration::from_secs(3), 1);
        let flows = flows.iter().map(Ok::<_, BuildError>);
        let links = network(jitter).links.into_iter();
        let links = links.map(Ok);
        let run: Run<HeapScheduler> = Run::build(links, flows, &options).unwrap();
        let connections = run.flows.connections.iter().map(|connection| {
            let (forward, back) = connection.routes();
            [forward, back].map(|route| {
                let hops = run.links.routes.hops(route);
                hops.filter(|hop| hop.link().is_some())
                    .map(Hop::allows_fast_forward)
                    .collect()
            })
        });
        connections.collect()
    }

    /// From host 0 to host 2 and from 1 to 3.
    const OWN: [[&[u32]; 2]; 2] = [[&[2, 0, 7], &[6, 1, 3]], [&[4, 0, 9], &[8, 1, 5]]];

    #[test]
    fn own_hosts_allow_it_from_the_shared_link_on() {
        let from_shared = vec![false, true, true];
        let both = [from_shared.clone(), from_shared];
        assert_eq!(
            allowed(Jitter::None, &Traffic::Bulk, &OWN),
            [both.clone(), both]
        );
    }

    #[test]
    fn a_shared_link_that_reorders_allows_it_from_the_next_on() {
        let jitter = Jitter::Uniform(Duration::from_millis(1));
        let last = vec![false, false, true];
        let both = [last.clone(), last];
        assert_eq!(allowed(jitter, &Traffic::Bulk, &OWN), [both.clone(), both]);
    }

    #[test]
    fn ends_that_send_onto_shared_links_forbid_it() {
        // Both flows end at the router on the right, whose answers are sent as the packets come: so these are fast-forwarded.
        let at_router: [[&[u32]; 2]; 2] = [[&[2, 0], &[1, 3]], [&[4, 0], &[1, 5]]];
        let both = [vec![false, false], vec![true, true]];
        assert_eq!(
            allowed(Jitter::None, &Traffic::Bulk, &at_router),
            [both.clone(), both]
        );
        // Both begin and end at the same hosts.
        let same = [OWN[0], OWN[0]];
        let none = [vec![false; 3], vec![false; 3]];
        assert_eq!(
            allowed(Jitter::None, &Traffic::Bulk, &same),
            [none.clone(), none]
        );
    }

    #[test]
    fn a_program_that_writes_at_times_forbids_it_for_acks() {
        let traffic = Traffic::from(Poisson {
            rate: Rate::from_bits_per_second(100_000).unwrap(),
            size: PacketSize::Fixed(700),
        });
        let [data, acks] = &allowed(Jitter::None, &traffic, &OWN)[0];
        assert_eq!(data, &[false, true, true]);
        assert_eq!(acks, &[false; 3]);
    }
}
