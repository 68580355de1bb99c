// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice link`, live: needs root and /dev/net/tun, and fails without them.

mod program;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::{
    as_nobody, ended, ended_in_one_line, netnice, run, signal, start, stderr, stdout, wait_until,
};

/// Prints the smallest time, in milliseconds, in which the far side refuses a connection: one round
/// trip, without a server.
const ROUND_TRIP: &str = "
import os, socket, time
def connect():
    began = time.monotonic()
    socket.socket().connect_ex((os.environ['NETNICE_FAR'], 9))
    return time.monotonic() - began
print(1000 * min(connect() for _ in range(5)))
";

fn round_trip(link: &[&str]) -> f64 {
    let output = run(&[link, &["--", "python3", "-c", ROUND_TRIP]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).trim().parse().expect("a time")
}

#[test]
fn the_exit_code_is_the_commands() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)] {
        let output = run(&["link", "--delay", "1ms", "--", "sh", "-c", script]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{script}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
        assert!(
            stderr(&output).starts_with("netnice: link "),
            "{}",
            stderr(&output)
        );
    }
    let output = run(&["link", "--", "no-such-command"]);
    ended(&output, 127, "no-such-command");
}

#[test]
fn the_delay_is_what_was_asked_for() {
    let rtt = round_trip(&["link", "--delay", "20ms", "--down", "delay=5ms"]);
    assert!((25.0..30.0).contains(&rtt), "{rtt} ms");
}

#[test]
fn a_change_of_the_delay_takes_effect() {
    let changed = ["link", "--delay", "5ms", "--at", "0s", "delay=20ms"];
    let rtt = round_trip(&[&changed[..], &["--aqm", "fq_codel", "--rate", "100mbit"]].concat());
    assert!((40.0..47.0).contains(&rtt), "{rtt} ms");
}

#[test]
fn links_nest() {
    let inner = env!("CARGO_BIN_EXE_netnice");
    let rtt = round_trip(&[
        "link", "--delay", "20ms", "--", inner, "link", "--delay", "5ms",
    ]);
    assert!((50.0..57.0).contains(&rtt), "{rtt} ms");
}

#[test]
fn the_far_command_serves_and_its_failure_is_reported() {
    let pages = tempfile::tempdir().unwrap();
    std::fs::write(pages.path().join("page"), "hello from afar").unwrap();
    let server = format!(
        "python3 -m http.server --directory {} 8000",
        pages.path().display()
    );
    let fetch = "curl --silent --noproxy '*' http://$NETNICE_FAR:8000/page";
    let output = run(&[
        "link", "--delay", "1ms", "--far", &server, "--", "sh", "-c", fetch,
    ]);
    assert_eq!(stdout(&output), "hello from afar", "{}", stderr(&output));
    for word in ["failed", "still ran"] {
        assert!(!stderr(&output).contains(word), "{}", stderr(&output));
    }

    let output = run(&["link", "-q", "--far", "exit 3", "--", "true"]);
    ended(&output, 0, "`exit 3` failed: exit code 3");
}

#[test]
fn the_report_can_be_read_by_a_script() {
    let output = run(&["link", "--rate", "1mbit", "--json", "--", "true"]);
    let text = stderr(&output);
    let report = text.lines().last().expect("a report");
    let report: serde_json::Value = serde_json::from_str(report).expect("JSON");
    assert_eq!(report["spec"], "rate=1mbit,queue=100ms,delay=0ms");
    assert!(report["trustworthy"].is_boolean() && report["up"]["lateness"]["p99"].is_number());
}

