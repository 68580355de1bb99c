// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls in C files on the running kernel: `run --control-file`, and scenarios in a lab.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::{available_controls, directory, eventually, netnice, output, probe, say};

/// Reno (RFC 5681) as a file.
const RENO: &str = include_str!("../../python/tests/reno.h");

fn place(name: &str, text: &str) -> PathBuf {
    let path = directory().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_command_runs_with_the_control_in_a_file() {
    let file = place("My reno.h", RENO);
    let said = say(netnice(&["run", "-v", "--control-file"])
        .arg(&file)
        .arg("--")
        .arg(probe())
        .args(["once", "4"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let controls = said.out.lines().map(|line| line.split(' ').nth(1).unwrap());
    assert_eq!(
        controls.collect::<Vec<_>>(),
        ["file_my_reno"; 3],
        "{}",
        said.out
    );
    assert!(
        said.err.contains("with a control in a file (file_my_reno"),
        "{}",
        said.err
    );
    // A lab of another test keeps all that is registered until it ends.
    eventually("unregistering", || {
        !available_controls().contains(&"file_my_reno".to_owned())
    });
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_lines() {
    let run = |file: &PathBuf| {
        let said = say(netnice(&["run", "--control-file"])
            .arg(file)
            .args(["--", "true"]));
        assert_eq!(said.code, Some(1), "{}", said.err);
        said.err
    };
    let wrong = place(
        "wrong.h",
        &RENO.replace("state->acked += ", "state->unknown += "),
    );
    let said = run(&wrong);
    let before = RENO.split("state->acked += ").next().unwrap();
    let line = before.matches('\n').count() + 1;
    assert!(
        said.contains(&format!("{}:{line}:", wrong.display())),
        "{said}"
    );
    assert!(
        said.contains("unknown") && !said.contains("control_file.c"),
        "{said}"
    );

    let large = place(
        "large.h",
        &RENO.replace("u32 acked;", "u32 acked; u32 more[18];"),
    );
    assert!(run(&large).contains("struct control may have 72 bytes"));

    // The kernel proves that a call ends, before anything has this control.
    let endless = RENO.replace(
        "state->acked -= window->cwnd;",
        "for (u32 i = 0; i != ack->acked; i += 3) state->acked = (state->acked * 33) ^ i;",
    );
    assert!(run(&place("endless.h", &endless)).contains("verifier"));

    assert!(run(&directory().join("none.h")).contains("No such file"));
    let said = say(netnice(&["run", "--control", "tcplp", "--control-file"])
        .arg(&wrong)
        .args(["--", "true"]));
    assert_eq!(said.code, Some(2), "{}", said.err);
}

#[test]
fn reno_in_a_file_shares_as_the_kernels_own() {
    place("reno.h", RENO);
    let scenario = place(
        "reno.toml",
        "name = \"reno\"
duration = \"15s\"
warm_up = \"3s\"
seeds = 1
[[links]]
from = \"left\"
to = \"right\"
rate = \"10mbit\"
delay = \"5ms\"
queue = \"20p\"
[[links]]
from = \"source\"
to = \"left\"
[[links]]
from = \"right\"
to = \"sink\"
[[flows]]
name = \"file\"
from = \"source\"
to = \"sink\"
congestion_control = \"./reno.h\"
[[flows]]
name = \"own\"
from = \"source\"
to = \"sink\"
congestion_control = \"reno\"
",
    );
    let out = directory().join("results");
    output(
        netnice(&["lab", "--quiet", "--allow-control-files", "--out"])
            .arg(&out)
            .arg(&scenario),
    );
    let goodput = |flow: &str| {
        let runs = fs::read_dir(out.join("runs")).unwrap().flatten();
        let file = runs
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|e| e == "json"))
            .unwrap();
        let run: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let flows = run["flows"].as_array().unwrap();
        let flow = flows.iter().find(|found| found["name"] == flow).unwrap();
        flow["goodput_bps"].as_f64().unwrap()
    };
    // One that ignores losses takes nearly all; one that takes each for an RTO, little.
    let ratio = goodput("file") / goodput("own");
    assert!((0.4..2.5).contains(&ratio), "{ratio}");
}
