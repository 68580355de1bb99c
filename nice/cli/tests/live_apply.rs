// SPDX-License-Identifier: MIT OR Apache-2.0
//! `apply`: what a file names is attached, and what it no longer names is detached, live.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use support::*;

const FIRST: [&str; 3] = ["listener", "client", "server"];
const THEN: [&str; 5] = ["listener", "client", "server", "new-client", "new-server"];
const LOWER_EFFORT: i32 = 4;
/// Where `apply` keeps what it has attached.
const RECORD: &str = "/run/netnice-applied";

/// A machine has one configuration.
static ALONE: Mutex<()> = Mutex::new(());

fn file(name: &str, text: &str) -> PathBuf {
    let path = directory().join(format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path
}

fn apply(file: &PathBuf, options: &[&str]) -> Command {
    let mut command = netnice(&["apply", "--json", "--file"]);
    command.arg(file).args(options);
    command
}

/// The result for each target that a call names, in order.
fn results(command: &mut Command) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&output(command)).unwrap();
    let changes = report["changes"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    changes
        .map(|change| (text(&change["target"]), text(&change["result"])))
        .collect()
}

fn attached(cgroup: &TestCgroup) -> bool {
    let status: Value = serde_json::from_str(&output(&mut netnice(&["status", "--json"]))).unwrap();
    let name = cgroup.0.file_name().unwrap().to_str().unwrap();
    let paths = status["attached"].as_array().unwrap();
    paths
        .iter()
        .any(|path| path.as_str().unwrap().ends_with(name))
}

#[test]
fn a_changed_file_changes_what_it_names_and_nothing_else() {
    let _alone = ALONE.lock();
    let usual = usual_control();
    let [kept, changed, dropped, by_hand] = ["kept", "changed", "dropped", "by-hand"]
        .map(|name| TestCgroup::new(&format!("apply-{name}")));
    output(&mut netnice(&["attach", by_hand.path()]));
    let mut holders = [&kept, &changed, &dropped].map(|cgroup| {
        let (holder, printed) = Holder::start(cgroup.contain(&mut hold()));
        assert_sockets(&printed, &FIRST, &usual, 0);
        holder
    });
    let first = file(
        "first",
        &format!(
            "[[attach]]\ncgroups = [{:?}, {:?}, {:?}]\n",
            kept.path(),
            changed.path(),
            dropped.path()
        ),
    );
    let of = |result: &str, cgroup: &TestCgroup| (cgroup.path().to_owned(), result.to_owned());
    let all = |result| [&kept, &changed, &dropped].map(|cgroup| of(result, cgroup));
    assert_eq!(results(&mut apply(&first, &["--dry-run"])), all("attached"));
    assert!(!attached(&kept));
    assert_eq!(results(&mut apply(&first, &[])), all("attached"));
    for holder in &mut holders {
        assert_sockets(&holder.ask(), &THEN, "netnice", LOWER_EFFORT);
    }
    assert_eq!(results(&mut apply(&first, &[])), all("unchanged"));

    // Parts that the file does not change stay untouched: a connection that has been given back stays so.
    output(&mut netnice(&[
        "renice",
        "--off",
        "--pid",
        &holders[0].pid(),
    ]));
    let second = file(
        "second",
        &format!(
            "[[attach]]\ncgroups = [{:?}]\n[[attach]]\ncgroups = [{:?}]\ncontrol = \"tcplp\"\n",
            kept.path(),
            changed.path()
        ),
    );
    let mut expected = vec![of("unchanged", &kept), of("changed", &changed)];
    let path = dropped.path().strip_prefix(cgroup2().to_str().unwrap());
    expected.push((path.unwrap().to_owned(), "detached".to_owned()));
    assert_eq!(results(&mut apply(&second, &["--dry-run"])), expected);
    assert_eq!(results(&mut apply(&second, &[])), expected);
    let printed = holders[0].ask();
    assert_sockets(&printed[..3], &FIRST, &usual, 0);
    assert_sockets(&printed[3..], &THEN[3..], "netnice", LOWER_EFFORT);
    assert_sockets(&holders[1].ask(), &THEN, "tcplp", LOWER_EFFORT);
    assert_sockets(&holders[2].ask(), &THEN, &usual, 0);

    // By hand it was changed back meanwhile.
    output(&mut netnice(&["attach", changed.path()]));
    assert_eq!(
        results(&mut apply(&second, &[]))[1],
        of("changed", &changed)
    );
    assert_sockets(&holders[1].ask()[3..], &THEN[3..], "tcplp", LOWER_EFFORT);

    let none = file("none", "");
    assert_eq!(results(&mut apply(&none, &[])).len(), 2);
    for cgroup in [&kept, &changed, &dropped] {
        assert!(!attached(cgroup));
    }
    assert!(attached(&by_hand), "it is not the file's");
    assert!(!fs::exists(RECORD).unwrap());
    output(&mut netnice(&["detach", by_hand.path()]));
}

