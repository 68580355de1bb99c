// SPDX-License-Identifier: MIT OR Apache-2.0
//! With many flows the engine handles packets and timers in batches, which must not change any result.
//!
//! So flows that share nothing are run together, and each alone.

#[allow(dead_code, reason = "each test uses a part of this")]
mod common;

use std::time::Duration;

use common::{control, ftp, lossy};
use netnice_queue::{LinkConfig, Rate, Time};
use netnice_sim::tcp::{DelayedAck, ReceiverConfig};
use netnice_sim::traffic::{ConstantRate, Traffic};
use netnice_sim::{
    FlowId, FlowSpec, LinkId, LinkSpec, Network, Path, Program, RunOptions, Simulation,
};

/// Enough flows that their timers are sorted in lists, their links have lanes, and packets come in batches.
const FLOWS: usize = 300;
/// Links of a flow in each direction.
const LINKS: usize = 3;

/// A whole number below `bound` that depends on `flow` and `what` only.
fn draw(flow: usize, what: u64, bound: u64) -> u64 {
    let mixed = (flow as u64 * 8 + what + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) % bound
}

/// Adds a flow with links of its own: from a host over two routers to another.
fn add(network: &mut Network, flow: usize) -> FlowSpec {
    let node = |network: &mut Network, place| network.node(format!("node {place} of {flow}"));
    let nodes = [0, 1, 2, 3].map(|place| node(network, place));
    let mut link = |from: usize, to: usize| {
        let middle = from.min(to) == 1;
        let kbit = if middle {
            500 + draw(flow, 0, 8) * 500
        } else {
            [2000, 10_000, 100_000][draw(flow, 1, 3) as usize]
        };
        let config = LinkConfig {
            rate: Some(Rate::from_bits_per_second(kbit * 1000).unwrap()),
            delay: Duration::from_millis(if middle { 5 + draw(flow, 2, 40) } else { 1 }),
            loss: lossy(if middle {
                draw(flow, 3, 3) as f64 * 0.02
            } else {
                0.0
            }),
            ..LinkConfig::default()
        };
        let name = format!("from {from} to {to} of {flow}");
        let queue = 3 + draw(flow, 4, 30) as usize;
        network
            .link(LinkSpec::drop_tail(
                name,
                (nodes[from], nodes[to]),
                config,
                queue,
            ))
            .unwrap()
    };
    let path = Path {
        forward: [(0, 1), (1, 2), (2, 3)].map(|(a, b)| link(a, b)).into(),
        back: [(3, 2), (2, 1), (1, 0)].map(|(a, b)| link(a, b)).into(),
    };
    let name = format!("flow {flow}");
    let mut spec = if draw(flow, 5, 10) == 0 {
        let traffic = Traffic::from(ConstantRate {
            rate: Rate::from_bits_per_second(1_000_000).unwrap(),
            packet_bytes: 700,
        });
        FlowSpec::new(name, Program::Udp { path, traffic })
    } else {
        let mut tcp = control(["reno", "cubic", "tcplp", "netnice"][draw(flow, 6, 4) as usize]);
        if draw(flow, 7, 2) == 0 {
            tcp.receiver = ReceiverConfig {
                delayed_ack: Some(DelayedAck::default()),
                ..tcp.receiver
            };
        }
        ftp(name, path, tcp)
    };
    spec.start = Time::from_millis(draw(flow, 8, 500));
    spec.bytes = (draw(flow, 9, 3) == 0).then_some(200_000);
    spec.stop = (draw(flow, 10, 5) == 0).then_some(Time::from_millis(2000));
    spec
}

/// Runs these flows, and returns all that is measured of each.
fn run(flows: impl Iterator<Item = usize>) -> Vec<String> {
    let mut network = Network::new();
    let specs: Vec<_> = flows.map(|flow| add(&mut network, flow)).collect();
    let options = RunOptions {
        warm_up: Duration::from_millis(700),
        checkpoints: vec![Duration::from_millis(1500)],
        ..RunOptions::new(Duration::from_secs(3), 5)
    };
    let mut simulation = Simulation::new(network, &specs, &options).unwrap();
    simulation.run();
    let of_flow = |index: usize| {
        let flow = FlowId::new(index);
        let links = (0..2 * LINKS).map(|link| LinkId::new(2 * LINKS * index + link));
        format!(
            "{} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            specs[index].name,
            simulation.counters(flow),
            simulation.delays(flow).delays(),
            simulation.round_trips(flow).delays(),
            simulation.mean_cwnd(flow),
            simulation.completion(flow),
            simulation.checkpoints(flow).collect::<Vec<_>>(),
            links
                .map(|link| {
                    let waiting = simulation.waiting_times(link).map(|times| times.delays());
                    (simulation.link_counters(link), waiting)
                })
                .collect::<Vec<_>>(),
        )
    };
    (0..specs.len()).map(of_flow).collect()
}

#[test]
fn flows_that_share_nothing_are_as_if_alone() {
    let together = run(0..FLOWS);
    for (flow, among_others) in together.iter().enumerate() {
        assert_eq!(&run(flow..flow + 1)[0], among_others);
    }
}
