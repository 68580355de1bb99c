// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by Tables 3 and 6: values by flow and phase, and how they are judged.

use netnice_results::{Estimate, RunResults};
use netnice_study::Table;

use super::common::{Setup, deviation_row};
use crate::claim::{Claim, Rule};
use crate::experiments::search::search;
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint};
use crate::study::Study;

/// Phases of 25 s (DS 4.1).
pub(super) const PHASES: [&str; 4] = ["start-up", "congested", "recovery", "over-provisioned"];
pub(super) const START_UP: usize = 0;
pub(super) const CONGESTED: usize = 1;
pub(super) const OVER_PROVISIONED: usize = 3;

/// The values that a table reports of one scenario.
pub(super) struct Row {
    /// The scenario.
    pub setup: Setup,
    /// Its number in the table.
    pub number: u32,
    /// Flows, and their throughput in Mb/s in each phase.
    pub flows: &'static [(&'static str, [f64; 4])],
    /// That of the CBR source, in the congested phase.
    pub cbr: f64,
}

/// Mb/s of a flow in a phase.
pub(super) fn throughput_mbps(
    point: &MeasuredPoint<'_>,
    flow: &str,
    phase: usize,
) -> Option<Estimate> {
    point.estimate(|run| throughput_mbps_of(run, flow, phase))
}

/// Mb/s of a flow in a phase of a run.
pub(super) fn throughput_mbps_of(run: &RunResults, flow: &str, phase: usize) -> Option<f64> {
    let flow = run.flows.iter().find(|result| result.name == flow)?;
    Some(flow.phases.get(phase)?.throughput_bps / 1e6)
}

/// An equal share of the link, in Mb/s.
fn equal_share(phase: usize) -> f64 {
    match phase {
        CONGESTED => 1.0, // the CBR source takes its 2 of 8
        OVER_PROVISIONED => 8.0 / 5.0,
        _ => 8.0 / 6.0,
    }
}

fn between(low: f64, high: f64) -> Rule {
    Rule::between(low, high)
}

/// The paper's conclusion from a value.
fn conclusion(setup: Setup, flow: &str, phase: usize) -> (&'static str, Rule) {
    let equal = equal_share(phase);
    let over = phase == OVER_PROVISIONED;
    match (setup, flow) {
        (Setup::StandardRed, "cbr") | (Setup::ModifiedRed | Setup::MixedRed, "cbr") => {
            ("RED lets nine tenths of it through", Rule::AtLeast(1.8))
        }
        (Setup::StandardRio, "cbr") => (
            "less of it gets through than with RED, but more than there is room for",
            between(1.1, 1.92),
        ),
        (_, "cbr") => ("about half of it gets through", between(0.8, 1.2)),
        (Setup::StandardRed, "tcp0") => (
            "a long round trip gets less than an equal share",
            Rule::AtMost(equal),
        ),
        (Setup::StandardRed, _) => (
            "a short round trip gets more than an equal share",
            Rule::AtLeast(equal),
        ),
        (Setup::ModifiedRed, "tcp0") => (
            "with a high target it gets more than an equal share, its long round trip notwithstanding",
            Rule::AtLeast(equal),
        ),
        (Setup::ModifiedRed, _) => (
            "a short round trip gets no more than an equal share",
            Rule::AtMost(equal),
        ),
        (Setup::StandardRio, "tcp0") => (
            "more than with RED, short of its target of 2 Mb/s",
            between(1.0, 1.9),
        ),
        (Setup::StandardRio, _) => ("no more than an equal share", Rule::AtMost(equal)),
        (Setup::MixedRed, "tcp5") => (
            "the standard algorithm gets more than an equal share",
            Rule::AtLeast(equal),
        ),
        (Setup::MixedRed, _) => (
            "the fair algorithm gets less than an equal share",
            Rule::AtMost(equal),
        ),
        (Setup::MixedRio, "tcp5") => (
            "the standard algorithm has no advantage: less than an equal share",
            Rule::AtMost(equal),
        ),
        (_, "tcp0") => (
            "close to its target of 2 Mb/s, or above",
            Rule::AtLeast(1.8),
        ),
        (_, "tcp3") if over => ("at its target of 1 Mb/s or above", Rule::AtLeast(0.95)),
        (_, "tcp3") => ("close to its target of 1 Mb/s", between(0.9, 1.1)),
        (_, _) if over => ("at its target of 0.6 Mb/s or above", Rule::AtLeast(0.57)),
        (_, _) => ("close to its target of 0.6 Mb/s", between(0.5, 0.7)),
    }
}

fn key(setup: Setup, flow: &str, phase: usize) -> String {
    format!("{}_{flow}_{}", setup.name(), PHASES[phase])
}

