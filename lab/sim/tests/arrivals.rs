// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arriving transfers: their number, their sizes and their slowdown.

use netnice_results::{ResponseTimes, RunResults, SizeClass};
use netnice_scenario::ScenarioFile;
use netnice_sim::run;

/// Transfers over a line of 10 Mb/s between two links of 100 Mb/s.
fn line(duration: &str, queue: &str, application: &str, tcp: &str) -> RunResults {
    let text = format!(
        r#"
name = "arrivals"
duration = "{duration}"

[[links]]
from = "server"
to = "left"
rate = "100mbit"
delay = "1ms"

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "10mbit"
delay = "9ms"
queue = "{queue}"

[[links]]
from = "right"
to = "client"
rate = "100mbit"
delay = "2ms"

[[flows]]
name = "transfers"
from = "server"
to = "client"
application = {{ kind = "arrivals", {application} }}
tcp = {{ {tcp} }}
"#
    );
    let file = ScenarioFile::parse("arrivals.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    run(file.scenario(), 1, || true).unwrap().unwrap()
}

fn transfers(results: &RunResults) -> &ResponseTimes {
    &results.response_times[0]
}

fn all(results: &RunResults) -> SizeClass {
    transfers(results).classes[0].clone()
}

#[test]
fn the_slowdown_of_a_lone_transfer_is_1() {
    // So rare that they do not meet, and smaller than the initial window: they wait for no ACK.
    for (size, handshake) in [
        ("1B", true),
        ("1448B", true),
        ("14kB", true),
        ("9999B", false),
    ] {
        let application = format!(
            "between_flows = \"20s\", size = {{ kind = \"fixed\", bytes = \"{size}\" }}, size_classes = []"
        );
        let results = line(
            "1000s",
            "1000p",
            &application,
            &format!("handshake = {handshake}"),
        );
        let class = all(&results);
        assert!((20..100).contains(&class.completion.count));
        let slowdown = class.slowdown;
        assert!((slowdown.min - 1.0).abs() < 1e-6, "{size}: {slowdown:?}");
        assert!((slowdown.p95 - 1.0).abs() < 1e-6, "{size}: {slowdown:?}");
    }
}

#[test]
fn a_lone_transfer_completes_when_reckoned_by_hand() {
    let application = "between_flows = \"20s\", size = { kind = \"fixed\", bytes = \"1448B\" }, \
        request_size = \"448B\", size_classes = []";
    let class = all(&line("500s", "1000p", application, "handshake = true"));
    // SYN and SYN-ACK of 52 B, the request of 500 B and the data of 1500 B each cross 12 ms of propagation, 10 Mb/s once and
    // 100 Mb/s twice: 0.12 us for each bit. The data wait for the request's ACK of 52 B on the first link: 4.16 us.
    let by_hand = 4.0 * 12e-3 + 2104.0 * 8.0 * 0.12e-6 + 4.16e-6;
    assert!((class.completion.min_s - by_hand).abs() < 1e-8, "{class:?}");
}

#[test]
fn as_many_transfers_arrive_as_the_rate_says() {
    let application = "rate = \"5mbit\", size = { kind = \"exponential\", mean = \"25kB\" }";
    let results = line("400s", "1000p", application, "initial_window = 10");
    let (class, unfinished) = (all(&results), transfers(&results).unfinished);
    // 25 each second: 10,000, within four standard deviations of 100.
    let arrived = class.completion.count + unfinished;
    assert!((9_600..=10_400).contains(&arrived), "{arrived}");
    // The standard error of the mean is 1 %.
    assert!(
        (class.mean_bytes / 25_000.0 - 1.0).abs() < 0.04,
        "{class:?}"
    );
    // The classes are parts of the whole: below 100 kB are 1 - exp(-4) = 98.2 %.
    let classes = &transfers(&results).classes;
    let counts: Vec<u64> = classes.iter().map(|class| class.completion.count).collect();
    assert_eq!(counts[0], counts[1] + counts[2] + counts[3]);
    let small = counts[1] as f64 / counts[0] as f64;
    assert!((small - 0.9817).abs() < 0.006, "{small}");
    let left: u64 = classes[1..].iter().map(|class| class.unfinished).sum();
    assert_eq!((classes[0].unfinished, left), (unfinished, unfinished));
}

#[test]
fn a_distribution_has_all_transfers_in_few_bins() {
    let application = "rate = \"6mbit\", size = { kind = \"exponential\", mean = \"500B\" }";
    let results = line("80s", "1000p", application, "initial_window = 10");
    let classes = &transfers(&results).classes;
    assert!(classes[0].completion.count > 100_000, "{:?}", classes[0]);
    for class in classes {
        let (times, known) = (&class.completion_times, &class.completion);
        assert_eq!(times.count.iter().sum::<u64>(), known.count);
        // 32 bins for each doubling.
        assert!(times.count.len() < 32 * 10, "{}", times.count.len());
        if known.count == 0 {
            continue;
        }
        for (share, time_s) in [(0.5, known.p50_s), (0.95, known.p95_s), (0.99, known.p99_s)] {
            let reached = times.cumulative().find(|&(_, _, to)| to >= share);
            let edge_s = reached.map_or(0.0, |(up_to_s, _, _)| up_to_s);
            assert!(
                (0.97..=1.0 + 1e-9).contains(&(time_s / edge_s.max(time_s))),
                "{edge_s} {known:?}"
            );
        }
    }
}

#[test]
fn transfers_wait_as_in_an_m_g_1_queue() {
    // The only queue is that of the servers' link. Without a handshake it gets three packets for a transfer, two of headers and
    // one of data: the ACK of the request and the data together, and the ACK of the end a round trip later.
    let text = r#"
name = "m_g_1"
duration = "4000s"
[[links]]
from = "server"
to = "client"
rate = "1mbit"
delay = "50ms"
queue = "10000p"
reverse = { rate = "1gbit" }
[[flows]]
name = "transfers"
from = "server"
to = "client"
header_size = "25B"
packet_size = "1250B"
application = { kind = "arrivals", between_flows = "20ms", size = { kind = "fixed", bytes = "1200B" } }
tcp = { handshake = false, timestamps = false }
"#;
    let file = ScenarioFile::parse("m_g_1.toml", text, &[], None).unwrap();
    let results = run(file.scenario(), 3, || true).unwrap().unwrap();
    let class = all(&results);
    // Two kinds of customers, each one every 20 ms: 25 + 1225 B in 10 ms, and 25 B in 0.2 ms. Pollaczek and Khinchin: the
    // mean wait is lambda E[S^2] / (2 (1 - rho)), with rho = 0.51.
    let (data, ack) = (10e-3, 0.2e-3);
    let wait = 50.0 * (data * data + ack * ack) / (2.0 * (1.0 - 0.51));
    let unloaded = 50e-3 + 50e-3 + 325.0 * 8e-9 + data;
    assert!(
        (class.completion.min_s / unloaded - 1.0).abs() < 1e-9,
        "{class:?}"
    );
    let waited = class.completion.mean_s - unloaded;
    assert!((waited / wait - 1.0).abs() < 0.03, "{waited} {wait}");
    let slowdown = 1.0 + waited / unloaded;
    assert!(
        (class.slowdown.mean / slowdown - 1.0).abs() < 1e-5,
        "{class:?}"
    );
}
