// SPDX-License-Identifier: MIT OR Apache-2.0
//! Golden records: window of every control over time, alone on a path, beside others, and alone again.

mod path;

use std::fmt::Write;

use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use path::{Flow, Path};

/// Records a run in which others keep 40 ms of queue from second 10 to 15. It never moves, nor does our own sending add
/// to it: netnice finds that it is as good as a longer path.
fn trace(name: &str) -> String {
    let mut parameters = ControlParameters::new();
    let mut path = Path::new(100);
    path.others = Some((10_000_000_000, 15_000_000_000, 40_000_000));
    if matches!(name, "tcplp_ecn" | "dctcp" | "prague") {
        path.mark_above_packets = Some(15);
    }
    if name == "dstcp" {
        parameters.set("target_rate_bps", 2e6);
    }
    let control = registry::create(name, &parameters).expect("the control exists");
    let mut flow = Flow::new(path, control, 2.0);
    let mut lines = "seconds  cwnd  ssthresh  delivered  losses  marks  phase\n".to_string();
    for half_seconds in 1..=50 {
        flow.run(f64::from(half_seconds) / 2.0);
        let phase = flow
            .control
            .report()
            .map_or("-".to_string(), |report| format!("{:?}", report.phase()));
        writeln!(
            lines,
            "{:4.1}  {:6.1}  {:6.1}  {:6}  {:4}  {:4}  {phase}",
            f64::from(half_seconds) / 2.0,
            flow.window.cwnd,
            flow.window.ssthresh,
            flow.delivered,
            flow.losses,
            flow.echoes
        )
        .expect("a string takes lines");
    }
    lines
}

#[test]
fn every_control_moves_as_recorded() {
    for name in registry::names() {
        insta::assert_snapshot!(format!("trace_{name}"), trace(name));
    }
}
