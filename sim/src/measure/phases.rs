// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of the phases of a run, by the counters at their ends.

use std::time::Duration;

use netnice_scenario::Scenario;
use netnice_scenario::results::PhaseResult;

use super::FlowCounters;

/// The rate of `bytes` in `time`, in bits per second; 0 where no time has passed.
pub fn bits_per_second(bytes: u64, time: Duration) -> f64 {
    match time.is_zero() {
        true => 0.0,
        false => bytes as f64 * 8.0 / time.as_secs_f64(),
    }
}

/// The figures of a flow in each phase. `marks` are its counters at the times of [`Scenario::phase_ends`]; a phase whose ends
/// have none is left out.
pub fn phase_results(scenario: &Scenario, marks: &[FlowCounters]) -> Vec<PhaseResult> {
    let times = scenario.phase_ends();
    let at = |time: Duration| marks.get(times.binary_search(&time).ok()?).copied();
    let phases = scenario.phases.iter().filter_map(|phase| {
        let (from, to) = (phase.from.get(), phase.to.get());
        let counters = at(to)? - at(from)?;
        let time = to.saturating_sub(from);
        Some(PhaseResult {
            name: phase.name.clone(),
            goodput_bps: bits_per_second(counters.goodput_bytes, time),
            throughput_bps: bits_per_second(counters.received_bytes, time),
        })
    });
    phases.collect()
}
