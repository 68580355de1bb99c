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
