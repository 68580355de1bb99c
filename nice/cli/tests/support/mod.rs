// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared parts of the live tests. They need root, and fail without.

#![allow(
    dead_code,
    unused_imports,
    reason = "not every test file uses all of it"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[path = "../machine/mod.rs"]
mod machine;

pub use machine::wait_until as eventually;
pub use machine::*;

/// User and group of nobody.
pub const NOBODY: u32 = 65534;

/// Lasts as long as the test program: where other users can read.
static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| {
    assert!(
        nix::unistd::geteuid().is_root(),
        "this test needs root: sudo -E cargo test"
    );
    LazyLock::force(&TEST_PROGRAM);
    let directory = tempfile::Builder::new()
        .prefix("netnice-test-")
        .tempdir_in("/tmp")
        .unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // SAFETY: the function stays, and calls nothing that is forbidden at exit.
    assert_eq!(unsafe { libc::atexit(remove_directory) }, 0);
    directory
});

/// Removes [`DIRECTORY`] as the test program exits: Rust drops no statics.
extern "C" fn remove_directory() {
    // Not in a child that a test forked.
    if std::process::id() == *TEST_PROGRAM {
        let _ = fs::remove_dir_all(DIRECTORY.path());
    }
}

/// The process that runs the tests.
static TEST_PROGRAM: LazyLock<u32> = LazyLock::new(std::process::id);

static NETNICE: LazyLock<PathBuf> = LazyLock::new(|| {
    let copy = DIRECTORY.path().join("netnice");
    // By another process: a test that forks while this one writes would hold the file open, and it
    // could not be run ("text file busy").
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_netnice"))
        .arg(&copy)
        .status();
    assert!(copied.unwrap().success());
    copy
});

static PROBE: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/probe.c");
    let probe = DIRECTORY.path().join("probe");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-static", "-o"])
        .args([probe.as_os_str(), source.as_ref()])
        .status()
        .expect("a C compiler is needed");
    assert!(compiled.success());
    probe
});

/// A program that prints which control its sockets have. It is static and needs no library.
pub fn probe() -> &'static Path {
    &PROBE
}

/// A command that opens the probe's sockets and holds them until its input ends.
pub fn hold() -> Command {
    let mut command = Command::new(probe());
    command.arg("hold");
    command
}

/// A directory that all can read, and that goes with the test program.
pub fn directory() -> &'static Path {
    DIRECTORY.path()
}

/// The program under test.
pub fn netnice(arguments: &[&str]) -> Command {
    machine::use_default_dispositions();
    let mut command = Command::new(&*NETNICE);
    command.args(arguments);
    command
}

/// As above, as a user without any privilege.
pub fn netnice_as_nobody(arguments: &[&str]) -> Command {
    let mut command = netnice(arguments);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    command
}

/// Output of a finished command.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Asserts the exit code, and that standard error has these words.
    #[track_caller]
    pub fn ended(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        assert!(self.err.contains(words), "{}", self.err);
    }

    /// As [`Said::ended`], with no more than one line.
    #[track_caller]
    pub fn ended_in_one_line(&self, code: i32, words: &str) {
        self.ended(code, words);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
    }
}

/// Runs a command to its end.
pub fn say(command: &mut Command) -> Said {
    let Output {
        status,
        stdout,
        stderr,
    } = command.stdin(Stdio::null()).output().unwrap();
    Said {
        code: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// Runs a command that has to succeed; its output.
pub fn output(command: &mut Command) -> String {
    let said = say(command);
    assert_eq!(said.code, Some(0), "{command:?}: {}{}", said.out, said.err);
    said.out
}

/// A process that ends with the test, whatever becomes of that.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

/// `netnice run` of something that lasts: the control stays registered, and the pins in place.
pub fn keep_registered() -> Process {
    let mut command = netnice(&["run", "--", "sh", "-c", "echo up; exec sleep 300"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "up\n");
    Process(child)
}

/// Starts the program that its arguments name, followed by one that connects a socket made here; prints the control of
/// that socket, and of one connected and one listening here before.
const HAND_IN: &str = r#"
import socket, subprocess, sys

inner = """
import socket, sys
new, old, listening = (socket.socket(fileno=int(number)) for number in sys.argv[2:])
new.connect(("127.0.0.1", int(sys.argv[1])))
for one in (new, old, listening):
    print(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode())
"""
server = socket.create_server(("127.0.0.1", 0), backlog=8)
new, listening = socket.socket(), socket.create_server(("127.0.0.1", 0))
old = socket.create_connection(server.getsockname())
numbers = [one.fileno() for one in (new, old, listening)]
inner_arguments = [str(number) for number in (server.getsockname()[1], *numbers)]
command = [*sys.argv[1:], sys.executable, "-c", inner, *inner_arguments]
sys.exit(subprocess.run(command, pass_fds=numbers).returncode)
"#;

/// The command, with three sockets that were made before; see [`HAND_IN`].
pub fn with_sockets_handed_in(command: &Command) -> Command {
    let mut outer = Command::new("python3");
    outer.args(["-c", HAND_IN]).arg(command.get_program());
    outer.args(command.get_args()).current_dir("/");
    outer
}

/// Asserts that `run --json` of such a command governed the first socket, and left the two that it may not touch.
pub fn assert_only_the_unused_is_governed(said: &Said) {
    let usual = usual_control();
    assert_eq!(
        said.out,
        format!("netnice\n{usual}\n{usual}\n"),
        "{}",
        said.err
    );
    let printed: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(printed["handed_in_governed"], 1, "{printed}");
    assert_eq!(printed["handed_in_left"], 2, "{printed}");
}

/// A probe that holds connections and describes them when asked.
pub struct Holder {
    pub process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Holder {
    /// Starts `command`, which must end in running `probe hold`; the first answer comes with it.
    pub fn start(command: &mut Command) -> (Self, Vec<String>) {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let process = Process(child);
        let mut holder = Self {
            process,
            input,
            output,
        };
        let printed = holder.answer();
        (holder, printed)
    }

    /// Sends 100000 bytes over the connection, and opens another for a moment.
    pub fn ask(&mut self) -> Vec<String> {
        writeln!(self.input).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "the probe has ended"
            );
            match line.trim_end() {
                "end" => return lines,
                line => lines.push(line.to_owned()),
            }
        }
    }

    /// The process itself, where the command was netnice: it has taken its place.
    pub fn pid(&self) -> String {
        self.process.pid().to_string()
    }
}

/// Returns the lines of a text.
pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Each of these sockets has that control, and that DSCP where it can be set.
#[track_caller]
pub fn assert_sockets(printed: &[String], roles: &[&str], control: &str, field: i32) {
    let found: Vec<&str> = printed
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(found, roles, "{printed:?}");
    for line in printed {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[1], control, "{printed:?}");
        // That of the socket's own family, which is the last but for IPv4's -1.
        let own = if words[3] == "-1" { words[2] } else { words[3] };
        assert_eq!(own, field.to_string(), "{printed:?}");
    }
}

/// The control that sockets have here when nobody chooses one.
pub fn usual_control() -> String {
    let name = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    name.trim().to_owned()
}

/// The cgroups of ours that exist, anywhere.
pub fn our_cgroups() -> Vec<PathBuf> {
    fn collect(below: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(below).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with("netnice-run-") || name.starts_with("netnice-pid-") {
                    found.push(entry.path());
                }
                collect(&entry.path(), found);
            }
        }
    }
    let mut found = Vec::new();
    collect(&cgroup2(), &mut found);
    found
}
