// SPDX-License-Identifier: MIT OR Apache-2.0
//! A supervisor keeps the control in the kernel by itself. The test has a file of its own, since any
//! other `netnice run` at the same time would keep it there, too.

mod support;

use std::fs;
use std::process::Command;

use support::*;

#[test]
fn the_control_is_there_for_a_supervisor_that_starts_late() {
    let cgroup = TestCgroup::new("late");
    fs::write(cgroup.0.join("cgroup.max.descendants"), "0").unwrap();
    for _ in 0..3 {
        // On one processor, and with the supervisor in a lesser scheduling class than who starts it,
        // that one goes on for as long as it does not wait for the supervisor.
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0"]);
        command.args(["chrt", "--reset-on-fork", "--fifo", "1"]);
        let run = netnice(&["run", "--"]);
        command.arg(run.get_program()).args(run.get_args());
        let printed = output(cgroup.contain(command.arg(probe()).arg("owner")));
        assert!(printed.starts_with("own\nclient netnice "), "{printed}");
    }
}
