// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows over TCP that nothing but their window limits: a `rate` was probably forgotten.

use std::collections::BTreeMap;

use netnice_queue::Bytes;

use super::is_large;
use crate::Layout;
use crate::model::{Application, Scenario, Tcp, Transport};
use crate::network::{NetworkFlow, NetworkLink};

/// Returns true if there is a flow that only links can limit, and a link that does not.
pub(super) fn concerns(scenario: &Scenario) -> bool {
    let mut flows = scenario.flows.iter();
    let mut links = scenario.links.iter();
    flows.any(|flow| needs_limit(flow.transport, &flow.application, &flow.tcp, flow.bytes))
        && links.any(|link| link.rate.is_none() && link.trace.is_none())
        && !is_large(scenario)
}

/// Less data are sent in no time.
const MUCH: u64 = 100_000_000;

/// Returns true if an application has much data, and the scenario does not limit the window.
fn needs_limit(
    transport: Transport,
    application: &Application,
    tcp: &Tcp,
    bytes: Option<Bytes>,
) -> bool {
    transport == Transport::Tcp
        && *application == Application::Ftp
        && tcp.receiver_window.is_none()
        && bytes.is_none_or(|bytes| bytes.get() >= MUCH)
}

/// Warns of each group of flows that has a path without a limit.
pub(super) fn find(_: &Scenario, network: &Layout) -> Vec<String> {
    // Flows in all, and those without a limit.
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for flow in &network.flows {
        let group = &flow.group;
        if needs_limit(group.transport, &group.application, &group.tcp, group.bytes) {
            let (all, without) = groups.entry(&group.name).or_default();
            *all += 1;
            *without += usize::from(!has_limit(network, flow));
        }
    }
    let warnings = groups
        .iter()
        .filter(|&(_, &(_, without))| without > 0)
        .map(|(name, &(all, without))| {
            let flows = match without == all {
                true => format!("`{name}`"),
                false => format!("{without} of the {all} flows of `{name}`"),
            };
            format!(
                "no link on the path of {flows} has a `rate`: only its window limits how much it sends, and a simulation takes long. \
                 Give a link a `rate`, or the flow a `tcp.receiver_window`"
            )
        });
    warnings.collect()
}

/// Returns true if a link on the way there or back limits the flow.
fn has_limit(network: &Layout, flow: &NetworkFlow) -> bool {
    let (Some(&sender), Some(&receiver)) = (flow.senders.first(), flow.receivers.first()) else {
        return true;
    };
    let ways = [(sender, receiver), (receiver, sender)];
    let links = ways
        .into_iter()
        .filter_map(|(from, to)| network.path(from, to))
        .flatten();
    // A node on both sides sends nothing to itself.
    sender == receiver || links.map(|link| &network.links[link]).any(limits)
}

/// Returns true if packets wait for the link, or it loses some.
fn limits(link: &NetworkLink) -> bool {
    link.rate.is_some() || link.conditions.policer.is_some() || link.loses()
}
