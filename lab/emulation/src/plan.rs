// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping of a scenario to namespaces, addresses and routes.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{Bytes, Rate};
use netnice_scenario::model::{Application, DelayedAck, TimeSpan, Transport};
use netnice_scenario::network::{FlowGroup, NodeIndex};
use netnice_scenario::{Layout, model};
use netnice_sim::traffic::Traffic;

use netnice_link::MTU;

/// The tick of a host's clock where routes ask for microseconds.
const MICROSECOND: TimeSpan = TimeSpan(Duration::from_micros(1));
/// Bytes of the IPv4 and UDP headers.
pub(super) const UDP_HEADERS: usize = 28;

/// A scenario mapped to network namespaces.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) network: Arc<Layout>,
    pub(super) namespaces: Vec<Netns>,
    pub(super) endpoints: Vec<Endpoint>,
    /// For each flow, the endpoints of its senders and of its receivers.
    pub(super) ends: Vec<(Range<usize>, Range<usize>)>,
    /// The links of each route.
    pub(super) routes: Vec<Box<[u32]>>,
    /// The route from one endpoint to another.
    pub(super) route_between: HashMap<(u32, u32), u32>,
    /// Largest packet, in bytes.
    pub(super) largest_packet: usize,
}

/// A network namespace: the hosts of a node of the scenario, which share a kernel's settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Netns {
    /// The node, or group of nodes.
    pub(super) name: Arc<str>,
    pub(super) settings: Settings,
}

/// Settings of a namespace as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Settings {
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) accurate_ecn: bool,
}

/// An end of a flow: an address in a namespace. Addresses thus identify the flow of a packet, and each flow can have
/// its own routes.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) flow: usize,
    pub(super) node: NodeIndex,
    pub(super) netns: usize,
}

impl Plan {
    pub(super) fn new(network: Arc<Layout>) -> Plan {
        let mut plan = Plan {
            namespaces: Vec::new(),
            endpoints: Vec::new(),
            ends: Vec::new(),
            routes: Vec::new(),
            route_between: HashMap::new(),
            largest_packet: MTU,
            network,
        };
        let mut namespaces: BTreeMap<(Arc<str>, Settings), usize> = BTreeMap::new();
        let mut routes: HashMap<(NodeIndex, NodeIndex), u32> = HashMap::new();
        for index in 0..plan.network.flows.len() {
            let flow = plan.network.flows[index].clone();
            let settings = settings(&flow.group);
            plan.largest_packet = plan.largest_packet.max(largest_packet(&flow.group));
            let mut ends = [&flow.senders, &flow.receivers].map(|nodes| {
                let first = plan.endpoints.len();
                for &node in nodes {
                    let name = plan.network.nodes[node].group.clone();
                    let netns = *namespaces
                        .entry((name.clone(), settings))
                        .or_insert_with(|| {
                            plan.namespaces.push(Netns { name, settings });
                            plan.namespaces.len() - 1
                        });
                    plan.endpoints.push(Endpoint {
                        flow: index,
                        node,
                        netns,
                    });
                }
                first..plan.endpoints.len()
            });
            let [senders, receivers] = &mut ends;
            for a in senders.clone() {
                for b in receivers.clone() {
                    for (from, to) in [(a, b), (b, a)] {
                        let nodes = (plan.endpoints[from].node, plan.endpoints[to].node);
                        let route = *routes.entry(nodes).or_insert_with(|| {
                            // A network in which some nodes cannot reach each other was refused above.
                            let path = plan.network.path(nodes.0, nodes.1).unwrap_or_default();
                            plan.routes
                                .push(path.iter().map(|&link| link as u32).collect());
                            plan.routes.len() as u32 - 1
                        });
                        plan.route_between.insert((from as u32, to as u32), route);
                    }
                }
            }
            let [senders, receivers] = ends;
            plan.ends.push((senders, receivers));
        }
        plan
    }

    /// Returns the sum of the rates of all links that limit some flow: the rate the network's thread must carry. `None`
    /// if a flow has no limit.
    pub(super) fn carried(&self) -> Option<Rate> {
        let mut narrowest = BTreeMap::new();
        for route in &self.routes {
            let links = route.iter().map(|&link| &self.network.links[link as usize]);
            let rates = links.filter_map(|link| Some((link.rate?, &link.name)));
            let (rate, name) = rates.min_by_key(|(rate, _)| rate.bits_per_second())?;
            narrowest.insert(name, rate.bits_per_second());
        }
        let total = narrowest
            .values()
            .fold(0u64, |sum, &rate| sum.saturating_add(rate));
        Rate::from_bits_per_second(total.max(1)).ok()
    }

