// SPDX-License-Identifier: MIT OR Apache-2.0
//! uTP at low priority, live: a transfer of the test's own that obeys windows, over an emulated link.

mod program;

use program::{TestCgroup, as_nobody, ended_in_one_line, measure_until, netnice, stderr, stdout};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/utp.py");

/// Runs the script behind a link whose far side serves, and returns its output.
fn behind(name: &str, cgroup: &str) -> Value {
    behind_with(&[name, env!("CARGO_BIN_EXE_netnice")], cgroup)
}

fn behind_with(arguments: &[&str], cgroup: &str) -> Value {
    let server = format!("exec python3 {SCRIPT} serve");
    let link = ["link", "--quiet", "--rate", "10mbit", "--delay", "20ms"];
    let queue = ["--queue", "83p", "--far", &server, "--"];
    let output = netnice(&[&link[..], &queue, &["python3", SCRIPT], arguments].concat())
        .env("CGROUP", cgroup)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// It fills the link alone, and leaves it to the rival.
fn gives_way(found: &Value) -> bool {
    let rate = |name: &str| found[name].as_f64().unwrap();
    rate("alone") > 0.8 * rate("rival")
        && rate("rival") > 0.8 * rate("alone")
        && rate("beside") < 0.1 * rate("rival")
}

/// `status` has shown the transfer, and what was rewritten had a checksum that the other end accepts.
fn shows_one_connection(found: &Value, moved: &str) {
    assert_eq!(found["errors"], 0, "{found}");
    let shown = &found["shown"][0];
    assert_eq!(shown["connections"], 1, "{found}");
    assert!(shown[moved].as_u64() > Some(1_000_000), "{found}");
    assert!(shown["yields"].as_u64() >= Some(1), "{found}");
}

#[test]
fn a_download_over_utp_yields_and_comes_back() {
    measure_until(
        || {
            let found = behind("run", "");
            shows_one_connection(&found, "bytes_received");
            found
        },
        |found| {
            let rate = |name: &str| found[name].as_f64().unwrap();
            gives_way(found) && rate("after") > 0.7 * rate("alone")
        },
    );
}

#[test]
fn an_upload_over_utp_yields_until_it_is_detached() {
    measure_until(
        || {
            let cgroup = TestCgroup::new("utp");
            let found = behind("attach", cgroup.path());
            shows_one_connection(&found, "bytes_sent");
            found
        },
        |found| {
            let rate = |name: &str| found[name].as_f64().unwrap();
            gives_way(found) && rate("after") > 3.0 * rate("beside")
        },
    );
}

/// The floor is 2 Mb/s: without it one packet goes in each round trip, a tenth of a megabit.
#[test]
fn uploads_and_downloads_over_utp_get_the_floor() {
    for way in ["up", "down"] {
        measure_until(
            || behind_with(&["floor", env!("CARGO_BIN_EXE_netnice"), way], ""),
            |found| {
                let rate = |name: &str| found[name].as_f64().unwrap();
                (1.7..2.6).contains(&rate("low")) && rate("rival") > 2.5 * rate("low")
            },
        );
    }
}

#[test]
fn run_tells_what_was_moved_over_utp() {
    let told = behind("told", "");
    let (yes, no) = (&told["yes"], &told["no"]);
    assert_eq!(yes["utp_connections"], 1, "{told}");
    assert!(yes["utp_bytes_received"].as_u64() > Some(100_000), "{told}");
    assert_eq!(yes["utp_ungoverned_because"], Value::Null, "{told}");
    assert_eq!(no["utp_connections"], 0, "{told}");
    assert_eq!(no["utp_bytes_received"], 0, "{told}");
}

#[test]
fn only_root_can_have_utp_governed() {
    let output = as_nobody(&["run", "--udp", "yes", "--", "true"]);
    ended_in_one_line(&output, 1, "governing UDP needs root");
}
