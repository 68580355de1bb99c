// SPDX-License-Identifier: MIT OR Apache-2.0
//! Early indications that low-priority controls of ours have answered, as their programs in the kernel count them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use netnice_kernel::connections::{self, Connection};

use super::FlowReport;
use crate::experiment::plan::{self, Plan};
use crate::experiment::site::LiveSite;
use crate::namespace::inode_of;

/// What has been counted so far.
#[derive(Debug, Default)]
pub(super) struct Indications {
    /// The flow of a sender, by the inode number of its namespace and its address.
    flows: HashMap<(u64, Ipv4Addr), usize>,
    /// Counts of connections when they were last looked into, by cookie.
    counts: HashMap<u64, u32>,
}

impl Indications {
    /// For the senders of a plan.
    pub(super) fn of(plan: &Plan, sites: &[LiveSite]) -> Indications {
        let senders = plan.ends.iter().enumerate();
        let addresses = senders.flat_map(|(flow, (senders, _))| {
            senders.clone().filter_map(move |endpoint| {
                let site = &sites[plan.endpoints[endpoint].site];
                Some(((inode_of(&site.namespace)?, plan::address(endpoint)), flow))
            })
        });
        Indications {
            flows: addresses.collect(),
            counts: HashMap::new(),
        }
    }

    /// Looks into all connections of the machine; what has been counted since the last look is the flows', if it is
    /// being measured.
    pub(super) fn look(&mut self, measuring: bool, flows: &mut [FlowReport]) {
        // That they cannot be read now is no harm: the counts only grow.
        for connection in connections::list().unwrap_or_default() {
            self.take(&connection, measuring, flows);
        }
    }

    fn take(&mut self, connection: &Connection, measuring: bool, flows: &mut [FlowReport]) {
        let IpAddr::V4(address) = connection.local.ip() else {
            return;
        };
        let end = (u64::from(connection.network_namespace), address);
        let Some(&flow) = self.flows.get(&end) else {
            return;
        };
        let before = self.counts.insert(connection.cookie, connection.yields);
        if measuring {
            let more = connection.yields.wrapping_sub(before.unwrap_or_default());
            flows[flow].probe.early_indications += u64::from(more);
        }
    }
}
