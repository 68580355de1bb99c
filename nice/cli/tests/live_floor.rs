// SPDX-License-Identifier: MIT OR Apache-2.0
//! A floor under low priority, live: over an emulated link, beside a flow that knows nothing of it.

mod program;

use program::{measure_until, netnice, stderr, stdout};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/floor.py");

/// The floor that the script asks for, in bits per second.
const FLOOR: f64 = 2e6;

/// A group's transfers beside a CUBIC flow.
fn beside(way: &str, connections: &str) -> Value {
    let server = format!("exec python3 {SCRIPT} serve");
    let link = [
        "link", "--quiet", "--rate", "10mbit", "--delay", "20ms", "--queue", "83p", "--far",
    ];
    let program = env!("CARGO_BIN_EXE_netnice");
    let script = ["--", "python3", SCRIPT, "beside", program, way, connections];
    let output = netnice(&[&link[..], &[&server], &script].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// Without a floor it would be less than a tenth of it, and without low priority half of the link.
#[track_caller]
fn check(way: &str, connections: &str) {
    measure_until(
        || beside(way, connections),
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
fn uploads_share_the_floor() {
    check("up", "4");
}

#[test]
fn downloads_share_the_floor() {
    check("down", "4");
}
