// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice lab` and `netnice compare`, as users call them. The lab needs root and /dev/net/tun.

#[path = "../../../nice/cli/tests/program/mod.rs"]
mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use program::{
    as_nobody, available_controls, ended, ended_in_one_line, netnice, place, processes, run,
    signal, stderr, stdout, succeeded, text, wait_until,
};

/// Reno (RFC 5681) as a file.
const RENO: &str = include_str!("../../../python/tests/reno.h");

const SCENARIO: &str = "name = \"small\"
duration = \"2s\"
warm_up = \"500ms\"
[[links]]
from = \"a\"
to = \"b\"
delay = \"5ms\"
[[links]]
name = \"bottleneck\"
from = \"b\"
to = \"c\"
rate = \"2mbit\"
queue = \"20p\"
[[flows]]
name = \"bulk\"
from = \"a\"
to = \"c\"
congestion_control = \"cubic\"
";

/// A flow whose programs do nothing but wait, `sleep` under this name.
fn waiting(sleep: &Path) -> String {
    let sleep = sleep.display();
    format!(
        "[[flows]]\nname = \"waiting\"\nfrom = \"a\"\nto = \"c\"\n\
         application = {{ kind = \"command\", command = \"setsid {sleep} 600\" }}\n"
    )
}

/// Processes whose command begins with this program.
fn processes_of(program: &Path) -> usize {
    let program = program.as_os_str().as_encoded_bytes();
    let is_one = |process: &Path| {
        let command = fs::read(process.join("cmdline"));
        command.is_ok_and(|command| command.starts_with(program))
    };
    processes(is_one).len()
}

/// A program of this name that waits.
fn sleeper(directory: &Path) -> PathBuf {
    let path = directory.join("sleeper");
    let copied = Command::new("cp")
        .args(["/bin/sleep", text(&path)])
        .status();
    assert!(copied.unwrap().success());
    path
}

#[test]
fn without_root_it_says_so_before_anything_else() {
    let (directory, file) = place(&SCENARIO.replace("\"5ms\"", "\"5ms\"\njitter = \"1ms\""));
    let all = fs::Permissions::from_mode(0o777);
    fs::set_permissions(directory.path(), all).unwrap();
    let out = directory.path().join("out");
    let refused = as_nobody(&["lab", text(&file), "--out", text(&out)]);
    ended_in_one_line(&refused, 1, "needs root");
    assert!(!out.exists());
    let refused = as_nobody(&["reproduce", "LP03-F7", "--lab", "--out", text(&out)]);
    assert!(stderr(&refused).contains("needs root"));
    assert!(!out.exists());
}

