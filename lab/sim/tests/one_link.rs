// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios of one link, each for a rule of its own.

use netnice_results::{QueueResult, RunResults};
use netnice_scenario::{Scenario, ScenarioFile};
use netnice_sim::{Selection, Traces, run, run_with_traces};

fn scenario(text: &str) -> Scenario {
    match ScenarioFile::parse("test.toml", text, &[], None) {
        Ok(file) => file.scenario().clone(),
        Err(error) => panic!("{error}"),
    }
}

fn results_of(text: &str) -> RunResults {
    run(&scenario(text), 1, || true).unwrap().unwrap()
}

/// A scenario of `flows` over a link of 10 Mb/s from `a` to `z`, which has the further lines `link`.
fn one_link(head: &str, link: &str, flows: &str) -> String {
    format!(
        r#"
name = "one_link"
{head}
[[links]]
name = "b"
from = "a"
to = "z"
rate = "10mbit"
delay = "20ms"
{link}
{flows}"#
    )
}

/// A flow from `a` to `z` with the further lines `more`.
fn flow(name: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"z\"\n{more}\n")
}

/// A UDP flow from `a` to `z` at a constant rate, with the further lines `more`.
fn constant_rate(name: &str, rate: &str, more: &str) -> String {
    let application = format!("application = {{ kind = \"cbr\", rate = \"{rate}\" }}");
    flow(name, &format!("transport = \"udp\"\n{application}\n{more}"))
}

fn forward_queue(results: &RunResults) -> &QueueResult {
    results
        .queues
        .iter()
        .max_by_key(|queue| queue.arrived)
        .unwrap()
}

const RED_THAT_MARKS: &str = r#"queue = { discipline = "red", limit = "100p", min_threshold = "5p", max_threshold = "15p", ecn = "mark" }"#;

#[test]
fn retransmissions_are_not_ecn_capable() {
    for recovery in ["reno", "newreno", "sack"] {
        let text = one_link(
            r#"duration = "20s""#,
            &format!("loss = \"1%\"\n{RED_THAT_MARKS}"),
            &flow(
                "f",
                &format!(r#"tcp = {{ ecn = true, recovery = "{recovery}" }}"#),
            ),
        );
        let directory = tempfile::tempdir().unwrap();
        let traces = Traces {
            directory: directory.path().to_owned(),
            links: Selection::Named(["b", "b (reverse)"].map(str::to_owned).to_vec()),
            snap_length: 96,
            events: Selection::NONE,
            decisions: false,
        };
        let results = run_with_traces(&scenario(&text), 1, Some(&traces), || true)
            .unwrap()
            .unwrap();
        let again = results.flows[0].retransmissions;
        assert!(again > 20, "{recovery}: {again}");
        let (mut capable, mut others, mut repetitions) = (0, 0, 0);
        for file in std::fs::read_dir(directory.path()).unwrap() {
            let trace = std::fs::read(file.unwrap().path()).unwrap();
            let mut newest = 0;
            for packet in packets_of(&trace) {
                let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
                let length = u16::from_be_bytes([packet[2], packet[3]]);
                let headers = 20 + u16::from(packet[32] >> 4) * 4;
                if length == headers {
                    continue;
                }
                let (sequence, ecn) = (number(24), packet[1] & 3);
                if ecn == 0 {
                    others += 1;
                } else {
                    capable += 1;
                }
                // The link keeps the order; what it lost is not in the trace.
                if sequence > newest {
                    newest = sequence;
                } else {
                    repetitions += 1;
                    assert_eq!(ecn, 0, "{recovery}: {sequence} again");
                }
            }
        }
        assert!(capable > 1000 && repetitions > 20 && (repetitions..=again).contains(&others));
    }
}

/// The packets of a trace, from their IP headers on.
fn packets_of(trace: &[u8]) -> Vec<&[u8]> {
    let number = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap()) as usize;
    let (mut packets, mut at) = (vec![], 0);
    while at < trace.len() {
        if number(at) == 6 {
            packets.push(&trace[at + 28..at + 28 + number(at + 20)]);
        }
        at += number(at + 4);
    }
    packets
}

#[test]
fn acks_that_echo_congestion_are_measured_too() {
    let results = results_of(&one_link(
        r#"duration = "20s""#,
        RED_THAT_MARKS,
        &flow("f", "tcp = { ecn = true, delayed_ack = false }"),
    ));
    let flow = &results.flows[0];
    assert!(flow.ecn_reactions > 10, "{}", flow.ecn_reactions);
    // An ACK for each packet, some of which are under way in the end; and the one that ends the handshake.
    let without = flow.packets_received as i64 - flow.rtt.count as i64;
    assert!((0..100).contains(&without), "{without}");
}

#[test]
fn the_longest_queue_is_one_after_the_warm_up() {
    for link in [
        r#"queue = "1000p""#,
        "queue = \"1000p\"\njitter = \"1ms\"",
        r#"queue = { discipline = "priority", limit = "1000p" }"#,
    ] {
        let quiet = results_of(&one_link(
            "duration = \"15s\"\nwarm_up = \"10s\"",
            link,
            &[
                constant_rate("burst", "20mbit", "stop = \"5s\""),
                constant_rate("f", "1mbit", ""),
            ]
            .concat(),
        ));
        let queue = forward_queue(&quiet);
        assert!(queue.arrived > 100 && queue.max_packets == 0, "{queue:?}");
        // Packets that wait as the warm-up ends count, though no more arrive.
        let full = results_of(&one_link(
            "duration = \"15s\"\nwarm_up = \"5s\"",
            link,
            &constant_rate("burst", "20mbit", "stop = \"4999ms\""),
        ));
        let queue = &full.queues[0];
        assert_eq!(queue.arrived, 0, "{queue:?}");
        assert!((990..=1000).contains(&queue.max_packets), "{queue:?}");
    }
}

#[test]
fn a_transfer_of_so_many_bytes_ends_with_its_application() {
    let delivered = |bytes: &str| {
        let results = results_of(&one_link(
            "duration = \"20s\"\nphases = [{ name = \"after\", from = \"6s\", to = \"12s\" }]",
            r#"queue = "50p""#,
            &flow("f", &format!("stop = \"5s\"\n{bytes}")),
        ));
        assert_eq!(results.flows[0].phases[0].goodput_bps, 0.0, "{bytes}");
        results.flows[0].delivered_bytes
    };
    let unlimited = delivered("");
    assert!((5_000_000..6_300_000).contains(&unlimited), "{unlimited}");
    assert_eq!(delivered("bytes = \"20MB\""), unlimited);
    assert_eq!(delivered("bytes = \"1MB\""), 1_000_000);
}

#[test]
fn a_link_does_not_draw_what_a_flow_of_its_name_draws() {
    // Packets take 1 ms, and arrive every 10 ms on average: at times three within 1 ms. If the link drew the flow's
    // random numbers, each packet after one within 1.05 ms of its predecessor would be lost, and never more than one
    // would wait.
    let results = results_of(
        r#"
name = "same_name"
duration = "100s"

[[links]]
name = "x"
from = "a"
to = "z"
rate = "8mbit"
loss = "10%"

[[flows]]
name = "x"
from = "a"
to = "z"
transport = "udp"
packet_size = "1000B"
application = { kind = "poisson", rate = "800kbit" }"#,
    );
    let queue = forward_queue(&results);
    assert!(queue.arrived > 9000 && queue.max_packets > 1, "{queue:?}");
}
