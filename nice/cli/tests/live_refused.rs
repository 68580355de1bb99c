// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels and sandboxes that refuse a part of what netnice makes use of: the rest works, and no
//! figure stands for what is not known. The refusal is made by a seccomp filter, so that it is the
//! same on every kernel.

mod support;

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use support::*;

static ALONE: Mutex<()> = Mutex::new(());

/// One test at a time: an installation registers what another test must not find.
fn alone() -> MutexGuard<'static, ()> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The next call clears what other tests have left on record.
    output(&mut netnice(&["run", "--", "true"]));
    eventually("the end of what was started before", || {
        !available_controls().contains(&"netnice".to_owned())
    });
    guard
}

/// `netnice` for which the kernel refuses `what`: `bpf` or `list`.
fn netnice_without(what: &str, arguments: &[&str]) -> Command {
    let mut command = netnice(&[]);
    let netnice = command.get_program().to_owned();
    command = Command::new(probe());
    command.args(["refuse", what]).arg(netnice).args(arguments);
    command
}

fn assert_one_line(err: &str) {
    assert_eq!(err.lines().count(), 1, "{err}");
    for log in ["libbpf", "LOG", "prog '"] {
        let text = err.replace("NETNICE_LOG=1", "");
        assert!(!text.contains(log), "a log in place of a message: {err}");
    }
}

#[test]
fn without_a_list_a_run_says_what_it_cannot_count() {
    let _alone = alone();
    let once = [probe().to_str().unwrap(), "once"];
    let said = say(netnice_without("list", &["run", "-v", "--"]).args(once));
    said.ended(0, "still open are not counted");
    assert!(said.err.contains("sock_diag"), "{}", said.err);
    assert!(!said.err.contains("nothing was moved"), "{}", said.err);
    let said = say(netnice_without("list", &["run", "--json", "--"]).args(once));
    let printed: Value = serde_json::from_str(&said.err).unwrap();
    let why = printed["open_uncounted"].as_str().unwrap();
    assert!(why.contains("sock_diag"), "{printed}");
    // Those that have ended are known.
    assert_eq!(printed["connections"], 2, "{printed}");
}

#[test]
fn without_a_list_status_says_so_and_fails() {
    let _alone = alone();
    let _registered = keep_registered();
    for arguments in [&["status"][..], &["status", "--json"]] {
        let said = say(&mut netnice_without("list", arguments));
        assert_eq!(
            (said.code, said.out.as_str()),
            (Some(1), ""),
            "{}",
            said.err
        );
        assert_one_line(&said.err);
        assert!(said.err.contains("sock_diag"), "{}", said.err);
    }
}

#[test]
fn without_a_list_all_else_works() {
    let _alone = alone();
    let cgroup = TestCgroup::new("no-list");
    let mut command = Command::new(probe());
    let (mut holder, _) = Holder::start(cgroup.contain(command.arg("hold")));
    output(&mut netnice_without("list", &["attach", cgroup.path()]));
    let roles = ["listener", "client", "server", "new-client", "new-server"];
    assert_sockets(&holder.ask(), &roles, "netnice", 4);
    output(&mut netnice_without("list", &["detach", cgroup.path()]));
    output(&mut netnice_without(
        "list",
        &["renice", "--pid", &holder.pid()],
    ));
    assert_sockets(&holder.ask(), &roles, "netnice", 4);
    let prefix = tempfile::tempdir().unwrap();
    let at = ["--prefix", prefix.path().to_str().unwrap()];
    output(netnice_without("list", &["install"]).args(at));
    assert!(prefix.path().join("bin/netnice").exists());
    output(netnice_without("list", &["uninstall"]).args(at));
}

#[test]
fn check_names_the_command_that_lacks_a_list() {
    let _alone = alone();
    let said = say(&mut netnice_without("list", &["check", "--json"]));
    assert_eq!(said.code, Some(1), "{}", said.err);
    let printed: Value = serde_json::from_str(&said.out).unwrap();
    let commands = printed["commands"].as_array().unwrap();
    for command in commands {
        let expected = match command["command"].as_str().unwrap() {
            "status" | "exporter" => "fails",
            // netnice-lab is not next to this program.
            "sim" | "lab" | "compare" | "reproduce" | "judge" => "needs programs",
            _ => "works",
        };
        assert_eq!(command["state"], expected, "{command}");
    }
}

#[test]
fn without_bpf_one_line_names_the_error_and_its_meaning() {
    let _alone = alone();
    let prefix = tempfile::tempdir().unwrap();
    let install = ["install", "--prefix", prefix.path().to_str().unwrap()];
    for arguments in [&["run", "--require", "true"][..], &install] {
        let said = say(&mut netnice_without("loading", arguments));
        assert_eq!(said.code, Some(1), "{arguments:?}: {}", said.err);
        assert_one_line(&said.err);
        for part in ["EPERM", "lockdown", "CAP_BPF"] {
            assert!(said.err.contains(part), "{}", said.err);
        }
    }
    assert!(!prefix.path().join("bin").exists(), "half installed");
    // A backup that does not start would be worse than one without low priority.
    let said = say(&mut netnice_without(
        "loading",
        &["run", "sh", "-c", "exit 7"],
    ));
    said.ended_in_one_line(7, "the command runs without low priority: ");
}

/// A directory in the place of its map makes loading the program fail, as a kernel would that does
/// not take it.
#[test]
fn without_its_program_received_data_is_left_out() {
    let _alone = alone();
    let mut holder = netnice(&["run", "--direction", "send", "--", "sleep", "300"]);
    let _holder = Process(holder.spawn().unwrap());
    let maps = std::path::Path::new("/run/netnice/bpf/maps");
    eventually("the pins", || maps.join("flows").exists());
    fs::create_dir(maps.join("receptions")).unwrap();
    let cgroup = TestCgroup::new("no-receive");
    let attach = ["attach", cgroup.path()];
    for arguments in [&["run", "true"][..], &attach] {
        let said = say(&mut netnice(arguments));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_one_line(&said.err);
        let expected = "received data is not governed: ";
        assert!(said.err.contains(expected), "{}", said.err);
    }
    output(&mut netnice(&["detach", cgroup.path()]));
    let found = say(&mut netnice(&["check"]));
    assert!(
        found.out.contains("received data              limited"),
        "{}",
        found.out
    );
    let receive = ["run", "--require", "--direction", "receive", "true"];
    let said = say(&mut netnice(&receive));
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert_one_line(&said.err);
    // As long as somebody uses the pins nobody clears them.
    fs::remove_dir(maps.join("receptions")).unwrap();
}

#[test]
fn check_names_the_commands_that_lack_bpf() {
    let _alone = alone();
    let said = say(&mut netnice_without("bpf", &["check"]));
    assert_eq!(said.code, Some(1), "{}", said.err);
    for command in ["run", "attach", "renice", "install"] {
        let line = format!("`netnice {command}` does not work: ");
        assert!(said.out.contains(&line), "{}", said.out);
    }
    assert!(said.out.contains("works here: status"), "{}", said.out);
}
