// SPDX-License-Identifier: MIT OR Apache-2.0
//! What netnice tells of its decisions, live: to what it gave way, and `run --log FILE --decisions`.

mod program;

use program::{as_nobody, ended, measure_until, netnice, run, stderr, stdout, text};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/decisions.py");

const CAUSES: [&str; 4] = ["queue", "losses", "fair_queue", "unmeasured"];

/// A transfer beside a plain one, as it was told.
#[derive(Debug)]
struct Told {
    summary: Value,
    /// The log's lines after the first.
    log: Vec<Value>,
}

impl Told {
    /// Makes a transfer over a link of 10 Mb/s, 40 ms and a queue of 100 ms.
    fn of(way: &str, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log.jsonl");
        let server = format!("exec python3 {SCRIPT} serve");
        let link = ["link", "--quiet", "--far", &server, "--rate", "10mbit"];
        let rest = ["--delay", "20ms", "--queue", "83p", "--", "python3", SCRIPT];
        let tell = ["tell", env!("CARGO_BIN_EXE_netnice"), text(&log), way];
        let output = netnice(&[&link[..], &rest, &tell, options].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let lines = std::fs::read_to_string(&log).unwrap();
        let lines = lines.lines().skip(1);
        Self {
            summary: serde_json::from_str(&stdout(&output)).expect("JSON"),
            log: lines
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        }
    }

    fn decisions(&self) -> Vec<&Value> {
        let lines = self.log.iter().filter_map(|line| line.get("decisions"));
        lines.flat_map(|all| all.as_array().unwrap()).collect()
    }

    /// How often records say that the flow gives way to this.
    fn to(&self, cause: &str) -> u64 {
        let decisions = self.decisions();
        let found = decisions.iter().filter(|one| one["gives_way_to"] == cause);
        found.count() as u64
    }

    /// The number of times that it gave way, and those by cause.
    fn gave_way(&self, prefix: &str) -> (u64, [u64; 4]) {
        let by_cause = &self.summary[format!("{prefix}gave_way")];
        let by_cause = CAUSES.map(|cause| by_cause[cause].as_u64().unwrap());
        let yields = self.summary[format!("{prefix}yields")].as_u64().unwrap();
        (yields, by_cause)
    }

    /// Records follow on one another, in time and in phase; none is missing.
    #[track_caller]
    fn assert_chain(&self) {
        let mut before = (0.0, 0, "START");
        let open = &self.log[self.log.len() / 2]["connections"][0];
        for one in self.decisions() {
            let time = one["time_s"].as_f64().unwrap();
            assert!(time >= before.0 && time < 20.0, "{one}");
            let transitions = one["transitions"].as_u64().unwrap();
            assert_eq!(one["number"].as_u64().unwrap(), before.1 + transitions);
            assert_eq!(one["before"], before.2, "{one}");
            assert_eq!(one["connection"], open["connection"], "{one}");
            assert!(one["threshold_ms"].as_f64() > Some(0.5), "{one}");
            let after = one["after"].as_str().unwrap();
            let text = one["text"].as_str().unwrap();
            assert!(text.contains(&format!("{} -> {after}", before.2)), "{text}");
            before = (time, one["number"].as_u64().unwrap(), after);
        }
        assert!(before.1 > 2, "{} transitions", before.1);
    }
}

/// Beside a plain transfer whose queue stands, that queue is the cause.
fn tells_what_it_decides(way: &str, prefix: &str) {
    measure_until(
        || Told::of(way, &["--decisions"]),
        |told| {
            told.assert_chain();
            let (yields, by_cause) = told.gave_way(prefix);
            assert_eq!(by_cause.iter().sum::<u64>(), yields);
            for (cause, times) in CAUSES.iter().zip(by_cause) {
                assert_eq!(told.to(cause), times, "{cause}");
            }
            let last = told.log.iter().rev().find_map(|line| {
                let open = line["connections"].as_array().unwrap();
                open.first().map(|one| {
                    let figures = if prefix.is_empty() { "" } else { "receive_" };
                    one[format!("{figures}gave_way")]["queue"].as_u64()
                })
            });
            // Of the last reading of the open connection; the sums are of its end.
            assert!(last.flatten().unwrap() <= by_cause[0]);
            by_cause[0] > 0 && 2 * by_cause[0] > yields
        },
    );
}

#[test]
fn a_sender_tells_its_decisions() {
    tells_what_it_decides("send", "");
}

#[test]
fn a_receiver_tells_its_decisions() {
    tells_what_it_decides("receive", "receiving_");
}

#[test]
fn nothing_is_recorded_that_was_not_asked_for() {
    let told = Told::of("send", &[]);
    assert!(told.decisions().is_empty() && told.log.len() > 10);
}

#[test]
fn decisions_that_cannot_be_recorded_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.jsonl");
    let before = ["run", "--log", text(&log), "--decisions"];
    let with = |options: [&'static str; 2]| [&before[..], &options, &["--", "true"]].concat();
    let tcplp = with(["--control", "tcplp"]);
    ended(
        &run(&tcplp),
        2,
        "--decisions has no effect with --control tcplp",
    );
    ended(&run(&["run", "--decisions", "true"]), 2, "--log <FILE>");
    // The receiver of such a flow is netnice's.
    assert!(run(&with(["--control", "ledbat"])).status.success());
    let nobody = as_nobody(&["run", "--log", "/dev/null", "--decisions", "true"]);
    assert_ne!(nobody.status.code(), Some(0));
}
