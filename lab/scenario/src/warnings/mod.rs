// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is allowed in a scenario, and hardly meant. A kind of warning is one file, and an entry of `KINDS`.

mod marks;
mod no_limit;
mod overload;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Layout;
use crate::model::Scenario;
use crate::network::Problems;
use crate::parse::ScenarioFile;

/// The layouts of more points would take longer than they are worth.
const MOST_POINTS: usize = 100;

/// A kind of warning.
struct Kind {
    /// Returns false for a scenario that needs no layout to be found without such warnings.
    concerns: fn(&Scenario) -> bool,
    /// The warnings, a line each.
    find: fn(&Scenario, &Layout) -> Vec<String>,
}

const KINDS: [Kind; 3] = [
    Kind {
        concerns: marks::concerns,
        find: marks::find,
    },
    Kind {
        concerns: no_limit::concerns,
        find: no_limit::find,
    },
    Kind {
        concerns: overload::concerns,
        find: overload::find,
    },
];

/// Warnings of a scenario that has been read, a line each: of controls that depend on marks, on paths whose queues do not mark; of
/// flows over TCP that no link limits; and of arriving transfers that offer more than a link sends.
pub fn warnings(file: &ScenarioFile) -> Vec<String> {
    let points = file.points.iter().take(MOST_POINTS);
    let all: BTreeSet<String> = points
        .enumerate()
        .flat_map(|(number, point)| {
            of_scenario(&point.scenario, || match number {
                // The one that is kept for the runs.
                0 => point.layout(),
                _ => Layout::new(&point.scenario).map(Arc::new).map_err(Problems),
            })
        })
        .collect();
    all.into_iter().collect()
}

fn of_scenario(
    scenario: &Scenario,
    layout: impl FnOnce() -> Result<Arc<Layout>, Problems>,
) -> Vec<String> {
    let kinds = KINDS.iter().filter(|kind| (kind.concerns)(scenario));
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let Ok(network) = layout() else {
        return Vec::new();
    };
    let warnings = kinds
        .iter()
        .flat_map(|kind| (kind.find)(scenario, &network));
    warnings.collect()
}

/// Returns true if a scenario has so many hosts and flows that looking at all their paths takes long.
fn is_large(scenario: &Scenario) -> bool {
    /// Hosts and flows.
    const MOST: u64 = 10_000;
    let hosts = scenario.nodes.iter().map(|node| u64::from(node.count));
    let flows = scenario.flows.iter().filter_map(|flow| flow.count);
    hosts.sum::<u64>() + flows.map(u64::from).sum::<u64>() > MOST
}
