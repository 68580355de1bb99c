// SPDX-License-Identifier: MIT OR Apache-2.0
//! All engine options give the same results to the byte: each scheduler, with lookahead and without, against the reference
//! configuration.

#[allow(dead_code, reason = "each test uses a part of this")]
mod common;

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Memory, control, ftp, lossy};
use netnice_queue::{
    Bytes, CakeConfig, CodelConfig, CountIn, Discipline, DisciplineConfig, DisciplineContext,
    DropCause, EcnMode, FqCodelConfig, Jitter, LinkChange, LinkConditions, LinkConfig,
    LinkCounters, Outage, PieConfig, PolicerConfig, PriorityConfig, QueueLimit, Rate, RedConfig,
    ShaperConfig, Threshold, Time,
};
use netnice_results::{Codec, EventKind, LinkEvent};
use netnice_scenario::ScenarioFile;
use netnice_scenario::model::{Scenario, TimeSpan};
use netnice_scenario::network::not_simulated;
use netnice_sim::tcp::{DelayedAck, Opener, ReceiverConfig};
use netnice_sim::traffic::{Call, ConstantRate, PacketSize, Poisson, Traffic, Video};
use netnice_sim::{
    Capture, EngineOptions, EventSink, FlowId, FlowSpec, LinkCapture, LinkId, LinkSpec,
    MergedCapture, Network, NodeId, Program, RunOptions, SchedulerKind, Selection, Simulation,
    Traces as TraceFiles, run_on, simulation,
};
use netnice_study::pool;
use proptest::prelude::*;

/// Sampling interval, too short for packets to be fast-forwarded in between.
const SAMPLES: Duration = Duration::from_millis(40);
const DURATION: Duration = Duration::from_secs(5);
/// Scenarios are cut to this length.
const SCENARIO_DURATION: Duration = Duration::from_secs(16);

/// The reference configuration: the reference scheduler (one binary heap), links that keep their packets, no lookahead.
const REFERENCE: EngineOptions = EngineOptions {
    scheduler: SchedulerKind::Reference,
    computed_departures: false,
    lookahead: false,
};

/// All schedulers with computed departures, with lookahead and without.
fn others() -> impl Iterator<Item = EngineOptions> {
    let kinds = [
        SchedulerKind::Fast,
        SchedulerKind::FastForManyLinks,
        SchedulerKind::Reference,
    ];
    kinds.into_iter().flat_map(|scheduler| {
        [true, false].map(|lookahead| EngineOptions {
            scheduler,
            computed_departures: true,
            lookahead,
        })
    })
}

/// Files in the directory of scenarios.
fn scenario_files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = directory.read_dir().unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

/// The scenario cut short, if nothing in it depends on its end.
fn shortened(scenario: &Scenario) -> Scenario {
    let mut short = scenario.clone();
    short.warm_up = TimeSpan(scenario.warm_up.get().min(SCENARIO_DURATION / 4));
    short.duration = TimeSpan(scenario.duration.get().min(SCENARIO_DURATION));
    match simulation(&short, 1) {
        Ok(_) => short,
        Err(_) => scenario.clone(),
    }
}

/// A run in which more than this can be carried takes a minute for all engines.
const MOST_BITS: f64 = 200e9;

/// The bits that all links together can carry during the run.
fn bits(scenario: &Scenario) -> f64 {
    let rates = scenario.links.iter().filter_map(|link| link.rate);
    let bps: f64 = rates.map(|rate| rate.bits_per_second() as f64).sum();
    bps * scenario.duration.get().as_secs_f64()
}

/// The first and the last point of each scenario that can be simulated and does not take long: those in between differ by a
/// parameter only.
fn scenarios() -> Vec<(PathBuf, Scenario)> {
    let of_file = |path: PathBuf| {
        let file = ScenarioFile::load(&path, &[]).unwrap();
        let points = file.points.iter().filter(|point| {
            let layout = point.layout().unwrap();
            not_simulated(&point.scenario, &layout).is_empty()
        });
        let mut short = points
            .map(|point| shortened(&point.scenario))
            .filter(|scenario| bits(scenario) <= MOST_BITS);
        let ends = [short.next(), short.next_back()].into_iter().flatten();
        ends.map(|scenario| (path.clone(), scenario))
            .collect::<Vec<_>>()
    };
    scenario_files().into_iter().flat_map(of_file).collect()
}

