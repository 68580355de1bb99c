// SPDX-License-Identifier: MIT OR Apache-2.0
//! A floor under low priority, live: over an emulated link, beside a flow that knows nothing of it.

mod program;

use program::{measure_until, netnice, stderr, stdout};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/floor.py");

const NETNICE: &str = env!("CARGO_BIN_EXE_netnice");

/// The floor that the script asks for, in bits per second.
const FLOOR: f64 = 2e6;

/// Runs the script behind a link of 10 Mb/s and 40 ms whose far side serves, and returns its output.
fn behind(arguments: &[&str]) -> Value {
    let server = format!("exec python3 {SCRIPT} serve");
    let link = [
        "link", "--quiet", "--rate", "10mbit", "--delay", "20ms", "--queue", "83p", "--far",
    ];
    let output = netnice(&[&link[..], &[&server, "--", "python3", SCRIPT], arguments].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// Without a floor it would be less than a tenth of it, and without low priority half of the link.
#[track_caller]
fn check(way: &str, connections: &str) {
    measure_until(
        || behind(&["beside", NETNICE, way, connections]),
        |printed| {
            let rate = |name: &str| printed[name].as_f64().unwrap();
            (0.9..1.3).contains(&(rate("low") / FLOOR)) && rate("other") > 2.5 * rate("low")
        },
    );
}

#[test]
fn an_upload_gets_the_floor() {
    check("up", "1");
}

#[test]
fn downloads_share_the_floor() {
    check("down", "4");
}

#[test]
fn an_open_connection_is_ordinary_from_the_hour_on() {
    let controls = behind(&["until", NETNICE]);
    assert_eq!(controls[0], "netnice");
    assert_ne!(controls[1], "netnice");
}

/// 3 MB in 20 s, beside a flow that never pauses: at low priority it would take minutes, as an ordinary flow 5 s. The
/// program itself takes a part of a second.
#[test]
fn a_deadline_is_met_and_not_by_far() {
    measure_until(
        || behind(&["by", NETNICE, "+20s", "3000000"]),
        |printed| {
            (10.0..21.0).contains(&printed["seconds"].as_f64().unwrap()) && printed["stderr"] == ""
        },
    );
}

#[test]
fn a_transfer_begun_again_goes_on() {
    let moved = behind(&["again", NETNICE, "40000000"]);
    let [first, second] = [0, 1].map(|at| moved[at].as_u64().unwrap());
    // The count did not begin anew.
    assert!(second >= first, "{moved}");
}

/// As systemd does with a unit that has `Restart=`, and kills what is left of it.
#[test]
fn a_transfer_goes_on_that_was_killed_with_all_of_its_processes() {
    let found = behind(&["restarted", NETNICE, "12000000"]);
    let [first, second] = [0, 1].map(|at| found["moved"][at].as_u64().unwrap());
    // Neither anew, nor with what was counted twice.
    assert!((first..first + 4_000_000).contains(&second), "{found}");
    assert_eq!(found["lowest"], first, "{found}");
    assert_eq!(found["left"], 1, "{found}");
    assert_eq!(found["after_end"], serde_json::json!([]), "{found}");
}
