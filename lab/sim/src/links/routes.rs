// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes, stored once: lists of links in one arena, each with an endpoint at its end.
//!
//! Thousands of flows with hosts of their own have thousands of routes. If each had its hops in the arena, a packet would
//! wait for memory at every hop only to learn where it goes. But routes of flows that were described together mostly differ
//! by the same shift in the numbers of some links, and have the others, of the backbone, in common. So the arena keeps the
//! pattern, and the packet carries the shift.

use std::collections::{BTreeMap, HashMap};

use crate::error::BuildError;
use crate::ids::{LinkId, NodeId};
use crate::packet::Route;

/// An entry of the arena, where a packet's cursor points: a link or an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop(u32);

impl Hop {
    const ENDPOINT: u32 = 1 << 31;
    /// Packets that go onto this link can be fast-forwarded to the end of their route.
    const FAST_FORWARD: u32 = 1 << 30;
    /// These packets go back to a sender of data.
    const BACK: u32 = 1 << 29;
    const FLAGS: u32 = Self::FAST_FORWARD | Self::BACK;
    /// The packet has come to the host of a UDP sink.
    pub const SINK: Hop = Hop(Self::ENDPOINT);
    /// The packet has come to the host of a TCP receiver.
    pub const RECEIVER: Hop = Hop(Self::ENDPOINT | 1);
    /// The packet has come back to the host of a TCP sender.
    pub const SENDER: Hop = Hop(Self::ENDPOINT | 2);

    /// The index of the link to take; `None` at the end of the route.
    #[inline]
    pub fn link(self) -> Option<usize> {
        (self.0 & Self::ENDPOINT == 0).then_some((self.0 & !Self::FLAGS) as usize)
    }

    /// Packets that go onto this link can be fast-forwarded to the end of their route.
    #[inline]
    pub fn allows_fast_forward(self) -> bool {
        self.0 & Self::FAST_FORWARD != 0
    }

    /// Packets that can be fast-forwarded go back to a sender of data.
    #[inline]
    pub fn is_back(self) -> bool {
        self.0 & Self::BACK != 0
    }
}

/// A hop as the arena keeps it.
#[derive(Debug, Clone, Copy)]
struct Place {
    hop: Hop,
    /// All bits set if the hop is shifted by the packet's shift, otherwise 0.
    own: u32,
}

/// A route in the arena.
#[derive(Debug)]
struct Pattern {
    hops: Vec<Hop>,
    /// Marks the hops that are shifted; `None` until a similar route is seen.
    own: Option<Vec<bool>>,
    cursor: u32,
}

impl Pattern {
    /// Returns the shift that turns the pattern into `hops`.
    fn shift_to(&self, hops: &[Hop]) -> Option<u32> {
        if self.hops.len() != hops.len() || self.hops.last() != hops.last() {
            return None;
        }
        let own = |index: usize| self.own.as_ref().is_some_and(|own| own[index]);
        let mut shift = None;
        for (index, (pattern, hop)) in self.hops.iter().zip(hops).enumerate() {
            let difference = hop.0.wrapping_sub(pattern.0);
            let fits = if own(index) {
                *shift.get_or_insert(difference) == difference
            } else {
                difference == 0
            };
            if !fits {
                return None;
            }
        }
        Some(shift.unwrap_or(0))
    }

    /// Marks the hops that one common shift would turn into those of `hops`; `None` if the two differ in any other way.
    fn own_beside(&self, hops: &[Hop]) -> Option<Vec<bool>> {
        if self.hops.len() != hops.len() || self.hops.last() != hops.last() {
            return None;
        }
        let own: Vec<_> = self.hops.iter().zip(hops).map(|(a, b)| a != b).collect();
        let shifted = Pattern {
            hops: self.hops.clone(),
            own: Some(own.clone()),
            cursor: self.cursor,
        };
        shifted.shift_to(hops).is_some().then_some(own)
    }
}

/// The nodes where a link begins and ends.
pub(crate) type Ends = (NodeId, NodeId);

/// Number of most recent patterns with which a new route is compared.
const COMPARED: usize = 8;

/// All routes of a run. A packet carries a cursor into them, so that no hop looks anything up.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// One pattern after the other.
    places: Vec<Place>,
    /// The most recent patterns, the newest at the end.
    patterns: Vec<Pattern>,
    /// Equal routes are stored once.
    known: BTreeMap<Vec<Hop>, Route>,
    /// The nodes where each route begins and ends, if [`Routes::keep_ends`] was called.
    ends: Option<HashMap<Route, Ends>>,
}

