// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web objects that share a connection: when each is complete, and that each is, once.

#[allow(dead_code, reason = "each test uses a part of this")]
mod common;

use std::collections::VecDeque;
use std::time::Duration;

use common::control;
use netnice_queue::{
    Discipline, DropCause, Dropped, LinkConfig, Packet, QueueDiscipline, Rate, Time,
};
use netnice_results::RunResults;
use netnice_scenario::ScenarioFile;
use netnice_scenario::model::Multiplexing;
use netnice_sim::tcp::{Opener, ReceiverConfig, SenderConfig};
use netnice_sim::traffic::{ObjectSize, Web};
use netnice_sim::{
    FlowId, FlowSpec, LinkSpec, Network, Path, Program, RunOptions, Simulation, TcpSpec, WebPaths,
    run,
};
use proptest::prelude::*;

const ALL: [Multiplexing; 3] = [Multiplexing::None, Multiplexing::Http2, Multiplexing::Quic];

/// A first-in first-out queue that drops the packets of these numbers, of those with this length in bytes, as they arrive: they take no
/// time on the link.
#[derive(Debug)]
struct Losing<P> {
    waiting: VecDeque<P>,
    length: usize,
    numbers: Vec<usize>,
    seen: usize,
}

impl<P: Packet> QueueDiscipline<P> for Losing<P> {
    fn enqueue(&mut self, _now: Time, packet: P) -> Result<(), Dropped<P>> {
        let counts = packet.length() == self.length;
        let lost = counts && self.numbers.contains(&self.seen);
        self.seen += usize::from(counts);
        if lost {
            let cause = DropCause::RandomLoss;
            return Err(Dropped { packet, cause });
        }
        self.waiting.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Time) -> Option<P> {
        self.waiting.pop_front()
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|it| it.length() as u64).sum()
    }
}

/// Pages of two objects of 1920 bytes, two packets of 1000 bytes each, which are asked for at once: the first page at 0, and each other as
/// the one before ends, until `stop_ms`. They go over 8 Mb/s, on which a byte takes 1 us, and 10 ms each way. Of the packets of data
/// those of the numbers `lost_data` are lost, and of the requests, 340 bytes each, those of `lost_requests`. Returns the shortest and the
/// longest time of an object, and of a page, in microseconds.
fn pages(
    multiplexing: Multiplexing,
    lost_data: &[usize],
    lost_requests: &[usize],
    stop_ms: u64,
) -> [u64; 4] {
    let mut network = Network::new();
    let (server, client) = (network.node("server"), network.node("client"));
    let mut link = |name: &str, ends, length, numbers: &[usize]| {
        let config = LinkConfig {
            rate: Some(Rate::from_bits_per_second(8_000_000).unwrap()),
            delay: Duration::from_millis(10),
            ..LinkConfig::default()
        };
        let mut link = LinkSpec::drop_tail(name, ends, config, 100);
        link.setup.queue = Discipline::Custom(Box::new(Losing {
            waiting: VecDeque::new(),
            length,
            numbers: numbers.to_vec(),
            seen: 0,
        }));
        network.link(link).unwrap()
    };
    let path = Path {
        forward: vec![link("there", (server, client), 1000, lost_data)],
        back: vec![link("back", (client, server), 340, lost_requests)],
    };
    let program = Program::Web {
        paths: WebPaths::new((1, 1), vec![(0, 0)], move |_, _| path.clone()),
        unloaded: Vec::new(),
        size_classes: None,
        web: Web {
            sessions: 1,
            mean_page_gap: Duration::ZERO,
            open_loop: false,
            objects_per_page: 2,
            mean_object_gap: Duration::ZERO,
            object_size: ObjectSize {
                mean_bytes: 1920.0,
                shape: None,
                max_bytes: None,
            }
            .into(),
            pauses: None,
            multiplexing,
            page_times: true,
        },
        tcp: TcpSpec {
            sender: SenderConfig {
                mss: 960,
                opener: Opener::Receiver,
                ..SenderConfig::default()
            },
            receiver: ReceiverConfig {
                opener: Opener::Receiver,
                delayed_ack: None,
                ..ReceiverConfig::default()
            },
            ..control("reno")
        },
    };
    let mut flow = FlowSpec::new("web", program);
    flow.stop = Some(Time::from_millis(stop_ms));
    let options = RunOptions::new(Duration::from_secs(60), 1);
    let mut simulation = Simulation::new(network, &[flow], &options).unwrap();
    simulation.run();
    simulation.check_conservation().unwrap();
    let responses = simulation.responses(FlowId::new(0)).unwrap();
    let load = responses.results("web").pages.unwrap();
    assert_eq!((responses.unfinished(), load.unfinished), (0, 0));
    let objects = responses.bins().next().unwrap().nanoseconds;
    assert_eq!(objects.count(), 2 * load.load.count);
    let goodput = simulation.counters(FlowId::new(0)).goodput_bytes;
    assert_eq!(goodput, 1920 * objects.count());
    let us = |seconds: f64| (seconds * 1e6).round() as u64;
    [
        objects.min().unwrap() / 1000,
        objects.max().unwrap() / 1000,
        us(load.load.min_s),
        us(load.load.max_s),
    ]
}

