// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link of the emulation draws the same random numbers as the simulator's.

use std::path::Path;
use std::time::Duration;

use netnice_link::{Frame, ImpairedLink};
use netnice_queue::{LinkDescription, Time};
use netnice_scenario::{Layout, ScenarioFile};
use netnice_sim::{Selection, Traces};

/// A link for each kind of randomness, of 20 Mb/s except for loss and jitter, and on each 24 Mb/s of UDP: packets
/// of 1000 bytes and of 500 in turn, so that times identify the dropped ones.
const SCENARIO: &str = r#"
name = "draws"
duration = "2s"
[[links]]
name = "loss"
from = "a"
to = "b"
delay = "3ms"
loss = "10%"
[[links]]
name = "jitter"
from = "c"
to = "d"
delay = "3ms"
jitter = "5ms"
[[links]]
name = "reordering"
from = "e"
to = "e2"
delay = "3ms"
jitter = { size = "5ms", reordering = true, distribution = "exponential" }
[[links]]
name = "behind_reordering"
from = "e2"
to = "f"
[[links]]
name = "red"
from = "g"
to = "h"
rate = "20mbit"
delay = "3ms"
queue = { discipline = "red", limit = "100p", min_threshold = "10p", max_threshold = "60p", max_probability = 0.5, weight = 0.02 }
[[links]]
name = "tsw"
from = "i"
to = "j"
rate = "20mbit"
delay = "3ms"
queue = { discipline = "rio", limit = "100p", in = { min_threshold = "40p", max_threshold = "70p", max_probability = 0.1 }, out = { min_threshold = "10p", max_threshold = "30p", max_probability = 0.9 }, weight = 0.02 }
marker = { kind = "tsw", target = "12mbit" }
[[links]]
name = "pie"
from = "k"
to = "l"
rate = "20mbit"
delay = "3ms"
queue = { discipline = "pie", max_burst = "0ms" }
[[links]]
name = "bursts"
from = "m"
to = "n"
delay = "3ms"
loss_model = { kind = "gilbert_elliott", to_bad = "2%", to_good = "20%" }
[[links]]
name = "pareto"
from = "o"
to = "p"
rate = "20mbit"
delay = "3ms"
jitter = { size = "2ms", distribution = "pareto" }
policer = { rate = "18mbit", burst = "20kB" }
outages = [{ at = "100ms", duration = "20ms", every = "300ms" }]
changes = [{ at = "500ms", delay = "9ms", rate = "15mbit" }]
"#;

/// Returns the departures from the simulated link, in nanoseconds, as its trace records them.
fn times_in_trace(file: &Path) -> Vec<u64> {
    let trace = std::fs::read(file).unwrap();
    let word = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap());
    let (mut at, mut times) = (0, Vec::new());
    while at < trace.len() {
        // In an enhanced packet block, the two halves of the time follow type, length and interface.
        if word(at) == 6 {
            times.push(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
        }
        at += word(at + 4) as usize;
    }
    times
}

/// Returns the departures of the same packets from the lab's link.
fn times_in_lab(link: &LinkDescription, seed: u64) -> Vec<u64> {
    let mut at_work = ImpairedLink::new(link, seed).unwrap();
    let mut times = Vec::new();
    let mut deliver = |link: &mut ImpairedLink, until: Time| {
        while let Some(now) = link.next_event().filter(|&next| next <= until) {
            while let Some((_, due)) = link.deliver(now, |_| {}) {
                times.push(due.as_nanos());
            }
            while link.take_dropped().is_some() {}
        }
    };
    for number in 0..8000 {
        let now = Time::ZERO + Duration::from_micros(250 * number);
        deliver(&mut at_work, now);
        let mut frame = Frame::new(1000);
        frame.length = if number % 2 == 0 { 1000 } else { 500 };
        let _ = at_work.offer(now, frame);
    }
    deliver(&mut at_work, Time::ZERO + Duration::from_secs(2));
    times
}

#[test]
fn links_draw_as_in_the_simulator() {
    let mut text = SCENARIO.to_owned();
    for ends in ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"] {
        let (from, to) = ends.split_at(1);
        for (start, bytes, mbit) in [("0us", 1000, 16), ("250us", 500, 8)] {
            text += &format!(
                "[[flows]]\nname = \"{from}-{bytes}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{start}\"\n\
                 transport = \"udp\"\npacket_size = \"{bytes}B\"\n\
                 application = {{ kind = \"cbr\", rate = \"{mbit}mbit\" }}\n"
            );
        }
    }
    let file = ScenarioFile::parse("draws.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let network = Layout::new(file.scenario()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let traces = Traces {
        directory: directory.path().to_owned(),
        links: Selection::Named(network.links.iter().map(|link| link.name.clone()).collect()),
        snap_length: 64,
        events: Selection::NONE,
        decisions: false,
    };
    let seed = 3;
    netnice_sim::run_with_traces(file.scenario(), seed, Some(&traces), || true).unwrap();
    for name in [
        "loss",
        "jitter",
        "reordering",
        "red",
        "tsw",
        "pie",
        "bursts",
        "pareto",
    ] {
        // A trace records packets before they are reordered, so the trace of the next link is read.
        let traced = if name == "reordering" {
            "behind_reordering"
        } else {
            name
        };
        let links = &mut network.links.iter();
        let link = links.find(|link| link.name == name).unwrap();
        let simulated = times_in_trace(&directory.path().join(format!("{traced}.pcapng")));
        assert!(simulated.len() > 1000, "{name}: {}", simulated.len());
        assert!(
            simulated == times_in_lab(link, seed),
            "{name}: other packets, or at other times, than in the simulator"
        );
        assert!(
            simulated != times_in_lab(link, seed + 1),
            "{name}: nothing is random"
        );
    }
}