#[test]
fn scenarios_give_the_same_bytes_on_all_engines() {
    let compare = |(path, scenario): &(PathBuf, Scenario), _: &AtomicBool| {
        let results = |engine| {
            let results = run_on(engine, scenario, 1, None, || true).unwrap();
            serde_json::to_string(&results.unwrap()).unwrap()
        };
        let expected = results(REFERENCE);
        let differs = others().filter(|&engine| results(engine) != expected);
        let differs = differs.map(|engine| format!("{path:?} {engine:?}"));
        differs.collect::<Vec<_>>()
    };
    let scenarios = scenarios();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut compared = 0;
    pool::run(&scenarios, threads, compare, |differs| {
        compared += usize::from(differs.is_some());
        assert_eq!(differs.unwrap_or_default(), Vec::<String>::new());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(compared >= 50, "{compared} runs");
}

/// Web sessions, arrivals, calls, videos and receivers at low priority, at two lines that share nothing, and a line between.
const TWO_LINES: &str = r#"
name = "two_lines"
duration = "12s"
warm_up = "2s"
sampling = { interval = "100ms" }
phases = [{ name = "late", from = "6s", to = "12s" }]
nodes = [{ name = "a", count = 6 }, { name = "x", count = 6 }]
links = [
    { from = "a", to = "ra", rate = "100mbit", delay = "2ms" },
    { name = "first", from = "ra", to = "b", rate = "10mbit", delay = "10ms", queue = "40p" },
    { from = "x", to = "rx", rate = "100mbit", delay = "2ms" },
    { name = "second", from = "rx", to = "y", rate = "16mbit", delay = "5ms", queue = { discipline = "fq_codel", limit = "100p" } },
    { name = "between", from = "b", to = "rx", rate = "20mbit", delay = "30ms" },
]
[[flows]]
name = "web"
from = "a"
to = "b"
application = { kind = "web", sessions = 3, object_size = { mean = "10kB" } }
[[flows]]
name = "http2"
from = "a"
to = "b"
application = { kind = "web", sessions = 2, object_size = { mean = "10kB" }, multiplexing = "http2" }
[[flows]]
name = "quic"
from = "a"
to = "b"
application = { kind = "web", sessions = 2, object_size = { mean = "10kB" }, multiplexing = "quic" }
[[flows]]
name = "arrivals"
from = "a"
to = "b"
application = { kind = "arrivals", rate = "1mbit", size = "web_search" }
[[flows]]
name = "low"
from = "a"
to = "b"
count = 2
receiver = "netnice"
tcp = { timestamps = true }
[[flows]]
name = "call"
from = "x"
to = "y"
transport = "udp"
application = "call"
[[flows]]
name = "video"
from = "x"
to = "y"
application = "video"
[[flows]]
name = "across"
from = "a"
to = "y"
count = 3
congestion_control = "cubic"
tcp = { recovery = "linux", timestamps = true, pacing = true }
[[flows]]
name = "back"
from = "y"
to = "a"
congestion_control = "netnice"
"#;

#[test]
fn traces_of_all_applications_are_the_same_on_all_engines() {
    let file = ScenarioFile::parse("two_lines.toml", TWO_LINES, &[], None).unwrap();
    let traced = |engine: EngineOptions, links: Selection| {
        let directory = tempfile::tempdir().unwrap();
        let traces = TraceFiles {
            directory: directory.path().to_owned(),
            links,
            snap_length: 128,
            events: Selection::NONE,
            decisions: false,
        };
        let run = run_on(engine, file.scenario(), 3, Some(&traces), || true);
        let results = run.unwrap().unwrap();
        let files = directory.path().read_dir().unwrap();
        let files = files.map(|file| file.unwrap().path());
        let mut files: Vec<_> = files
            .map(|path| {
                let name = path.file_name().unwrap().to_owned();
                (name, std::fs::read(&path).unwrap())
            })
            .collect();
        files.sort();
        (serde_json::to_string(&results).unwrap(), files)
    };
    let named = ["first", "second (reverse)"].map(str::to_owned);
    for (links, number) in [(Selection::Named(named.to_vec()), 2), (Selection::All, 1)] {
        let expected = traced(REFERENCE, links.clone());
        assert_eq!(expected.1.len(), number);
        for engine in others() {
            assert!(traced(engine, links.clone()) == expected, "{engine:?}");
        }
    }
}

/// Events in memory.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<LinkEvent>>>);

impl EventSink for Events {
    fn write(&mut self, events: &[LinkEvent]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend(events);
        Ok(())
    }

    fn finish(self: Box<Self>) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Bulk(&'static str),
    Poisson,
    ConstantRate,
    Call,
    Video,
}

#[derive(Debug, Clone)]
struct Flow {
    kind: Kind,
    /// Has hosts of its own at the source and at the sink; otherwise it begins or ends at a router.
    own_source: bool,
    own_sink: bool,
    /// Sends against the direction of the others.
    reverse: bool,
    delayed_ack: bool,
    paced: bool,
    access_kbit: u64,
    access_queue: usize,
    access_ms: u64,
    bytes: Option<u64>,
    start_ms: u64,
    stop_ms: Option<u64>,
}

#[derive(Debug, Clone)]
struct Case {
    flows: Vec<Flow>,
    kbit: u64,
    access_loss: f64,
    /// Jitter of the links of hosts.
    access_jitter: Jitter,
    /// Packets that come out of links, and the events at the bottleneck, are written to traces.
    traced: bool,
    /// These packets are written to one trace.
    merged: bool,
    /// The bottleneck has jitter.
    jitter: bool,
    /// Packets may overtake one another behind the bottleneck.
    reordering: bool,
    /// The queue of the bottleneck.
    discipline: DisciplineConfig,
    /// Policer, trace and the like of the bottleneck.
    conditions: LinkConditions,
    /// Checkpoints, in milliseconds; some are close to each other.
    checkpoints_ms: Vec<u64>,
    warm_up_ms: u64,
    seed: u64,
}

fn flow() -> impl Strategy<Value = Flow> {
    let bulk = prop::sample::select(vec!["reno", "cubic", "tcplp", "netnice", "bbr", "bbr3"])
        .prop_map(Kind::Bulk);
    let kind = prop_oneof![
        4 => bulk,
        1 => Just(Kind::Poisson),
        1 => Just(Kind::ConstantRate),
        1 => Just(Kind::Call),
        1 => Just(Kind::Video),
    ];
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
    (kind, ends, any::<(bool, bool)>(), access, bytes, times).prop_map(
        |(kind, (own_source, own_sink, reverse), (delayed_ack, paced), access, bytes, times)| {
            Flow {
                kind,
                own_source,
                own_sink,
                reverse,
                delayed_ack,
                paced,
                access_kbit: access.0,
                access_queue: access.1,
                access_ms: access.2,
                bytes,
                start_ms: times.0,
                stop_ms: times.1,
            }
        },
    )
}

/// Mostly drop-tail, otherwise classes or a discipline under active queue management that drops packets within seconds.
fn discipline() -> impl Strategy<Value = DisciplineConfig> {
    let limit = (2u32..60).prop_map(QueueLimit::Packets);
    let red = |limit| {
        let (min, max) = (Threshold::OfLimit(0.1), Threshold::OfLimit(0.5));
        RedConfig {
            weight: Some(0.1),
            ecn: EcnMode::Mark,
            ..RedConfig::new(limit, min, max)
        }
    };
    (limit, 0..13).prop_map(move |(limit, kind)| match kind {
        10 => DisciplineConfig::Red(red(limit)),
        11 => DisciplineConfig::Red(RedConfig {
            adaptive: true,
            wait: false,
            count_in: CountIn::Bytes,
            ..red(limit)
        }),
        0 => DisciplineConfig::Codel(CodelConfig::new(limit)),
        1 => DisciplineConfig::FqCodel(FqCodelConfig::new(limit)),
        2 => DisciplineConfig::Pie(PieConfig::new(limit)),
        3 => DisciplineConfig::Cake(CakeConfig::new(limit)),
        12 => DisciplineConfig::Priority(PriorityConfig::new(limit)),
        _ => DisciplineConfig::drop_tail(limit),
    })
}

/// Mostly none.
fn conditions() -> impl Strategy<Value = LinkConditions> {
    let ms = Duration::from_millis;
    let times = prop::collection::vec(0u64..20, 1..20);
    (0..10, 1u64..2000, times).prop_map(move |(kind, time, steps)| {
        let mut conditions = LinkConditions::default();
        match kind {
            0 => {
                let (rate, burst) = (
                    Rate::from_bits_per_second(1_000_000).unwrap(),
                    Bytes::new(10_000),
                );
                conditions.policer = Some(PolicerConfig { rate, burst });
                conditions.batch_interval = ms(7);
            }
            1 => {
                let mut at = 1;
                let lines = steps.iter().map(|step| {
                    at += step;
                    at.to_string()
                });
                let lines: Vec<String> = lines.collect();
                conditions.trace = Some(Arc::new(lines.join("\n").parse().unwrap()));
                let every = Some(ms(time + 60));
                conditions.outages = vec![Outage {
                    at: ms(time),
                    duration: ms(50),
                    every,
                }];
            }
            2 => {
                let (burst, peak_rate) = (Bytes::new(20_000), None);
                conditions.shaper = Some(ShaperConfig { burst, peak_rate });
                conditions.changes = vec![LinkChange {
                    at: ms(time),
                    rate: Rate::from_bits_per_second(500_000).ok(),
                    delay: Some(ms(time % 40)),
                    loss: Some(lossy(0.01)),
                }];
            }
            _ => {}
        }
        conditions
    })
}

/// Every other time none.
fn access_jitter() -> impl Strategy<Value = Jitter> {
    let size = Duration::from_millis(2);
    let early = "10%".parse().unwrap();
    prop_oneof![
        3 => Just(Jitter::None),
        1 => Just(Jitter::Uniform(size)),
        1 => Just(Jitter::Exponential(size)),
        1 => Just(Jitter::NetemPareto(size)),
        1 => Just(Jitter::Early(size, early)),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(flow(), 1..5),
        (200u64..8000, discipline(), conditions()),
        (
            prop::sample::select(vec![0.0, 0.02]),
            access_jitter(),
            (any::<bool>(), any::<bool>()),
        ),
        (prop::bool::weighted(0.3), any::<bool>()),
        prop::collection::vec(0u64..5000, 0..4),
        prop::sample::select(vec![0, 700]),
        any::<u64>(),
    )
        .prop_map(
            |(
                flows,
                (kbit, discipline, conditions),
                (access_loss, access_jitter, (traced, merged)),
                (jitter, reordering),
                mut checkpoints_ms,
                warm_up_ms,
                seed,
            )| {
                checkpoints_ms.sort_unstable();
                Case {
                    flows,
                    kbit,
                    access_loss,
                    access_jitter,
                    traced,
                    merged,
                    jitter,
                    reordering,
                    discipline,
                    conditions,
                    checkpoints_ms,
                    warm_up_ms,
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

fn call() -> Call {
    Call {
        interval: Duration::from_millis(20),
        packet_bytes: 200,
        playout_delay: Duration::from_millis(10),
        codec: Codec { ie: 0.0, bpl: 25.1 },
    }
}

/// Short chunks and a short buffer, so that it waits and stalls within seconds.
fn video() -> Video {
    let rate = |kbit: u64| Rate::from_bits_per_second(kbit * 1000).unwrap();
    Video {
        ladder: [100, 300, 900].map(rate).into(),
        chunk: Duration::from_millis(300),
        start_up: Duration::from_millis(400),
        max_buffer: Duration::from_millis(1500),
        reservoir: Duration::from_millis(400),
        cushion: Duration::from_millis(600),
    }
}

/// The traces of packets, each in a memory of its own.
#[derive(Default)]
struct Traces {
    all: RefCell<Vec<Memory>>,
    /// The links whose packets are written to one trace.
    merged: RefCell<Vec<String>>,
}

impl Traces {
    fn begin(&self, name: &str, merged: bool) -> LinkCapture {
        if merged {
            self.merged.borrow_mut().push(name.to_owned());
            return LinkCapture::Merged;
        }
        LinkCapture::Own(Capture::new(self.memory(), name, 96))
    }

    /// The trace of the links that have none of their own, once all are described.
    fn begin_merged(&self) -> MergedCapture {
        let names = self.merged.borrow();
        MergedCapture::new(self.memory(), names.iter().map(String::as_str), 96)
    }

    fn memory(&self) -> Box<Memory> {
        let memory = Memory::default();
        self.all.borrow_mut().push(memory.clone());
        Box::new(memory)
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let traces = self.all.borrow();
        traces
            .iter()
            .map(|trace| trace.0.lock().unwrap().clone())
            .collect()
    }
}

/// Adds a host beside a router, and returns the links there and back.
fn host(
    network: &mut Network,
    name: &str,
    router: NodeId,
    flow: &Flow,
    (case, traces): (&Case, &Traces),
) -> [LinkId; 2] {
    let host = network.node(name);
    [("up", (host, router)), ("down", (router, host))].map(|(way, ends)| {
        let mut config = config(flow.access_kbit, flow.access_ms);
        config.loss = lossy(case.access_loss);
        let name = format!("{name} {way}");
        let mut link = LinkSpec::drop_tail(name, ends, config, flow.access_queue);
        link.setup.jitter = case.access_jitter;
        link.capture = case.traced.then(|| traces.begin(&link.name, case.merged));
        link.sampled = true;
        network.link(link).unwrap()
    })
}

/// Adds a case to a network, with names that end with `suffix`. Returns its routers and its flows.
fn add(
    case: &Case,
    network: &mut Network,
    suffix: &str,
    traces: &Traces,
) -> ([NodeId; 2], Vec<FlowSpec>) {
    let routers = ["left", "right"].map(|name| network.node(format!("{name}{suffix}")));
    let [left, right] = routers;
    let bottleneck = [(left, right), (right, left)].map(|ends| {
        let name = format!("bottleneck {}", network.name(ends.0));
        let config = config(case.kbit, 10);
        let context = DisciplineContext {
            rate: config.rate,
            delay: config.delay,
            base_rtt: 2 * config.delay,
            packet_size: Bytes::new(1500),
        };
        let mut link = LinkSpec::drop_tail(name, ends, config, 1);
        link.setup.queue = Discipline::new(&case.discipline, &context, case.seed).unwrap();
        link.setup.conditions = case.conditions.clone();
        if case.jitter {
            link.setup.jitter = Jitter::Uniform(Duration::from_millis(3));
            link.setup.jitter_reorders = case.reordering;
        }
        if case.traced {
            link.capture = Some(traces.begin(&link.name, case.merged));
            link.recorded = true;
        }
        link.sampled = true;
        network.link(link).unwrap()
    });
    let flows: Vec<_> = case
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            let (near, far, [there, back]) = if flow.reverse {
                (right, left, [bottleneck[1], bottleneck[0]])
            } else {
                (left, right, bottleneck)
            };
            let mut path = netnice_sim::Path {
                forward: vec![there],
                back: vec![back],
            };
            let mut own_host = |end: &str, router| {
                let name = format!("{end} {index}{suffix}");
                host(network, &name, router, flow, (case, traces))
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
            let name = format!("flow {index}{suffix}");
            let mut tcp = control(if let Kind::Bulk(name) = flow.kind {
                name
            } else {
                "reno"
            });
            tcp.sender.pacing = flow.paced;
            if flow.delayed_ack {
                tcp.receiver = ReceiverConfig {
                    delayed_ack: Some(DelayedAck::default()),
                    ..tcp.receiver
                };
            }
            if let Kind::Video = flow.kind {
                tcp.sender.opener = Opener::Receiver;
                tcp.receiver.opener = Opener::Receiver;
                tcp.receiver.request_length = 300;
            }
            let mut spec = match flow.kind {
                Kind::Call => FlowSpec::new(
                    name,
                    Program::Udp {
                        path,
                        traffic: Traffic::from(call()),
                    },
                ),
                Kind::Video => FlowSpec::new(
                    name,
                    Program::Tcp {
                        path,
                        traffic: Traffic::from(video()),
                        tcp,
                    },
                ),
                Kind::Bulk(_) => ftp(name, path, tcp),
                Kind::Poisson => FlowSpec::new(
                    name,
                    Program::Tcp {
                        path,
                        traffic: Traffic::from(Poisson {
                            rate: Rate::from_bits_per_second(300_000).unwrap(),
                            size: PacketSize::Fixed(700),
                        }),
                        tcp,
                    },
                ),
                Kind::ConstantRate => constant_rate(name, path, 500_000, 400),
            };
            spec.start = Time::from_millis(flow.start_ms);
            spec.stop = flow.stop_ms.map(Time::from_millis);
            spec.bytes = flow.bytes;
            spec.sampled = true;
            spec
        })
        .collect();
    (routers, flows)
}

fn options(case: &Case, sampled: bool, engine: EngineOptions) -> RunOptions {
    RunOptions {
        warm_up: Duration::from_millis(case.warm_up_ms),
        sampling_interval: sampled.then_some(SAMPLES),
        checkpoints: case
            .checkpoints_ms
            .iter()
            .map(|&ms| Duration::from_millis(ms))
            .collect(),
        engine,
        ..RunOptions::new(DURATION, case.seed)
    }
}

fn build(
    case: &Case,
    sampled: bool,
    engine: EngineOptions,
    traces: &Traces,
) -> (Simulation, usize) {
    let mut network = Network::new();
    let (_, flows) = add(case, &mut network, "", traces);
    let options = options(case, sampled, engine);
    let mut simulation = Simulation::new(network, &flows, &options).unwrap();
    simulation.record_packets(traces.begin_merged());
    (simulation, flows.len())
}

/// The number of events, everything that a run measures, as text, and its time series, likewise.
fn fingerprint(
    case: &Case,
    sampled: bool,
    engine: EngineOptions,
) -> Result<(u64, String, String), TestCaseError> {
    let traces = Traces::default();
    let (mut simulation, flows) = build(case, sampled, engine, &traces);
    let events = Events::default();
    simulation.record_events(Box::new(events.clone()));
    simulation.run();
    simulation.finish_captures().unwrap();
    if case.warm_up_ms == 0 {
        prop_assert_eq!(simulation.check_conservation(), Ok(()));
    }
    let events = events.0.lock().unwrap();
    if case.traced {
        for link in [0, 1] {
            let count = |kind| {
                let of_kind = |event: &&LinkEvent| event.link == link && event.kind == kind;
                events.iter().filter(of_kind).count() as u64
            };
            let counters = simulation.link_counters(LinkId::new(link as usize));
            prop_assert_eq!(count(EventKind::Arrived), counters.offered);
            prop_assert_eq!(count(EventKind::Dropped), counters.dropped());
            prop_assert_eq!(count(EventKind::Delivered), counters.delivered);
        }
        prop_assert!(events.is_sorted_by_key(|event| event.time_ns));
    }
    let samples = simulation.series().0.len() as u64;
    // A drop by the discipline as a transmission begins is noted when the link next does something, or is sampled.
    let late = |event: &&LinkEvent| event.cause == Some(DropCause::EarlyDrop);
    let mut dropped_late: Vec<_> = events.iter().filter(late).collect();
    dropped_late.sort_by_key(|event| (event.link, event.flow, event.sequence));
    let dropped_late = dropped_late
        .iter()
        .map(|event| (event.link, event.flow, event.sequence));
    let others: Vec<_> = events.iter().filter(|event| !late(event)).collect();
    let mut text = format!(
        "{:?}\n{others:?}\n{:?}\n",
        traces.bytes(),
        dropped_late.collect::<Vec<_>>(),
    );
    for flow in (0..flows).map(FlowId::new) {
        text += &of_flow(&simulation, flow);
    }
    for link in (0..links(case)).map(LinkId::new) {
        let counters = LinkCounters {
            // A plain link does not know yet how long the packets that wait at the end will wait.
            max_queue_wait: Duration::ZERO,
            ..simulation.link_counters(link)
        };
        text += &format!(
            "{:?} {:?}\n",
            counters,
            simulation.waiting_times(link).map(|times| times.delays()),
        );
    }
    let series = format!("{:?}", simulation.series());
    Ok((simulation.events_handled() - samples, text, series))
}

/// The measurements of a flow, as text.
fn of_flow(simulation: &Simulation, flow: FlowId) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}\n",
        simulation.counters(flow),
        simulation.delays(flow),
        simulation.round_trips(flow),
        simulation.mean_cwnd(flow),
        simulation.completion(flow),
        simulation.checkpoints(flow).collect::<Vec<_>>(),
        simulation.call(flow),
        simulation.video(flow),
    )
}

/// UDP at this rate in bits per second.
fn constant_rate(name: String, path: netnice_sim::Path, rate: u64, packet_bytes: u32) -> FlowSpec {
    let rate = Rate::from_bits_per_second(rate).unwrap();
    let traffic = Traffic::from(ConstantRate { rate, packet_bytes });
    FlowSpec::new(name, Program::Udp { path, traffic })
}

/// Links that flows use.
fn links(case: &Case) -> usize {
    let hosts = |flow: &Flow| usize::from(flow.own_source) + usize::from(flow.own_sink);
    2 + 2 * case.flows.iter().map(hosts).sum::<usize>()
}

/// Compares all engines, with time series or without, and with the default one a run the other way.
fn compare(case: &Case, sampled: bool) -> Result<(), TestCaseError> {
    let (_, expected, series) = fingerprint(case, sampled, REFERENCE)?;
    let other_way = fingerprint(case, !sampled, EngineOptions::default())?;
    prop_assert_eq!(&other_way.1, &expected, "time series: {}", !sampled);
    for engine in others() {
        let got = fingerprint(case, sampled, engine)?;
        prop_assert_eq!(&got.1, &expected, "{:?}", engine);
        prop_assert_eq!(&got.2, &series, "time series, {:?}", engine);
        // The reference is left out: with its plain links the beginning of a transmission may be an event, too.
        prop_assert_eq!(got.0, other_way.0, "events, {:?}", engine);
    }
    Ok(())
}

proptest! {
    // Each case is eight runs.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_networks_give_the_same_on_all_engines(case in case(), sampled: bool) {
        compare(&case, sampled)?;
    }
}

/// A case with the ends of flows at hosts of their own, on both sides of a bottleneck.
fn plain_world(seed: u64, kbit: u64) -> Case {
    let flow = |start_ms: u64, reverse: bool| Flow {
        kind: Kind::Bulk("cubic"),
        own_source: true,
        own_sink: true,
        reverse,
        delayed_ack: false,
        paced: false,
        access_kbit: 100_000,
        access_queue: 50,
        access_ms: 3,
        bytes: None,
        start_ms,
        stop_ms: Some(4000 + start_ms),
    };
    Case {
        flows: vec![flow(0, false), flow(100, false), flow(250, true)],
        kbit,
        access_loss: 0.002,
        access_jitter: Jitter::None,
        traced: false,
        merged: false,
        jitter: false,
        reordering: false,
        discipline: DisciplineConfig::drop_tail(QueueLimit::Packets(20)),
        conditions: LinkConditions::default(),
        checkpoints_ms: vec![1000, 2500],
        warm_up_ms: 0,
        seed,
    }
}

/// After a barrier the engine examines all packets on links. Those that cannot be fast-forwarded yet keep their place
/// among the packets of flows that are never fast-forwarded.
#[test]
fn packets_left_on_a_link_stay_in_order() {
    let flow = |own_source: bool, start_ms: u64, access_ms: u64| Flow {
        kind: Kind::Bulk("reno"),
        own_source,
        own_sink: !own_source,
        reverse: false,
        delayed_ack: own_source,
        paced: own_source,
        access_kbit: 800,
        access_queue: 2,
        access_ms,
        bytes: None,
        start_ms,
        stop_ms: None,
    };
    // A queue of more than a second, and a checkpoint a second before the end.
    let case = Case {
        flows: vec![flow(true, 0, 5), flow(false, 290, 5), flow(false, 410, 0)],
        kbit: 225,
        access_loss: 0.02,
        access_jitter: Jitter::None,
        traced: false,
        merged: false,
        jitter: false,
        reordering: false,
        discipline: DisciplineConfig::drop_tail(QueueLimit::Packets(32)),
        conditions: LinkConditions::default(),
        checkpoints_ms: vec![4032],
        warm_up_ms: 0,
        seed: 1_438_531_416_722_152_908,
    };
    compare(&case, true).unwrap();
}

/// Where packets are taken off a link as their transmission begins, what its discipline drops then may be known later. At a checkpoint it is
/// counted.
#[test]
fn drops_as_transmissions_begin_are_in_checkpoints() {
    for seed in 0..20 {
        let mut case = plain_world(seed, 800);
        case.discipline = DisciplineConfig::Codel(CodelConfig::new(QueueLimit::Packets(60)));
        case.flows[0].kind = Kind::ConstantRate;
        // Not so close together that nothing is fast-forwarded.
        case.checkpoints_ms = (1..80).map(|number| 60 * number + seed).collect();
        compare(&case, false).unwrap();
    }
}
