// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run on one core and on two, in turns: independent bottlenecks, and a parking lot, whose parts are joined by links of 20 ms.
//!
//! `cargo bench -p netnice-sim --bench cores -- 5` makes five rounds; `-- 1 once` runs each case once on one core, for a profiler.

#[allow(dead_code, reason = "the dumbbell is for others")]
#[path = "../tests/common/mod.rs"]
mod common;

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use common::{ftp, reno};
use netnice_queue::{LinkConfig, Rate};
use netnice_sim::{FlowSpec, LinkId, LinkSpec, Network, NodeId, Path, RunOptions, Simulation};

/// A chain of bottlenecks, each with flows of its own between hosts of their own.
struct Case {
    name: &'static str,
    bottlenecks: usize,
    megabits: u64,
    /// At each bottleneck, and through all.
    local: usize,
    through: usize,
    /// Of the links of hosts.
    access_ms: u64,
    seconds: u64,
}

const CASES: [Case; 5] = [
    Case {
        name: "2 bottlenecks, 10 flows each",
        bottlenecks: 2,
        megabits: 10,
        local: 10,
        through: 0,
        access_ms: 2,
        seconds: 400,
    },
    Case {
        name: "2 bottlenecks, 500 flows each",
        bottlenecks: 2,
        megabits: 100,
        local: 500,
        through: 0,
        access_ms: 2,
        seconds: 40,
    },
    Case {
        name: "parking lot of 4, 10 + 5 flows",
        bottlenecks: 4,
        megabits: 10,
        local: 10,
        through: 5,
        access_ms: 2,
        seconds: 200,
    },
    Case {
        name: "parking lot of 4, 200 + 50 flows",
        bottlenecks: 4,
        megabits: 100,
        local: 200,
        through: 50,
        access_ms: 2,
        seconds: 20,
    },
    Case {
        name: "1 bottleneck of 20 ms, 500 flows",
        bottlenecks: 1,
        megabits: 100,
        local: 500,
        through: 0,
        access_ms: 2,
        seconds: 40,
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok());
    let once = arguments.iter().any(|argument| argument == "once");
    println!("times on one core over times on two, median [least .. greatest]");
    println!("case | parts, window | packets sent | s on one | wall | processor");
    for case in &CASES {
        let mut ratios: [Vec<f64>; 2] = Default::default();
        let (mut parts, mut one) = (String::new(), Vec::new());
        for _ in 0..rounds.unwrap_or(5) {
            let (wall, busy, packets, _) = case.measure(1);
            one.push(wall);
            if once {
                println!("{} | {packets} | {wall:.2} s", case.name);
                continue;
            }
            let (wall_of_two, busy_of_two, same, of_two) = case.measure(2);
            assert_eq!(packets, same);
            parts = format!("{of_two} | {packets}");
            ratios[0].push(wall / wall_of_two);
            ratios[1].push(busy / busy_of_two);
        }
        if !once {
            let [wall, busy] = ratios.map(spread);
            println!(
                "{} | {parts} | {} | {wall} | {busy}",
                case.name,
                spread(one)
            );
        }
    }
}

fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{:.2} [{least:.2} .. {most:.2}]", values[values.len() / 2])
}

impl Case {
    /// Seconds by the wall and of processors, packets sent and the parts.
    fn measure(&self, cores: usize) -> (f64, f64, u64, String) {
        let (network, flows) = self.network();
        let options = RunOptions::new(Duration::from_secs(self.seconds), 1);
        let cores = NonZeroUsize::new(cores).unwrap();
        let began = (Instant::now(), processor_seconds());
        let (simulation, parts) =
            Simulation::on_cores(network, &flows, &options, cores, (None, None)).unwrap();
        let wall = began.0.elapsed().as_secs_f64();
        let busy = processor_seconds() - began.1;
        let ids = (0..flows.len()).map(netnice_sim::FlowId::new);
        let packets = ids.map(|id| simulation.counters(id).sent_packets).sum();
        let window = match parts.window {
            Some(window) => format!("{}, {} ms", parts.count, window.as_millis()),
            None => format!("{}, none", parts.count),
        };
        (wall, busy, packets, window)
    }

    fn network(&self) -> (Network, Vec<FlowSpec>) {
        let mut network = Network::new();
        let mut flows = Vec::new();
        let mut through = [Vec::new(), Vec::new()];
        let mut ends = Vec::new();
        for number in 0..self.bottlenecks {
            let [left, right] =
                ["left", "right"].map(|name| network.node(format!("{name} {number}")));
            if let (Some(&before), true) = (ends.last(), self.through > 0) {
                let name = format!("between {number}");
                let [there, back] = both(&mut network, &name, (before, left), (1000, 20, 10_000));
                through[0].push(there);
                through[1].push(back);
            }
            let queue = (self.megabits * 15) as usize;
            let name = format!("bottleneck {number}");
            let [there, back] = both(
                &mut network,
                &name,
                (left, right),
                (self.megabits, 20, queue),
            );
            through[0].push(there);
            through[1].push(back);
            ends.extend([left, right]);
            for flow in 0..self.local {
                let name = format!("flow {flow} at {number}");
                let path = (vec![there], vec![back]);
                flows.push(self.flow(&mut network, &name, (left, right), path));
            }
        }
        through[1].reverse();
        for number in 0..self.through {
            let name = format!("through {number}");
            let outer = (ends[0], ends[ends.len() - 1]);
            let path = (through[0].clone(), through[1].clone());
            flows.push(self.flow(&mut network, &name, outer, path));
        }
        (network, flows)
    }

    /// A flow from a host of its own at the one node to a host of its own at the other.
    fn flow(
        &self,
        network: &mut Network,
        name: &str,
        (left, right): (NodeId, NodeId),
        (mut forward, mut back): (Vec<LinkId>, Vec<LinkId>),
    ) -> FlowSpec {
        let [source, sink] = ["source", "sink"].map(|end| network.node(format!("{end} {name}")));
        let access = (100, self.access_ms, 1000);
        let up = both(network, &format!("up {name}"), (source, left), access);
        let down = both(network, &format!("down {name}"), (right, sink), access);
        forward.insert(0, up[0]);
        forward.push(down[0]);
        back.insert(0, down[1]);
        back.push(up[1]);
        let mut flow = ftp(name.to_owned(), Path { forward, back }, reno());
        flow.start_spread = Duration::from_millis(500);
        flow
    }
}

/// A link in both directions: Mb/s, ms, and packets of its queue.
fn both(
    network: &mut Network,
    name: &str,
    ends: (NodeId, NodeId),
    (megabits, milliseconds, queue): (u64, u64, usize),
) -> [LinkId; 2] {
    [(ends, "there"), ((ends.1, ends.0), "back")].map(|(ends, way)| {
        let config = LinkConfig {
            rate: Rate::from_bits_per_second(megabits * 1_000_000).ok(),
            delay: Duration::from_millis(milliseconds),
            ..LinkConfig::default()
        };
        let link = LinkSpec::drop_tail(format!("{name} {way}"), ends, config, queue);
        network.link(link).unwrap()
    })
}

/// Processor time of this process in seconds, of all its threads, from Linux, in steps of 10 ms.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(11).take(2);
    let ticks: Option<u64> = fields.map(|field| field.parse::<u64>().ok()).sum();
    ticks.map_or(f64::NAN, |ticks| ticks as f64 / 100.0)
}
