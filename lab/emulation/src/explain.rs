// SPDX-License-Identifier: MIT OR Apache-2.0
//! Description, in words, of how a scenario is realised.

use std::fmt::Write;

use netnice_scenario::Point;

use super::check::notes;
use super::plan::{self, Plan};

/// Describes how this kernel realises a scenario, and what it only approximates.
pub fn explain(point: &Point) -> String {
    let mut text = String::new();
    if let Ok(layout) = point.layout() {
        // Writing to a String cannot fail.
        let _ = write_plan(&mut text, &Plan::new(layout));
    }
    let notes = notes(&point.scenario);
    if !notes.is_empty() {
        let _ = writeln!(text, "\nOnly nearly so:");
        for note in notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    text
}

fn write_plan(text: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(
        text,
        "\nOn this kernel: {}",
        count(plan.namespaces.len(), "network namespace")
    )?;
    for (index, netns) in plan.namespaces.iter().enumerate() {
        let endpoints = plan.endpoints.iter().enumerate();
        let mut addresses = endpoints
            .filter(|(_, endpoint)| endpoint.netns == index)
            .map(|(number, _)| plan::address(number));
        write!(text, "  {}", netns.name)?;
        if let Some(first) = addresses.next() {
            write!(text, ": {first}")?;
        }
        match addresses.count() {
            0 => {}
            more => write!(text, " and {more} more addresses")?,
        }
        for (on, what) in [
            (netns.settings.sack, "SACK"),
            (netns.settings.timestamps, "timestamps"),
        ] {
            if !on {
                write!(text, ", without {what}")?;
            }
        }
        writeln!(text)?;
    }
    write!(
        text,
        "  Between them one real-time thread computes {}",
        count(plan.network.links.len() / 2, "link")
    )?;
    match plan.carried() {
        Some(rate) => writeln!(text, "; it carries up to {rate}"),
        None => writeln!(text, "; nothing limits what it carries"),
    }
}

fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}
