// SPDX-License-Identifier: MIT OR Apache-2.0
//! Downloads at low priority, live: from a server that knows nothing of it, over an emulated link.

mod program;

use std::thread;
use std::time::Duration;

use program::{TestCgroup, measure_until, netnice, stderr, stdout};
use serde_json::Value;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/downloads.py");

/// Runs the script behind a link whose far side serves, and returns its output.
fn behind(link: &[&str], arguments: &[&str], cgroup: &str) -> Value {
    behind_server("", link, arguments, cgroup)
}

/// As [`behind`]; the far side runs the shell's `first` before it serves.
fn behind_server(first: &str, link: &[&str], arguments: &[&str], cgroup: &str) -> Value {
    let server = format!("{first} exec python3 {SCRIPT} serve");
    let before = ["link", "--quiet", "--far", &server];
    let script = ["--", "python3", SCRIPT];
    let output = netnice(&[&before, link, &script, arguments].concat())
        .env("CGROUP", cgroup)
        .env("DIRECTORY", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

const HOME: [&str; 6] = ["--rate", "10mbit", "--delay", "20ms", "--queue", "83p"];

#[test]
fn a_download_fills_the_link_and_yields_it() {
    let program = env!("CARGO_BIN_EXE_netnice");
    measure_until(
        || behind(&HOME, &["beside", program], ""),
        |printed| {
            let rate = |name: &str| printed[name].as_f64().unwrap();
            let both = rate("low_beside") + rate("plain_beside");
            rate("low") > 0.8 * rate("plain") && rate("low_beside") < 0.1 * both
        },
    );
}

/// Each policy begins with a state of its own.
#[test]
fn an_open_download_gets_its_cgroups_new_control() {
    let cgroup = TestCgroup::new("switch");
    let shown = behind(
        &HOME,
        &["switch", env!("CARGO_BIN_EXE_netnice")],
        cgroup.path(),
    );
    for (one, control) in shown
        .as_array()
        .unwrap()
        .iter()
        .zip(["netnice", "tcplp", "hstcplp"])
    {
        assert_eq!(one["receive_control"], control, "{shown}");
        assert!(
            one["receive_rate_bits_per_second"].as_f64() > Some(1e5),
            "{shown}"
        );
    }
}

#[test]
fn a_download_without_timestamps_yields_too() {
    let program = env!("CARGO_BIN_EXE_netnice");
    let first = "echo 0 > /proc/sys/net/ipv4/tcp_timestamps;";
    measure_until(
        || behind_server(first, &HOME, &["beside", program], ""),
        |printed| {
            let rate = |name: &str| printed[name].as_f64().unwrap();
            let both = rate("low_beside") + rate("plain_beside");
            rate("low") > 0.8 * rate("plain") && rate("low_beside") < 0.1 * both
        },
    );
}

/// libslirp is the peer, a TCP with BSD's rules on a path of 0.1 ms, and does not send into a small window before its persist timer
/// expires, after five seconds. These are the MTUs of podman and Docker, and of QEMU.
#[test]
fn a_download_through_a_program_is_not_stalled() {
    let program = env!("CARGO_BIN_EXE_netnice");
    for mtu in ["65520", "1500"] {
        measure_until(
            || behind(&HOME, &["container", program, mtu], ""),
            |printed| printed["low"].as_f64() > printed["plain"].as_f64().map(|rate| 0.8 * rate),
        );
    }
}

#[test]
fn detach_lets_open_downloads_go() {
    let program = env!("CARGO_BIN_EXE_netnice");
    measure_until(
        || {
            let cgroup = TestCgroup::new("receive");
            behind(&HOME, &["release", program], cgroup.path())
        },
        |printed| {
            let rate = |name: &str| printed[name].as_f64().unwrap();
            rate("before") < 1.0 && rate("after") > 2.0
        },
    );
}

#[test]
fn a_download_is_shown_with_its_direction_and_rate() {
    let shown = behind(&HOME, &["status", env!("CARGO_BIN_EXE_netnice")], "");
    for (way, governed) in [("receive", "receiver"), ("both", "both")] {
        let (one, table) = (&shown[way]["status"][0], &shown[way]["table"]);
        assert_eq!(one["governed"], governed, "{shown}");
        assert_eq!(one["receive_control"], "netnice", "{shown}");
        let phases = ["filling", "inference", "yielding", "paused"];
        assert!(phases.contains(&one["receive_state"].as_str().unwrap()));
        assert!(one["receive_rate_bits_per_second"].as_f64() > Some(1e5));
        assert!(one["receive_window_bytes"].as_u64() >= Some(1152), "{one}");
        // The link delays by 20 ms each way, and its queue holds 100 ms at most.
        let rtt = one["receive_minimum_rtt_ms"].as_f64().unwrap();
        assert!((39.0..200.0).contains(&rtt), "{one}");
        let mut lines = table.as_str().unwrap().lines();
        let line = lines.find(|line| line.contains(":8000")).unwrap();
        assert!(phases.iter().any(|phase| line.contains(phase)), "{line}");
        let run = &shown[way]["run"];
        assert_eq!(run["receiving_connections"], 1, "{run}");
        assert!(run["receiving_bytes"].as_u64() > Some(100_000), "{run}");
        assert_eq!(run["receives"], true);
        assert_eq!(run["receiver"], "netnice");
    }
    assert_eq!(shown["receive"]["run"]["bytes_sent"], 0);
    assert_eq!(shown["both"]["run"]["connections"], 1);
}

/// Needs Linux 6.6: before, windows are small instead.
#[test]
fn twenty_downloads_close_windows_and_open_them_again() {
    let found = behind(&HOME, &["closing", env!("CARGO_BIN_EXE_netnice")], "");
    assert!(found["closed"].as_u64() >= Some(5), "{found}");
    assert_eq!(found["progressed"], 20, "{found}");
}

/// Twenty downloads, most with closed windows, after what ends or harms netnice; the plain one stays beside `detach` only. Each
/// has a minute of the link's time, and servers whose timers have backed off may need it.
fn reopened_after(how: &str, killed: u64) {
    let arguments = ["reopening", env!("CARGO_BIN_EXE_netnice"), how];
    measure_until(
        || behind(&HOME, &arguments, TestCgroup::new(how).path()),
        |found| {
            assert_eq!(found["killed"], killed, "{found}");
            found["closed"].as_u64() >= Some(5) && found["progressed"] == 20
        },
    );
}

#[test]
fn closed_windows_open_at_detach() {
    reopened_after("detach", 0);
}

#[test]
fn closed_windows_open_without_the_guard() {
    reopened_after("guard", 1);
}

#[test]
fn closed_windows_open_after_netnice_is_killed() {
    reopened_after("netnice", 1);
}

/// Attached and detached again and again meanwhile, on a path that loses packets.
#[test]
fn whatever_happens_no_byte_is_lost() {
    let cgroup = TestCgroup::new("compare");
    let succeed = |arguments: &[&str]| {
        let output = netnice(arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let attach = || succeed(&["attach", cgroup.path(), "--direction", "receive"]);
    let detach = || succeed(&["detach", cgroup.path()]);
    attach();
    let link = ["--rate", "50mbit", "--delay", "5ms", "--loss", "1%"];
    let printed = thread::scope(|scope| {
        let script = format!(
            "echo 0 > {}/cgroup.procs; exec python3 {SCRIPT} compare 1500",
            cgroup.path()
        );
        let downloads = scope.spawn(move || {
            let server = format!("exec python3 {SCRIPT} serve");
            let before = ["link", "--quiet", "--far", &server];
            let output = netnice(&[&before[..], &link, &["--", "sh", "-c", &script]].concat())
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            stdout(&output)
        });
        while !downloads.is_finished() {
            thread::sleep(Duration::from_millis(700));
            detach();
            attach();
        }
        detach();
        downloads.join().unwrap()
    });
    assert_eq!(printed.trim(), r#"{"wrong": [], "left": 0}"#);
}
