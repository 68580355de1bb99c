// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the values of a well-formed scenario: of each, and against each other.

use std::collections::BTreeSet;

use netnice_queue::{LossFraction, MarkerConfig};

use super::check_figure::check_figures;
use super::check_flow::check_flow;
use super::findings::Findings;
use super::problem::{Place, Problem};
use crate::did_you_mean::among;
use crate::model::{
    JitterDistribution, Link, LinkChanges, LossModel, Node, Phase, REVERSE, Sampling, Scenario,
    TimeSpan, default_queue,
};

/// More samples of each series than this would fill the memory.
const MAX_SAMPLES: u128 = 10_000_000;

pub(super) fn check_values(scenario: &Scenario) -> Vec<Problem> {
    let mut findings = Findings::default();
    let name = &scenario.name;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(allowed) {
        findings.add(
            &Place::key("name"),
            format!(
                "`{}` is no name of a scenario; allowed are letters, digits, _ - and .",
                name.escape_debug()
            ),
        );
    }
    findings.above_zero(scenario.duration.get(), &Place::key("duration"));
    if scenario.warm_up >= scenario.duration {
        findings.add(
            &Place::key("warm_up"),
            format!(
                "leaves nothing to measure: {} of a run of {}",
                scenario.warm_up, scenario.duration
            ),
        );
    }
    check_sampling(scenario, &scenario.sampling, &mut findings);
    let mut names = BTreeSet::new();
    for (index, phase) in scenario.phases.iter().enumerate() {
        let place = Place::key("phases").at(index);
        if !names.insert(&phase.name) {
            let text = format!("there is a phase `{}` already", phase.name);
            findings.add(&place.at("name"), text);
        }
        check_phase(scenario, phase, &place, &mut findings);
    }
    for (index, node) in scenario.nodes.iter().enumerate() {
        check_node(node, &Place::key("nodes").at(index), &mut findings);
    }
    for (index, link) in scenario.links.iter().enumerate() {
        check_link(
            scenario,
            link,
            &Place::key("links").at(index),
            &mut findings,
        );
    }
    if scenario.links.is_empty() {
        findings.add(
            &Place::key("links"),
            "is empty; a scenario needs links, here or in the file of `topology`",
        );
    }
    if scenario.flows.is_empty() {
        findings.add(&Place::key("flows"), "is empty; a scenario needs traffic");
    }
    let mut names = BTreeSet::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let place = Place::key("flows").at(index);
        findings.name(&flow.name, &place.at("name"));
        if !names.insert(&flow.name) {
            let text = format!("there is a flow `{}` already", flow.name);
            findings.add(&place.at("name"), text);
        }
        check_flow(scenario, flow, &place, &mut findings);
    }
    check_figures(scenario, &mut findings);
    findings.problems
}

fn check_sampling(scenario: &Scenario, sampling: &Sampling, findings: &mut Findings) {
    let place = Place::key("sampling");
    if let Some(interval) = sampling.interval {
        findings.above_zero(interval.get(), &place.at("interval"));
        let samples = scenario
            .duration
            .get()
            .as_nanos()
            .checked_div(interval.get().as_nanos());
        if let Some(samples) = samples.filter(|&samples| samples > MAX_SAMPLES) {
            findings.add(
                &place.at("interval"),
                format!(
                    "makes {samples} samples of each series; allowed are {MAX_SAMPLES}: take a longer interval"
                ),
            );
        }
    }
    let flows: Vec<&str> = scenario
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect();
    let labels = scenario.links.iter().map(Link::label);
    let labels: Vec<String> = labels
        .flat_map(|label| [label.clone(), format!("{label}{REVERSE}")])
        .collect();
    let links: Vec<&str> = labels.iter().map(String::as_str).collect();
    for (key, given, known) in [
        ("flows", &sampling.flows, flows),
        ("links", &sampling.links, links),
    ] {
        for (index, name) in given.iter().flatten().enumerate() {
            if !known.contains(&name.as_str()) {
                let allowed = among(name, known.iter().copied());
                let text = format!("there is nothing called `{name}` in {key}; {allowed}");
                findings.add(&place.at(key).at(index), text);
            }
        }
    }
}

fn check_phase(scenario: &Scenario, phase: &Phase, place: &Place, findings: &mut Findings) {
    findings.name(&phase.name, &place.at("name"));
    if phase.from >= phase.to {
        let text = format!("must be after `from`, which is {}", phase.from);
        findings.add(&place.at("to"), text);
    }
    if phase.to > scenario.duration {
        let text = format!("is after the end of the run, {}", scenario.duration);
        findings.add(&place.at("to"), text);
    }
}

fn check_node(node: &Node, place: &Place, findings: &mut Findings) {
    findings.name(&node.name, &place.at("name"));
    let clock = place.at("clock");
    findings.above_zero(node.clock.tick.get(), &clock.at("tick"));
    findings.require(
        (-100_000.0..=100_000.0).contains(&node.clock.drift_ppm),
        &clock.at("drift_ppm"),
        "is out of range; allowed are -100000 to 100000",
    );
}

