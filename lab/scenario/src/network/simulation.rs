// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features that only a kernel has.

use super::Layout;
use super::problem::{Place, Problem};
use crate::model::{Application, Scenario};

/// Features that the simulator lacks: programs, and controls that exist in kernels only. A [`Check`](crate::Check).
pub fn not_simulated(scenario: &Scenario, _: &Layout) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if flow.count == Some(0) {
            continue;
        }
        let place = Place::key("flows").at(index);
        if let Application::Command(_) = flow.application {
            let text = "a command cannot be simulated; run it by `netnice lab`";
            problems.push(place.at("application").problem(text));
        }
        if !flow.congestion_control.is_simulated() {
            let name = &flow.congestion_control.name;
            let text = format!("`{name}` is not simulated; run it by `netnice lab`");
            problems.push(place.at("congestion_control").problem(text));
        }
    }
    problems
}
