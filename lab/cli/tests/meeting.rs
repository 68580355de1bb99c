// SPDX-License-Identifier: MIT OR Apache-2.0
//! The example of docs/netnice-control.md is what the control does today: its picture and its decisions.
//!
//! `NETNICE_DRAW=1 cargo test -p netnice-lab --test meeting` writes both anew.

#[path = "../../../nice/cli/tests/program/mod.rs"]
mod program;

use std::fs;
use std::path::Path;

use program::{run, succeeded, text};

const PAGE: &str = "docs/netnice-control.md";
const PICTURE: &str = "docs/pictures/meeting.svg";

/// The scenario's flows over 40 s, CUBIC from 15 to 27 s.
const SETTINGS: [&str; 9] = [
    "duration=40s",
    "warm_up=0s",
    "phases=[]",
    "sampling.interval=250ms",
    "flows.netnice.start_spread=0s",
    "flows.netnice.tcp.recovery=linux",
    "flows.cubic.tcp.recovery=linux",
    "flows.cubic.start=15s",
    "flows.cubic.stop=27s",
];

/// Decisions that the page shows, by their times in seconds.
const SHOWN: std::ops::Range<f64> = 14.9..30.4;

#[test]
fn the_page_shows_what_the_control_does_today() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("results");
    let scenario = root.join("scenarios/netnice_beside_cubic.toml");
    let mut command = vec!["sim", text(&scenario), "--seeds", "1", "--decisions", "-q"];
    command.extend(["--out", text(&out)]);
    for setting in SETTINGS {
        command.extend(["--set", setting]);
    }
    succeeded(&run(&command));
    succeeded(&run(&["plot", text(&out)]));

    let recorded = fs::read_to_string(out.join("traces/point-00000-seed-1/decisions.jsonl"));
    let lines: String = recorded
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|decision: &serde_json::Value| {
            SHOWN.contains(&decision["time_s"].as_f64().unwrap())
        })
        .map(|decision| format!("    {}\n", decision["text"].as_str().unwrap()))
        .collect();
    let (begin, end) = ("<!-- meeting: begin -->\n", "<!-- meeting: end -->");
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let todays = format!("{before}{begin}\n{lines}\n{end}{after}");
    let picture = fs::read_to_string(out.join("plots/goodput.svg")).unwrap();

    if std::env::var_os("NETNICE_DRAW").is_some() {
        fs::write(root.join(PAGE), &todays).unwrap();
        fs::write(root.join(PICTURE), &picture).unwrap();
    }
    let say = "differs: NETNICE_DRAW=1 cargo test -p netnice-lab --test meeting";
    assert!(
        fs::read_to_string(root.join(PAGE)).unwrap() == todays,
        "{PAGE} {say}"
    );
    assert!(
        fs::read_to_string(root.join(PICTURE)).unwrap_or_default() == picture,
        "{PICTURE} {say}"
    );
}
