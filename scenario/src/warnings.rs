// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is allowed in a scenario, and hardly meant.

use std::collections::BTreeSet;

use netnice_congestion::control::MarkFeedback;
use netnice_congestion::registry;

use crate::Layout;
use crate::model::{CongestionControl, Scenario, Transport};
use crate::parse::ScenarioFile;

/// The layouts of more points would take longer than they are worth.
const MOST_POINTS: usize = 100;

/// Warnings of a scenario that has been read, a line each: of controls that live by marks, over queues that do not mark.
pub fn warnings(file: &ScenarioFile) -> Vec<String> {
    let points = file.points.iter().take(MOST_POINTS);
    let all: BTreeSet<String> = points
        .flat_map(|point| flows_without_marks(&point.scenario))
        .collect();
    all.into_iter().collect()
}

/// Returns true if the control does nothing of its own without marks (RFC 8257 section 3.5 for DCTCP).
fn lives_by_marks(control: &CongestionControl) -> bool {
    let feedback = registry::create(&control.name, &control.control_parameters())
        .is_ok_and(|control| control.mark_feedback() == MarkFeedback::EachPacket);
    feedback || control.name == "tcplp_ecn"
}

fn flows_without_marks(scenario: &Scenario) -> Vec<String> {
    let groups = scenario.flows.iter().filter(|flow| {
        flow.transport == Transport::Tcp && lives_by_marks(&flow.congestion_control)
    });
    let mut unmarked: BTreeSet<&str> = groups.map(|group| group.name.as_str()).collect();
    if unmarked.is_empty() {
        return Vec::new();
    }
    let Ok(network) = Layout::new(scenario) else {
        return Vec::new();
    };
    let mut warnings: Vec<String> = Vec::new();
    for flow in &network.flows {
        let (control, name) = (&flow.group.congestion_control, &flow.group.name);
        if !unmarked.contains(name.as_str()) {
            continue;
        }
        let ends = (flow.senders.first(), flow.receivers.first());
        let path = match ends {
            (Some(&from), Some(&to)) => network.path(from, to).unwrap_or_default(),
            _ => continue,
        };
        if path.iter().any(|&link| network.links[link].queue.marks()) {
            continue;
        }
        // One warning for a group.
        unmarked.remove(name.as_str());
        warnings.push(format!(
            "no queue on the path of `{name}` marks packets (ECN), so that {} hears of losses alone, as Reno does. Give the slowest \
             link a discipline that marks, such as `red` with `ecn = \"mark\"`",
            control.name
        ));
    }
    warnings
}
