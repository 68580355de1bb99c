// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice probe`, live: from a local web server over an emulated link. Needs root, and fails without.

mod program;

use std::process::Output;

use nix::sys::signal::Signal;
use program::{
    as_nobody, cgroup_of, cgroup2, ended, ended_in_one_line, measure_until, netnice, run, signal,
    start, stderr, stdout, wait_until,
};
use serde_json::Value;

/// Server, rivals and measurement, which measures the figures in docs/howto/mirrors.md, too.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/bench/mirrors");
const HOME: [&str; 6] = ["--rate", "10mbit", "--delay", "20ms", "--queue", "83p"];

/// Runs a shell script behind a link whose far side serves; `$NETNICE` is the program.
fn behind(link: &[&str], script: &str) -> Output {
    behind_server(link, "", script)
}

/// The server has this file with its certificate and key.
fn behind_server(link: &[&str], certificate: &str, script: &str) -> Output {
    let server = format!("exec python3 {SCRIPT} serve {certificate}");
    let until_served = "until curl -so /dev/null $NETNICE_FAR:8000/small; do sleep 0.1; done; ";
    let script = format!("{until_served}{script}");
    let before = ["link", "--quiet", "--far", &server];
    let command = [&before, link, &["--", "sh", "-c", &script]].concat();
    netnice(&command)
        .env("NETNICE", env!("CARGO_BIN_EXE_netnice"))
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

#[test]
fn spare_rates_are_found_and_rivals_keep_theirs() {
    let measure = |rival: &str, seconds: &str| {
        let mut command = std::process::Command::new("python3");
        command.args([SCRIPT, env!("CARGO_BIN_EXE_netnice"), "--json"]);
        command.args(["--runs", "1", "--seconds", seconds, "--rival", rival]);
        let row = json(&command.output().unwrap())[0].take();
        move |name: &str| {
            row[name]
                .as_f64()
                .unwrap_or_else(|| panic!("{name} of {row:#}"))
        }
    };
    // With nobody else it fills the link, and never gives way.
    measure_until(
        || {
            let figure = measure("none", "6");
            (figure("found") / figure("spare"), figure("yielded_share"))
        },
        |(part, yielded)| (0.85..1.05).contains(part) && *yielded < 0.1,
    );
    measure_until(
        || {
            let figure = measure("udp-constant", "8");
            let part = figure("found") / figure("spare");
            (part, figure("rival_keeps"))
        },
        |(part, keeps)| (0.6..1.15).contains(part) && *keeps > 0.9,
    );
    // TCP leaves nothing. A probe that meets a full queue needs some seconds to notice it.
    measure_until(
        || {
            let figure = measure("tcp-cubic", "16");
            let share = figure("found") / figure("rival_alone");
            (share, figure("rival_keeps"), figure("yielded_share"))
        },
        |(share, keeps, yielded)| *share < 0.15 && *keeps > 0.85 && *yielded > 0.2,
    );
}

#[test]
fn urls_are_ranked_and_failures_are_named() {
    let script = "\"$NETNICE\" probe --json --seconds 2 http://$NETNICE_FAR:8000/file \
                  http://$NETNICE_FAR:8000/elsewhere http://$NETNICE_FAR:8000/missing \
                  http://$NETNICE_FAR:8000/small http://$NETNICE_FAR:9/file \
                  \"http://[$NETNICE_FAR6]:8000/file\"";
    let output = behind(&HOME, script);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report = json(&output);
    let of = |end: &str| {
        let rows = report["probes"].as_array().unwrap();
        let found = rows
            .iter()
            .find(|row| row["url"].as_str().unwrap().ends_with(end));
        found.unwrap_or_else(|| panic!("no {end} in {report:#}"))
    };
    for measured in ["/elsewhere", "]:8000/file", "0.2:8000/file"] {
        let row = of(measured);
        assert_eq!(row["error"], Value::Null, "{row:#}");
        // The link delays by 20 ms each way.
        let rtt = row["rtt_ms"].as_f64().unwrap();
        assert!((39.0..200.0).contains(&rtt), "{row:#}");
        // The handshake and the request are a round trip each.
        assert!(
            row["time_to_first_byte_ms"].as_f64() > Some(79.0),
            "{row:#}"
        );
        assert!(row["bytes_used"].as_u64() > Some(100_000), "{row:#}");
        assert_eq!(row["ended_by"], "time", "{row:#}");
        assert!(row["place"].as_u64() >= Some(1), "{row:#}");
    }
    let answered = of("/elsewhere")["redirected_to"].as_str().unwrap();
    assert!(answered.ends_with(":8000/file"), "{answered}");
    let missing = of("/missing")["error"].as_str().unwrap();
    assert!(missing.contains("404 Not Found"), "{missing}");
    let closed = of(":9/file")["error"].as_str().unwrap();
    assert!(closed.contains("refuses connections"), "{closed}");
    let small = of("/small");
    assert_eq!(small["ended_by"], "file", "{small:#}");
    let used = small["bytes_used"].as_u64().unwrap();
    assert!((100_000..102_000).contains(&used), "{small:#}");
}

#[test]
fn the_best_is_printed_alone() {
    let script = "\"$NETNICE\" probe --best --bytes 300kB http://$NETNICE_FAR:8000/missing \
                  http://$NETNICE_FAR:8000/file; exec \"$NETNICE\" probe --best http://$NETNICE_FAR:9/";
    let output = behind(&HOME, script);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let printed = stdout(&output);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(printed.trim_end().ends_with(":8000/file"), "{printed}");
    assert!(stderr(&output).contains("404"), "{}", stderr(&output));
}

/// Only with a certificate that this system trusts.
#[test]
fn https_is_measured_if_the_certificate_is_trusted() {
    let place = tempfile::tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), mode).unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (pair, trusted) = (path("pair.pem"), path("trusted.pem"));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=mirror",
        ])
        .args(["-addext", "subjectAltName=IP:10.77.0.2"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &pair, "-out", &trusted])
        .output()
        .expect("openssl is needed");
    assert!(made.status.success(), "{}", stderr(&made));
    let mut both = std::fs::read(&pair).unwrap();
    both.extend(std::fs::read(&trusted).unwrap());
    std::fs::write(&pair, both).unwrap();

    let url = "https://10.77.0.2:8443/file";
    let script = format!(
        "\"$NETNICE\" probe --seconds 2 {url}; \
         SSL_CERT_FILE={trusted} exec \"$NETNICE\" probe --json --seconds 2 {url}"
    );
    let output = behind_server(&HOME, &pair, &script);
    ended(&output, 0, "certificate");
    let report = json(&output);
    let row = &report["probes"][0];
    assert!(
        row["spare_rate_bits_per_second"].as_f64() > Some(1e6),
        "{row:#}"
    );
    // TCP, TLS 1.3 and the request are a round trip each.
    assert!(
        row["time_to_first_byte_ms"].as_f64() > Some(119.0),
        "{row:#}"
    );
}

