// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--no-quic`, live: UDP to port 443 is refused, and all else passes.

mod support;

use serde_json::Value;
use support::{NOBODY, TestCgroup, netnice, netnice_as_nobody, output, say};

/// Prints the error number of each attempt: 0 for none, 1 for EPERM, 111 for a refused TCP connection.
const ATTEMPTS: &str = "
import socket
def attempt(work):
    try:
        work()
        return 0
    except OSError as error:
        return error.errno
answers = []
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'), (socket.AF_INET6, '::ffff:127.0.0.1')):
    for port in (443, 444):
        udp = lambda: socket.socket(family, socket.SOCK_DGRAM)
        answers.append(attempt(lambda: udp().connect((host, port))))
        answers.append(attempt(lambda: udp().sendto(b'x', (host, port))))
    answers.append(attempt(lambda: socket.socket(family).connect((host, 443))))
print(answers)
";

/// For each address: UDP connect and sendto to 443, to 444, and TCP to 443.
const REFUSED: &str = "[1, 1, 0, 0, 111, 1, 1, 0, 0, 111, 1, 1, 0, 0, 111]";
const ALLOWED: &str = "[0, 0, 0, 0, 111, 0, 0, 0, 0, 111, 0, 0, 0, 0, 111]";

#[test]
fn udp_to_the_quic_port_is_refused_to_a_command() {
    let run = |options: &[&str]| {
        let mut command = netnice(&["run"]);
        output(
            command
                .args(options)
                .args(["--", "python3", "-c", ATTEMPTS]),
        )
    };
    assert_eq!(run(&["--no-quic"]).trim(), REFUSED);
    assert_eq!(run(&[]).trim(), ALLOWED);
}

#[test]
fn attach_refuses_it_and_detach_allows_it_again() {
    let cgroup = TestCgroup::new("quic");
    let path = cgroup.path().to_owned();
    let script = format!("echo 0 > {path}/cgroup.procs; exec python3 -c \"$0\"");
    let attempts = || {
        let mut command = std::process::Command::new("sh");
        output(command.args(["-c", &script, ATTEMPTS]))
            .trim()
            .to_owned()
    };
    let without_quic = || {
        let status = output(&mut netnice(&["status", "--json"]));
        let status: Value = serde_json::from_str(&status).unwrap();
        let paths = status["without_quic"].as_array().unwrap().clone();
        paths
            .iter()
            .any(|one| path.ends_with(one.as_str().unwrap()))
    };
    let out = output(&mut netnice(&["attach", "--no-quic", &path]));
    assert!(out.contains("QUIC is refused"), "{out}");
    assert_eq!((attempts().as_str(), without_quic()), (REFUSED, true));
    // Attached again without the option.
    output(&mut netnice(&["attach", &path]));
    assert_eq!((attempts().as_str(), without_quic()), (ALLOWED, false));
    output(&mut netnice(&["attach", "--no-quic", &path]));
    assert_eq!(attempts(), REFUSED);
    output(&mut netnice(&["detach", &path]));
    assert_eq!((attempts().as_str(), without_quic()), (ALLOWED, false));
}

#[test]
fn without_root_it_is_an_error() {
    let said = say(&mut netnice_as_nobody(&["run", "--no-quic", "--", "true"]));
    assert_eq!(said.code, Some(1), "{NOBODY}: {}", said.err);
    assert!(said.err.contains("refusing QUIC"), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
}