#[test]
fn a_file_with_a_mistake_changes_nothing() {
    let _alone = ALONE.lock();
    let cgroup = TestCgroup::new("apply-mistake");
    let text = format!(
        "[[attach]]\ncgroups = [{:?}]\ncontrl = \"tcplp\"\n",
        cgroup.path()
    );
    let wrong = file("wrong", &text);
    let said = say(&mut apply(&wrong, &[]));
    assert_eq!(said.code, Some(1), "{}", said.out);
    let place = format!(
        "netnice: {}:3:1: attach[0].contrl: unknown field",
        wrong.display()
    );
    assert!(said.err.starts_with(&place), "{}", said.err);
    assert!(!attached(&cgroup));
    let said = say(netnice_as_nobody(&["apply", "--check", "--file"]).arg(&wrong));
    assert!(said.err.starts_with(&place), "{}", said.err);
    let said = say(&mut netnice_as_nobody(&["apply"]));
    said.ended(1, "needs root");
}

#[test]
fn one_cgroup_by_two_names_is_a_mistake() {
    let _alone = ALONE.lock();
    let cgroup = TestCgroup::new("apply-twice");
    let short = cgroup.path().strip_prefix(cgroup2().to_str().unwrap());
    let text = format!(
        "[[attach]]\ncgroups = [{:?}]\n[[attach]]\ncgroups = [{:?}]\n",
        cgroup.path(),
        short.unwrap()
    );
    let said = say(&mut apply(&file("twice", &text), &[]));
    said.ended(1, "twice.toml:4: ");
    assert!(said.err.contains("line 2"), "{}", said.err);
    assert!(!attached(&cgroup));
}

#[test]
fn a_cgroup_that_comes_later_is_attached_by_the_next_call() {
    let _alone = ALONE.lock();
    let cgroup = TestCgroup::new("apply-later");
    let text = format!("[[attach]]\ncgroups = [{:?}]\n", cgroup.path());
    let later = file("later", &text);
    fs::remove_dir(cgroup.path()).unwrap();
    assert_eq!(results(&mut apply(&later, &[]))[0].1, "absent");
    for _ in 0..2 {
        fs::create_dir(cgroup.path()).unwrap();
        assert_eq!(results(&mut apply(&later, &[]))[0].1, "attached");
        assert!(attached(&cgroup));
        fs::remove_dir(cgroup.path()).unwrap();
    }
    results(&mut apply(&file("none", ""), &[]));
    assert!(!fs::exists(RECORD).unwrap());
}

#[test]
fn a_call_that_is_killed_is_completed_by_the_next() {
    let _alone = ALONE.lock();
    let cgroups = [0, 1, 2].map(|at| TestCgroup::new(&format!("apply-killed-{at}")));
    let files = [0, 1, 2].map(|left_out: usize| {
        let named: Vec<&str> = (0..3)
            .filter(|at| *at != left_out)
            .map(|at| cgroups[at].path())
            .collect();
        file(
            &format!("without-{left_out}"),
            &format!("[[attach]]\ncgroups = {named:?}\n"),
        )
    });
    for round in 0..30 {
        let mut child = apply(&files[round % 3], &[])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(round as u64 * 3));
        let _ = child.kill();
        child.wait().unwrap();
        if round % 5 == 4 {
            results(&mut apply(&files[0], &[]));
            let are: Vec<bool> = cgroups.iter().map(attached).collect();
            assert_eq!(are, [false, true, true], "round {round}");
        }
    }
    results(&mut apply(&file("none", ""), &[]));
    assert!(!cgroups.iter().any(attached));
    assert!(!fs::exists(RECORD).unwrap());
    assert!(!fs::exists("/run/netnice-applied.unfinished").unwrap());
}

/// The local time in so many hours, as `date` says it.
fn local_time(hours: i32) -> String {
    let date = format!("{hours} hours");
    let time = output(Command::new("date").args(["-d", &date, "+%H:%M"]));
    time.trim().to_owned()
}

#[test]
fn a_table_is_in_effect_in_its_hours_alone() {
    let _alone = ALONE.lock();
    let usual = usual_control();
    let cgroup = TestCgroup::new("apply-hours");
    let (mut holder, _) = Holder::start(cgroup.contain(&mut hold()));
    let of_hours = |name, from, to| {
        let hours = format!("{}-{}", local_time(from), local_time(to));
        let text = format!(
            "[[attach]]\ncgroups = [{:?}]\nonly = \"{hours}\"\n",
            cgroup.path()
        );
        file(name, &text)
    };
    let now = of_hours("hours-now", -1, 1);
    assert_eq!(results(&mut apply(&now, &[]))[0].1, "attached");
    assert_sockets(&holder.ask(), &THEN, "netnice", LOWER_EFFORT);
    let later = of_hours("hours-later", 1, 2);
    assert_eq!(results(&mut apply(&later, &["--dry-run"]))[0].1, "detached");
    assert_eq!(results(&mut apply(&later, &[]))[0].1, "detached");
    assert_sockets(&holder.ask()[..5], &THEN, &usual, 0);
    assert_eq!(results(&mut apply(&later, &[])), []);
}