/// Request 1 is at the server 30.42 ms after the SYN: 40 + 10,000 us for the SYN and for the SYN-ACK, 340 + 10,000 us. Its ACK takes
/// 40 us, so that the packets of object 1 come out at 41.46 and 42.46 ms. Request 2 comes 340 us later, and its ACK and its data wait
/// behind object 1: 43.50 and 44.50 ms.
#[test]
fn two_objects_without_a_loss_come_one_after_the_other() {
    for multiplexing in ALL {
        let times = pages(multiplexing, &[], &[], 1);
        assert_eq!(times, [42_460, 44_500, 44_500, 44_500], "{multiplexing:?}");
    }
}

/// The first packet of data, of object 1, is lost. Those behind it come out 1 ms earlier.
#[test]
fn a_lost_packet_holds_back_what_its_order_says() {
    // On one connection the three packets behind it are SACKed at 41.46, 42.50 and 43.50 ms; the third SACK is at the server 10.04 ms
    // later, and the packet comes out 11 ms after that: 64.54 ms.
    let http2 = pages(Multiplexing::Http2, &[0], &[], 1);
    assert_eq!(http2, [64_540, 64_540, 64_540, 64_540]);
    // Object 2 does not wait for object 1.
    let quic = pages(Multiplexing::Quic, &[0], &[], 1);
    assert_eq!(quic, [43_500, 64_540, 64_540, 64_540]);
    // On a connection of its own object 1 has but one packet behind the lost one: an RTO, of 200 ms from 30.42 ms on, and 11 ms.
    let none = pages(Multiplexing::None, &[0], &[], 1);
    assert_eq!(none, [43_500, 241_420, 241_420, 241_420]);
}

/// The last packet of object 1 is lost: object 2 begins with a packet that is beyond the gap.
#[test]
fn an_object_behind_a_gap_waits_over_http2_only() {
    // Two packets are SACKed in place of three, so there is an RTO: 200 ms after the newest ACK of new data, that of packet 1, which was at the server at
    // 41.46 + 10.04 = 51.50 ms. Packet 2 comes out 11 ms after that.
    let http2 = pages(Multiplexing::Http2, &[1], &[], 1);
    assert_eq!(http2, [262_500, 262_500, 262_500, 262_500]);
    let quic = pages(Multiplexing::Quic, &[1], &[], 1);
    assert_eq!(quic, [43_500, 262_500, 262_500, 262_500]);
}

/// The second page is asked for as the first ends, at 44.50 ms, behind the ACK of its last packet: object 1 takes 40 us for that, 340 +
/// 10,000 for the request, 40 for its ACK, and 2000 + 10,000: 22.42 ms. Object 2 takes 40 + 2000 us more.
#[test]
fn the_next_page_needs_no_handshake() {
    for multiplexing in [Multiplexing::Http2, Multiplexing::Quic] {
        let times = pages(multiplexing, &[], &[], 50);
        assert_eq!(times, [22_420, 44_500, 24_460, 44_500], "{multiplexing:?}");
    }
    // With a handshake the second page takes as long as the first, and 40 us for the ACK before its SYNs.
    let none = pages(Multiplexing::None, &[], &[], 50);
    assert_eq!(none, [42_460, 44_540, 44_500, 44_540]);
}

