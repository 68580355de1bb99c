// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the testbed's experiments.

use netnice_results::RunResults;
use netnice_study::Scale;

use crate::definition::Choice;
use crate::measured::throughput;
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("tb_testbed.toml");
const QUICK: Scale = Scale::new(5, 100);
const FULL: Scale = Scale::new(50, 300);

/// Numbers of flows: from one to 20, says the text.
pub(super) const FLOWS: &[&str] = &["1", "2", "5", "10", "15", "20"];

/// A study on the testbed's link.
pub(super) fn testbed(name: &str) -> Study {
    Study::new(format!("tb_{name}"), FILE, QUICK, FULL)
}

/// Throughput of a group in Mb/s; 0 without such flows.
pub(super) fn mbps(run: &RunResults, group: &str) -> f64 {
    throughput(run, group).unwrap_or(0.0) / 1e6
}

/// The parameters that the text leaves open.
pub(super) fn choices() -> Vec<Choice> {
    vec![
        Choice::new(
            "the testbed's link",
            "10 Mb/s, a round trip of 48 ms, a drop-tail queue of 2.5 times their product, as in the first paper",
        ),
        Choice::new(
            "the kernel's TCP",
            "selective acknowledgements, delayed ACKs, a minimum RTO of 0.2 s, time stamps of 1 ms, packets of 1500 bytes",
        ),
        Choice::new(
            "testbed or simulator",
            "simulated here; netnice lab runs the same scenario files on the running kernel",
        ),
    ]
}
