// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arriving transfers that offer more than a link on their path sends: more and more are unfinished, so that figures depend on how
//! long the run is.

use std::collections::BTreeMap;

use netnice_queue::Rate;

use super::is_large;
use crate::Layout;
use crate::model::{Application, Arrivals, Scenario};
use crate::network::{FlowGroup, LinkIndex, NetworkFlow, NetworkLink};

/// The paths of more pairs of servers and clients take longer than a warning is worth.
const MOST_PAIRS: usize = 10_000;

/// Returns true if there are arriving transfers.
pub(super) fn concerns(scenario: &Scenario) -> bool {
    let mut flows = scenario.flows.iter();
    flows.any(|flow| matches!(flow.application, Application::Arrivals(_))) && !is_large(scenario)
}

/// Warns of each group of flows that offers more than a link sends, and names the link that it exceeds most.
pub(super) fn find(_: &Scenario, network: &Layout) -> Vec<String> {
    let mut loads: BTreeMap<&str, BTreeMap<LinkIndex, f64>> = BTreeMap::new();
    for flow in &network.flows {
        if let Some(offered) = offered_bps(&flow.group) {
            let load = loads.entry(&flow.group.name).or_default();
            add_load(network, flow, offered, load);
        }
    }
    let warnings = loads.iter().filter_map(|(name, load)| {
        let times = |(&link, &load): (&LinkIndex, &f64)| {
            let link = &network.links[link];
            Some((link, load, load / highest_rate(link)?.as_f64()))
        };
        let worst = load.iter().filter_map(times);
        let (link, load, times) = worst.max_by(|a, b| a.2.total_cmp(&b.2))?;
        let rate = highest_rate(link).filter(|_| times > 1.0)?;
        Some(format!(
            "`{name}` offers {:.3} Mb/s on average, headers included, and `{}` sends {rate}: the longer the run, the more \
             transfers are unfinished. Offer less, or give the link a higher `rate`",
            1e-6 * load,
            link.name
        ))
    });
    warnings.collect()
}

/// Adds what the flow offers to the loads of the links on its paths: as much on those between any two of its hosts.
fn add_load(
    network: &Layout,
    flow: &NetworkFlow,
    offered: f64,
    load: &mut BTreeMap<LinkIndex, f64>,
) {
    let pairs = flow.senders.len() * flow.receivers.len();
    if pairs > MOST_PAIRS {
        return;
    }
    let senders = flow.senders.iter();
    let all = senders.flat_map(|&from| flow.receivers.iter().map(move |&to| (from, to)));
    for (from, to) in all {
        for link in network.path(from, to).unwrap_or_default() {
            *load.entry(link).or_default() += offered / pairs as f64;
        }
    }
}

/// The highest rate that a link ever has.
fn highest_rate(link: &NetworkLink) -> Option<Rate> {
    let changes = link.conditions.changes.iter();
    let later = changes.filter_map(|change| change.rate);
    later.chain(link.rate).max()
}

/// What arriving transfers offer on average, in bits per second with headers; `None` of other traffic.
fn offered_bps(group: &FlowGroup) -> Option<f64> {
    let Application::Arrivals(arrivals) = &group.application else {
        return None;
    };
    let (packet, headers) = (group.packet_size.get(), group.header_size.get());
    let with_headers = packet as f64 / (packet - headers) as f64;
    let on = match (arrivals.mean_on, arrivals.mean_off) {
        (Some(on), Some(off)) => {
            let (on, off) = (on.get().as_secs_f64(), off.get().as_secs_f64());
            on / (on + off)
        }
        _ => 1.0,
    };
    Some(data_bps(arrivals)? * on * with_headers)
}

/// The rate of transfers' data while they arrive.
fn data_bps(arrivals: &Arrivals) -> Option<f64> {
    let gap = arrivals.mean_gap()?.as_secs_f64();
    Some(8.0 * arrivals.size.mean_bytes() / gap)
}