/// The first request is lost. The second, sent at 20.08 ms, is at the server at 30.42 ms.
#[test]
fn a_lost_request_holds_back_later_ones_over_http2_only() {
    // Its RTO is 200 ms. It runs from 20.08 ms on, and anew from the ACK of the second request on, which is at the client at
    // 30.42 + 10.04 = 40.46 ms. The request is retransmitted at 240.46 ms and at the server 10.34 ms later, and its ACK and two
    // packets take 12.04 ms: object 1 is complete at 262.84 ms.
    // Over HTTP/2 object 2 is sent behind it: 2 ms.
    let http2 = pages(Multiplexing::Http2, &[], &[0], 1);
    assert_eq!(http2, [262_840, 264_840, 264_840, 264_840]);
    // Over QUIC it is sent at once, and complete 12.04 ms later.
    let quic = pages(Multiplexing::Quic, &[], &[0], 1);
    assert_eq!(quic, [42_460, 262_840, 262_840, 262_840]);
}

#[derive(Debug, Clone)]
struct Case {
    multiplexing: Multiplexing,
    objects: u32,
    open_loop: bool,
    mean_bytes: u32,
    loss: f64,
    jitter_us: u64,
    recovery: &'static str,
    receiver: &'static str,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    (
        prop::sample::select(ALL.to_vec()),
        1u32..12,
        any::<bool>(),
        1u32..40_000,
        prop::sample::select(vec![0.0, 0.02, 0.1]),
        1u64..4000,
        prop::sample::select(vec!["reno", "newreno", "sack", "linux"]),
        prop::sample::select(vec!["plain", "netnice"]),
        0u64..1000,
    )
        .prop_map(
            |(
                multiplexing,
                objects,
                open_loop,
                mean_bytes,
                loss,
                jitter_us,
                recovery,
                receiver,
                seed,
            )| Case {
                multiplexing,
                objects,
                open_loop,
                mean_bytes,
                loss,
                jitter_us,
                recovery,
                receiver,
                seed,
            },
        )
}

/// Pages that are asked for in the first second, from two servers to two clients.
fn results(case: &Case) -> RunResults {
    let multiplexing = match case.multiplexing {
        Multiplexing::None => "none",
        Multiplexing::Http2 => "http2",
        Multiplexing::Quic => "quic",
    };
    let text = format!(
        r#"
name = "pages"
duration = "1000s"
nodes = [{{ name = "server", count = 2 }}, {{ name = "client", count = 2 }}]

[[links]]
from = "server"
to = "router"
rate = "20mbit"
delay = "2ms"

[[links]]
from = "router"
to = "client"
rate = "5mbit"
delay = "10ms"
queue = "30p"
loss = {loss}
jitter = {{ size = "{jitter_us}us", distribution = "uniform", reordering = true }}

[[flows]]
name = "web"
from = "server"
to = "client"
stop = "1s"
{receiver}
tcp = {{ recovery = "{recovery}", timestamps = true }}

[flows.application]
kind = "web"
sessions = 3
objects_per_page = {objects}
between_pages = "300ms"
between_objects = "5ms"
open_loop = {open_loop}
object_size = {{ mean = "{mean_bytes}B", shape = 1.3, max = "100kB" }}
multiplexing = "{multiplexing}"
"#,
        loss = case.loss,
        jitter_us = case.jitter_us,
        recovery = case.recovery,
        receiver = match case.receiver {
            "plain" => "",
            _ => "receiver = \"netnice\"",
        },
        objects = case.objects,
        open_loop = case.open_loop,
        mean_bytes = case.mean_bytes,
    );
    let file = ScenarioFile::parse("pages.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    run(file.scenario(), case.seed, || true).unwrap().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn each_object_is_delivered_once_and_whole(case in case()) {
        let results = results(&case);
        let responses = &results.response_times[0];
        prop_assert_eq!(responses.unfinished, 0);
        let objects: u64 = responses.bins.iter().map(|bin| bin.response.count).sum();
        let bytes: f64 = responses.bins.iter().map(|bin| bin.response.count as f64 * bin.mean_bytes).sum();
        prop_assert_eq!(results.flows[0].delivered_bytes, bytes.round() as u64);
        // The stop may cut a page off in each session, whose objects all arrive.
        let pages = responses.pages.unwrap();
        prop_assert!(pages.unfinished <= 3);
        let whole = pages.load.count * u64::from(case.objects);
        prop_assert!(whole <= objects && objects <= whole + pages.unfinished * u64::from(case.objects));
        // A page takes as long as its slowest object at least, and no object takes longer than its page.
        let slowest = responses.bins.iter().map(|bin| bin.response.max_s).fold(0.0, f64::max);
        prop_assert!(pages.unfinished > 0 || pages.load.max_s >= slowest);
        prop_assert_eq!(results, self::results(&case));
    }
}
