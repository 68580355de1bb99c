// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls in C files on the running kernel: `run --control-file`.

mod support;

use std::fs;
use std::path::PathBuf;

use support::{available_controls, directory, eventually, netnice, probe, say};

/// Reno (RFC 5681) as a file.
const RENO: &str = include_str!("../../../python/tests/reno.h");

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
