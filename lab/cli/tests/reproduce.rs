// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice reproduce`: the report of a finished directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use netnice_papers::{Outcomes, Store};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Without running anything.
fn report(out: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_netnice-lab"))
        .args(["reproduce", "--no-run", "--out"])
        .arg(out)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_finished_directory_has_its_report_again_without_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    let store = Store::new(out, false, "0.1.0", vec!["netnice".to_owned()]);
    let kept: Outcomes = store.keep(Vec::new(), 2, 1.5).unwrap();

    let done = report(out, &[]);
    assert!(done.status.success(), "{done:?}");
    let text = fs::read_to_string(out.join("report.html")).unwrap();
    assert_eq!(text, netnice_report::html(&kept));
    assert!(!out.join("studies").exists());

    let elsewhere = out.join("elsewhere.html");
    let done = report(out, &["--report", elsewhere.to_str().unwrap()]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), text);
}

#[test]
fn a_directory_without_outcomes_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let failed = report(directory.path(), &[]);
    assert_eq!(failed.status.code(), Some(1));
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(said.contains("there is no outcomes.json"), "{said}");
    let wrong = report(directory.path(), &["--full"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn experiments_without_an_outcome_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    let store = Store::new(out, false, "0.1.0", vec!["netnice".to_owned()]);
    store.keep(Vec::new(), 2, 1.5).unwrap();
    let none = report(out, &["LP03-F8"]);
    assert_eq!(none.status.code(), Some(1));
    let said = String::from_utf8(none.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("no outcome of LP03-F8"), "{said}");
    assert!(none.stdout.is_empty());
}

#[test]
fn without_a_thread_it_fails_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    // A stack larger than the memory.
    let script = "ulimit -v 900000; exec \"$0\" reproduce LP03-F7 --jobs 2 --out \"$1\"";
    let failed = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_netnice-lab")])
        .arg(directory.path().join(OsStr::from_bytes(b"r\xff")))
        .env("RUST_MIN_STACK", (1 << 30).to_string())
        .output()
        .unwrap();
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("starting a thread"), "{said}");
}

/// Finished runs in a directory.
fn finished(out: &Path) -> usize {
    let Ok(studies) = fs::read_dir(out.join("studies")) else {
        return 0;
    };
    let runs = studies.flatten().map(|study| study.path().join("runs"));
    let files = runs.filter_map(|runs| fs::read_dir(runs).ok()).flatten();
    let names = files.flatten().map(|file| file.file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(".json"))
        .count()
}

#[test]
fn what_is_finished_at_ctrl_c_is_kept_and_taken_up_again() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let command = |resume: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netnice-lab"));
        command
            .args(["reproduce", "LP03-F10", "--jobs", "2", "--out"])
            .arg(&out)
            .args(resume);
        command
    };
    let child = command(&[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while finished(&out) == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("--resume"), "{said}");
    let kept = finished(&out);
    assert!((1..12).contains(&kept), "{kept} runs");

    // Without --resume what is there is not written over.
    let refused = command(&[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let done = command(&["--resume"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(finished(&out), 12);
    let outcomes = Store::outcomes(&out).unwrap();
    assert_eq!(outcomes.outcomes.len(), 1);
    let values = &outcomes.outcomes[0].values;
    assert!(values.iter().all(|value| value.ours.is_some()));
}
