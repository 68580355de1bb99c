// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements of a run, as results.

use std::sync::Arc;

use netnice_results::{
    CallResult, ClassResult, Delays, Drops, FlowResult, PacketsOfColour, QueueResult, RunResults,
    Series, VideoResult, derive,
};
use netnice_scenario::model::Scenario;
use netnice_scenario::network::FlowGroup;

use crate::ids::FlowId;
use crate::measure::{FlowCounters, Measured};
use crate::simulation::{LinkReport, Simulation};

/// The results of a run that has come to its end, and whose flows were of these groups. The simulation keeps no flows.
pub(crate) fn results(
    simulation: &mut Simulation,
    scenario: &Scenario,
    groups: &[Arc<FlowGroup>],
) -> RunResults {
    let measured = simulation.measured_time();
    // The connections of a hundred thousand flows take more memory than their results.
    let windows = simulation.close_connections();
    let name = |index| simulation.flow_name(FlowId::new(index));
    let flows: Vec<FlowResult> = groups
        .iter()
        .zip(windows)
        .enumerate()
        .map(|(index, (group, mean_cwnd))| {
            let id = FlowId::new(index);
            let marks: Vec<FlowCounters> = simulation.checkpoints(id).collect();
            let of_flow = Measured {
                counters: simulation.closed_counters(id),
                marks: &marks,
                mean_cwnd,
                rtt: simulation.round_trips(id).delays(),
                one_way_delay: simulation.delays(id).delays(),
                completion_s: simulation.completion(id).map(|time| time.as_secs_f64()),
            };
            of_flow.of(scenario, (name(index), group), measured)
        })
        .collect();
    let response_times = (0..groups.len())
        .filter_map(|index| {
            let responses = simulation.responses(FlowId::new(index))?;
            Some(responses.results(name(index)))
        })
        .collect();
    let calls = groups.iter().zip(&flows).enumerate();
    let calls = calls
        .filter_map(|(index, (group, result))| {
            let quality = simulation.call(FlowId::new(index))?;
            (quality.packets > 0).then(|| CallResult {
                flow: name(index).to_owned(),
                group: group.name.clone(),
                quality,
                one_way_delay: result.one_way_delay,
            })
        })
        .collect();
    let videos = groups.iter().enumerate();
    let videos = videos
        .filter_map(|(index, group)| {
            Some(VideoResult {
                flow: name(index).to_owned(),
                group: group.name.clone(),
                quality: simulation.video(FlowId::new(index))?,
            })
        })
        .collect();
    simulation.discard_flows();
    let mut results = RunResults {
        seed: simulation.seed(),
        settings: Vec::new(),
        measured_s: measured.as_secs_f64(),
        classes: ClassResult::of_all(&flows),
        queues: simulation.link_reports(queue_result),
        response_times,
        calls,
        videos,
        series: take_series(simulation),
        series_file: None,
        figures: Vec::new(),
        events: simulation.events_handled(),
        lab: None,
        flows,
    };
    results.figures = derive(scenario, &results);
    results
}

fn queue_result(link: LinkReport) -> QueueResult {
    let (counters, before) = (&link.counters, &link.counters_before);
    QueueResult {
        link: link.name,
        rate_bps: link.rate.bits_per_second(),
        utilisation: link.usage.utilisation_since(&link.usage_before),
        arrived: counters.offered - before.offered,
        delivered: counters.delivered - before.delivered,
        marked: counters.marked - before.marked,
        drops: Drops::all_of(&link.drops),
        colours: PacketsOfColour::all_of(&link.colours),
        mean_packets: link.usage.mean_packets_since(&link.usage_before),
        mean_bytes: link.usage.mean_bytes_since(&link.usage_before),
        max_packets: counters.max_queue_packets as u64,
        waiting: link
            .waiting
            .map_or_else(Delays::default, |waiting| waiting.delays()),
    }
}

/// The time series; those without any value, such as the cwnd of a flow over UDP, are left out. The simulation keeps none: of many
/// flows they are most of a run's memory.
fn take_series(simulation: &mut Simulation) -> Vec<Series> {
    let (times, series) = simulation.take_series();
    let time_s: Arc<[f64]> = times
        .iter()
        .map(|time| time.as_nanos() as f64 * 1e-9)
        .collect();
    let valued = series
        .into_iter()
        .filter(|series| series.values.iter().any(|value| !value.is_nan()));
    valued
        .map(|series| Series {
            quantity: series.quantity.name().to_owned(),
            unit: series.quantity.unit().to_owned(),
            of: series.of,
            time_s: time_s.clone(),
            value: series.values,
        })
        .collect()
}