const NEVER_QUEUES: &str = "has no effect: without a `rate`, `trace` or `outages` no packet ever waits; give the link a `rate`, or leave `queue` out";

fn check_link(scenario: &Scenario, link: &Link, place: &Place, findings: &mut Findings) {
    if let Some(name) = &link.name {
        findings.name(name, &place.at("name"));
    }
    findings.name(&link.from, &place.at("from"));
    findings.name(&link.to, &place.at("to"));
    let before = findings.problems.len();
    check_conditions(scenario, link, place, findings);
    let back = link.reversed();
    if findings.problems.len() == before && link.reverse != LinkChanges::default() {
        check_conditions(scenario, &back, &place.at("reverse"), findings);
    }
    if findings.problems.len() > before {
        return;
    }
    // Both directions have the queue, unless the reverse path has its own. The default has not been asked for.
    let asked_for = link.queue != default_queue();
    findings.require(
        !asked_for || link.queues() || back.queues(),
        &place.at("queue"),
        NEVER_QUEUES,
    );
    findings.require(
        link.reverse.queue.is_none() || back.queues(),
        &place.at("reverse").at("queue"),
        NEVER_QUEUES,
    );
}

/// Refuses a beginning at or after the end of the run, which would have no effect.
pub(super) fn check_begin(
    scenario: &Scenario,
    begin: TimeSpan,
    place: &Place,
    findings: &mut Findings,
) {
    if begin >= scenario.duration {
        let text = format!("is at or after the end of the run, {}", scenario.duration);
        findings.add(place, text);
    }
}

/// Checks what a direction of a link has besides rate, delay and queue.
fn check_conditions(scenario: &Scenario, link: &Link, place: &Place, findings: &mut Findings) {
    if let Some(jitter) = link.jitter {
        findings.require(
            jitter.early_fraction.is_none() || jitter.distribution == JitterDistribution::Early,
            &place.at("jitter").at("early_fraction"),
            "is of the distribution `early` only; leave it out",
        );
    }
    findings.require(
        link.rate.is_none() || link.trace.is_none(),
        &place.at("trace"),
        "is beside a `rate`; a link with a trace has the trace's rate, so leave `rate` out",
    );
    findings.require(
        link.shaper.is_none() || link.rate.is_some(),
        &place.at("shaper"),
        "needs the link's `rate`, at which its tokens come in",
    );
    findings.require(
        link.loss_model.is_none() || link.loss == LossFraction::NONE,
        &place.at("loss_model"),
        "is beside `loss`; leave one of them out",
    );
    match &link.loss_model {
        Some(LossModel::Periodic { every }) => findings.require(
            *every > 0,
            &place.at("loss_model").at("every"),
            "is 0; it must be at least 1",
        ),
        Some(LossModel::GilbertElliott { to_good, .. }) => findings.require(
            *to_good != LossFraction::NONE,
            &place.at("loss_model").at("to_good"),
            "is zero, so that the bad state would never end; it must be more",
        ),
        Some(LossModel::Listed { packets }) => findings.require(
            packets.first().is_some_and(|&first| first > 0) && packets.is_sorted_by(|a, b| a < b),
            &place.at("loss_model").at("packets"),
            "must be numbers from 1, in ascending order, such as `[20, 21]`",
        ),
        None => {}
    }
    if let Some(MarkerConfig::TrTcm(meter)) = link.marker {
        findings.require(
            meter.peak_rate >= meter.rate,
            &place.at("marker").at("peak_rate"),
            "is below `rate`, the committed information rate; it must not be (RFC 2698)",
        );
    }
    for (index, outage) in link.outages.iter().enumerate() {
        let place = place.at("outages").at(index);
        check_begin(scenario, outage.at, &place.at("at"), findings);
        findings.above_zero(outage.duration.get(), &place.at("duration"));
        if let Some(every) = outage.every.filter(|&every| every <= outage.duration) {
            let text = format!("{every} is not longer than the outage, {}", outage.duration);
            findings.add(&place.at("every"), text);
        }
    }
    for (index, change) in link.changes.iter().enumerate() {
        let place = place.at("changes").at(index);
        check_begin(scenario, change.at, &place.at("at"), findings);
        findings.require(
            change.rate.is_some() || change.delay.is_some() || change.loss.is_some(),
            &place,
            "changes nothing; give a `rate`, a `delay` or a `loss`",
        );
        findings.require(
            change.rate.is_none() || link.rate.is_some(),
            &place.at("rate"),
            "is that of a link without a `rate`; give the link one",
        );
        findings.require(
            change.loss.is_none() || link.loss_model.is_none(),
            &place.at("loss"),
            "is that of a link with a `loss_model`; leave one of them out",
        );
    }
}