    /// Bytes that the network holds of a flow at most.
    pub(super) fn in_flight(&self) -> u64 {
        let links = self.network.links.iter();
        let rtt = links.clone().map(|link| link.base_rtt).max();
        // The path's narrowest link decides; others' queues stay short.
        let with_rate = links.filter(|link| link.rate.is_some());
        let narrowest = with_rate.min_by_key(|link| link.rate.map(Rate::bits_per_second));
        let bytes = narrowest.and_then(|link| link.bytes_in_flight(rtt.unwrap_or_default()));
        bytes.unwrap_or(0)
    }
}

/// Returns the address of an endpoint: 10.0.0.1 for the first.
pub(super) fn address(endpoint: usize) -> Ipv4Addr {
    let [_, a, b, c] = (endpoint as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

/// The endpoint with this address, which may be of none; the inverse of [`address`].
pub(super) fn endpoint_of(address: u32) -> Option<usize> {
    match address.to_be_bytes() {
        [10, a, b, c] => (u32::from_be_bytes([0, a, b, c]) as usize).checked_sub(1),
        _ => None,
    }
}

/// The settings that a flow needs in both its namespaces.
fn settings(group: &FlowGroup) -> Settings {
    match group.transport {
        Transport::Udp => Settings::default(),
        Transport::Tcp => Settings {
            sack: group.tcp.has_sack(),
            timestamps: group.tcp.timestamps,
            accurate_ecn: group.tcp.accurate_ecn,
        },
    }
}

impl Default for Settings {
    /// Defaults of Linux and of scenarios.
    fn default() -> Settings {
        Settings {
            sack: true,
            timestamps: true,
            accurate_ecn: false,
        }
    }
}

/// Returns the largest packet a flow can send, in bytes.
fn largest_packet(group: &FlowGroup) -> usize {
    let of_source = Traffic::of(group).largest_packet();
    let of_source = of_source.filter(|_| group.transport == Transport::Udp);
    let largest = of_source.map_or(group.packet_size.get(), u64::from);
    largest.min(65_535) as usize
}

/// The metrics of the route from one endpoint of a flow to the other (`ip-route(8)`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RouteSettings {
    /// Largest packet, in bytes.
    pub(super) mtu: u32,
    /// Acknowledge every packet (no delayed ACKs).
    pub(super) quick_ack: bool,
    /// Smallest RTO.
    pub(super) min_rto: Option<Duration>,
    /// Initial window, in packets.
    pub(super) initial_window: Option<u32>,
    /// Limit of the window that this end advertises.
    pub(super) window: Option<Bytes>,
    /// Negotiate ECN.
    pub(super) ecn: bool,
    /// Use timestamps in microseconds.
    pub(super) microseconds: bool,
    /// Congestion control of programs that do not set one.
    pub(super) congestion_control: Option<String>,
}

impl RouteSettings {
    /// Returns the settings of the route from the flow's sender (`forward`) or back from its receiver.
    pub(super) fn of(group: &FlowGroup, forward: bool, clock: model::Clock) -> RouteSettings {
        let mtu = group.packet_size.get().min(65_535) as u32;
        if group.transport == Transport::Udp {
            // The source determines the size of its packets.
            return RouteSettings {
                mtu: largest_packet(group) as u32,
                ..RouteSettings::default()
            };
        }
        let tcp = &group.tcp;
        RouteSettings {
            mtu,
            quick_ack: !forward && tcp.delayed_ack == DelayedAck::Off,
            min_rto: Some(tcp.least_rto().get()),
            initial_window: forward.then_some(tcp.initial_window),
            window: tcp.receiver_window.filter(|_| !forward),
            ecn: tcp.ecn,
            microseconds: clock.tick <= MICROSECOND,
            congestion_control: match (&group.application, forward) {
                (Application::Command(_), true) => Some(group.congestion_control.name.clone()),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_its_endpoint() {
        for endpoint in [0, 1, 255, 256, 70_000] {
            assert_eq!(endpoint_of(address(endpoint).to_bits()), Some(endpoint));
        }
        assert_eq!(endpoint_of(Ipv4Addr::new(10, 0, 0, 0).to_bits()), None);
        assert_eq!(endpoint_of(Ipv4Addr::new(11, 0, 0, 1).to_bits()), None);
    }
    use netnice_scenario::ScenarioFile;

    fn plan(text: &str) -> Plan {
        let text = format!("name = \"n\"\nduration = \"1s\"\n{text}");
        let file = ScenarioFile::parse("n.toml", &text, &[], None).unwrap();
        Plan::new(file.points[0].layout().unwrap())
    }

    const NETWORK: &str = "
        [[nodes]]\nname = \"sources\"\ncount = 3
        [[links]]\nfrom = \"sources\"\nto = \"r\"\nrate = \"100mbit\"
        [[links]]\nfrom = \"r\"\nto = \"sink\"\nrate = \"10mbit\"\ndelay = \"20ms\"\nqueue = \"50p\"
        [[flows]]\nname = \"f\"\nfrom = \"sources\"\nto = \"sink\"\n";

    #[test]
    fn a_group_of_hosts_shares_a_namespace_and_each_flow_has_addresses() {
        let plan = plan(NETWORK);
        let names: Vec<&str> = plan.namespaces.iter().map(|netns| &*netns.name).collect();
        // The router only forwards.
        assert_eq!(names, ["sources", "sink"]);
        assert_eq!(plan.endpoints.len(), 6);
        assert_eq!(plan.ends[1], (2..3, 3..4));
        assert_eq!(address(2), Ipv4Addr::new(10, 0, 0, 3));
        assert_eq!(address(65_535), Ipv4Addr::new(10, 1, 0, 0));
        // The second source's own link, then the bottleneck; and back.
        let route = |from, to| &plan.routes[plan.route_between[&(from, to)] as usize];
        assert_eq!(route(2, 3)[..], [2, 6]);
        assert_eq!(route(3, 2)[..], [7, 3]);
        assert!(!plan.route_between.contains_key(&(0, 3)));
    }

    #[test]
    fn flows_that_need_other_settings_of_a_kernel_have_other_namespaces() {
        let other = "[[flows]]\nname = \"g\"\nfrom = \"sources\"\nto = \"sink\"\ncount = 1\n\
            tcp = { recovery = \"newreno\", timestamps = false }";
        let plan = plan(&format!("{NETWORK}{other}"));
        let settings: Vec<(bool, bool)> = plan
            .namespaces
            .iter()
            .map(|netns| (netns.settings.sack, netns.settings.timestamps))
            .collect();
        assert_eq!(
            settings,
            [(true, true), (true, true), (false, false), (false, false)]
        );
    }

    #[test]
    fn what_is_carried_and_in_flight_by_hand() {
        let plan = plan(NETWORK);
        // Both directions of the bottleneck.
        assert_eq!(plan.carried().unwrap().bits_per_second(), 20_000_000);
        // 10 Mb/s in 40 ms are 50 kB; 50 packets of 1500 B are 75 kB.
        assert_eq!(plan.in_flight(), 125_000);
    }

    #[test]
    fn a_route_asks_for_what_the_scenario_says() {
        let of = |tcp: &str, forward| {
            let plan = plan(&format!(
                "{NETWORK}packet_size = \"1000B\"\ntcp = {{ {tcp} }}"
            ));
            RouteSettings::of(
                &plan.network.flows[0].group,
                forward,
                model::Clock::default(),
            )
        };
        let there = of("min_rto = \"200ms\", ecn = true, initial_window = 2", true);
        let expected = RouteSettings {
            mtu: 1000,
            min_rto: Some(Duration::from_millis(200)),
            initial_window: Some(2),
            ecn: true,
            ..RouteSettings::default()
        };
        assert_eq!(there, expected);
        let back = of("receiver_window = \"64kB\"", false);
        let expected = RouteSettings {
            mtu: 1000,
            quick_ack: true,
            min_rto: Some(Duration::from_secs(1)),
            window: Some(Bytes::new(64_000)),
            ..RouteSettings::default()
        };
        assert_eq!(back, expected);
        assert!(!of("delayed_ack = true", false).quick_ack);
    }
}
