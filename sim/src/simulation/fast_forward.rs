// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that can be carried (see `survey.rs`), put aside and carried a number of them at a time.
//!
//! Nobody asks for what a packet does at its end before it comes out of its link. So until then it can wait for others, and
//! what they need is fetched (`prefetch.rs`) while those before them are carried. Packets of data and ACKs wait apart: a branch
//! that goes one way for one packet and the other way for the next is often guessed wrong, and costs as much as what is
//! fetched. Where links are few, everything is in the processor's cache, and packets are carried at once.

use netnice_queue::{Departure, DropCause, Time};

use crate::engine::flight::Flight;
use crate::engine::scheduler::Scheduler;
use crate::links::kinds::Kind;
use crate::links::routes::Hop;
use crate::links::state::SimulatedLink;
use crate::lookahead::deferred::{BATCH, MOST, Steps};
use crate::lookahead::prefetch::{Arrival, Prefetch};
use crate::lookahead::prefetch_batches::LOOK_AHEAD;
use crate::lookahead::survey;
use crate::packet::Packet;
use crate::packet::Route;
use crate::simulation::run::Run;

impl<S: Scheduler> Run<S> {
    /// All flows are known: finds out from which links packets can be fast-forwarded, unless lookahead is off.
    pub(super) fn begin_lookahead(&mut self, on: bool) {
        if on {
            survey::mark_hops(&mut self.links, &self.flows, &mut self.lookahead.limits);
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
                self.carry_all();
            }
        }
    }

    fn set_limit(&mut self) {
        let all_carried = self.lookahead.limits.set(self.now, self.end);
        // Where all packets are fast-forwarded nothing is fetched for those that come out of links.
        let preview = (!all_carried).then_some(LOOK_AHEAD);
        self.scheduler.set_preview(preview);
    }

    fn prefetch(&self) -> Prefetch<'_> {
        Prefetch {
            links: &self.links,
            flows: &self.flows,
        }
    }

    /// Puts a packet aside that a link has taken in from which packets can be carried: `hop`.
    #[inline(always)]
    pub(super) fn carry_later(
        &mut self,
        hop: Hop,
        link: usize,
        departure: Departure,
        packet: Packet,
    ) {
        if departure.due >= self.lookahead.limits.limit() {
            return self.carry_never(link, departure, packet.apart());
        }
        if !S::NEEDS_LANES {
            return self.carry_at_once(link, departure, &packet.apart());
        }
        let carrying = &mut self.lookahead.deferred;
        carrying.do_before(departure.due);
        let aside = if hop.is_back() {
            &mut carrying.to_senders
        } else {
            &mut carrying.to_receivers
        };
        aside.push(Flight::NONE);
        if let Some(flight) = aside.last_mut() {
            flight.set(link as u32, departure, packet);
        }
        if aside.len() >= MOST {
            self.carry_aside();
        }
    }

    /// The same of a packet that the link has dropped: nobody looks before the next barrier.
    pub(super) fn drop_later(&mut self, link: usize, packet: Packet, cause: DropCause) {
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
            self.carry_aside();
        }
    }

    /// The same of a packet that had to wait and has come out.
    #[inline(always)]
    pub(super) fn count_wait_later(&mut self, link: usize, waited_ns: u64) {
        let limit = self.lookahead.limits.limit();
        if limit <= self.now || !S::NEEDS_LANES {
            return self.count_wait(link, waited_ns);
        }
        self.lookahead.deferred.do_before(limit);
        self.lookahead.deferred.waits.push((link as u32, waited_ns));
        if self.lookahead.deferred.waits.len() >= MOST {
            self.carry_aside();
        }
    }

    /// A barrier is in its way. Those before it on its link may turn out to be in the same case, and must stay before it.
    #[inline(never)]
    fn carry_never(&mut self, link: usize, departure: Departure, packet: Packet) {
        self.carry_aside();
        self.put_on_link(link, departure, packet);
    }

    /// Does what was put aside.
    #[inline(never)]
    pub(super) fn carry_aside(&mut self) {
        self.lookahead.deferred.done();
        // What an end sends as a packet is carried goes onto a link of its own first, so nothing is put aside meanwhile.
        let mut aside = std::mem::take(&mut self.lookahead.deferred.to_receivers);
        self.carry_batches(
            &aside,
            |prefetch, arrival| prefetch.fetch_receiver(arrival),
            |prefetch, arrival| prefetch.fetch_around_receiver(arrival),
            |prefetch, arrival| prefetch.fetch_delay(arrival),
        );
        aside.clear();
        self.lookahead.deferred.to_receivers = aside;
        let mut aside = std::mem::take(&mut self.lookahead.deferred.to_senders);
        self.carry_batches(
            &aside,
            |prefetch, arrival| prefetch.fetch_sender(arrival),
            |prefetch, arrival| prefetch.fetch_around_sender(arrival),
            |prefetch, arrival| prefetch.fetch_beyond_sender(arrival),
        );
        aside.clear();
        self.lookahead.deferred.to_senders = aside;
        self.drop_aside();
        let mut waits = std::mem::take(&mut self.lookahead.deferred.waits);
        for (number, &(link, waited_ns)) in waits.iter().enumerate() {
            if let Some(&(ahead, _)) = waits.get(number + BATCH) {
                self.links.records[ahead as usize].waits.prefetch();
            }
            self.count_wait(link as usize, waited_ns);
        }
        waits.clear();
        self.lookahead.deferred.waits = waits;
    }

    /// Carries packets that go the same way, with the three steps for the end that they come to.
    #[inline(always)]
    fn carry_batches(
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
                if !self.carry_flight(flight) {
                    self.put_back(flight);
                }
            }
        }
    }

    fn drop_aside(&mut self) {
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

    /// Carries what waits on links because a barrier was in its way: who comes behind must not overtake it.
    pub(super) fn carry_all(&mut self) {
        let all = self.scheduler.take_packets(self.now);
        let mut through = Vec::new();
        let mut may_be_carried = vec![false; self.links.all.len()];
        for (number, flight) in all.iter().enumerate() {
            let link_before = self.links.routes.hop(flight.packet.route.back());
            if link_before.is_through() {
                let hops_left = self.links.routes.hops(flight.packet.route).count();
                through.push((hops_left, number));
                may_be_carried[flight.link as usize] = true;
            }
        }
        // Before anything is sent behind them. Where a packet of another flow may be left on the link, they wait for it: those
        // of one link must stay in order. Links from which packets are carried and others not are none of those that an end
        // sends onto first.
        let waits = |flight: &Flight| may_be_carried[flight.link as usize];
        for flight in all.iter().filter(|flight| !waits(flight)) {
            self.put_back(flight);
        }
        // Of two packets of one flow the one that is further comes first.
        through.sort_by_key(|&(hops_left, _)| hops_left);
        let mut carried = vec![false; all.len()];
        for (_, number) in through {
            carried[number] = self.carry_flight(&all[number]);
        }
        for (flight, carried) in all.iter().zip(carried) {
            if waits(flight) && !carried {
                self.put_back(flight);
            }
        }
    }

    /// Carries a packet that a link has taken in to the end of its route; false where a barrier is in its way.
    #[inline(always)]
    fn carry_flight(&mut self, flight: &Flight) -> bool {
        let departure = Departure {
            due: flight.due,
            waited_ns: flight.waited_ns,
        };
        let route = flight.packet.route;
        self.carry(flight.link as usize, departure, &flight.packet, route)
    }

    /// Carries a packet that a link has taken in, or puts it on that link where a barrier is in its way.
    #[inline(never)]
    fn carry_at_once(&mut self, link: usize, departure: Departure, packet: &Packet) {
        if !self.carry(link, departure, packet, packet.route.onward()) {
            self.put_on_link(link, departure, *packet);
        }
    }

    #[inline(never)]
    fn put_back(&mut self, flight: &Flight) {
        let packet = Packet {
            route: flight.packet.route.back(),
            ..flight.packet
        };
        let departure = Departure {
            due: flight.due,
            waited_ns: flight.waited_ns,
        };
        self.put_on_link(flight.link as usize, departure, packet);
    }

    /// Carries a packet that `link` has taken in along `route`, the way that is left; false where a barrier is in its way.
    #[inline(always)]
    fn carry(
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
        let end = loop {
            let hop = self.links.routes.hop(route);
            let Some(index) = hop.link() else {
                break hop;
            };
            let (link, Kind { kind, .. }) = self.links.drop_tail(index);
            match link.offer(kind, at, u32::from(packet.length)) {
                Ok(departure) => {
                    self.handled += 1;
                    self.count_wait(index, departure.waited_ns);
                    at = departure.due;
                }
                Err(cause) => {
                    self.drop_packet(index, *packet, cause);
                    return true;
                }
            }
            route = route.onward();
        };
        let present = self.now;
        self.end_timers_before(at, end, packet);
        self.now = at;
        self.arrive(end, packet);
        self.now = present;
        true
    }

    /// When a packet has come to the end of `route` that goes on along it at `at`, at the latest; `None` where a link does
    /// not tell. It does not depend on the packet's length, so that it is no earlier for any packet that comes behind.
    #[inline(always)]
    fn latest_arrival(&self, mut route: Route, at: Time) -> Option<Time> {
        let mut latest = at;
        while let Some(index) = self.links.routes.hop(route).link() {
            let SimulatedLink::DropTail(link) = &self.links.all[index] else {
                return None;
            };
            let Kind { kind, .. } = &self.links.kinds.all[link.kind()];
            latest = link.latest_departure(kind, latest);
            route = route.onward();
        }
        Some(latest)
    }

    /// What the host does before the packet comes. The events for it find later that it is done.
    #[inline(always)]
    fn end_timers_before(&mut self, at: Time, end: Hop, packet: &Packet) {
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

    use netnice_congestion::{parameters::ControlParameters, registry};
    use netnice_queue::{Jitter, LinkConfig, Rate};

    use crate::engine::reference::HeapScheduler;
    use crate::error::BuildError;
    use crate::links::routes::Hop;
    use crate::simulation::run::Run;
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
        let flows = flows.iter().map(Ok::<_, BuildError>);
        let run: Run<HeapScheduler> = Run::build(network(jitter), flows, &options).unwrap();
        let connections = run.flows.connections.iter().map(|connection| {
            let (forward, back) = connection.routes();
            [forward, back].map(|route| {
                let hops = run.links.routes.hops(route);
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
