// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of a flow, and of each phase of a run, by the counters at their ends.

use std::time::Duration;

use netnice_results::{Delays, FlowResult, PhaseResult};
use netnice_scenario::Scenario;
use netnice_scenario::model::Transport;
use netnice_scenario::network::FlowGroup;

use super::FlowCounters;

/// The rate of `bytes` in `time`, in bits per second; 0 where no time has passed.
pub fn bits_per_second(bytes: u64, time: Duration) -> f64 {
    match time.is_zero() {
        true => 0.0,
        false => bytes as f64 * 8.0 / time.as_secs_f64(),
    }
}

/// The measurements of a flow, of a simulation or of the lab.
pub struct Measured<'marks> {
    /// Its counters after the warm-up.
    pub counters: FlowCounters,
    /// Its counters at the times of [`Scenario::phase_ends`].
    pub marks: &'marks [FlowCounters],
    /// Mean congestion window over time, in packets.
    pub mean_cwnd: f64,
    /// Round-trip times that the sender measured.
    pub rtt: Delays,
    /// One-way delays of packets of data.
    pub one_way_delay: Delays,
    /// Seconds from the start until the receiver has all data.
    pub completion_s: Option<f64>,
}

impl Measured<'_> {
    /// The figures of the flow `name` of `group`, measured for `time`.
    pub fn of(
        self,
        scenario: &Scenario,
        (name, group): (&str, &FlowGroup),
        time: Duration,
    ) -> FlowResult {
        let counters = &self.counters;
        FlowResult {
            name: name.to_owned(),
            group: group.name.clone(),
            class: group.class,
            transport: group.transport,
            congestion_control: match group.transport {
                Transport::Tcp => group.congestion_control.name.clone(),
                Transport::Udp => String::new(),
            },
            goodput_bps: bits_per_second(counters.goodput_bytes, time),
            throughput_bps: bits_per_second(counters.received_bytes, time),
            delivered_bytes: counters.goodput_bytes,
            packets_sent: counters.sent_packets,
            packets_received: counters.received_packets,
            packets_lost: counters.lost_packets,
            retransmissions: counters.retransmissions,
            timeouts: counters.timeouts,
            recoveries: counters.recoveries,
            ecn_reactions: counters.ecn_reactions,
            early_indications: counters.early_indications,
            mean_cwnd: self.mean_cwnd,
            rtt: self.rtt,
            one_way_delay: self.one_way_delay,
            completion_s: self.completion_s,
            phases: phase_results(scenario, self.marks),
        }
    }
}

/// The figures of a flow in each phase. `marks` are its counters at the times of [`Scenario::phase_ends`]; a phase whose ends
/// have none is left out.
fn phase_results(scenario: &Scenario, marks: &[FlowCounters]) -> Vec<PhaseResult> {
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
