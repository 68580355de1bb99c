// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that tests run on: signals, processes and cgroups.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, signal};

static ONCE: Once = Once::new();

/// SIGHUP, SIGINT and SIGQUIT end a process, even where `nohup` has started the tests, or a shell in the background: they
/// have them ignored, and that is inherited.
pub fn use_default_dispositions() {
    ONCE.call_once(|| {
        for ignored in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
            // SAFETY: no handler of ours is replaced, and none is set.
            unsafe { signal(ignored, SigHandler::SigDfl) }.expect("the default disposition");
        }
    });
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

/// Waits until the processors are idle for half of 200 ms, but no longer than 20 s. What `nice` has made lower than this
/// test does not disturb it.
fn wait_for_quiet() {
    let times = || -> (u64, u64) {
        let all = fs::read_to_string("/proc/stat").expect("/proc/stat can be read");
        let fields = all.lines().next().expect("it has a line of sums");
        let ticks = fields.split_whitespace().skip(1);
        let ticks: Vec<u64> = ticks.filter_map(|ticks| ticks.parse().ok()).collect();
        let (nice, idle) = (ticks[1], ticks[3]);
        (nice + idle, ticks.iter().sum())
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

/// The processes whose directory below `/proc` is one that is looked for.
pub fn processes(is_wanted: impl Fn(&Path) -> bool) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            is_wanted(&entry.path()).then_some(pid)
        })
        .collect()
}

/// The processes of this name, such as `nn-guard`, whose command line contains a marker.
pub fn processes_called(name: &str, marker: &str) -> Vec<i32> {
    processes(|process| {
        let file = |file: &str| fs::read_to_string(process.join(file)).unwrap_or_default();
        file("comm").trim_end() == name && file("cmdline").contains(marker)
    })
}

/// Waits for a condition that is to come about, and fails if it does not. The limit is there to
/// end the test: a busy machine may need most of it.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within 60 s: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The congestion controls that the kernel has.
pub fn available_controls() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Where cgroup2 is mounted.
pub fn cgroup2() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some("cgroup2"));
    line.expect("cgroup2 is mounted")
        .split(' ')
        .nth(1)
        .unwrap()
        .into()
}

/// A cgroup of the test's own.
pub struct TestCgroup(pub PathBuf);

impl TestCgroup {
    pub fn new(name: &str) -> Self {
        let path = cgroup2().join(format!("netnice-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Makes a command run in it.
    pub fn contain<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let processes = fs::File::options()
            .write(true)
            .open(self.0.join("cgroup.procs"))
            .unwrap();
        // SAFETY: write may be called between fork and exec.
        unsafe { command.pre_exec(move || (&processes).write_all(b"0")) }
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        // It is busy until the last process is gone.
        for _ in 0..100 {
            match fs::remove_dir(&self.0) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}

/// The cgroup that a process is in.
pub fn cgroup_of(pid: i32) -> String {
    let lines = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let line = lines.lines().find_map(|line| line.strip_prefix("0::"));
    line.unwrap().to_owned()
}