impl Routes {
    /// The next hop of a packet whose cursor is at `route`.
    #[inline]
    pub fn hop(&self, route: Route) -> Hop {
        let place = self.places[route.cursor as usize];
        Hop(place.hop.0.wrapping_add(place.own & route.shift))
    }

    /// The hops of a route from its cursor on, its endpoint last.
    pub fn hops(&self, route: Route) -> impl Iterator<Item = Hop> {
        let places = route.cursor..=self.end_of(route.cursor);
        places.map(move |cursor| self.hop(Route { cursor, ..route }))
    }

    /// Position of the endpoint of the route that continues at `cursor`: every route has one.
    fn end_of(&self, cursor: u32) -> u32 {
        let mut places = self.places[cursor as usize..].iter();
        let hops = places.position(|place| place.hop.link().is_none());
        cursor + hops.unwrap_or(0) as u32
    }

    /// Number of hops in the arena.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Returns true if the last link of a route is at `cursor`.
    pub fn is_last(&self, cursor: usize) -> bool {
        let next = self.places.get(cursor + 1);
        self.places[cursor].hop.link().is_some()
            && next.is_some_and(|place| place.hop.link().is_none())
    }

    /// Allows packets to be fast-forwarded from the link at `cursor` to the end of their route, on all routes that
    /// share the pattern.
    pub fn allow_fast_forward(&mut self, cursor: usize) {
        let back = self.leads_to_sender(cursor as u32);
        let flags = Hop::FAST_FORWARD | if back { Hop::BACK } else { 0 };
        self.places[cursor].hop.0 |= flags;
    }

    /// Returns true if the route that continues at `cursor` ends at a sender of data.
    pub fn leads_to_sender(&self, cursor: u32) -> bool {
        self.places[self.end_of(cursor) as usize].hop == Hop::SENDER
    }

    /// Keeps the ends of the routes that are added from now on.
    pub fn keep_ends(&mut self) {
        self.ends.get_or_insert_default();
    }

    /// The nodes where a route begins and ends. `route` is as [`Routes::add`] returned it, and its ends were kept.
    pub fn ends(&self, route: Route) -> Option<Ends> {
        self.ends.as_ref()?.get(&route).copied()
    }

    /// Adds the route over `links` to `end`. `ends` holds the ends of all links; each link must begin where the one
    /// before ends.
    pub fn add(
        &mut self,
        ends: &[Ends],
        links: &[LinkId],
        end: Hop,
        flow: &str,
    ) -> Result<Route, BuildError> {
        let mut at = None;
        for link in links {
            match ends.get(link.0 as usize) {
                Some(&(from, to)) if at.is_none_or(|node| node == from) => at = Some(to),
                _ => {
                    return Err(BuildError::BrokenRoute {
                        flow: flow.to_owned(),
                    });
                }
            }
        }
        let (Some(first), Some(to)) = (links.first(), at) else {
            return Err(BuildError::Flow {
                flow: flow.to_owned(),
                reason: "its route has no links".to_owned(),
            });
        };
        let hops: Vec<Hop> = links.iter().map(|link| Hop(link.0)).chain([end]).collect();
        let route = self.add_hops(hops);
        if let Some(kept) = &mut self.ends {
            kept.insert(route, (ends[first.0 as usize].0, to));
        }
        Ok(route)
    }

    fn add_hops(&mut self, hops: Vec<Hop>) -> Route {
        if let Some(route) = self.shifted(&hops) {
            return route;
        }
        if let Some(&route) = self.known.get(&hops) {
            return route;
        }
        let cursor = u32::try_from(self.places.len()).expect("fewer than 2^32 hops");
        let places = hops.iter().map(|&hop| Place { hop, own: 0 });
        self.places.extend(places);
        if self.patterns.len() == COMPARED {
            self.patterns.remove(0);
        }
        self.patterns.push(Pattern {
            hops: hops.clone(),
            own: None,
            cursor,
        });
        let route = Route { cursor, shift: 0 };
        self.known.insert(hops, route);
        route
    }

    /// Adds a route while the run is under way, with places of its own: none that are marked for fast-forwarding.
    pub fn add_unmarked(&mut self, links: &[LinkId], end: Hop) -> Route {
        let cursor = u32::try_from(self.places.len()).expect("fewer than 2^32 hops");
        let hops = links.iter().map(|link| Hop(link.0)).chain([end]);
        self.places.extend(hops.map(|hop| Place { hop, own: 0 }));
        Route { cursor, shift: 0 }
    }

