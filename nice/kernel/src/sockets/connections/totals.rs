// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums over the connections of a run, open and finished.

use std::collections::HashSet;

use bytemuck::{Pod, Zeroable};

use super::{Connection, list};
use crate::abi::{Finished, Totals};
use crate::error::Result;
use crate::objects::shared_map::SharedMap;

/// Sums over the connections of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Sums {
    /// Sums over the known connections.
    pub totals: Totals,
    /// Open connections among them whose `yields` this user may not read.
    pub yields_unread: u64,
    /// Not 0 if the program has listened, so that its accepted connections are not counted.
    pub accepted_uncounted: u64,
    /// Sockets made with the control of which no connection is known to have had it: they were never connected, or the route
    /// to the peer set another control (`congctl`), which the kernel does as it connects.
    pub unaccounted: u64,
}

impl Sums {
    /// Sums over open connections whose sending side a control of netnice governs.
    fn of_senders<'a>(connections: impl Iterator<Item = &'a Connection>) -> Self {
        let mut sums = Self::default();
        for connection in connections {
            sums.yields_unread += u64::from(connection.policy.is_none());
            sums.totals.add(&connection.sending_totals());
        }
        sums
    }

    /// Adds the receiving side of open connections of a group.
    fn add_receivers(&mut self, connections: &[Connection], group: u64) {
        for connection in connections {
            let reception = connection.reception.as_ref();
            if reception.is_some_and(|reception| reception.group == group) {
                self.totals.add(&connection.receiving_totals());
            }
        }
    }
}

impl Sums {
    /// Returns in words which part of what was moved had no low priority; `None` if nothing is known of such a part.
    /// `receives`: received data is governed, too.
    pub fn ungoverned(&self, receives: bool) -> Option<String> {
        let mut parts = Vec::new();
        let totals = &self.totals;
        let count = |number: u64, one: &str| match number {
            1 => format!("1 {one}"),
            many => format!("{many} {one}s"),
        };
        if totals.ungoverned() > 0 {
            parts.push(format!(
                "{} had another control, since the kernel refused ours or somebody replaced it",
                count(totals.ungoverned(), "connection")
            ));
        }
        if totals.sockets == 0 && self.unaccounted > 0 {
            parts.push(format!(
                "no connection of {} had the control: they were never connected, or their route has one of its own \
                 (congctl, see `ip route`)",
                count(self.unaccounted, "socket")
            ));
        }
        if !receives && totals.receiving_sockets == 0 && totals.mostly_received() {
            parts.push("it mostly received, which has low priority as root only".to_owned());
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl Connection {
    /// The connection's sending side as a sum over one connection.
    pub fn sending_totals(&self) -> Totals {
        let yields = self.policy.as_ref().map(|policy| policy.yields);
        let gave_way = self.policy.as_ref().map(|policy| policy.gave_way);
        Totals {
            sockets: 1,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            yields: yields.unwrap_or_default().into(),
            gave_way: gave_way.unwrap_or_default(),
            without_timestamps: (!self.peer_sends_timestamps).into(),
            ..Totals::default()
        }
    }

    /// The connection's receiving side as a sum over one connection; zeros where it is not governed.
    pub fn receiving_totals(&self) -> Totals {
        let governed = |reception: &super::Reception| Totals {
            receiving_sockets: 1,
            receiving_bytes: self.bytes_received,
            receiving_yields: reception.yields.into(),
            receiving_gave_way: reception.gave_way,
            ..Totals::default()
        };
        self.reception.as_ref().map(governed).unwrap_or_default()
    }
}

/// Largest number of attempts: a connection may end between reading the finished ones and listing the open ones.
const LOOKS: usize = 5;

/// Sums over the connections of a group; `finished` reads the sums over its finished ones. Needs root. If connections
/// cannot be listed, only the finished ones count.
pub(crate) fn of_group(group: u64, finished: impl Fn() -> Totals) -> (Sums, Result<()>) {
    let mut before = finished();
    for _ in 0..LOOKS {
        let open = match list() {
            Ok(open) => open,
            Err(error) => {
                let sums = Sums {
                    totals: finished(),
                    ..Sums::default()
                };
                return (sums, Err(error));
            }
        };
        let of_group = |one: &&Connection| {
            one.policy
                .as_ref()
                .is_some_and(|policy| policy.group == group)
        };
        let mut sums = Sums::of_senders(open.iter().filter(of_group));
        sums.add_receivers(&open, group);
        let after = finished();
        sums.totals.add(&after);
        if before == after {
            return (sums, Ok(()));
        }
        before = after;
    }
    // Connections end faster than they can be listed: those still open are left out.
    let sums = Sums {
        totals: before,
        ..Sums::default()
    };
    (sums, Ok(()))
}

/// Sums over the connections with these cookies that belong to no group, in this process's network namespace; `None` if
/// the finished ones cannot be read.
pub(crate) fn of_cookies(cookies: &HashSet<u64>) -> Result<Option<Sums>> {
    let Some(finished) = SharedMap::open("finished") else {
        return Ok(None);
    };
    let open = list()?;
    let open: Vec<_> = (open.iter())
        .filter(|one| cookies.contains(&one.cookie))
        .collect();
    let mut sums = Sums::of_senders(open.iter().copied());
    let open: HashSet<u64> = open.iter().map(|one| one.cookie).collect();
    // Finished ones are read after the open ones, so that none that ends meanwhile is missed.
    for cookie in cookies.difference(&open) {
        match finished.lookup::<Finished>(&cookie.to_ne_bytes()) {
            Some(finished) => sums.totals.add(&finished.totals),
            None => sums.unaccounted += 1,
        }
    }
    Ok(Some(sums))
}