#[test]
fn a_server_without_timestamps_is_measured() {
    let script = "echo 0 > /proc/sys/net/ipv4/tcp_timestamps; \
                  \"$NETNICE\" probe --json --seconds 4 http://$NETNICE_FAR:8000/file";
    let output = behind(&HOME, script);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("\"spare_rate_bits_per_second"),
        "{}",
        stdout(&output)
    );
}

/// Every thread is nobody, without capabilities or a hold on the kernel, while data arrives; and Ctrl-C prints what there is.
#[test]
fn root_is_given_up_and_ctrl_c_reports() {
    let script = "\"$NETNICE\" probe --seconds 60 http://$NETNICE_FAR:8000/file & probe=$!; sleep 4; \
                  cat /proc/$probe/task/*/status; ls -l /proc/$probe/fd; kill -INT $probe; wait $probe; echo \"code $?\"";
    let output = behind(&HOME, script);
    let printed = stdout(&output);
    let lines = |name: &str| -> Vec<&str> {
        let lines = printed.lines().filter(|line| line.starts_with(name));
        lines.collect()
    };
    let threads = lines("Name:").len();
    assert!(threads >= 2, "{printed}");
    for (name, expected) in [
        ("Uid:", "Uid:\t65534\t65534\t65534\t65534"),
        ("Gid:", "Gid:\t65534\t65534\t65534\t65534"),
        ("Groups:", "Groups:\t "),
        ("CapPrm:", "CapPrm:\t0000000000000000"),
        ("CapEff:", "CapEff:\t0000000000000000"),
        ("NoNewPrivs:", "NoNewPrivs:\t1"),
    ] {
        let found = lines(name);
        assert_eq!(found, vec![expected; threads], "{printed}");
    }
    // A map, which it may only read, and the connection.
    assert_eq!(printed.matches("bpf-map").count(), 1, "{printed}");
    let maps = printed.lines().filter(|line| line.contains("bpf-map"));
    assert!(
        maps.clone().all(|line| line.starts_with("lr-x")),
        "{printed}"
    );
    for held in ["bpf-prog", "/run/netnice", "/sys/fs/cgroup"] {
        assert!(!printed.contains(held), "{printed}");
    }
    assert!(printed.contains(":8000/file: interrupted"), "{printed}");
    assert!(printed.ends_with("code 130\n"), "{printed}");
}

#[test]
fn a_killed_probe_leaves_nothing_behind() {
    let mut probe = start(&mut netnice(&["probe", "http://192.0.2.1/file"]));
    let mut path = String::new();
    wait_until("a cgroup", || {
        path = cgroup_of(probe.id() as i32);
        path.contains("netnice-run-")
    });
    let path = cgroup2().join(path.trim_start_matches('/'));
    signal(&probe, Signal::SIGKILL);
    probe.wait().unwrap();
    wait_until("the cgroup is gone", || !path.exists());
}

#[test]
fn wrong_usage_and_missing_privilege_are_reported() {
    for (arguments, code, expected) in [
        (&["probe"][..], 2, "<URL>..."),
        (&["probe", "ftp://example.org/a"], 2, "http and https are"),
        (
            &["probe", "--size", "5", "http://example.org/a"],
            2,
            "has no unit",
        ),
        (
            &["probe", "--best", "--json", "http://example.org/a"],
            2,
            "--json",
        ),
    ] {
        let output = run(arguments);
        ended_in_one_line(&output, code, expected);
    }
    let output = as_nobody(&["probe", "http://example.org/a"]);
    ended(&output, 1, "needs root");
}
