// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is allowed in a scenario, and hardly meant.

use std::collections::{BTreeMap, BTreeSet};

use netnice_congestion::registry;

use crate::Layout;
use crate::model::{CongestionControl, Scenario, Transport};
use crate::network::{NetworkFlow, NetworkLink, NodeIndex};
use crate::parse::ScenarioFile;

/// The layouts of more points would take longer than they are worth.
const MOST_POINTS: usize = 100;

/// Warnings of a scenario that has been read, a line each: of controls that depend on marks, on paths whose queues do not mark.
pub fn warnings(file: &ScenarioFile) -> Vec<String> {
    let points = file.points.iter().take(MOST_POINTS);
    let all: BTreeSet<String> = points
        .flat_map(|point| flows_without_marks(&point.scenario))
        .collect();
    all.into_iter().collect()
}

fn depends_on_marks(control: &CongestionControl) -> bool {
    registry::depends_on_marks(&control.name, &control.control_parameters())
}

/// A group of flows whose control depends on marks, and their paths.
struct Group<'a> {
    control: &'a str,
    /// A queue on one of the paths marks.
    any_marks: bool,
    /// The ends of the first path without a queue that marks.
    without_marks: Option<(NodeIndex, NodeIndex)>,
}

impl Group<'_> {
    fn add_paths(&mut self, network: &Layout, flow: &NetworkFlow) {
        let marks = |link: &NetworkLink| link.queue.marks();
        // A node on both sides sends nothing to itself.
        for (from, to) in network
            .pairs_by(flow, marks)
            .filter(|(from, to)| from != to)
        {
            if self.any_marks && self.without_marks.is_some() {
                return;
            }
            let path = network.path(from, to).unwrap_or_default();
            match path.iter().any(|&link| marks(&network.links[link])) {
                true => self.any_marks = true,
                false => self.without_marks = self.without_marks.or(Some((from, to))),
            }
        }
    }

    fn warning(&self, network: &Layout, name: &str) -> Option<String> {
        let (from, to) = self.without_marks?;
        let node = |node: NodeIndex| &network.nodes[node].name;
        let ends = match self.any_marks {
            false => String::new(),
            true => format!(" from `{}` to `{}`", node(from), node(to)),
        };
        Some(format!(
            "no queue on the path of `{name}`{ends} marks packets (ECN), so that {} hears of losses alone, as Reno does. Give the \
             slowest link a discipline that marks, such as `red` with `ecn = \"mark\"`",
            self.control
        ))
    }
}

fn flows_without_marks(scenario: &Scenario) -> Vec<String> {
    let flows = scenario.flows.iter().filter(|flow| {
        flow.transport == Transport::Tcp && depends_on_marks(&flow.congestion_control)
    });
    let group = |control| Group {
        control,
        any_marks: false,
        without_marks: None,
    };
    let mut groups: BTreeMap<&str, Group<'_>> = flows
        .map(|flow| (&*flow.name, group(&*flow.congestion_control.name)))
        .collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let Ok(network) = Layout::new(scenario) else {
        return Vec::new();
    };
    for flow in &network.flows {
        if let Some(group) = groups.get_mut(&*flow.group.name) {
            group.add_paths(&network, flow);
        }
    }
    let warnings = groups
        .iter()
        .filter_map(|(name, group)| group.warning(&network, name));
    warnings.collect()
}
