// SPDX-License-Identifier: MIT OR Apache-2.0
//! Setup of the namespaces of a plan: a device each, an address for each endpoint, a route for each pair of endpoints.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use super::plan::{self, Plan, RouteSettings};
use crate::error::LabError;
use netnice_link::Attempted;
use netnice_link::hosts::{DEVICE_QUEUE, raise_buffers, set_up_loopback};
use netnice_link::namespace::Namespace;
use netnice_link::netlink::{Netlink, RouteMetric};
use netnice_link::tun::Tun;

/// Bit of RTAX_FEATURES (`linux/rtnetlink.h`).
const FEATURE_ECN: u32 = 1 << 0;
/// Bit of RTAX_FEATURES since Linux 6.7.
const FEATURE_TCP_USEC_TS: u32 = 1 << 4;
/// Number of the metric; its bit in RTAX_LOCK is `1 << RTAX_RTO_MIN` (`linux/rtnetlink.h`).
const RTAX_RTO_MIN: u32 = 13;

/// A namespace with its device.
#[derive(Debug)]
pub(super) struct LiveNetns {
    pub(super) namespace: Namespace,
    pub(super) device: u32,
}

/// Creates all namespaces of the plan and opens the files of their devices.
pub(super) fn set_up(plan: &Plan) -> Result<(Vec<LiveNetns>, Vec<OwnedFd>), LabError> {
    let mut namespaces = Vec::new();
    let mut files = Vec::new();
    for index in 0..plan.namespaces.len() {
        let namespace = Namespace::create()?;
        let tun = namespace.run(|| {
            let tun = Tun::open("nn-lab")?;
            configure(plan, index, &tun)?;
            Ok::<_, LabError>(tun)
        })??;
        namespaces.push(LiveNetns {
            namespace,
            device: tun.index,
        });
        files.push(tun.file);
    }
    Ok((namespaces, files))
}

impl LiveNetns {
    /// Returns the packets that the device dropped.
    pub(super) fn drops(&self) -> Result<u64, LabError> {
        let statistics = self
            .namespace
            .run(|| Netlink::open()?.statistics(self.device))?;
        let statistics = statistics.attempted("read a device's counters")?;
        Ok(statistics.tx_dropped + statistics.rx_dropped)
    }
}

/// Configures the namespace of the calling thread.
fn configure(plan: &Plan, netns: usize, tun: &Tun) -> Result<(), LabError> {
    let netlink = Netlink::open().attempted("open rtnetlink")?;
    set_up_loopback(&netlink)?;
    let settings = plan.namespaces[netns].settings;
    for (name, value) in [
        // Metrics of an earlier connection must not change the next.
        ("tcp_no_metrics_save", true),
        // A retransmitted SYN asks for ECN as the first did: a flow without it never answers marks.
        ("tcp_ecn_fallback", false),
        ("tcp_sack", settings.sack),
        ("tcp_timestamps", settings.timestamps),
    ] {
        let path = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&path, if value { "1" } else { "0" }).attempted(format!("write {path}"))?;
    }
    if settings.accurate_ecn {
        // AccECN for connections of either direction (Documentation/networking/ip-sysctl.rst).
        fs::write("/proc/sys/net/ipv4/tcp_ecn", "3").map_err(|_| LabError::NoAccurateEcn)?;
    }
    raise_buffers(plan.in_flight());
    // IPv6 would send unsolicited packets.
    let _ = fs::write(
        format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", tun.name),
        "1",
    );
    let mtu = plan.largest_packet as u32;
    netlink
        .bring_up(tun.index, Some((mtu, DEVICE_QUEUE)))
        .attempted(format!("bring {} up", tun.name))?;
    let ours = |endpoint: &usize| plan.endpoints[*endpoint].netns == netns;
    for (index, (senders, receivers)) in plan.ends.iter().enumerate() {
        let group = &plan.network.flows[index].group;
        for (near, far, forward) in [(senders, receivers, true), (receivers, senders, false)] {
            for endpoint in near.clone().filter(ours) {
                let address = plan::address(endpoint);
                netlink
                    .add_address(tun.index, address.into(), 32)
                    .attempted(format!("give {} the address {address}", tun.name))?;
            }
            let Some(source) = near.clone().find(ours) else {
                continue;
            };
            let clock = plan.network.nodes[plan.endpoints[source].node].clock;
            let metrics = metrics(&RouteSettings::of(group, forward, clock));
            for peer in far.clone() {
                let (to, from) = (plan::address(peer), plan::address(source));
                netlink
                    .add_host_route(to, tun.index, from, metrics.clone())
                    .map_err(|error| known(error, &group.congestion_control.name))
                    .attempted(format!("add the route to {to}"))?;
            }
        }
    }
    Ok(())
}

/// Names the congestion control in the EINVAL or ENOENT that a route with an unknown one returns.
fn known(error: io::Error, control: &str) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOENT) => {
            io::Error::other(format!("{error} (is there a control `{control}`?)"))
        }
        _ => error,
    }
}

fn metrics(settings: &RouteSettings) -> Vec<RouteMetric> {
    let mut metrics = vec![RouteMetric::Mtu(settings.mtu)];
    if settings.quick_ack {
        metrics.push(RouteMetric::QuickAck(1));
    }
    if let Some(rto) = settings.min_rto {
        // In milliseconds; the kernel honours it only if locked.
        let milliseconds = u32::try_from(rto.as_millis()).unwrap_or(u32::MAX).max(1);
        metrics.push(RouteMetric::Lock(1 << RTAX_RTO_MIN));
        metrics.push(RouteMetric::RtoMin(milliseconds));
    }
    metrics.extend(settings.initial_window.map(RouteMetric::InitCwnd));
    if let Some(window) = settings.window {
        let window = u32::try_from(window.get()).unwrap_or(u32::MAX);
        metrics.push(RouteMetric::Window(window));
    }
    let ecn = if settings.ecn { FEATURE_ECN } else { 0 };
    let microseconds = match settings.microseconds {
        true => FEATURE_TCP_USEC_TS,
        false => 0,
    };
    if ecn | microseconds != 0 {
        metrics.push(RouteMetric::Features(ecn | microseconds));
    }
    if let Some(control) = &settings.congestion_control {
        metrics.push(RouteMetric::CcAlgo(control.clone()));
    }
    metrics
}
