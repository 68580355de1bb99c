// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes, laid down once: lists of links in one arena, each with an endpoint at its end.

use std::collections::BTreeMap;

use netnice_queue::prefetch;

use crate::error::BuildError;
use crate::network::{LinkId, NodeId};

/// What stands in the arena where a packet's cursor points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop(u32);

impl Hop {
    const ENDPOINT: u32 = 1 << 31;
    /// The packet has come to the host of a UDP sink.
    pub const SINK: Hop = Hop(Self::ENDPOINT);
    /// The packet has come to the host of a TCP receiver.
    pub const RECEIVER: Hop = Hop(Self::ENDPOINT | 1);
    /// The packet has come back to the host of a TCP sender.
    pub const SENDER: Hop = Hop(Self::ENDPOINT | 2);

    /// The index of the link to take; `None` at the end of the route.
    #[inline]
    pub fn link(self) -> Option<usize> {
        (self.0 & Self::ENDPOINT == 0).then_some(self.0 as usize)
    }
}

/// The nodes where a link begins and ends.
pub(crate) type Ends = (NodeId, NodeId);

/// All routes of a run. A packet carries a cursor into them, so that no hop looks anything up.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// One route after the other.
    hops: Vec<Hop>,
    /// Routes that are alike are kept once.
    known: BTreeMap<Vec<Hop>, u32>,
}

impl Routes {
    /// The hop at `cursor`.
    #[inline]
    pub fn hop(&self, cursor: u32) -> Hop {
        self.hops[cursor as usize]
    }

    /// Begins to fetch the hop at `cursor`.
    #[inline]
    pub fn prefetch(&self, cursor: u32) {
        prefetch(&self.hops[cursor as usize], 1);
    }

    /// The route that goes on at `cursor` ends at a sender of data.
    pub fn leads_to_sender(&self, cursor: u32) -> bool {
        let end = self.hops[cursor as usize..]
            .iter()
            .find(|hop| hop.link().is_none());
        end == Some(&Hop::SENDER)
    }

    /// The cursor of the route over `links`, of which all have `ends`, to `end`. The links must follow on one another.
    pub fn add(
        &mut self,
        ends: &[Ends],
        links: &[LinkId],
        end: Hop,
        flow: &str,
    ) -> Result<u32, BuildError> {
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
        if at.is_none() {
            return Err(BuildError::Flow {
                flow: flow.to_owned(),
                reason: "its route has no links".to_owned(),
            });
        }
        let hops: Vec<Hop> = links.iter().map(|link| Hop(link.0)).chain([end]).collect();
        if let Some(&cursor) = self.known.get(&hops) {
            return Ok(cursor);
        }
        let cursor = u32::try_from(self.hops.len()).expect("fewer than 2^32 hops");
        self.hops.extend(&hops);
        self.known.insert(hops, cursor);
        Ok(cursor)
    }

    /// No more routes are added: forgets what only adding needs.
    pub fn seal(&mut self) {
        self.known = BTreeMap::new();
        self.hops.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            (routes.hop(first).link(), routes.hop(first + 1).link()),
            (Some(0), Some(1))
        );
        assert_eq!(routes.hop(first + 2), Hop::SINK);
        let error = routes.add(&ends, &[bc, ab], Hop::SINK, "f").unwrap_err();
        assert_eq!(
            error.to_string(),
            "flow \"f\": the links of its route do not follow on one another"
        );
    }
}
