// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice reproduce`: the report of a finished directory.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use netnice_papers::{Outcomes, Store};

/// Without running anything.
fn report(out: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_netnice"))
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
    assert!(said.contains("outcomes.json"), "{said}");
    let wrong = report(directory.path(), &["--full"]);
    assert_eq!(wrong.status.code(), Some(2));
}
