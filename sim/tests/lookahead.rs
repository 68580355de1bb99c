// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets may be carried to the end of their route ahead of time, and no result may tell.
//!
//! Time series with many samples leave no room for that. So each network is run with and without them.

#[allow(dead_code, reason = "each test uses a part of this")]
mod common;

use std::time::Duration;

use common::{control, ftp, lossy};
use netnice_queue::{Jitter, LinkConfig, Rate, Time};
use netnice_sim::tcp::{DelayedAck, ReceiverConfig};
use netnice_sim::traffic::{ConstantRate, PacketSize, Poisson, Traffic};
use netnice_sim::{
    FlowId, FlowSpec, LinkId, LinkSpec, Network, NodeId, Path, Program, RunOptions, Simulation,
};
use proptest::prelude::*;

/// Too close for packets to be carried in between.
const SAMPLES: Duration = Duration::from_millis(40);
const DURATION: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Bulk(&'static str),
    Poisson,
    ConstantRate,
}

#[derive(Debug, Clone)]
struct Flow {
    kind: Kind,
    /// Has hosts of its own at the source and at the sink; otherwise it begins or ends at a router.
    own_source: bool,
    own_sink: bool,
    /// Against the direction of the others.
    reverse: bool,
    delayed_ack: bool,
    access_kbit: u64,
    access_queue: usize,
    access_ms: u64,
    bytes: Option<u64>,
    start_ms: u64,
    stop_ms: Option<u64>,
}

#[derive(Debug, Clone)]
struct World {
    flows: Vec<Flow>,
    kbit: u64,
    queue: usize,
    access_loss: f64,
    /// The bottleneck does not tell when a packet will come out.
    jitter: bool,
    /// Marks, in milliseconds; some are close to each other.
    marks_ms: Vec<u64>,
    warm_up_ms: u64,
    /// So many links that packets are on lanes.
    many_links: bool,
    seed: u64,
}

fn flow() -> impl Strategy<Value = Flow> {
    let bulk = prop::sample::select(vec!["reno", "cubic", "tcplp", "netnice"]).prop_map(Kind::Bulk);
    let kind = prop_oneof![4 => bulk, 1 => Just(Kind::Poisson), 1 => Just(Kind::ConstantRate)];
    let ends = (
        any::<bool>(),
        prop::bool::weighted(0.7),
        prop::bool::weighted(0.3),
    );
    let access = (
        prop::sample::select(vec![800, 5000, 100_000]),
        2usize..60,
        0u64..40,
    );
    let times = (0u64..800, prop::option::weighted(0.3, 0u64..6000));
    let bytes = prop::option::weighted(0.3, 1u64..200_000);
    (kind, ends, any::<bool>(), access, bytes, times).prop_map(
        |(kind, (own_source, own_sink, reverse), delayed_ack, access, bytes, times)| Flow {
            kind,
            own_source,
            own_sink,
            reverse,
            delayed_ack,
            access_kbit: access.0,
            access_queue: access.1,
            access_ms: access.2,
            bytes,
            start_ms: times.0,
            stop_ms: times.1,
        },
    )
}

fn world() -> impl Strategy<Value = World> {
    (
        prop::collection::vec(flow(), 1..5),
        (200u64..8000, 2usize..60),
        prop::sample::select(vec![0.0, 0.02]),
        prop::bool::weighted(0.2),
        prop::collection::vec(0u64..5000, 0..4),
        prop::sample::select(vec![0, 700]),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(
            |(
                flows,
                (kbit, queue),
                access_loss,
                jitter,
                mut marks_ms,
                warm_up_ms,
                many_links,
                seed,
            )| {
                marks_ms.sort_unstable();
                World {
                    flows,
                    kbit,
                    queue,
                    access_loss,
                    jitter,
                    marks_ms,
                    warm_up_ms,
                    many_links,
                    seed,
                }
            },
        )
}

fn config(kbit: u64, milliseconds: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_second(kbit * 1000).unwrap()),
        delay: Duration::from_millis(milliseconds),
        ..LinkConfig::default()
    }
}

/// A host of its own beside a router: the links there and back.
fn host(network: &mut Network, name: &str, router: NodeId, flow: &Flow, loss: f64) -> [LinkId; 2] {
    let host = network.node(name);
    [("up", (host, router)), ("down", (router, host))].map(|(way, ends)| {
        let mut config = config(flow.access_kbit, flow.access_ms);
        config.loss = lossy(loss);
        let name = format!("{name} {way}");
        network
            .link(LinkSpec::drop_tail(name, ends, config, flow.access_queue))
            .unwrap()
    })
}

