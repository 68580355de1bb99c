// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the figures that a scenario asks for.

use std::collections::BTreeSet;

use super::findings::Findings;
use super::problem::Place;
use crate::did_you_mean::among;
use crate::model::{Application, DerivedFigure, FlowQuantity, Scenario};

/// Checks `[[figures]]`.
pub(super) fn check_figures(scenario: &Scenario, findings: &mut Findings) {
    let mut names = BTreeSet::new();
    for (index, figure) in scenario.figures.iter().enumerate() {
        let place = Place::key("figures").at(index);
        findings.name(&figure.name, &place.at("name"));
        if !names.insert(&figure.name) {
            let text = format!("there is a figure `{}` already", figure.name);
            findings.add(&place.at("name"), text);
        }
        check_figure(scenario, figure, &place, findings);
    }
}

fn check_figure(
    scenario: &Scenario,
    figure: &DerivedFigure,
    place: &Place,
    findings: &mut Findings,
) {
    let quantity = figure.quantity;
    findings.require(
        !figure.flows.is_empty(),
        &place.at("flows"),
        "is empty; name at least one flow",
    );
    check_flows(scenario, quantity, &figure.flows, place, findings);
    check_phase(scenario, quantity, figure.phase.as_deref(), place, findings);
    if quantity == FlowQuantity::TimeTo90Percent {
        findings.require(
            figure.phase.is_some() && figure.over.is_some(),
            &place.at("quantity"),
            "needs `phase`, which it begins with, and `over`, which is to be reached",
        );
        let sampling = &scenario.sampling;
        let interval = sampling.interval.map(|interval| interval.get());
        findings.require(
            interval.is_some_and(|interval| interval.as_millis() <= 500)
                && figure
                    .flows
                    .iter()
                    .all(|flow| sampling.takes_flow(flow, flow)),
            &place.at("quantity"),
            "needs `sampling` of its flows with an interval of at most 500ms",
        );
    }
    let Some(over) = &figure.over else {
        return;
    };
    let place = place.at("over");
    findings.require(
        over.flows.is_empty() == over.rate.is_some(),
        &place,
        "needs either `flows` or `rate`",
    );
    let of_rates = matches!(
        quantity,
        FlowQuantity::Goodput
            | FlowQuantity::Throughput
            | FlowQuantity::BitRate
            | FlowQuantity::TimeTo90Percent
    );
    if let Some(rate) = over.rate.filter(|_| !of_rates) {
        let text = format!(
            "{rate} is a rate, which {} cannot be divided by; divide it by that of other flows: over = {{ flows = [...] }}",
            quantity.name()
        );
        findings.add(&place, text);
    }
    check_flows(scenario, quantity, &over.flows, &place, findings);
    check_phase(scenario, quantity, over.phase.as_deref(), &place, findings);
}

fn check_flows(
    scenario: &Scenario,
    quantity: FlowQuantity,
    flows: &[String],
    place: &Place,
    findings: &mut Findings,
) {
    for (index, name) in flows.iter().enumerate() {
        let place = place.at("flows").at(index);
        let Some(flow) = scenario.flows.iter().find(|flow| flow.name == *name) else {
            let known = scenario.flows.iter().map(|flow| flow.name.as_str());
            let text = format!("there is no flow `{name}`; {}", among(name, known));
            findings.add(&place, text);
            continue;
        };
        let (has_responses, has_one_bin, arrive) = match &flow.application {
            Application::Web(web) => (true, web.object_size.shape.is_none(), false),
            Application::Arrivals(_) => (true, true, true),
            _ => (false, false, false),
        };
        match quantity {
            FlowQuantity::CompletionTime if flow.bytes.is_none() => {
                findings.add(&place, "is never completed; only flows with `bytes` are");
            }
            FlowQuantity::ResponseTime if !has_responses => {
                findings.add(
                    &place,
                    "has no response times; only web traffic and arrivals have",
                );
            }
            FlowQuantity::P95ResponseTime if !has_one_bin => {
                findings.add(
                    &place,
                    "has no one 95th percentile; arrivals have, and web traffic whose objects are all alike (no `shape`)",
                );
            }
            FlowQuantity::PageTime | FlowQuantity::P95PageTime if !matches!(&flow.application, Application::Web(web) if web.multiplexing.is_some()) =>
            {
                let text = format!(
                    "has no {}; only web traffic with `multiplexing` has, which may be \"none\", \"http2\" or \"quic\"",
                    quantity.name()
                );
                findings.add(&place, text);
            }
            FlowQuantity::P99ResponseTime | FlowQuantity::Slowdown | FlowQuantity::P99Slowdown
                if !arrive =>
            {
                let text = format!("has no {}; only arrivals have", quantity.name());
                findings.add(&place, text);
            }
            FlowQuantity::Mos if !matches!(flow.application, Application::Call(_)) => {
                findings.add(&place, "has no mean opinion score; only calls have");
            }
            FlowQuantity::BitRate | FlowQuantity::StallTime
                if !matches!(flow.application, Application::Video(_)) =>
            {
                let text = format!("has no {}; only videos have", quantity.name());
                findings.add(&place, text);
            }
            _ => {}
        }
    }
}

fn check_phase(
    scenario: &Scenario,
    quantity: FlowQuantity,
    phase: Option<&str>,
    place: &Place,
    findings: &mut Findings,
) {
    let known = || scenario.phases.iter().map(|phase| phase.name.as_str());
    if let Some(name) = phase {
        if !quantity.has_phases() {
            let text = format!("{} has no phases; leave it out", quantity.name());
            findings.add(&place.at("phase"), text);
        } else if !known().any(|other| other == name) {
            let known = match scenario.phases.is_empty() {
                true => "the scenario has no phases: give it [[phases]], or leave `phase` out"
                    .to_owned(),
                false => among(name, known()),
            };
            let text = format!("there is no phase `{name}`; {known}");
            findings.add(&place.at("phase"), text);
        }
    }
}
