// SPDX-License-Identifier: MIT OR Apache-2.0
//! UDP other than uTP at low priority, live: transfers of the test's own with a congestion control, over an emulated link.

mod program;

use program::{TestCgroup, measure_until, netnice, stderr, stdout};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/udp.py");

/// Runs the script behind a link whose far side serves, and returns its output.
fn behind(words: &[&str], cgroup: &str) -> Value {
    let server = format!("exec python3 {SCRIPT} serve");
    let link = ["link", "--quiet", "--rate", "10mbit", "--delay", "20ms"];
    let queue = ["--queue", "83p", "--far", &server, "--", "python3", SCRIPT];
    let program = [env!("CARGO_BIN_EXE_netnice")];
    let output = netnice(&[&link[..], &queue, words, &program].concat())
        .env("CGROUP", cgroup)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

fn rate(found: &Value, name: &str) -> f64 {
    found[name].as_f64().unwrap()
}

/// Measures a transfer alone, during pages, competing with another one, and after that; alone it has this part of the rival's rate
/// at least. `key` has the bytes that it has moved.
fn yields_and_comes_back(way: &str, key: &str, part: f64) {
    measure_until(
        || behind(&["run", way], ""),
        |found| {
            let rate = |name: &str| rate(found, name);
            // Read after the last packet.
            let moved = found["told"][key].as_u64();
            assert!(moved > Some(1_000_000), "{found}");
            rate("alone") > part * rate("rival")
                && rate("rival") > 0.85 * rate("alone")
                && rate("beside") < 0.05 * rate("rival")
                // So that the connection stays alive.
                && rate("beside") > 0.005
                && rate("after") > part * rate("alone")
                && rate("page") < 1.3 * rate("page_alone")
        },
    );
}

#[test]
fn an_upload_over_udp_yields_and_comes_back() {
    yields_and_comes_back("up", "udp_bytes_sent", 0.75);
}

#[test]
fn a_download_over_udp_yields_and_comes_back() {
    yields_and_comes_back("down", "udp_bytes_received", 0.6);
}

#[test]
fn a_detached_upload_is_ordinary_at_once() {
    measure_until(
        || behind(&["attach", "up"], TestCgroup::new("udp").path()),
        |found| {
            let rate = |name: &str| rate(found, name);
            rate("beside") < 0.1 * rate("rival") && rate("after") > 3.0 * rate("beside")
        },
    );
}

#[test]
fn nothing_is_left_of_a_killed_keeper() {
    let found = behind(&["killed", "up"], "");
    assert!(found["queues"].as_u64() >= Some(1), "{found}");
    assert_eq!(found["left"], 0, "{found}");
    // It goes on, as an ordinary one.
    assert!(rate(&found, "after") > 1.0, "{found}");
}

#[test]
fn two_groups_that_download_have_a_queue_each() {
    // A packet that took a turn through both for ever would leave nothing to either.
    measure_until(
        || behind(&["two", "down"], ""),
        |found| rate(found, "slower") > 0.5 && rate(found, "sum") > 5.0,
    );
}

#[test]
fn a_command_without_udp_has_no_process_for_it() {
    let found = behind(&["nothing", "up"], "");
    assert_eq!(found["processes"], 0, "{found}");
    assert_eq!(found["queues"], 0, "{found}");
}

#[test]
fn udp_and_tcp_of_a_group_have_one_floor() {
    measure_until(
        || behind(&["floor", "up"], TestCgroup::new("udp-floor").path()),
        |found| {
            let rate = |name: &str| rate(found, name);
            let both = rate("udp_beside") + rate("tcp");
            (3.4..4.6).contains(&rate("udp")) && (3.2..5.0).contains(&both) && rate("rival") > 4.0
        },
    );
}
