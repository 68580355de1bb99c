// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed of the simulator: two flows over 10 Mb/s for 1000 s, then ever more flows with hosts of their own.
//!
//! `cargo bench -p netnice-sim` prints a table; `-- 2` measures the first row only, for a profiler, and `-- reference`
//! the reference configuration, too: one binary heap, each packet an event on each link.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{Dumbbell, ftp, reno};
use netnice_queue::Rate;
use netnice_sim::{EngineOptions, LinkId, RunOptions, SchedulerKind, Simulation};

/// Flows, rate of the bottleneck in Mb/s, length of the run in seconds.
const CASES: [(usize, u64, u64); 6] = [
    (2, 10, 1000),
    (10, 100, 100),
    (100, 100, 100),
    (1000, 100, 100),
    (10_000, 1000, 10),
    (100_000, 10_000, 2),
];

const REFERENCE: EngineOptions = EngineOptions {
    scheduler: SchedulerKind::Reference,
    computed_departures: false,
    lookahead: false,
};

fn main() {
    let only: Vec<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let with_reference = std::env::args().any(|argument| argument == "reference");
    println!(
        "   flows   Mb/s     s |    wall s   busy s  events/s     hops  ns/hop  utilisation  peak MB"
    );
    for (flows, megabits, seconds) in CASES {
        if only.is_empty() || only.contains(&flows) {
            measure(flows, megabits, seconds, EngineOptions::default());
            if with_reference {
                measure(flows, megabits, seconds, REFERENCE);
            }
        }
    }
}

fn measure(flows: usize, megabits: u64, seconds: u64, engine: EngineOptions) {
    let rate = Rate::from_bits_per_second(megabits * 1_000_000).unwrap();
    // 2.5 bandwidth-delay products, in packets of 1000 bytes: 150 at 10 Mb/s.
    let queue = (megabits * 15) as usize;
    let began = Instant::now();
    let dumbbell = Dumbbell::new(flows, rate, queue);
    let bottleneck = dumbbell.bottleneck[0];
    let links = 2 + 4 * flows;
    let specs: Vec<_> = dumbbell
        .paths
        .into_iter()
        .enumerate()
        .map(|(index, path)| {
            let mut flow = ftp(format!("flow {index}"), path, reno());
            flow.start_spread = Duration::from_millis(500);
            flow
        })
        .collect();
    let mut options = RunOptions::new(Duration::from_secs(seconds), 1);
    options.engine = engine;
    let mut simulation = Simulation::new(dumbbell.network, &specs, &options).unwrap();
    drop(specs);
    let built = began.elapsed();
    let began = (Instant::now(), processor_seconds());
    simulation.run();
    let wall = began.0.elapsed().as_secs_f64();
    let busy = processor_seconds() - began.1;
    let hops: u64 = (0..links)
        .map(|link| simulation.link_counters(LinkId::new(link)).delivered)
        .sum();
    let delivered = simulation.link_counters(bottleneck).delivered_bytes as f64 * 8.0;
    println!(
        "{flows:8} {megabits:6} {seconds:5} | {wall:9.3} {busy:8.3} {:9.3e} {:8.2e} {:6.1} {:11.3} {:9.1}  (built in {:.3} s)",
        simulation.events_handled() as f64 / busy,
        hops as f64,
        busy * 1e9 / hops as f64,
        delivered / (seconds as f64 * rate.bits_per_second() as f64),
        peak_megabytes(),
        built.as_secs_f64(),
    );
}

/// Processor time of this process in seconds, from Linux: other load on the machine does not count.
fn processor_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = schedule
        .split_whitespace()
        .next()
        .and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) * 1e-9
}

/// Peak memory of this process so far, from Linux; 0 elsewhere.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
