// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a run in the form that all results have.

use std::sync::Arc;
use std::time::Duration;

use netnice_link::LinkFigures;
use netnice_results::{
    ClassResult, Drops, FlowResult, LabReport, PacketsOfColour, QueueResult, RunResults, Series,
    derive,
};
use netnice_scenario::Scenario;
use netnice_scenario::network::{NetworkFlow, NetworkLink};
use netnice_sim::measure::{FlowCounters, Measured as MeasuredFlow};

use super::machine::MachineLoad;
use super::measurement::Measured;
use super::plan::Plan;
use super::programs::{FlowReport, ProgramsReport};

/// All output of a run.
pub(super) struct Findings<'run> {
    pub(super) scenario: &'run Scenario,
    pub(super) plan: &'run Plan,
    pub(super) seed: u64,
    pub(super) measured: Measured,
    pub(super) programs: ProgramsReport,
    /// Packets that devices dropped.
    pub(super) device_drops: u64,
    /// Events at links that could not be recorded.
    pub(super) events_lost: u64,
    pub(super) load: MachineLoad,
    pub(super) notes: Vec<String>,
}

impl Findings<'_> {
    pub(super) fn results(&self) -> RunResults {
        let scenario = self.scenario;
        let measured = scenario.duration.get() - scenario.warm_up.get();
        let network = &self.plan.network;
        let flows: Vec<FlowResult> = network
            .flows
            .iter()
            .enumerate()
            .map(|(index, flow)| self.flow(index, flow, measured))
            .collect();
        let responses = network.flows.iter().zip(&self.programs.flows);
        let responses = responses.filter_map(|(flow, report)| {
            let responses = report.responses.as_ref()?;
            Some(responses.results(&flow.name))
        });
        let queues = network.links.iter().zip(&self.measured.queues);
        let queues = queues.filter_map(|(link, figures)| Some(queue(link, figures.as_ref()?)));
        let mut results = RunResults {
            seed: self.seed,
            settings: Vec::new(),
            measured_s: measured.as_secs_f64(),
            classes: ClassResult::of_all(&flows),
            flows,
            queues: queues.collect(),
            response_times: responses.collect(),
            calls: Vec::new(),
            videos: Vec::new(),
            series: self.series(),
            series_file: None,
            figures: Vec::new(),
            events: 0,
            lab: Some(self.report()),
        };
        results.figures = derive(scenario, &results);
        results
    }

    fn flow(&self, index: usize, flow: &NetworkFlow, measured: Duration) -> FlowResult {
        let tracer = &self.measured.tracers[index];
        let total = self.measured.totals.get(index).copied();
        let FlowReport {
            start,
            probe,
            completed,
            ..
        } = &self.programs.flows[index];
        let completed = tracer.completed.or(*completed);
        let of_flow = MeasuredFlow {
            counters: FlowCounters {
                timeouts: probe.timeouts,
                recoveries: probe.recoveries,
                ecn_reactions: probe.ecn_reactions,
                early_indications: probe.early_indications,
                ..total.unwrap_or_default() - tracer.baseline
            },
            marks: &tracer.marks,
            mean_cwnd: probe.mean_cwnd(),
            rtt: tracer.round_trip.delays(),
            one_way_delay: tracer.delay.delays(),
            completion_s: completed.map(|time| (time - *start).as_secs_f64()),
        };
        of_flow.of(self.scenario, (&flow.name, &flow.group), measured)
    }

    /// Returns the time series that have any value.
    fn series(&self) -> Vec<Series> {
        let Some(interval) = self.scenario.sampling.interval else {
            return Vec::new();
        };
        let (network, sampling) = (&self.plan.network, &self.scenario.sampling);
        let of_driver = &self.measured.samples;
        let of_programs = &self.programs.samples;
        let time_s: Arc<[f64]> = (1..=of_driver.len())
            .map(|number| (interval.get() * number as u32).as_secs_f64())
            .collect();
        let mut series = Vec::new();
        let mut add = |quantity: &str, unit: &str, of: &str, value: &dyn Fn(usize) -> f64| {
            let value: Vec<f64> = (0..time_s.len()).map(value).collect();
            if value.iter().any(|value| !value.is_nan()) {
                series.push(Series {
                    quantity: quantity.to_owned(),
                    unit: unit.to_owned(),
                    of: of.to_owned(),
                    time_s: time_s.clone(),
                    value: Arc::new(value),
                });
            }
        };
        for (index, flow) in network.flows.iter().enumerate() {
            if !sampling.takes_flow(&flow.name, &flow.group.name) {
                continue;
            }
            for (place, quantity, unit) in [
                (0, "cwnd", "packets"),
                (1, "ssthresh", "packets"),
                (2, "smoothed_rtt", "s"),
            ] {
                add(quantity, unit, &flow.name, &|number| {
                    let sample = of_programs.get(number);
                    sample.map_or(f64::NAN, |sample| sample[index][place])
                });
            }
            add("one_way_delay", "s", &flow.name, &|number| {
                of_driver[number].flows[index].0
            });
            add("goodput", "bit/s", &flow.name, &|number| {
                of_driver[number].flows[index].1
            });
        }
        for (index, link) in network.links.iter().enumerate() {
            if link.rate.is_some() && sampling.takes_link(&link.name, &link.group) {
                add("queue_packets", "packets", &link.name, &|number| {
                    of_driver[number].links[index].0
                });
                add("queue_delay", "s", &link.name, &|number| {
                    of_driver[number].links[index].1
                });
            }
        }
        series
    }

    /// Reports whether the figures can be trusted.
    fn report(&self) -> LabReport {
        let measured = &self.measured;
        let late_fraction = measured.lateness.late_fraction();
        let lateness = measured.lateness.delays();
        let source_lateness = self.programs.lateness.delays();
        let bound_s = measured.lateness.bound().as_secs_f64();
        let lost_outside = self.device_drops + measured.refused + self.programs.unsent;
        let mut faults = Vec::new();
        if let Some(failure) = &measured.failure {
            faults.push(format!("the network stopped early: {failure}"));
        }
        if measured.lateness.is_too_large() {
            faults.push(format!(
                "{:.1} % of the packets were more than {} late (at most {})",
                100.0 * late_fraction,
                milliseconds(bound_s),
                milliseconds(lateness.max_s)
            ));
        }
        if lost_outside > 0 {
            faults.push(format!(
                "{lost_outside} packets were lost outside the network's queues"
            ));
        }
        if self.events_lost > 0 {
            faults.push(format!(
                "{} events at links are missing in the record, since the disk was too slow",
                self.events_lost
            ));
        }
        if source_lateness.p99_s > bound_s {
            faults.push(format!(
                "timed sources sent late (99 % within {})",
                milliseconds(source_lateness.p99_s)
            ));
        }
        let flows = self.plan.network.flows.iter().zip(&self.programs.flows);
        for (flow, report) in flows {
            if let Some(failure) = &report.failure {
                faults.push(format!("flow {}: {failure}", flow.name));
            }
        }
        let trustworthy = faults.is_empty();
        if !trustworthy && !self.load.stolen.is_zero() {
            let stolen = milliseconds(self.load.stolen.as_secs_f64());
            faults.push(format!(
                "the hypervisor took {stolen} of processor time meanwhile"
            ));
        }
        let elapsed = self.load.elapsed.as_secs_f64().max(1e-9);
        LabReport {
            trustworthy,
            reason: match trustworthy {
                true => format!(
                    "99 % of the packets were at most {} late",
                    milliseconds(lateness.p99_s)
                ),
                false => faults.join("; "),
            },
            lateness,
            late_fraction,
            lateness_bound_s: bound_s,
            source_lateness,
            lost_outside,
            events_lost: self.events_lost,
            scheduling: measured
                .scheduling
                .map_or_else(String::new, |class| class.to_string()),
            network_load: measured.processor_time.as_secs_f64() / elapsed,
            machine_load: self.load.busy,
            stolen_s: self.load.stolen.as_secs_f64(),
            kernel: super::machine::kernel_release(),
            notes: self.notes.clone(),
        }
    }
}

