// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls on an idle line, and beside bulk transfers.

use std::path::Path;

use netnice_results::{CallResult, RunResults};
use netnice_scenario::ScenarioFile;
use netnice_sim::run;

/// A line with a call and these other parts.
fn line(queue: &str, duration: &str, others: &str) -> RunResults {
    let text = format!(
        r#"
name = "line"
duration = "{duration}"

[[links]]
name = "line"
from = "home"
to = "far"
rate = "2mbit"
delay = "20ms"
{queue}

[[flows]]
name = "call"
from = "home"
to = "far"
transport = "udp"
application = "call"
{others}
"#
    );
    let file = ScenarioFile::parse("line.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    run(file.scenario(), 1, || true).unwrap().unwrap()
}

fn call(results: &RunResults) -> &CallResult {
    assert_eq!(results.calls.len(), 1);
    &results.calls[0]
}

/// 160 bytes and 40 of headers are on the link for 0.8 ms, so that a packet takes 20.8 ms, and speech 20 and 60 ms more.
#[test]
fn a_call_on_an_idle_line_has_the_best_score() {
    let results = line("queue = \"100p\"", "10s", "");
    let call = call(&results);
    let delay = call.one_way_delay;
    assert!((delay.mean_s - 0.0208).abs() < 1e-9 && (delay.p99_s - 0.0208).abs() < 1e-9);
    let quality = call.quality;
    assert!((quality.mouth_to_ear_s - 0.1008).abs() < 1e-9);
    // Of those sent each 20 ms the last one that is played by 10 s left at 9.9192 s or before.
    assert_eq!((quality.packets, quality.lost, quality.late), (496, 0, 0));
    assert!((quality.mos - 4.409).abs() < 1e-3, "{quality:?}");
    // UDP has delays in the table of flows as well.
    assert_eq!(results.flows[0].one_way_delay, delay);
}

/// One packet of ten lost, never two in a row: Ppl 10, BurstR 1 (one packet, where random losses come in runs of 10/9).
#[test]
fn losses_in_the_network_lower_the_score() {
    let periodic = "queue = \"100p\"\nloss_model = { kind = \"periodic\", every = 10 }";
    let results = line(periodic, "60s", "");
    let quality = call(&results).quality;
    let loss = quality.lost as f64 / quality.packets as f64;
    assert!(
        (loss - 0.1).abs() < 1e-3 && quality.late == 0,
        "{quality:?}"
    );
    assert_eq!(quality.burst_ratio, 1.0);
    // 93.2 - 95 * 10 / (10 + 25.1) = 66.13.
    assert!((quality.rating - 66.13).abs() < 0.1, "{quality:?}");
}

#[test]
fn a_bulk_by_cubic_spoils_a_call_and_netnice_does_not() {
    let beside = |control: &str| {
        let bulk = format!(
            "[[flows]]\nname = \"bulk\"\nfrom = \"home\"\nto = \"far\"\nstart = \"2s\"\ncongestion_control = \"{control}\"\n"
        );
        line("queue = \"250ms\"", "60s", &bulk)
    };
    let (cubic, netnice) = (beside("cubic"), beside("netnice"));
    let (spoilt, spared) = (call(&cubic).quality, call(&netnice).quality);
    assert!(
        spoilt.mos < 2.0 && spoilt.late > spoilt.packets / 2,
        "{spoilt:?}"
    );
    assert!(spared.mos > 4.0 && spared.lost == 0, "{spared:?}");
    // The backup has most of the line in both.
    let goodput = |results: &RunResults| results.flows[1].goodput_bps;
    assert!(goodput(&netnice) > 0.75 * goodput(&cubic));
}

/// The score of `call_out` in `scenarios/home_line.toml`, beside a backup by CUBIC and by netnice.
#[test]
fn the_home_line_has_the_scores_that_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/home_line.toml");
    for (control, scores) in [("cubic", 1.0..2.0), ("netnice", 4.3..4.5)] {
        let settings = [
            ("duration", "40s"),
            ("flows.backup.congestion_control", control),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let file = ScenarioFile::load(&path, &settings).unwrap();
        let results = run(file.scenario(), 1, || true).unwrap().unwrap();
        let score = |name: &str| {
            let mut figures = results.figures.iter();
            figures.find(|figure| figure.name == name).unwrap().value
        };
        let said = score("score of what is said");
        assert!(scores.contains(&said), "{control}: {said}");
        assert!(score("score of what is heard") > 4.3);
        assert!(score("bit rate of the video") > 2e6);
        assert_eq!(score("stalls of the video"), 0.0);
        assert!(score("backup") > 3.2e6);
    }
}

/// The call's packets are the size of its payload and the headers of RTP, UDP and IP.
#[test]
fn a_call_has_the_packets_of_its_codec() {
    let text = "queue = \"100p\"";
    let results = line(text, "10s", "");
    let flow = &results.flows[0];
    assert_eq!(flow.packets_sent, 500);
    // 80 kb/s in the packets that have arrived, the last of which is still on its way.
    assert!((flow.throughput_bps - 80_000.0).abs() <= 2.0 * 160.0);
    assert_eq!(flow.delivered_bytes % 172, 0);
}
