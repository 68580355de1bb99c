// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program under test, called as a user calls it.
#![allow(
    dead_code,
    unused_imports,
    reason = "not every test file uses all of it"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

#[path = "../machine/mod.rs"]
mod machine;

pub use machine::*;

/// `netnice`, or for the tests of the laboratory `netnice-lab`.
const PROGRAM: &str = match (
    option_env!("CARGO_BIN_EXE_netnice"),
    option_env!("CARGO_BIN_EXE_netnice-lab"),
) {
    (Some(program), _) | (None, Some(program)) => program,
    (None, None) => panic!("cargo names the program to test"),
};

/// The program with these arguments.
pub fn netnice(arguments: &[&str]) -> Command {
    machine::use_default_dispositions();
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    netnice(arguments).output().expect("netnice runs")
}

/// Starts it, its standard output being a pipe.
pub fn start(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("netnice starts")
}

/// The command for a user without any right.
pub fn as_nobody(arguments: &[&str]) -> Output {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    // Where everybody may run it, unlike perhaps the build directory.
    let place = tempfile::tempdir().expect("a temporary directory");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), mode).expect("it can be opened to all");
    let program = place.path().join("netnice");
    std::fs::copy(PROGRAM, &program).expect("a copy of netnice");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    command
        .output()
        .expect("netnice runs as nobody (these tests need root)")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the output of a command that has to succeed.
pub fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

/// Asserts the exit code of a command, and that its standard error has these words; returns that.
#[track_caller]
pub fn ended(output: &Output, code: i32, words: &str) -> String {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(message.contains(words), "{message}");
    message
}

/// As [`ended`], with no more than one line.
#[track_caller]
pub fn ended_in_one_line(output: &Output, code: i32, words: &str) {
    let message = ended(output, code, words);
    assert_eq!(message.lines().count(), 1, "{message}");
}

/// Returns a new directory, and the path of a file with the scenario in it.
pub fn place(scenario: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("small.toml");
    std::fs::write(&path, scenario).unwrap();
    (directory, path)
}

/// Returns a path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Measures until the claim holds, four times at most, each time in a quieter moment: on a busy
/// machine programs get the processor late, and what they send says little of their control. A
/// claim that is false fails each time.
pub fn measure_until<T: std::fmt::Debug>(measure: impl Fn() -> T, holds: impl Fn(&T) -> bool) {
    let mut measured = Vec::new();
    for _ in 0..4 {
        wait_for_quiet();
        let found = measure();
        if holds(&found) {
            return;
        }
        measured.push(found);
    }
    panic!("the claim holds in none of {measured:#?}");
}

/// Waits until the processors are idle for half of 200 ms, but no longer than 20 s.
fn wait_for_quiet() {
    let times = || -> (u64, u64) {
        let all = std::fs::read_to_string("/proc/stat").expect("/proc/stat can be read");
        let fields = all.lines().next().expect("it has a line of sums");
        let ticks = fields.split_whitespace().skip(1);
        let ticks: Vec<u64> = ticks.filter_map(|ticks| ticks.parse().ok()).collect();
        (ticks[3], ticks.iter().sum())
    };
    for _ in 0..100 {
        let (idle_before, before) = times();
        thread::sleep(Duration::from_millis(200));
        let (idle, now) = times();
        if 2 * (idle - idle_before) >= now - before {
            return;
        }
    }
}

/// Sends a signal to a child.
pub fn signal(child: &Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, signal).expect("the child is there");
}

/// Returns true if a process is in the network namespace that `readlink /proc/self/ns/net` calls so.
pub fn namespace_has_processes(namespace: &str) -> bool {
    let is_in = |process: &Path| {
        let link = std::fs::read_link(process.join("ns/net"));
        link.is_ok_and(|link| link.as_os_str() == namespace)
    };
    !processes(is_in).is_empty()
}