impl Row {
    /// The reported values: flow, phase, Mb/s.
    fn values(&self) -> Vec<(&'static str, usize, f64)> {
        let flows = self.flows.iter().flat_map(|&(flow, values)| {
            let phases = values.into_iter().enumerate();
            phases.map(move |(phase, value)| (flow, phase, value))
        });
        flows.chain([("cbr", CONGESTED, self.cbr)]).collect()
    }

    /// A claim for each.
    pub fn claims(&self, place: &str) -> Vec<Claim> {
        let claim = |(flow, phase, value): (&'static str, usize, f64)| {
            let key = key(self.setup, flow, phase);
            let what = format!(
                "{}: {}, {}",
                self.setup.title(),
                flow.to_uppercase(),
                PHASES[phase]
            );
            let place = format!("{place}, scenario {}", self.number);
            let (statement, rule) = conclusion(self.setup, flow, phase);
            Claim::value(&key, &what, "Mb/s", value, &place)
                .concluding(statement, rule)
                .fitted()
        };
        self.values().into_iter().map(claim).collect()
    }

    /// Our values, a row of the paper's table, and the search.
    pub fn evaluate(&self, measured: &Measured<'_>, findings: &mut Findings) {
        let study = self.setup.study().name;
        let searched = measured.study(&format!("{study}_search"));
        for (flow, phase, reported) in self.values() {
            let value = throughput_mbps(measured.point(&study), flow, phase);
            let (_, nearest) = search(searched, "Mb/s", reported, |point| {
                throughput_mbps(point, flow, phase)
            });
            findings.value_or_reason(&key(self.setup, flow, phase), value, nearest);
        }
        findings
            .tables
            .push(self.throughputs(measured.point(&study)));
        findings.tables.push(self.agreement(measured));
    }

    /// The scenario's part of the paper's table, with all flows.
    fn throughputs(&self, point: &MeasuredPoint<'_>) -> Table {
        let title = format!("Scenario {}: {}; Mb/s", self.number, self.setup.title());
        let mut table = Table::new(
            &title,
            &["flow", PHASES[0], PHASES[1], PHASES[2], PHASES[3]],
        );
        let flows = ["tcp0", "tcp1", "tcp2", "tcp3", "tcp4", "tcp5", "cbr"];
        let row = |flow: &str| {
            let rates = [0, 1, 2, 3].map(|phase| throughput_mbps(point, flow, phase));
            (flow.to_uppercase(), rates.to_vec())
        };
        table.fill(flows.map(row).to_vec());
        table
    }

    /// Of how many of the reported values each setting of what is open comes within the tolerance, and in words which one
    /// deviates least from all.
    fn agreement(&self, measured: &Measured<'_>) -> Table {
        let values = self.values();
        let title = format!(
            "Scenario {}: search over what is open; {} values are reported",
            self.number,
            values.len()
        );
        let searched = measured.study(&format!("{}_search", self.setup.study().name));
        let settings = searched
            .points
            .first()
            .map_or(&[][..], |point| point.settings);
        let mut columns: Vec<&str> = settings.iter().map(|(key, _)| key.as_str()).collect();
        columns.extend(["within 10 %", "mean deviation, %"]);
        let mut table = Table::search(&title, &columns);
        let mut least: Option<(f64, String)> = None;
        for point in &searched.points {
            let deviations: Vec<f64> = values
                .iter()
                .filter_map(|&(flow, phase, reported)| {
                    let ours = throughput_mbps(point, flow, phase)?;
                    Some((ours.mean / reported - 1.0).abs())
                })
                .collect();
            let (row, mean) = deviation_row(point, &deviations);
            table.rows.push(row);
            if least.as_ref().is_none_or(|(least, _)| mean < *least) {
                let words = format!(
                    "; nearest to all, {:.1} % off on average: {}",
                    100.0 * mean,
                    point.setting_words()
                );
                least = Some((mean, words));
            }
        }
        if let Some((_, words)) = least {
            table.title.push_str(&words);
        }
        table
    }
}

/// The claims of a table's rows, found at this place of the paper.
pub(super) fn claims(rows: &[Row], place: &str) -> Vec<Claim> {
    rows.iter().flat_map(|row| row.claims(place)).collect()
}

/// Their runs, and the search over what is open.
pub(super) fn studies(rows: &[Row]) -> Vec<Study> {
    let of = |row: &Row| [row.setup.study(), row.setup.search()];
    rows.iter().flat_map(of).collect()
}

/// Our values of all rows.
pub(super) fn evaluate(rows: &[Row], measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    for row in rows {
        row.evaluate(measured, &mut findings);
    }
    findings
}
