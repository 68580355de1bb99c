// SPDX-License-Identifier: MIT OR Apache-2.0
//! Controls that depend on marks, on paths whose queues do not mark.

use std::collections::BTreeMap;

use netnice_congestion::registry;
use netnice_queue::{DisciplineConfig, EcnMode};

use crate::Layout;
use crate::model::{CongestionControl, Scenario, Transport};
use crate::network::{NetworkFlow, NetworkLink, NodeIndex};

fn depends_on_marks(control: &CongestionControl) -> bool {
    registry::depends_on_marks(&control.name, &control.control_parameters())
}

/// RED that is to mark, and never does.
fn has_empty_range(link: &NetworkLink) -> bool {
    matches!(&*link.queue, DisciplineConfig::Red(red) if red.ecn != EcnMode::Off && !red.marks())
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
        let path = network.path(from, to).unwrap_or_default();
        let mut links = path.iter().map(|&link| &network.links[link]);
        let remedy = match links.any(has_empty_range) {
            true => {
                "With `ecn = \"mark\"` `red` marks below `max_threshold` only, and nothing if `min_threshold` equals it: \
                 `ecn = \"mark_always\"` marks all from there on"
            }
            false => {
                "Give the slowest link a discipline that marks, such as `red` with `ecn = \"mark\"`"
            }
        };
        Some(format!(
            "no queue on the path of `{name}`{ends} marks packets (ECN), so that {} hears of losses alone, as Reno does. {remedy}",
            self.control
        ))
    }
}

/// The groups of flows whose control depends on marks, by name.
fn groups(scenario: &Scenario) -> BTreeMap<&str, Group<'_>> {
    let flows = scenario.flows.iter().filter(|flow| {
        flow.transport == Transport::Tcp && depends_on_marks(&flow.congestion_control)
    });
    let group = |control| Group {
        control,
        any_marks: false,
        without_marks: None,
    };
    flows
        .map(|flow| (&*flow.name, group(&*flow.congestion_control.name)))
        .collect()
}

/// Returns true if a control depends on marks.
pub(super) fn concerns(scenario: &Scenario) -> bool {
    !groups(scenario).is_empty()
}

/// Warns of each group of flows that has a path without a queue that marks.
pub(super) fn find(scenario: &Scenario, network: &Layout) -> Vec<String> {
    let mut groups = groups(scenario);
    for flow in &network.flows {
        if let Some(group) = groups.get_mut(&*flow.group.name) {
            group.add_paths(network, flow);
        }
    }
    let warnings = groups
        .iter()
        .filter_map(|(name, group)| group.warning(network, name));
    warnings.collect()
}
