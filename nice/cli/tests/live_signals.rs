// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals and the terminal reach the command under `netnice run`, with a summary and without.

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use support::*;

const BOTH: [&[&str]; 2] = [&["run", "--"], &["run", "-v", "--"]];

/// Does `before` in a shell, in whose place netnice then runs a command.
fn in_bash(before: &str, options: &[&str], command: &str) -> std::process::Command {
    let netnice = netnice(options);
    let words: Vec<_> = std::iter::once(netnice.get_program())
        .chain(netnice.get_args())
        .collect();
    let words = words.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &format!("{before} exec {words} {command}")]);
    bash
}

/// A command on a terminal of its own.
struct OnTerminal {
    process: Process,
    terminal: File,
    shown: String,
}

impl OnTerminal {
    fn start(options: &[&str], script: &str) -> Self {
        let pair = openpty(None, None).unwrap();
        let mut command = netnice(options);
        command.args(["sh", "-c", script]);
        command
            .stdin(Stdio::from(pair.slave.try_clone().unwrap()))
            .stdout(Stdio::from(pair.slave.try_clone().unwrap()))
            .stderr(Stdio::from(pair.slave));
        // SAFETY: both calls may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                nix::unistd::setsid()?;
                let got = libc::ioctl(0, libc::TIOCSCTTY, 0);
                if got < 0 {
                    Err(std::io::Error::last_os_error())
                } else {
                    Ok(())
                }
            });
        }
        Self {
            process: Process(command.spawn().unwrap()),
            terminal: pair.master.into(),
            shown: String::new(),
        }
    }

    fn read_until(&mut self, text: &str) {
        let mut buffer = [0; 1000];
        while !self.shown.contains(text) {
            let length = self.terminal.read(&mut buffer).unwrap_or(0);
            assert_ne!(length, 0, "{text} does not come: {}", self.shown);
            self.shown += &String::from_utf8_lossy(&buffer[..length]);
        }
    }

    /// All that comes until the last program has closed the terminal.
    fn read_to_end(&mut self) -> &str {
        let mut rest = Vec::new();
        // At its end a terminal gives an error.
        let _ = self.terminal.read_to_end(&mut rest);
        self.shown += &String::from_utf8_lossy(&rest);
        &self.shown
    }
}

#[test]
fn ctrl_c_reaches_the_command_once() {
    for options in BOTH {
        let script = "trap 'echo caught' INT; echo ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; \
                      done; exit 9";
        let mut command = OnTerminal::start(options, script);
        command.read_until("ready");
        command.terminal.write_all(b"\x03").unwrap();
        let shown = command.read_to_end();
        assert_eq!(shown.matches("caught").count(), 1, "{options:?}: {shown}");
        assert_eq!(
            command.process.0.wait().unwrap().code(),
            Some(9),
            "{options:?}"
        );
    }
}

#[test]
fn ctrl_c_ends_a_command_that_does_not_mind_it_and_a_shell_sees_why() {
    for options in BOTH {
        let mut command = OnTerminal::start(options, "echo ready; sleep 60");
        command.read_until("ready");
        let mut status = None;
        eventually("the end", || {
            // Once more, as a shell that is just about to start a program lets it pass.
            command.terminal.write_all(b"\x03").unwrap();
            status = command.process.0.try_wait().unwrap();
            status.is_some()
        });
        let signal = status.and_then(|status| status.signal());
        assert_eq!(signal, Some(Signal::SIGINT as i32), "{options:?}");
    }
}

#[test]
fn ctrl_z_stops_and_the_shell_can_go_on() {
    for options in BOTH {
        let mut command = OnTerminal::start(options, "echo ready; read line; echo got $line");
        // The terminal is its own group's, and nobody is there to continue an orphaned one: the
        // test is not its parent's shell. So stop it as a shell's `kill -STOP %1` does.
        command.read_until("ready");
        let pid = Pid::from_raw(command.process.pid());
        nix::sys::signal::killpg(pid, Signal::SIGSTOP).unwrap();
        let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert_eq!(
            stopped,
            WaitStatus::Stopped(pid, Signal::SIGSTOP),
            "{options:?}"
        );
        nix::sys::signal::killpg(pid, Signal::SIGCONT).unwrap();
        command.terminal.write_all(b"on\n").unwrap();
        command.read_until("got on");
        assert_eq!(
            command.process.0.wait().unwrap().code(),
            Some(0),
            "{options:?}"
        );
    }
}