fn build(world: &World, sampled: bool) -> (Simulation, usize) {
    let mut network = Network::new();
    let [left, right] = ["left", "right"].map(|name| network.node(name));
    let bottleneck = [(left, right), (right, left)].map(|ends| {
        let name = format!("bottleneck {}", network.name(ends.0));
        let mut link = LinkSpec::drop_tail(name, ends, config(world.kbit, 10), world.queue);
        if world.jitter {
            link.jitter = Jitter::Uniform(Duration::from_millis(3));
        }
        network.link(link).unwrap()
    });
    let flows: Vec<_> = world
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            let (near, far, [there, back]) = if flow.reverse {
                (right, left, [bottleneck[1], bottleneck[0]])
            } else {
                (left, right, bottleneck)
            };
            let mut path = Path {
                forward: vec![there],
                back: vec![back],
            };
            let mut own_host = |end: &str, router| {
                let name = format!("{end} {index}");
                host(&mut network, &name, router, flow, world.access_loss)
            };
            if flow.own_source {
                let [up, down] = own_host("source", near);
                path.forward.insert(0, up);
                path.back.push(down);
            }
            if flow.own_sink {
                let [up, down] = own_host("sink", far);
                path.forward.push(down);
                path.back.insert(0, up);
            }
            let name = format!("flow {index}");
            let mut tcp = control(if let Kind::Bulk(name) = flow.kind {
                name
            } else {
                "reno"
            });
            if flow.delayed_ack {
                tcp.receiver = ReceiverConfig {
                    delayed_ack: Some(DelayedAck::default()),
                    ..tcp.receiver
                };
            }
            let mut spec = match flow.kind {
                Kind::Bulk(_) => ftp(name, path, tcp),
                Kind::Poisson => FlowSpec::new(
                    name,
                    Program::Tcp {
                        path,
                        traffic: Traffic::Poisson(Poisson {
                            rate: Rate::from_bits_per_second(300_000).unwrap(),
                            size: PacketSize::Fixed(700),
                        }),
                        tcp,
                    },
                ),
                Kind::ConstantRate => FlowSpec::new(
                    name,
                    Program::Udp {
                        path,
                        traffic: Traffic::ConstantRate(ConstantRate {
                            rate: Rate::from_bits_per_second(500_000).unwrap(),
                            packet_bytes: 400,
                        }),
                    },
                ),
            };
            spec.start = Time::from_millis(flow.start_ms);
            spec.stop = flow.stop_ms.map(Time::from_millis);
            spec.bytes = flow.bytes;
            spec
        })
        .collect();
    if world.many_links {
        for number in 0..1100 {
            let link = LinkSpec::drop_tail(
                format!("unused {number}"),
                (left, right),
                config(1000, 1),
                5,
            );
            network.link(link).unwrap();
        }
    }
    let options = RunOptions {
        warm_up: Duration::from_millis(world.warm_up_ms),
        sampling_interval: sampled.then_some(SAMPLES),
        marks: world
            .marks_ms
            .iter()
            .map(|&ms| Duration::from_millis(ms))
            .collect(),
        ..RunOptions::new(DURATION, world.seed)
    };
    (
        Simulation::new(network, &flows, &options).unwrap(),
        flows.len(),
    )
}

/// Everything that a run measures, as text.
fn fingerprint(world: &World, sampled: bool) -> Result<String, TestCaseError> {
    let (mut simulation, flows) = build(world, sampled);
    simulation.run();
    if world.warm_up_ms == 0 {
        prop_assert_eq!(simulation.check_conservation(), Ok(()));
    }
    let samples = simulation.series().0.len() as u64;
    let mut text = format!("{} events\n", simulation.events_handled() - samples);
    for flow in (0..flows).map(FlowId::new) {
        text += &format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}\n",
            simulation.counters(flow),
            simulation.delays(flow),
            simulation.round_trips(flow),
            simulation.mean_cwnd(flow),
            simulation.completion(flow),
            simulation.marks(flow).collect::<Vec<_>>(),
        );
    }
    for link in (0..links(world)).map(LinkId::new) {
        text += &format!(
            "{:?} {:?}\n",
            simulation.link_counters(link),
            simulation.waiting_times(link).map(|times| times.delays()),
        );
    }
    Ok(text)
}

/// Links that flows use.
fn links(world: &World) -> usize {
    let hosts = |flow: &Flow| usize::from(flow.own_source) + usize::from(flow.own_sink);
    2 + 2 * world.flows.iter().map(hosts).sum::<usize>()
}

proptest! {
    #[test]
    fn samples_change_nothing(world in world()) {
        prop_assert_eq!(fingerprint(&world, false)?, fingerprint(&world, true)?);
    }
}

/// After a barrier all packets on links are looked at, and those that can't be carried yet are left there: among those of flows
/// that are never carried, at their place.
#[test]
fn packets_left_on_a_link_stay_in_order() {
    let flow = |own_source: bool, start_ms: u64, access_ms: u64| Flow {
        kind: Kind::Bulk("reno"),
        own_source,
        own_sink: !own_source,
        reverse: false,
        delayed_ack: own_source,
        access_kbit: 800,
        access_queue: 2,
        access_ms,
        bytes: None,
        start_ms,
        stop_ms: None,
    };
    // A queue of more than a second, and a mark a second before the end.
    let world = World {
        flows: vec![flow(true, 0, 5), flow(false, 290, 5), flow(false, 410, 0)],
        kbit: 225,
        queue: 32,
        access_loss: 0.02,
        jitter: false,
        marks_ms: vec![4032],
        warm_up_ms: 0,
        many_links: false,
        seed: 1_438_531_416_722_152_908,
    };
    assert_eq!(
        fingerprint(&world, false).unwrap(),
        fingerprint(&world, true).unwrap()
    );
}