#[test]
fn results_are_those_of_sim_and_compare_with_them() {
    let (directory, file) = place(SCENARIO);
    let out = |name: &str| directory.path().join(name);
    let (lab, sim) = (out("lab"), out("sim"));
    let arguments = [
        "lab",
        text(&file),
        "--seeds",
        "2",
        "--jobs",
        "2",
        "--events",
        "bottleneck",
    ];
    let table = succeeded(&run(&[&arguments[..], &["--out", text(&lab)]].concat()));
    for expected in ["small: 2 runs", "bulk", "bottleneck", "Mb/s"] {
        assert!(table.contains(expected), "{table}");
    }
    succeeded(&run(&["sim", text(&file), "--out", text(&sim), "--quiet"]));
    for name in [
        "manifest.json",
        "scenario.toml",
        "summary.json",
        "flows.csv",
        "queues.csv",
    ] {
        assert!(lab.join(name).exists() && sim.join(name).exists(), "{name}");
    }
    let manifest = fs::read_to_string(lab.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"backend\":\"lab\""), "{manifest}");
    for run in ["point-00000-seed-1", "point-00000-seed-2"] {
        let events = fs::read(lab.join("traces").join(run).join("events.parquet")).unwrap();
        assert!(
            events.starts_with(b"PAR1") && events.ends_with(b"PAR1"),
            "{run}"
        );
        assert!(events.len() > 3000, "{run}: {} bytes", events.len());
    }

    let comparison = succeeded(&run(&["compare", text(&sim), text(&lab)]));
    for expected in [
        "simulated",
        "measured on a kernel",
        "bulk",
        "goodput",
        "B/A",
    ] {
        assert!(comparison.contains(expected), "{comparison}");
    }
    let summary = lab.join("summary.json");
    let json = succeeded(&run(&["compare", text(&sim), text(&summary), "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["points"][0]["rows"].as_array().unwrap();
    let goodput = rows
        .iter()
        .find(|row| row["quantity"] == "goodput")
        .unwrap();
    let ratio = goodput["ratio"].as_f64().unwrap();
    assert!((0.8..1.2).contains(&ratio), "{goodput}");

    // Nothing is left to do, and so nothing takes time.
    let again = [&arguments[..], &["--out", text(&lab), "--resume", "--json"]].concat();
    let json: serde_json::Value = serde_json::from_str(&succeeded(&run(&again))).unwrap();
    assert_eq!(json["points"][0]["seeds"], serde_json::json!([1, 2]));
    assert_eq!(json["manifest"]["backend"], "lab");
}

/// A download that is governed from its receiving end, alone and beside a plain one.
const DOWNLOADS: &str = r#"
name = "downloads"
duration = "14s"
warm_up = "6s"
[defaults.links]
rate = "10mbit"
delay = "20ms"
queue = "83p"
[[links]]
from = "alone_server"
to = "alone_home"
[[links]]
from = "server"
to = "home"
[defaults.flows]
congestion_control = "cubic"
[[flows]]
name = "alone"
from = "alone_server"
to = "alone_home"
receiver = "netnice"
[[flows]]
name = "low"
from = "server"
to = "home"
receiver = "netnice"
[[flows]]
name = "plain"
from = "server"
to = "home"
start = "2s"
"#;

#[test]
fn receivers_are_governed_as_in_the_simulator() {
    let (directory, file) = place(DOWNLOADS);
    let figures = |command: &str| -> Vec<serde_json::Value> {
        let out = directory.path().join(command);
        let arguments = [
            command,
            text(&file),
            "--overwrite",
            "--json",
            "--out",
            text(&out),
        ];
        let json = succeeded(&run(&arguments));
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        json["points"][0]["figures"].as_array().unwrap().clone()
    };
    let names = |figures: &[serde_json::Value]| -> Vec<String> {
        let name = |one: &serde_json::Value| {
            format!("{} {} {}", one["subject"], one["of"], one["quantity"])
        };
        figures.iter().map(name).collect()
    };
    let simulated = figures("sim");
    program::measure_until(
        || {
            let measured = figures("lab");
            assert_eq!(names(&measured), names(&simulated));
            let goodput = |name: &str| {
                let mut all = measured.iter();
                let one = all.find(|one| one["of"] == name && one["quantity"] == "goodput");
                one.unwrap()["value"]["mean"].as_f64().unwrap()
            };
            let share = goodput("low") / (goodput("low") + goodput("plain"));
            (share, goodput("alone") / goodput("plain"))
        },
        |(share, alone)| *share < 0.1 && *alone > 0.8,
    );
}

/// True if a lab that had this number has a cgroup for receivers.
fn has_cgroup(lab: u32) -> bool {
    let name = format!("netnice-run-{lab}-lab*");
    let found = Command::new("find")
        .args(["/sys/fs/cgroup", "-type", "d", "-name", &name])
        .output()
        .unwrap();
    !stdout(&found).is_empty()
}

#[test]
fn the_cgroup_of_a_labs_receivers_is_removed() {
    let (directory, file) = place(DOWNLOADS);
    for (sent, out) in [(Signal::SIGINT, "interrupted"), (Signal::SIGKILL, "killed")] {
        let out = directory.path().join(out);
        let mut lab = program::start(&mut netnice(&["lab", text(&file), "--out", text(&out)]));
        wait_until("a cgroup", || has_cgroup(lab.id()));
        signal(&lab, sent);
        lab.wait().unwrap();
        wait_until("the cgroup has gone", || {
            // After a kill the next call removes it.
            if sent == Signal::SIGKILL {
                let short = ["--set", "warm_up=0s", "--set", "duration=100ms", "--quiet"];
                let _ = run(&[&["lab", text(&file)][..], &short].concat());
            }
            !has_cgroup(lab.id())
        });
    }
}

#[test]
fn receivers_that_a_kernel_cannot_govern_are_refused() {
    let (_directory, file) = place(DOWNLOADS);
    for (set, expected) in [
        (
            "flows.low.tcp={ receiver_window = \"64kB\" }",
            "flows[1].tcp.receiver_window: a kernel has one limit",
        ),
        (
            "flows.low.application={ kind = \"command\", command = \"true\" }",
            "flows[1].receiver: cannot govern the sockets of a command",
        ),
        (
            "flows.low.application={ kind = \"web\", sessions = 1, object_size = { mean = \"9kB\" } }",
            "flows[1].receiver: a lab governs the receivers of transfers",
        ),
    ] {
        let output = run(&["lab", text(&file), "--set", set]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_is_beyond_the_kernel_is_said_before_anything_starts() {
    let (_directory, file) = place(SCENARIO);
    let set = "flows.bulk.congestion_control=bbr3";
    let output = run(&["lab", text(&file), "--set", set]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    let expected = "flows[0].congestion_control: this kernel has no congestion control `bbr3`";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn explain_describes_the_run() {
    let (_directory, file) = place(&SCENARIO.replace(
        "congestion_control = \"cubic\"",
        "tcp = { recovery = \"reno\", initial_rto = \"3s\" }",
    ));
    let wrong = run(&["lab", text(&file), "--out", "none", "--events", "middle"]);
    assert_eq!(wrong.status.code(), Some(2));
    let message = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        message.contains("--events middle: there is no such link"),
        "{message}"
    );
    let words = succeeded(&run(&["lab", text(&file), "--explain"]));
    for expected in [
        "On this kernel: 2 network namespaces",
        "a: 10.0.0.1, without SACK",
        "flows.bulk.tcp.initial_rto is 3s: that of Linux is 1s",
    ] {
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn compare_wants_results() {
    let (_directory, file) = place(SCENARIO);
    let output = run(&["compare", text(&file), text(&file)]);
    ended(&output, 1, "small.toml holds no results");
}

/// A lab under way whose flow runs `sleeper`.
fn under_way(file: &Path, sleeper: &Path, out: &Path) -> Child {
    let lab = netnice(&["lab", text(file), "--out", text(out)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the command runs", || processes_of(sleeper) == 1);
    lab
}

#[test]
fn what_is_finished_is_kept_when_interrupted() {
    let (directory, file) = place("");
    let sleeper = sleeper(directory.path());
    // The first run is short, the second is not.
    let sweep = "[sweep]\nlength = [\"1s\", \"600s\"]\n";
    let scenario = SCENARIO.replace("\"2s\"", "\"$length\"") + &waiting(&sleeper) + sweep;
    fs::write(&file, scenario).unwrap();
    let out = directory.path().join("out");
    let lab = under_way(&file, &sleeper, &out);
    wait_until("the first run is kept", || {
        fs::read_dir(out.join("runs")).is_ok_and(|runs| runs.count() == 1)
    });
    signal(&lab, Signal::SIGINT);
    let output = lab.wait_with_output().unwrap();
    ended(&output, 130, "1 of 2 runs are finished and kept");
    wait_until("its command is gone", || processes_of(&sleeper) == 0);
}

#[test]
fn nothing_is_left_after_a_kill() {
    let (directory, file) = place("");
    let sleeper = sleeper(directory.path());
    let scenario = SCENARIO
        .replace("\"2s\"", "\"600s\"")
        .replace("\"cubic\"", "\"tcplp\"");
    fs::write(&file, scenario + &waiting(&sleeper)).unwrap();
    let mut lab = under_way(&file, &sleeper, &directory.path().join("out"));
    lab.kill().unwrap();
    lab.wait().unwrap();
    wait_until("its command is gone", || processes_of(&sleeper) == 0);
    // Another that uses our controls meanwhile would keep them, and clear them in the end.
    wait_until("its control is gone", || {
        !available_controls().contains(&"tcplp".to_owned())
    });
}

#[test]
fn reno_in_a_file_shares_as_the_kernels_own() {
    let (directory, scenario) = place(
        "name = \"reno\"
duration = \"15s\"
warm_up = \"3s\"
seeds = 1
[[links]]
from = \"left\"
to = \"right\"
rate = \"10mbit\"
delay = \"5ms\"
queue = \"20p\"
[[links]]
from = \"source\"
to = \"left\"
[[links]]
from = \"right\"
to = \"sink\"
[[flows]]
name = \"file\"
from = \"source\"
to = \"sink\"
congestion_control = \"./reno.h\"
[[flows]]
name = \"own\"
from = \"source\"
to = \"sink\"
congestion_control = \"reno\"
",
    );
    fs::write(directory.path().join("reno.h"), RENO).unwrap();
    let out = directory.path().join("results");
    let arguments = [
        "lab",
        "--quiet",
        "--allow-control-files",
        "--out",
        text(&out),
        text(&scenario),
    ];
    succeeded(&run(&arguments));
    let goodput = |flow: &str| {
        let runs = fs::read_dir(out.join("runs")).unwrap().flatten();
        let file = runs
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|e| e == "json"))
            .unwrap();
        let run: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let flows = run["flows"].as_array().unwrap();
        let flow = flows.iter().find(|found| found["name"] == flow).unwrap();
        flow["goodput_bps"].as_f64().unwrap()
    };
    // One that ignores losses takes nearly all; one that takes each for an RTO, little.
    let ratio = goodput("file") / goodput("own");
    assert!((0.4..2.5).contains(&ratio), "{ratio}");
}