#[test]
fn signals_sent_to_netnice_reach_the_command() {
    for options in BOTH {
        for signal in ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"] {
            let script = format!(
                "trap 'echo caught; exit 3' {signal}; echo ready; \
                 for i in $(seq 100); do sleep 0.05; done"
            );
            let mut command = netnice(options);
            command
                .args(["sh", "-c", &script])
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut process = Process(command.spawn().unwrap());
            let mut out = process.0.stdout.take().unwrap();
            let mut ready = [0; 6];
            out.read_exact(&mut ready).unwrap();
            let number: Signal = format!("SIG{signal}").parse().unwrap();
            kill(Pid::from_raw(process.pid()), number).unwrap();
            let mut rest = String::new();
            out.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "caught\n", "{options:?} {signal}");
            assert_eq!(
                process.0.wait().unwrap().code(),
                Some(3),
                "{options:?} {signal}"
            );
        }
    }
}

#[test]
fn a_caller_that_ignores_its_children_is_no_hindrance() {
    for options in BOTH {
        let said = say(&mut in_bash("trap '' CHLD;", options, "sh -c 'exit 7'"));
        assert_eq!(said.code, Some(7), "{options:?}: {}", said.err);
    }
}

#[test]
fn the_end_by_a_signal_passes_through() {
    for options in BOTH {
        for signal in [
            Signal::SIGTERM,
            Signal::SIGKILL,
            Signal::SIGSEGV,
            Signal::SIGPIPE,
        ] {
            let script = format!("ulimit -c 0; kill -{} $$", signal as i32);
            let mut command = netnice(options);
            command.args(["sh", "-c", &script]).stderr(Stdio::null());
            let status = command.status().unwrap();
            assert_eq!(status.signal(), Some(signal as i32), "{options:?}");
        }
    }
}

#[test]
fn a_pipe_ends_with_the_command_although_something_stays_in_the_background() {
    for options in BOTH {
        let mut command = netnice(options);
        command
            .args(["echo", "done"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let process = command.spawn().unwrap();
        let numbers = process.stdout.as_ref().map(AsRawFd::as_raw_fd);
        assert!(numbers.is_some());
        // Would wait for as long as any process had the other end open.
        let done = process.wait_with_output().unwrap();
        assert_eq!(done.stdout, b"done\n");
    }
}

#[test]
fn a_command_that_stops_only_itself_is_seen_to_have_stopped() {
    for options in BOTH {
        let mut command = netnice(options);
        command
            .args(["sh", "-c", "kill -STOP $$; exit 7"])
            .stderr(Stdio::null())
            .process_group(0);
        let mut process = Process(command.spawn().unwrap());
        let pid = Pid::from_raw(process.pid());
        let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        let expected = WaitStatus::Stopped(pid, Signal::SIGSTOP);
        assert_eq!(stopped, expected, "{options:?}");
        nix::sys::signal::killpg(pid, Signal::SIGCONT).unwrap();
        assert_eq!(process.0.wait().unwrap().code(), Some(7), "{options:?}");
    }
}

#[test]
fn signals_of_failed_writes_are_ignored_or_not_as_before() {
    for options in [BOTH[0], BOTH[1], &["link", "-q", "--"]] {
        for (number, name) in [(Signal::SIGPIPE, "PIPE"), (Signal::SIGXFSZ, "XFSZ")] {
            for (before, ignored) in [(format!("trap '' {name};"), true), (String::new(), false)] {
                let printed = output(&mut in_bash(
                    &before,
                    options,
                    "grep SigIgn /proc/self/status",
                ));
                let mask = printed.split_whitespace().last().unwrap();
                let mask = u64::from_str_radix(mask, 16).unwrap();
                let got = mask & (1 << (number as u32 - 1)) != 0;
                assert_eq!(got, ignored, "{options:?}, {before}: {printed}");
            }
        }
    }
}
