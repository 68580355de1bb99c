// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets that were made outside an attached cgroup, and that its processes get after it was attached.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::*;

/// Starts the program that hands sockets to processes of a cgroup.
fn hand_over(cgroup: &TestCgroup, way: &str) -> Child {
    let mut command = Command::new("python3");
    command.args(["-c", include_str!("program/elsewhere.py"), cgroup.path()]);
    let command = command.arg(way).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Returns what reads the next line that the program prints.
fn answers(child: &mut Child) -> impl FnMut() -> String + use<> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    move || lines.next().unwrap().unwrap()
}

fn printed(child: Child) -> Vec<String> {
    let output = child.wait_with_output().unwrap();
    lines(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_listening_socket_has_low_priority_while_the_cgroup_is_attached() {
    let cgroup = TestCgroup::new("listening");
    output(&mut netnice(&["attach", cgroup.path()]));
    let mut child = hand_over(&cgroup, "listening");
    let mut next = answers(&mut child);
    // The socket, and a connection that a process accepts which is not in the cgroup.
    assert_eq!([next(), next()], ["netnice", "netnice"]);
    output(&mut netnice(&["detach", cgroup.path()]));
    writeln!(child.stdin.as_mut().unwrap()).unwrap();
    assert_eq!([next(), next()], [usual_control(), usual_control()]);
    child.wait().unwrap();
}

#[test]
fn a_connection_gets_low_priority_and_one_held_by_others_does_not() {
    let cgroup = TestCgroup::new("connection");
    output(&mut netnice(&[
        "attach",
        "--control",
        "tcplp",
        cgroup.path(),
    ]));
    let expected = ["tcplp".to_owned(), usual_control()];
    assert_eq!(printed(hand_over(&cgroup, "connection")), expected);
    output(&mut netnice(&["detach", cgroup.path()]));
}

#[test]
fn a_process_that_was_there_before_may_get_it() {
    let cgroup = TestCgroup::new("passed");
    output(&mut netnice(&["attach", cgroup.path()]));
    assert_eq!(printed(hand_over(&cgroup, "passed")), ["netnice"]);
    output(&mut netnice(&["detach", cgroup.path()]));
}

#[test]
fn a_connection_stays_without_it_that_it_was_removed_from() {
    let cgroup = TestCgroup::new("released");
    output(&mut netnice(&["attach", cgroup.path()]));
    let mut child = hand_over(&cgroup, "released");
    let mut next = answers(&mut child);
    let first = next();
    let (control, pid) = first.split_once(' ').unwrap();
    assert_eq!(control, "netnice");
    output(&mut netnice(&["renice", "--off", "--pid", pid]));
    writeln!(child.stdin.as_mut().unwrap()).unwrap();
    assert_eq!(next(), usual_control());
    child.wait().unwrap();
    output(&mut netnice(&["detach", cgroup.path()]));
}

#[test]
fn the_settings_of_the_nearest_cgroup_hold_for_it() {
    let cgroup = TestCgroup::new("nearest");
    let near = TestCgroup(cgroup.0.join("near"));
    fs::create_dir(near.path()).unwrap();
    output(&mut netnice(&["attach", cgroup.path()]));
    let receive = ["attach", "--direction", "receive", near.path()];
    output(&mut netnice(&receive));
    let expected = [usual_control(), "netnice".to_owned()];
    assert_eq!(printed(hand_over(&cgroup, "below")), expected);
    for attached in [&near, &cgroup] {
        output(&mut netnice(&["detach", attached.path()]));
    }
}

#[test]
fn one_process_looks_for_all_attached_cgroups() {
    let looks_one = || processes_called("nn-sockets", "attach").len() == 1;
    let [first, second] = ["first", "second"].map(TestCgroup::new);
    for cgroup in [&first, &second] {
        output(&mut netnice(&["attach", cgroup.path()]));
    }
    eventually("one process that looks", looks_one);
    output(&mut netnice(&["detach", first.path()]));
    std::thread::sleep(Duration::from_secs(2));
    eventually("one process that looks", looks_one);
    output(&mut netnice(&["detach", second.path()]));
}