    /// Returns the route of these hops if it is a shifted form of a recent pattern.
    fn shifted(&mut self, hops: &[Hop]) -> Option<Route> {
        let mut patterns = self.patterns.iter().rev();
        if let Some((pattern, shift)) =
            patterns.find_map(|pattern| Some((pattern, pattern.shift_to(hops)?)))
        {
            let cursor = pattern.cursor;
            return Some(Route { cursor, shift });
        }
        // Routes that use the pattern already keep a shift of 0.
        let patterns = self.patterns.iter_mut().rev();
        for pattern in patterns.filter(|pattern| pattern.own.is_none()) {
            if let Some(own) = pattern.own_beside(hops) {
                let cursor = pattern.cursor;
                for (place, &own) in self.places[cursor as usize..].iter_mut().zip(&own) {
                    place.own = if own { u32::MAX } else { 0 };
                }
                pattern.own = Some(own);
                let shift = pattern.shift_to(hops)?;
                return Some(Route { cursor, shift });
            }
        }
        None
    }

    /// Frees what only adding routes needs.
    pub fn seal(&mut self) {
        self.known = BTreeMap::new();
        self.patterns = Vec::new();
        self.places.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hops_of(routes: &Routes, route: Route) -> Vec<Hop> {
        routes.hops(route).collect()
    }

    #[test]
    fn flows_with_hosts_of_their_own_share_two_patterns() {
        // Links 0 and 1 are the backbone, to and fro; then those of 1000 sources and those of 1000 sinks.
        let mut ends = vec![(NodeId(0), NodeId(1)), (NodeId(1), NodeId(0))];
        for host in 0..2000 {
            let router = NodeId(host / 1000);
            ends.extend([(NodeId(2 + host), router), (router, NodeId(2 + host))]);
        }
        let mut routes = Routes::default();
        for flow in 0..1000 {
            let (source, sink) = (2 + 2 * flow, 2002 + 2 * flow);
            let way = [source, 0, sink + 1].map(LinkId);
            let forward = routes.add(&ends, &way, Hop::RECEIVER, "f").unwrap();
            let way = [sink, 1, source + 1].map(LinkId);
            let back = routes.add(&ends, &way, Hop::SENDER, "f").unwrap();
            let expected = [Hop(source), Hop(0), Hop(sink + 1), Hop::RECEIVER];
            assert_eq!(hops_of(&routes, forward), expected);
            let expected = [Hop(sink), Hop(1), Hop(source + 1), Hop::SENDER];
            assert_eq!(hops_of(&routes, back), expected);
            assert!(routes.leads_to_sender(back.cursor));
            assert!(!routes.leads_to_sender(forward.cursor));
        }
        assert_eq!(routes.places.len(), 8);
    }

    proptest! {
        #[test]
        fn each_route_is_what_was_added(
            ways in prop::collection::vec((prop::collection::vec(0u32..12, 1..4), 0usize..3), 1..60),
        ) {
            // Every link leads from the one node to itself, so that any may follow on any.
            let ends = [(NodeId(0), NodeId(0)); 12];
            let mut routes = Routes::default();
            let mut added = Vec::new();
            for (links, end) in ways {
                let end = [Hop::SINK, Hop::RECEIVER, Hop::SENDER][end];
                let links: Vec<_> = links.into_iter().map(LinkId).collect();
                let route = routes.add(&ends, &links, end, "f").unwrap();
                let hops: Vec<_> = links.iter().map(|link| Hop(link.0)).chain([end]).collect();
                added.push((route, hops));
                for (route, hops) in &added {
                    prop_assert_eq!(&hops_of(&routes, *route), hops);
                    prop_assert_eq!(routes.leads_to_sender(route.cursor), hops.last() == Some(&Hop::SENDER));
                }
            }
            routes.seal();
            for (route, hops) in &added {
                prop_assert_eq!(&hops_of(&routes, *route), hops);
            }
        }
    }

    #[test]
    fn routes_are_kept_once_and_must_hang_together() {
        let [a, b, c] = [0, 1, 2].map(NodeId);
        let ends = [(a, b), (b, c)];
        let [ab, bc] = [0, 1].map(LinkId);
        let mut routes = Routes::default();
        let first = routes.add(&ends, &[ab, bc], Hop::SINK, "f").unwrap();
        let other = routes.add(&ends, &[ab, bc], Hop::RECEIVER, "f").unwrap();
        assert_ne!(first, other);
        assert_eq!(routes.add(&ends, &[ab, bc], Hop::SINK, "f").unwrap(), first);
        assert_eq!(hops_of(&routes, first), [Hop(0), Hop(1), Hop::SINK]);
        let error = routes.add(&ends, &[bc, ab], Hop::SINK, "f").unwrap_err();
        assert_eq!(
            error.to_string(),
            "flow \"f\": the links of its route do not follow on one another"
        );
    }
}
