// SPDX-License-Identifier: MIT OR Apache-2.0
//! Laws that a correct simulation of TCP obeys: conservation, determinism, independence, Mathis' law, Reno's sawtooth.

mod common;

use std::time::Duration;

use common::{Dumbbell, Memory, control, ftp, lossy, reno};
use netnice_queue::{Jitter, Rate, Time};
use netnice_scenario::model::Multiplexing;
use netnice_sim::measure::FlowCounters;
use netnice_sim::tcp::Opener;
use netnice_sim::traffic::{
    ConstantRate, ObjectSize, OnOff, PacketSize, PeriodLength, Poisson, SquareWave, Traffic, Web,
};
use netnice_sim::{
    Capture, FlowId, FlowSpec, LinkCapture, LinkId, Program, RunOptions, Simulation, WebPaths,
};
use proptest::prelude::*;

fn mbit(megabits: f64) -> Rate {
    Rate::from_bits_per_second((megabits * 1e6) as u64).unwrap()
}

/// Traffic of a random flow.
#[derive(Debug, Clone)]
enum Kind {
    Ftp(&'static str, Option<u64>),
    Cbr,
    Bursts,
    Square,
    PoissonOverTcp,
    Web(Multiplexing),
}

fn kind() -> impl Strategy<Value = Kind> {
    let name = prop::sample::select(vec!["reno", "cubic", "vegas", "tcplp"]);
    let multiplexing = prop::sample::select(vec![
        Multiplexing::None,
        Multiplexing::Http2,
        Multiplexing::Quic,
    ]);
    prop_oneof![
        (name, prop::option::of(1u64..300_000)).prop_map(|(name, bytes)| Kind::Ftp(name, bytes)),
        Just(Kind::Cbr),
        Just(Kind::Bursts),
        Just(Kind::Square),
        Just(Kind::PoissonOverTcp),
        multiplexing.prop_map(Kind::Web),
    ]
}

#[derive(Debug, Clone)]
struct Small {
    kinds: Vec<Kind>,
    megabits: f64,
    queue: usize,
    loss: f64,
    jitter_ms: u64,
    reordering: bool,
    seed: u64,
}

fn small() -> impl Strategy<Value = Small> {
    (
        prop::collection::vec(kind(), 1..5),
        0.3..8.0f64,
        1usize..40,
        prop::sample::select(vec![0.0, 0.001, 0.05]),
        0u64..6,
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(
            |(kinds, megabits, queue, loss, jitter_ms, reordering, seed)| Small {
                kinds,
                megabits,
                queue,
                loss,
                jitter_ms,
                reordering,
                seed,
            },
        )
}

/// The flows of `small`, the first of which sends against the direction of the others.
fn build(small: &Small, trace: Option<Capture>) -> (Simulation, usize) {
    let mut dumbbell = Dumbbell::new(small.kinds.len(), mbit(small.megabits), small.queue);
    for link in dumbbell.bottleneck {
        let spec = dumbbell.network.link_mut(link);
        spec.setup.config.loss = lossy(small.loss);
        spec.setup.jitter = Jitter::Uniform(Duration::from_millis(small.jitter_ms));
        spec.setup.jitter_reorders = small.reordering;
    }
    dumbbell.network.link_mut(dumbbell.bottleneck[0]).capture = trace.map(LinkCapture::Own);
    let high = ConstantRate {
        rate: mbit(1.0),
        packet_bytes: 500,
    };
    let flows: Vec<FlowSpec> = small
        .kinds
        .iter()
        .zip(dumbbell.paths)
        .enumerate()
        .map(|(index, (kind, mut path))| {
            if index == 0 {
                std::mem::swap(&mut path.forward, &mut path.back);
            }
            let mut tcp = reno();
            let program = match kind {
                Kind::Ftp(name, _) => Program::Tcp {
                    path,
                    traffic: Traffic::Bulk,
                    tcp: control(name),
                },
                Kind::Cbr => Program::Udp {
                    path,
                    traffic: Traffic::from(high),
                },
                Kind::Bursts => Program::Udp {
                    path,
                    traffic: Traffic::from(OnOff {
                        high,
                        length: PeriodLength::Pareto { shape: 1.5 },
                        mean_on: Duration::from_millis(200),
                        mean_off: Duration::from_millis(300),
                    }),
                },
                Kind::Square => Program::Udp {
                    path,
                    traffic: Traffic::from(SquareWave {
                        high,
                        on: Duration::from_millis(300),
                        off: Duration::from_millis(300),
                    }),
                },
                Kind::PoissonOverTcp => Program::Tcp {
                    path,
                    traffic: Traffic::from(Poisson {
                        rate: mbit(0.4),
                        size: PacketSize::Fixed(700),
                    }),
                    tcp,
                },
                Kind::Web(multiplexing) => Program::Web {
                    paths: WebPaths::new((1, 1), vec![(0, 0)], move |_, _| path.clone()),
                    unloaded: Vec::new(),
                    size_classes: None,
                    web: Web {
                        sessions: 3,
                        mean_page_gap: Duration::from_millis(500),
                        open_loop: index % 2 == 1,
                        objects_per_page: 4,
                        mean_object_gap: Duration::from_millis(1),
                        object_size: ObjectSize {
                            mean_bytes: 8000.0,
                            shape: Some(1.2),
                            max_bytes: Some(200_000),
                        }
                        .into(),
                        pauses: None,
                        multiplexing: *multiplexing,
                        page_times: true,
                    },
                    tcp: {
                        if *multiplexing != Multiplexing::None {
                            tcp.sender.opener = Opener::Receiver;
                            tcp.receiver.opener = Opener::Receiver;
                        }
                        tcp
                    },
                },
            };
            let mut flow = FlowSpec::new(format!("flow {index}"), program);
            flow.start_spread = Duration::from_millis(300);
            if let Kind::Ftp(_, bytes) = kind {
                flow.bytes = *bytes;
            }
            flow
        })
        .collect();
    let mut options = RunOptions::new(Duration::from_secs(6), small.seed);
    options.sampling_interval = Some(Duration::from_millis(100));
    let simulation = Simulation::new(dumbbell.network, &flows, &options).unwrap();
    (simulation, flows.len())
}

/// Everything that a run of `small` measures, as text.
fn fingerprint(small: &Small) -> String {
    let (mut simulation, flows) = build(small, None);
    simulation.run();
    let mut text = format!("{} {:?}", simulation.events_handled(), simulation.series());
    for flow in (0..flows).map(FlowId::new) {
        text += &format!(
            "{:?} {:?} {:?} {:?}",
            simulation.counters(flow),
            simulation.delays(flow),
            simulation.mean_cwnd(flow),
            simulation.responses(flow),
        );
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_packet_is_delivered_dropped_or_under_way(small in small()) {
        let (mut simulation, _) = build(&small, None);
        simulation.run();
        prop_assert_eq!(simulation.check_conservation(), Ok(()));
    }

    #[test]
    fn the_same_seed_gives_the_same_run_on_any_thread(small in small()) {
        let here = fingerprint(&small);
        let other = small.clone();
        let there = std::thread::spawn(move || fingerprint(&other));
        let again = fingerprint(&small);
        prop_assert_eq!(&here, &again);
        prop_assert_eq!(&here, &there.join().unwrap());
    }
}

#[test]
fn a_trace_has_every_packet_and_changes_nothing() {
    let small = Small {
        kinds: vec![
            Kind::Cbr,
            Kind::Ftp("cubic", None),
            Kind::Web(Multiplexing::None),
        ],
        megabits: 2.0,
        queue: 12,
        loss: 0.001,
        jitter_ms: 0,
        reordering: false,
        seed: 5,
    };
    let memory = Memory::default();
    let trace = Capture::new(Box::new(memory.clone()), "bottleneck", 96);
    let (mut traced, _) = build(&small, Some(trace));
    traced.run();
    traced.finish_captures().unwrap();
    let (mut plain, _) = build(&small, None);
    plain.run();
    assert_eq!(traced.events_handled(), plain.events_handled());
    let bytes = memory.0.lock().unwrap();
    let (mut blocks, mut at) = (0, 0);
    while at < bytes.len() {
        at += u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        blocks += 1;
    }
    let delivered = plain.link_counters(LinkId::new(0)).delivered;
    assert!(delivered > 500);
    assert_eq!(
        blocks,
        delivered + 2,
        "a section, an interface, and each packet"
    );
}

#[test]
fn adding_a_flow_does_not_change_what_others_draw() {
    let sent = |others: usize| {
        let mut dumbbell = Dumbbell::new(others + 1, mbit(10.0), 50);
        let path = dumbbell.paths.remove(others);
        let traffic = Traffic::from(OnOff {
            high: ConstantRate {
                rate: mbit(1.0),
                packet_bytes: 500,
            },
            length: PeriodLength::Exponential,
            mean_on: Duration::from_millis(100),
            mean_off: Duration::from_millis(100),
        });
        let bursts = FlowSpec::new("bursts", Program::Udp { path, traffic });
        let mut flows: Vec<FlowSpec> = dumbbell
            .paths
            .into_iter()
            .enumerate()
            .map(|(index, path)| ftp(format!("ftp {index}"), path, reno()))
            .collect();
        flows.push(bursts);
        let mut options = RunOptions::new(Duration::from_secs(20), 3);
        options.checkpoints = (1..20).map(Duration::from_secs).collect();
        let mut simulation = Simulation::new(dumbbell.network, &flows, &options).unwrap();
        simulation.run();
        let bursts = simulation.flow("bursts").unwrap();
        simulation
            .checkpoints(bursts)
            .map(|counters: FlowCounters| counters.sent_packets)
            .collect::<Vec<_>>()
    };
    let alone = sent(0);
    assert_eq!(alone.len(), 19);
    assert_eq!(alone, sent(3));
}

#[test]
fn reno_under_random_loss_keeps_mathis_law() {
    // Mathis et al. 1997: packets per round trip = sqrt(3/2) / sqrt(p) with an ACK for each packet; no RTOs at
    // such losses, and a link that never queues.
    for loss in [0.0005, 0.002] {
        let mut dumbbell = Dumbbell::with_access(1, mbit(1000.0), 10_000, mbit(1000.0));
        dumbbell
            .network
            .link_mut(dumbbell.bottleneck[0])
            .setup
            .config
            .loss = lossy(loss);
        let mut tcp = reno();
        tcp.sender.recovery = netnice_sim::tcp::Recovery::Sack;
        tcp.receiver.sack = true;
        let flow = ftp("reno", dumbbell.paths.remove(0), tcp);
        let mut options = RunOptions::new(Duration::from_secs(2000), 11);
        options.warm_up = Duration::from_secs(20);
        let mut simulation = Simulation::new(dumbbell.network, &[flow], &options).unwrap();
        simulation.run();
        let counters = simulation.counters(FlowId::new(0));
        let round_trip = 2.0 * 0.024;
        let packets_per_round_trip = counters.goodput_bytes as f64 / 960.0 * round_trip / 1980.0;
        let observed_loss = counters.lost_packets as f64 / counters.sent_packets as f64;
        let law = (1.5 / observed_loss).sqrt();
        let ratio = packets_per_round_trip / law;
        assert!(
            (0.9..1.1).contains(&ratio),
            "loss {loss}: {packets_per_round_trip} instead of {law}"
        );
    }
}

#[test]
fn renos_sawtooth_is_as_drawn_by_hand() {
    // 10 Mb/s, 1000 B packets: 1250 packets a second; round trip without queue 48 ms and three transmissions there
    // (0.08 + 0.8 + 0.08 ms) and of 40 B back: 49 ms, 61.2 packets. The queue holds 40 more, and one is in
    // transmission: cwnd tops at 61.2 + 40 = 101 or 102, falls to half, and grows by one for each round trip.
    let mut dumbbell = Dumbbell::new(1, mbit(10.0), 40);
    let mut tcp = reno();
    tcp.sender.recovery = netnice_sim::tcp::Recovery::NewReno;
    let mut flow = ftp("reno", dumbbell.paths.remove(0), tcp);
    flow.sampled = true;
    let mut options = RunOptions::new(Duration::from_secs(120), 1);
    options.warm_up = Duration::from_secs(20);
    options.sampling_interval = Some(Duration::from_millis(10));
    let mut simulation = Simulation::new(dumbbell.network, &[flow], &options).unwrap();
    simulation.run();
    let (times, series) = simulation.series();
    let cwnd = &series[0].values;
    let settled = times
        .iter()
        .position(|&time| time >= Time::from_millis(20_000))
        .unwrap();
    let top = cwnd[settled..].iter().copied().fold(0.0, f64::max);
    let bottom = cwnd[settled..]
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert!((101.0..=103.5).contains(&top), "top {top}");
    assert!((50.0..=52.0).contains(&bottom), "bottom {bottom}");
    // From 51 to 102: 51 round trips. Below 61.2 packets they take 49 ms; above, cwnd / 1250 s:
    // 10 * 0.049 + sum over w from 61 to 102 of w / 1250 = 0.49 + 42 * 81.5 / 1250 = 3.23 s; with recovery, of a round
    // trip at the full queue, about 3.31 s.
    let falls: Vec<f64> = (settled + 1..cwnd.len())
        .filter(|&at| cwnd[at] < cwnd[at - 1] - 20.0)
        .map(|at| times[at].as_nanos() as f64 * 1e-9)
        .collect();
    assert!(falls.len() >= 25, "{falls:?}");
    let period = (falls[falls.len() - 1] - falls[0]) / (falls.len() - 1) as f64;
    assert!((3.2..=3.45).contains(&period), "period {period}");
    let counters = simulation.counters(FlowId::new(0));
    assert_eq!(counters.timeouts, 0);
    assert_eq!(
        counters.lost_packets, counters.retransmissions,
        "only lost packets are retransmitted"
    );
    // Half of the peak is 51 packets, fewer than the path holds: the link idles a little after each fall.
    let utilisation = counters.received_bytes as f64 * 8.0 / (100.0 * 10e6);
    assert!((0.97..1.0).contains(&utilisation), "{utilisation}");
}
