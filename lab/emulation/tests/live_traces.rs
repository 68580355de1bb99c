// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link leaves nothing behind, however its process ends. Needs root, and fails without it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netnice_link::{EmulatedLink, EmulatedLinkSpec, Namespace};

/// Environment variable that makes this test program hold a link until killed.
const HOLD: &str = "NETNICE_TEST_HOLD_A_LINK";

fn spec() -> EmulatedLinkSpec {
    EmulatedLinkSpec::symmetric("rate=10mbit,delay=1ms".parse().unwrap())
}

/// Returns the namespace's name in `/proc`, such as `net:[4026532274]`.
fn identity(namespace: &Namespace) -> String {
    let link = namespace
        .run(|| fs::read_link("/proc/thread-self/ns/net"))
        .unwrap()
        .unwrap();
    link.to_string_lossy().into_owned()
}

/// Returns true if any thread is in the namespace, or any process holds a descriptor of it.
fn is_held(identity: &str) -> bool {
    let points_there =
        |path: &Path| fs::read_link(path).is_ok_and(|target| target == Path::new(identity));
    let entries = |path: &Path| {
        fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let is_process = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit())
    };
    entries(Path::new("/proc"))
        .filter(|path| is_process(path))
        .any(|process| {
            entries(&process.join("task")).any(|thread| points_there(&thread.join("ns/net")))
                || entries(&process.join("fd")).any(|descriptor| points_there(&descriptor))
        })
}

/// Waits until nothing holds the namespace. The kernel reuses the number at once for the next namespace, of a parallel
/// test for example, so that one look at a free number counts.
fn is_free_soon(identity: &str) -> bool {
    let began = Instant::now();
    while is_held(identity) {
        if began.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Returns the names of the network devices in the caller's namespace.
fn devices() -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    table
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect()
}

/// Counts named namespaces; a link creates none.
fn named_namespaces() -> usize {
    fs::read_dir("/run/netns").map_or(0, |entries| entries.count())
}

#[test]
fn a_stopped_link_leaves_nothing() {
    let (devices_before, named_before) = (devices(), named_namespaces());
    let link = EmulatedLink::start(&spec()).unwrap();
    let identities = [identity(link.near()), identity(link.far())];
    assert_ne!(identities[0], identities[1]);
    assert!(identities.iter().all(|identity| is_held(identity)));
    assert_eq!(link.near().run(devices).unwrap().len(), 2);

    let report = link.stop().unwrap();
    assert!(report.elapsed > Duration::ZERO);
    assert!(identities.iter().all(|identity| is_free_soon(identity)));
    assert_eq!(
        (devices(), named_namespaces()),
        (devices_before, named_before)
    );
}

#[test]
fn a_dropped_nested_link_takes_its_devices_along() {
    let outer = EmulatedLink::start(&spec()).unwrap();
    let before = outer.near().run(devices).unwrap();
    let inner = outer
        .near()
        .run(|| EmulatedLink::start(&spec()))
        .unwrap()
        .unwrap();
    let nested = identity(inner.near());
    assert_eq!(outer.near().run(devices).unwrap().len(), before.len() + 1);
    drop(inner);
    assert_eq!(outer.near().run(devices).unwrap(), before);
    assert!(is_free_soon(&nested));
}

#[test]
fn a_link_whose_device_is_removed_says_so() {
    let link = EmulatedLink::start(&spec()).unwrap();
    let removed = link
        .near()
        .status(Command::new("ip").args(["link", "delete", "nn-near"]))
        .unwrap();
    assert!(removed.success());
    std::thread::sleep(Duration::from_millis(100));
    let report = link.stop().unwrap();
    assert!(
        !report.trustworthy && report.reason.contains("stopped early"),
        "{report}"
    );
}

#[test]
fn commands_run_inside_and_return_their_status() {
    let link = EmulatedLink::start(&spec()).unwrap();
    let status = link
        .near()
        .status(Command::new("sh").args(["-c", "exit 7"]))
        .unwrap();
    assert_eq!(status.code(), Some(7));
    let status = link
        .near()
        .status(Command::new("sh").args(["-c", "kill -TERM $$"]))
        .unwrap();
    assert_eq!(status.signal(), Some(15));
    let error = link
        .near()
        .status(&mut Command::new("/nonexistent"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot run `/nonexistent`"), "{error}");

    let mut command = Command::new("cat");
    let output = link
        .far()
        .spawn(command.arg("/proc/net/dev").stdout(Stdio::piped()))
        .unwrap()
        .wait_with_output();
    assert!(
        String::from_utf8(output.unwrap().stdout)
            .unwrap()
            .contains("nn-far0")
    );
}

#[test]
fn a_killed_process_leaves_nothing() {
    if std::env::var_os(HOLD).is_some() {
        return hold();
    }
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_process_leaves_nothing", "--nocapture"])
        .env(HOLD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let identities: Vec<String> = lines
        .filter_map(|line| Some(line.split_once("holding ")?.1.to_owned()))
        .take(2)
        .collect();
    assert_eq!(identities.len(), 2);
    assert!(identities.iter().all(|identity| is_held(identity)));

    // The holder dies by SIGKILL.
    holder.kill().unwrap();
    holder.wait().unwrap();
    // The namespaces are gone with all in them, including the command behind the link.
    for identity in &identities {
        assert!(is_free_soon(identity), "{identity} is still held");
    }
}

/// Holds a link with a command behind it, until killed.
fn hold() {
    let link = EmulatedLink::start(&spec()).unwrap();
    let mut command = link.near().spawn(Command::new("sleep").arg("600")).unwrap();
    println!("\nholding {}", identity(link.near()));
    println!("\nholding {}", identity(link.far()));
    command.wait().unwrap();
}