#[test]
fn a_quiet_link_prints_its_json_and_nothing_else() {
    let script = "setsid sleep 1000 & true";
    let output = run(&["link", "--json", "-q", "--", "sh", "-c", script]);
    let text = stderr(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    // No packet says anything of the link.
    assert_eq!(report["verdict"], "unknown", "{text}");
    assert_eq!(report["trustworthy"], false, "{text}");
    let output = run(&["link", "-q", "--", "true"]);
    assert_eq!(stderr(&output), "");
}

#[test]
fn what_still_runs_at_the_end_is_ended() {
    let script =
        "readlink /proc/self/ns/net; setsid sleep 1000 & (trap '' TERM HUP; exec sleep 1001) &";
    let output = run(&["link", "--", "sh", "-c", script]);
    let printed = "ended 2 programs that still ran";
    assert!(stderr(&output).contains(printed), "{}", stderr(&output));
    assert!(!program::namespace_has_processes(stdout(&output).trim()));
}

#[test]
fn nothing_is_left_behind_when_it_is_killed() {
    let inner = env!("CARGO_BIN_EXE_netnice");
    let script = "setsid sleep 1000 & readlink /proc/self/ns/net; exec sleep 1001";
    let far = "setsid sleep 1002 & readlink /proc/self/ns/net >&2; exec sleep 1003";
    // Also what runs behind a link that is behind the one that is killed.
    let nested = format!(
        "{script_outer}; exec {inner} link -q -- sh -c '{script}'",
        script_outer = "setsid sleep 1004 & readlink /proc/self/ns/net"
    );
    let mut command = netnice(&["link", "-q", "--far", far, "--", "sh", "-c", &nested]);
    let mut link = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("netnice starts");
    let mut lines = BufReader::new(link.stdout.take().unwrap()).lines();
    let mut errors = BufReader::new(link.stderr.take().unwrap()).lines();
    let mut namespaces: Vec<String> = (0..2).map(|_| lines.next().unwrap().unwrap()).collect();
    namespaces.push(errors.next().unwrap().unwrap());
    for namespace in &namespaces {
        assert!(program::namespace_has_processes(namespace), "{namespace}");
    }
    link.kill().expect("it can be killed");
    link.wait().unwrap();
    wait_until("all namespaces are empty", || {
        let mut namespaces = namespaces.iter();
        !namespaces.any(|namespace| program::namespace_has_processes(namespace))
    });
}

#[test]
fn what_a_killed_link_and_guard_leave_the_next_call_ends() {
    for next in [&["link", "-q", "--", "true"][..], &["run", "--", "true"]] {
        let far = "setsid sleep 1005 & readlink /proc/self/ns/net >&2; exec sleep 1006";
        let behind = "setsid sleep 1007 & readlink /proc/self/ns/net; exec sleep 1008";
        let marker = format!(": of-link-of-{}", std::process::id());
        let far = format!("{marker}; {far}");
        let mut command = netnice(&["link", "-q", "--far", &far, "--", "sh", "-c", behind]);
        let mut link = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("netnice starts");
        let mut lines = BufReader::new(link.stdout.take().unwrap()).lines();
        let mut errors = BufReader::new(link.stderr.take().unwrap()).lines();
        let namespaces = [lines.next().unwrap(), errors.next().unwrap()].map(Result::unwrap);
        // While it lives the next call leaves it alone.
        assert!(run(next).status.success());
        let guards = program::processes_called("nn-guard", &marker);
        assert_eq!(guards.len(), 1);
        kill(Pid::from_raw(guards[0]), Signal::SIGKILL).unwrap();
        link.kill().expect("it can be killed");
        link.wait().unwrap();
        for namespace in &namespaces {
            assert!(program::namespace_has_processes(namespace), "{next:?}");
        }
        assert!(run(next).status.success());
        for namespace in &namespaces {
            assert!(!program::namespace_has_processes(namespace), "{next:?}");
        }
    }
    wait_until("no record is left", || {
        let records = std::fs::read_dir("/run/netnice-guards");
        records.map_or(0, |records| records.count()) == 0
    });
}

#[test]
fn a_signal_while_the_far_side_is_waited_for_ends_it_before_the_command() {
    let far = "echo waits >&2; exec sleep 1004";
    let mut command = netnice(&["link", "-q", "--far", far, "--", "echo", "started"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut link = command.spawn().expect("netnice starts");
    let mut waits = String::new();
    let mut err = BufReader::new(link.stderr.take().unwrap());
    err.read_line(&mut waits).unwrap();
    signal(&link, Signal::SIGTERM);
    assert_eq!(link.wait().unwrap().code(), Some(143));
    let mut out = String::new();
    link.stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    assert_eq!(out, "");
}

#[test]
fn signals_from_others_are_passed_on() {
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut link = start(&mut netnice(&["link", "-q", "--", "sh", "-c", script]));
    let mut ready = String::new();
    let mut out = BufReader::new(link.stdout.take().unwrap());
    out.read_line(&mut ready).unwrap();
    signal(&link, Signal::SIGTERM);
    assert_eq!(link.wait().unwrap().code(), Some(9));
}

#[test]
fn a_shell_has_the_terminal() {
    let nix::pty::OpenptyResult { master, slave } = nix::pty::openpty(None, None).unwrap();
    // Ours alone, so that the other side notices when we are gone.
    for end in [&master, &slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
    }
    let stream = || Stdio::from(slave.try_clone().unwrap());
    let mut command = netnice(&["link", "--rate", "10mbit", "--delay", "2ms"]);
    command
        .env("SHELL", "/bin/bash")
        .env("TERM", "dumb")
        .env("HOME", "/nonexistent")
        .stdin(stream())
        .stdout(stream())
        .stderr(stream());
    let own_session = || -> std::io::Result<()> {
        nix::unistd::setsid()?;
        // SAFETY: the request takes a number.
        match unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: setsid and ioctl are plain system calls.
    let mut link = unsafe { command.pre_exec(own_session) }
        .spawn()
        .expect("netnice starts");
    drop((command, slave));

    let mut terminal = Terminal::new(master);
    terminal.wait_for("(10mbit 2ms) ");
    // Ctrl-C ends the shell's command, not the link.
    terminal.write("echo be''gun; sleep 1000\n");
    terminal.wait_for("begun");
    thread::sleep(Duration::from_millis(200));
    terminal.write("\x03");
    terminal.wait_for("^C");
    terminal.write("echo code=$?\n");
    terminal.wait_for("code=130");
    // Ctrl-Z stops it.
    terminal.write("echo aga''in; sleep 1000\n");
    terminal.wait_for("again");
    thread::sleep(Duration::from_millis(200));
    terminal.write("\x1a");
    terminal.wait_for("Stopped");
    terminal.write("disown %1; exit 6\n");
    terminal.wait_for("scheduling)");
    assert_eq!(link.wait().unwrap().code(), Some(6));
}

/// The user's side of a terminal.
struct Terminal {
    file: File,
    seen: String,
}

impl Terminal {
    fn new(master: OwnedFd) -> Terminal {
        Terminal {
            file: master.into(),
            seen: String::new(),
        }
    }

    fn write(&mut self, text: &str) {
        self.file.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until this text has come since the last call.
    fn wait_for(&mut self, text: &str) {
        let mut buffer = [0; 1024];
        while !self.seen.contains(text) {
            let mut wait = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            let ready = poll(&mut wait, PollTimeout::from(10_000u16)).unwrap();
            let count = match ready {
                0 => 0,
                _ => self.file.read(&mut buffer).unwrap_or(0),
            };
            assert!(count > 0, "no `{text}` in:\n{}", self.seen);
            self.seen += &String::from_utf8_lossy(&buffer[..count]);
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }
}

#[test]
fn mistakes_are_named_in_one_line() {
    for (arguments, expected) in [
        (&["--rate", "10mb"][..], "write 10mbit"),
        (&["--delay", "20"], "write it as 20ms"),
        (&["--delay", "61s"], "0ms to 60s"),
        (&["--queue", "20p"], "give a rate"),
        (&["--loss", "1"], "1%"),
        (&["--up", "speed=5mbit"], "rate, delay, queue, loss"),
        (&["--aqm", "red"], "codel, fq_codel, pie, dual_pi2"),
        (&["--policer", "5mbit"], "10mbit/30kB"),
        (&["--at", "20s", "queue=60ms"], "rate, delay, loss"),
        (&["--trace", "/nonexistent"], "cannot be read"),
        (&["--rat", "10mbit"], "--rate"),
    ] {
        let output = run(&[&["link"], arguments, &["--", "true"]].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(
            text.starts_with("netnice: ") && text.lines().count() == 1,
            "{text}"
        );
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn without_root_there_is_one_clear_line() {
    let output = as_nobody(&["link", "--delay", "1ms", "--", "true"]);
    ended_in_one_line(&output, 1, "needs root");
}
