// SPDX-License-Identifier: MIT OR Apache-2.0
//! `oci-hook`, run by runc as it starts containers, live.

mod support;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use support::{Said, directory, netnice, output, probe, say, usual_control};

/// Runs a container that opens connections and prints the control of each socket; it has these annotations.
fn run_container(name: &str, annotations: &Value) -> Said {
    let bundle = directory().join(name);
    fs::create_dir_all(bundle.join("rootfs")).unwrap();
    fs::copy(probe(), bundle.join("rootfs/probe")).unwrap();
    output(Command::new("runc").arg("spec").current_dir(&bundle));

    let file = bundle.join("config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    config["process"]["terminal"] = json!(false);
    config["process"]["args"] = json!(["/probe", "once", "4"]);
    config["annotations"] = annotations.clone();
    let program = netnice(&[]).get_program().to_owned();
    config["hooks"]["createRuntime"] = json!([{
        "path": program.to_str().unwrap(),
        "args": ["netnice", "oci-hook", "--require"],
    }]);
    // The loopback device of a network namespace of its own would be down.
    let namespaces = config["linux"]["namespaces"].as_array_mut().unwrap();
    namespaces.retain(|namespace| namespace["type"] != "network");
    fs::write(&file, config.to_string()).unwrap();

    let id = format!("netnice-test-{}-{name}", std::process::id());
    say(Command::new("runc")
        .arg("--root")
        .arg(directory().join("runc"))
        .args(["run", &id])
        .current_dir(&bundle))
}

/// Returns the controls in the probe's lines.
fn controls(printed: &str) -> Vec<&str> {
    let lines = printed.lines();
    lines
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect()
}

#[test]
fn an_annotation_gives_a_container_low_priority() {
    let said = run_container("low", &json!({"netnice.dev/priority": "low"}));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(controls(&said.out), ["netnice"; 3], "{}", said.out);

    let other = json!({"netnice.dev/priority": "low", "netnice.dev/control": "tcplp"});
    let said = run_container("other", &other);
    assert_eq!(
        controls(&said.out),
        ["tcplp"; 3],
        "{}{}",
        said.out,
        said.err
    );

    // Their cgroups are gone, and with them all that was attached.
    let status = output(&mut netnice(&["status"]));
    let mine = format!("netnice-test-{}-", std::process::id());
    assert!(!status.contains(&mine), "{status}");
}

#[test]
fn a_container_without_annotation_is_left_alone() {
    let said = run_container("plain", &json!({"io.kubernetes.pod.name": "x"}));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(
        controls(&said.out),
        vec![usual_control(); 3],
        "{}",
        said.out
    );
}

#[test]
fn a_wrong_annotation_stops_a_container() {
    let said = run_container("wrong", &json!({"netnice.dev/priority": "high"}));
    assert_ne!(said.code, Some(0), "{}", said.out);
    // runc quotes what the hook writes.
    let expected = "stderr: netnice: annotation netnice.dev/priority: ";
    assert!(said.err.contains(expected), "{}", said.err);
    assert_eq!(said.out, "");
}
