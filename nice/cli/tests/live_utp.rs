// SPDX-License-Identifier: MIT OR Apache-2.0
//! uTP at low priority, live: a transfer of the test's own that obeys windows, over an emulated link.

mod program;

use program::{TestCgroup, as_nobody, ended_in_one_line, measure_until, netnice, stderr, stdout};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/utp.py");

/// Runs the script behind a link whose far side serves, and returns its output.
fn behind(name: &str, cgroup: &str) -> Value {
    let server = format!("exec python3 {SCRIPT} serve");
    let link = ["link", "--quiet", "--rate", "10mbit", "--delay", "20ms"];
    let queue = ["--queue", "83p", "--far", &server, "--"];
    let script = ["python3", SCRIPT, name, env!("CARGO_BIN_EXE_netnice")];
    let output = netnice(&[&link[..], &queue, &script].concat())
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

#[test]
fn a_download_over_utp_yields_and_comes_back() {
    measure_until(
        || {
            let found = behind("run", "");
            // What is rewritten has a checksum that the other end accepts.
            assert_eq!(found["errors"], 0, "{found}");
            let run = &found["run"];
            assert_eq!(run["utp_connections"], 1, "{run}");
            assert!(
                run["utp_bytes_received"].as_u64() > Some(1_000_000),
                "{run}"
            );
            assert!(run["utp_yields"].as_u64() >= Some(1), "{run}");
            assert_eq!(run["utp_ungoverned_because"], Value::Null);
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
            assert_eq!(found["errors"], 0, "{found}");
            let shown = found["status"].as_array().unwrap();
            let own = |one: &&Value| cgroup.path().ends_with(one["cgroup"].as_str().unwrap());
            let shown = shown.iter().find(own).expect("the cgroup is shown");
            assert!(shown["bytes_sent"].as_u64() > Some(1_000_000), "{found}");
            found
        },
        |found| {
            let rate = |name: &str| found[name].as_f64().unwrap();
            gives_way(found) && rate("after") > 3.0 * rate("beside")
        },
    );
}

#[test]
fn utp_is_left_alone_on_request() {
    let run = behind("refused", "");
    assert_eq!(run["utp_connections"], 0, "{run}");
    assert_eq!(run["utp_bytes_received"], 0, "{run}");
}

#[test]
fn only_root_can_have_utp_governed() {
    let output = as_nobody(&["run", "--udp", "yes", "--", "true"]);
    ended_in_one_line(&output, 1, "governing uTP needs root");
}
