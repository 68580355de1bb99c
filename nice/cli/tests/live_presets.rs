// SPDX-License-Identifier: MIT OR Apache-2.0
//! `attach` and `detach` by the name of a program, live.

mod support;

use std::fs;
use std::path::PathBuf;

use support::{cgroup2, netnice, output, say};

/// A cgroup that looks like a service's, in one of this test.
struct Service(PathBuf);

impl Service {
    fn new(name: &str) -> Self {
        let parent = format!("netnice-test-presets-{}", std::process::id());
        let path = cgroup2().join(parent).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

#[test]
fn a_name_stands_for_a_programs_cgroups() {
    let said = say(&mut netnice(&["attach", "ollama"]));
    said.ended_in_one_line(1, "looked for ollama.service");

    let service = Service::new("ollama.service");
    let path = service.0.to_str().unwrap();
    let attached = || output(&mut netnice(&["status"]));
    let out = output(&mut netnice(&["attach", "ollama"]));
    assert!(out.contains("ollama.service has low priority now"), "{out}");
    assert!(attached().contains("ollama.service"), "{path}");
    let out = output(&mut netnice(&["detach", "ollama"]));
    assert!(out.contains("has best effort again"), "{out}");
    assert!(!attached().contains("ollama.service"), "{path}");
    let said = say(&mut netnice(&["detach", "ollama"]));
    said.ended(1, "nothing of ollama is attached");
}