/// The results of a link's queue.
fn queue(link: &NetworkLink, figures: &LinkFigures) -> QueueResult {
    QueueResult {
        link: link.name.clone(),
        rate_bps: figures.rate.bits_per_second(),
        utilisation: figures.utilisation,
        arrived: figures.arrived,
        delivered: figures.delivered,
        marked: figures.marked,
        drops: Drops::all_of(&figures.drops),
        colours: PacketsOfColour::all_of(&figures.colours),
        mean_packets: figures.mean_packets,
        mean_bytes: figures.mean_bytes,
        max_packets: figures.max_packets,
        waiting: figures.waiting,
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_scenario::ScenarioFile;

    const SCENARIO: &str = "name = \"n\"\nduration = \"3s\"\nwarm_up = \"1s\"\n\
        [[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n\
        [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";

    /// Returns the results of a run in which 1000 packets were handed over, `late` of them 2 ms late, changed by
    /// `change`.
    fn results(late: u64, change: impl Fn(&mut Findings)) -> RunResults {
        let file = ScenarioFile::parse("n.toml", SCENARIO, &[], None).unwrap();
        let plan = Plan::new(file.points[0].layout().unwrap());
        let mut measured = Measured::default();
        for number in 0..1000 {
            let lateness = if number < late { 2_000_000 } else { 100_000 };
            measured.lateness.record(Duration::from_nanos(lateness));
        }
        measured
            .tracers
            .push(super::super::flow_tracer::FlowTracer::default());
        measured.totals.push(FlowCounters {
            goodput_bytes: 125_000,
            received_bytes: 150_000,
            ..FlowCounters::default()
        });
        let mut programs = ProgramsReport::default();
        programs.flows.push(FlowReport::default());
        let mut findings = Findings {
            scenario: file.scenario(),
            plan: &plan,
            seed: 7,
            measured,
            programs,
            device_drops: 0,
            events_lost: 0,
            load: MachineLoad {
                elapsed: Duration::from_secs(3),
                busy: 0.5,
                stolen: Duration::ZERO,
            },
            notes: Vec::new(),
        };
        change(&mut findings);
        findings.results()
    }

    #[test]
    fn figures_are_of_the_time_after_the_warm_up() {
        let results = results(0, |_| {});
        let flow = &results.flows[0];
        // 125,000 bytes in 2 s.
        assert_eq!(
            (flow.goodput_bps, flow.throughput_bps),
            (500_000.0, 600_000.0)
        );
        assert_eq!((results.seed, results.measured_s), (7, 2.0));
    }

    #[test]
    fn a_run_says_whether_it_can_be_trusted() {
        let report = |late, change: &dyn Fn(&mut Findings)| results(late, change).lab.unwrap();
        let good = report(10, &|_| {});
        assert!(good.trustworthy, "{good:?}");
        assert_eq!(good.reason, "99 % of the packets were at most 0.1 ms late");
        for (late, change, expected) in [
            (
                20,
                &(|_: &mut Findings| {}) as &dyn Fn(&mut Findings),
                "2.0 % of the packets were more than 1.0 ms late (at most 2.0 ms)",
            ),
            (
                0,
                &|findings| findings.device_drops = 3,
                "3 packets were lost outside",
            ),
            (
                0,
                &|findings| findings.programs.unsent = 2,
                "2 packets were lost outside",
            ),
            (
                0,
                &|findings| findings.events_lost = 512,
                "512 events at links are missing in the record",
            ),
            (
                0,
                &|findings| findings.measured.failure = Some("broken".to_owned()),
                "the network stopped early: broken",
            ),
            (
                0,
                &|findings| findings.programs.lateness.record(5_000_000),
                "timed sources sent late (99 % within 5.0 ms)",
            ),
            (
                0,
                &|findings| findings.programs.flows[0].failure = Some("refused".to_owned()),
                "flow f: refused",
            ),
        ] {
            let report = report(late, change);
            assert!(!report.trustworthy, "{report:?}");
            assert!(report.reason.starts_with(expected), "{}", report.reason);
        }
    }
}
