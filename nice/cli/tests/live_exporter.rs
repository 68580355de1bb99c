// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice exporter` beside real connections.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::*;

/// A running exporter on a port of its own.
struct Exporter {
    process: Process,
    address: String,
}

impl Exporter {
    fn start(command: &mut Command) -> Self {
        command.args(["exporter", "--listen", "127.0.0.1:0", "--interval", "0.1"]);
        let mut child: Child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let process = Process(child);
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("netnice: metrics at http://");
        let address = address.unwrap_or_else(|| panic!("{line}"));
        Self {
            address: address.trim_end_matches("/metrics").to_owned(),
            process,
        }
    }

    fn scrape(&self) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let accept = "Accept: application/openmetrics-text; version=1.0.0";
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: netnice\r\n{accept}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        answer
    }

    /// The sum of the samples of this name whose labels contain all of `labels`.
    fn value(&self, name: &str, labels: &[&str]) -> f64 {
        let text = self.scrape();
        let values = text.lines().filter_map(|line| {
            let (found, rest) = line.split_once('{')?;
            let (found_labels, value) = rest.rsplit_once("} ")?;
            let meant = found == name && labels.iter().all(|label| found_labels.contains(label));
            meant.then(|| value.parse::<f64>().unwrap())
        });
        values.sum()
    }
}

/// An attached cgroup whose connections send, seen by an exporter started by `command`.
fn see_an_attached_cgroup(command: &mut Command, name: &str) {
    let cgroup = TestCgroup::new(name);
    let label = format!(
        "cgroup=\"/{}\"",
        cgroup.0.file_name().unwrap().to_str().unwrap()
    );
    output(&mut netnice(&["attach", cgroup.path()]));
    let exporter = Exporter::start(command);
    let (mut holder, _) = Holder::start(cgroup.contain(&mut hold()));
    let sending = [
        label.as_str(),
        "control=\"netnice\"",
        "direction=\"sending\"",
    ];
    let value = |name: &str, labels: &[&str]| exporter.value(name, labels);

    // Both ends of the connection are in the cgroup.
    eventually("the open connection", || {
        value("netnice_connections", &sending) == 2.0
    });
    // It sends 100000 bytes, and another connection comes and goes between two readings.
    let before = value("netnice_started_connections_total", &sending);
    holder.ask();
    eventually("the data", || {
        value("netnice_sent_bytes_total", &sending[..2]) >= 100_000.0
            && value("netnice_received_bytes_total", &sending[..2]) >= 100_000.0
            && value("netnice_started_connections_total", &sending) >= before + 2.0
    });
    eventually("the states", || {
        value("netnice_state_seconds_total", &sending) > 0.0
    });
    let registered = ["control=\"netnice\""];
    assert_eq!(value("netnice_control_registered", &registered), 1.0);
    assert!(value("netnice_attached_cgroups", &[]) >= 1.0);
    drop(holder);
    eventually("the end of the connections", || {
        value("netnice_connections", &sending) == 0.0
    });
    output(&mut netnice(&["detach", cgroup.path()]));
}

#[test]
fn connections_of_an_attached_cgroup_are_shown() {
    see_an_attached_cgroup(&mut netnice(&[]), "exporter");
}

#[test]
fn cap_bpf_is_enough_for_the_own_network_namespace() {
    let netnice = netnice(&[]);
    let mut command = Command::new("setpriv");
    command
        .args([
            "--bounding-set=-all,+bpf",
            "--inh-caps=-all",
            "--no-new-privs",
        ])
        .arg(netnice.get_program());
    see_an_attached_cgroup(&mut command, "exporter-bpf");
}

#[test]
fn runs_count_for_the_cgroup_they_were_started_in() {
    let cgroup = TestCgroup::new("exporter-run");
    let label = format!(
        "cgroup=\"/{}\"",
        cgroup.0.file_name().unwrap().to_str().unwrap()
    );
    let exporter = Exporter::start(&mut netnice(&[]));
    let probe = probe().to_str().unwrap();
    let mut run = netnice(&["run", "--control", "tcplp", "--", probe, "hold"]);
    let (holder, _) = Holder::start(cgroup.contain(&mut run));
    let labels = [label.as_str(), "control=\"tcplp\""];
    eventually("the run", || {
        exporter.value("netnice_connections", &labels) >= 2.0
    });
    assert!(!exporter.scrape().contains("netnice-run-"));
    drop(holder);
}

#[test]
fn the_file_of_an_exporter_that_ends_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("netnice.prom");
    let file = path.to_str().unwrap();
    for (signal, code) in [(Signal::SIGTERM, 0), (Signal::SIGINT, 130)] {
        let child = netnice(&["exporter", "--textfile", file]).spawn().unwrap();
        let mut process = Process(child);
        eventually("the file", || path.exists());
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("# TYPE netnice_readings_total counter\n"),
            "{text}"
        );
        kill(Pid::from_raw(process.pid()), signal).unwrap();
        assert_eq!(process.0.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn an_exporter_that_cannot_start_says_why() {
    let holder = Exporter::start(&mut netnice(&[]));
    for (arguments, code, words) in [
        (
            ["--listen", &holder.address],
            1,
            "--listen ADDRESS:PORT chooses another",
        ),
        (["--listen", "9771"], 2, "give an address and a port"),
        (["--textfile", "/tmp/netnice.txt"], 2, "ends in .prom"),
        (["--interval", "0"], 2, "from 0.1 to 60"),
        (
            ["--textfile", "/nowhere/netnice.prom"],
            1,
            "/nowhere/netnice.prom",
        ),
    ] {
        let said = say(netnice(&["exporter"]).args(arguments));
        assert_eq!(said.code, Some(code), "{arguments:?}: {}", said.err);
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    }
    kill(Pid::from_raw(holder.process.pid()), Signal::SIGTERM).unwrap();
}
