// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice run --log`, and `netnice plot` of what it wrote.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::*;

/// A file in a directory where every user may write.
fn log(directory: &tempfile::TempDir) -> PathBuf {
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(directory.path(), everyone).unwrap();
    directory.path().join("run.jsonl")
}

fn hold(run: &mut Command, log: &Path) -> Holder {
    run.args(["run", "--log", log.to_str().unwrap()]);
    run.args(["--log-interval", "0.05", "--"]);
    Holder::start(run.arg(probe()).arg("hold")).0
}

/// Waits until a reading has connections of the command that have sent `bytes`; returns all whole lines.
fn lines_with(log: &Path, bytes: u64) -> Vec<Value> {
    let mut lines = Vec::new();
    eventually("a reading", || {
        let text = fs::read_to_string(log).unwrap_or_default();
        let whole = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        lines = whole
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let last = lines.iter().skip(1).rev().take(1);
        let mut open = last.flat_map(|line: &Value| line["connections"].as_array().unwrap());
        open.any(|one| one["bytes_sent"].as_u64().unwrap() >= bytes)
    });
    lines
}

fn plot(log: &Path, more: &[&str]) -> Said {
    say(netnice(&["plot", log.to_str().unwrap()]).args(more))
}

#[test]
fn a_log_shows_the_commands_connections_and_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(&directory);
    // Another run's connections are not in it.
    let other = directory.path().join("other.jsonl");
    let _other = hold(&mut netnice(&[]), &other);
    let mut holder = hold(&mut netnice(&[]), &log);
    holder.ask();
    let lines = lines_with(&log, 100_000);
    assert_eq!(lines[0]["netnice_log"], 1);
    assert_eq!(lines[0]["control"], "netnice");
    assert_eq!(lines[0]["command"][1], "hold");
    let ids = |lines: &[Value]| {
        let open = lines.last().unwrap()["connections"].as_array().unwrap();
        open.iter()
            .map(|one| one["connection"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    // The holder has opened another pair for a moment. What follows needs some readings.
    let mut lines = lines;
    eventually("the client, the server and more readings", || {
        lines = lines_with(&log, 100_000);
        ids(&lines).len() == 2 && lines.len() > 5
    });
    let found = ids(&lines);
    let others = ids(&lines_with(&other, 0));
    assert!(found.iter().all(|one| !others.contains(one)));
    let one = &lines.last().unwrap()["connections"][0];
    assert!(
        one["state"].is_string() && one["rtt_ms"].is_number(),
        "{one}"
    );

    // The log grows while it is drawn, and ends at any place when netnice is killed.
    assert_eq!(plot(&log, &["--terminal"]).code, Some(0));
    let said = plot(&log, &[]);
    let svg = log.with_extension("svg");
    assert_eq!(
        (said.code, said.out),
        (Some(0), format!("{}\n", svg.display()))
    );
    assert!(fs::read_to_string(&svg).unwrap().contains("rate (Mb/s)"));
    kill(Pid::from_raw(holder.process.pid()), Signal::SIGKILL).unwrap();
    drop(holder);
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 7]).unwrap();
    let other = directory.path().join("x.svg");
    let said = plot(&log, &["-o", other.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(fs::read_to_string(other).unwrap().contains("rate (Mb/s)"));
}

#[test]
fn a_log_ends_with_the_command_and_keeps_its_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(&directory);
    let run = [
        "run",
        "--log",
        log.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "sleep 0.3; exit 7",
    ];
    assert_eq!(say(&mut netnice(&run)).code, Some(7));
    let said = plot(&log, &[]);
    said.ended(1, "nothing to draw");

    let mut holder = hold(&mut netnice(&[]), &log);
    lines_with(&log, 0);
    kill(Pid::from_raw(holder.process.pid()), Signal::SIGINT).unwrap();
    assert!(!holder.process.0.wait().unwrap().success());
    assert_eq!(plot(&log, &["--terminal"]).code, Some(0));
}

#[test]
fn without_root_the_descendants_connections_are_logged() {
    let _registered = keep_registered();
    let directory = tempfile::tempdir().unwrap();
    let log = log(&directory);
    let mut holder = hold(&mut netnice_as_nobody(&[]), &log);
    holder.ask();
    let lines = lines_with(&log, 100_000);
    assert_eq!(lines[0]["control"], "netnice");
    assert_eq!(plot(&log, &["--terminal"]).code, Some(0));
}

#[test]
fn what_cannot_be_logged_or_drawn_is_named() {
    let said = say(&mut netnice(&[
        "run",
        "--log",
        "/nowhere/x.jsonl",
        "--",
        "sh",
        "-c",
        "exit 3",
    ]));
    // The command is worth more than its log.
    said.ended(3, "/nowhere/x.jsonl");
    let said = say(&mut netnice(&[
        "run",
        "--log",
        "/dev/full",
        "--",
        "sh",
        "-c",
        "exit 3",
    ]));
    said.ended(3, "there will be no log");
    for (arguments, words) in [
        (["plot", "/bin/true", "-o", "x.gif"], "end in .svg"),
        (
            ["plot", "/bin/true", "--format", "png"],
            "is not a directory",
        ),
        (["run", "--log-interval", "1", "true"], "--log <FILE>"),
    ] {
        let said = say(&mut netnice(&arguments));
        said.ended(2, words);
    }
}
