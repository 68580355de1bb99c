// SPDX-License-Identifier: MIT OR Apache-2.0
//! When counters and time series are taken down.

use std::time::Duration;

use netnice_queue::Time;

use crate::engine::source;
use crate::flows::state::Work;
use crate::ids::FlowId;
use crate::ids::LinkId;
use crate::measure::{FlowCounters, Histogram, OF_LINKS, ResponseTimes, Series};
use crate::simulation::Simulation;

impl Simulation {
    /// The warm-up is over: what was measured so far is forgotten.
    pub(crate) fn end_warm_up(&mut self) {
        let baselines = self.all_counters();
        for (flow, baseline) in self.flows.iter_mut().zip(baselines) {
            flow.baseline = (baseline != FlowCounters::default()).then(|| Box::new(baseline));
        }
        for connection in self.connections.iter_mut() {
            connection.restart_cwnd(self.now.max(connection.opened));
        }
        let inside = self.flights_by_link();
        let links = self.links.all.iter_mut().zip(&mut self.records);
        for ((link, record), inside) in links.zip(inside) {
            record.begin_measurement(self.now, link, inside);
        }
    }

    /// The counters of all flows are taken down.
    pub(crate) fn take_mark(&mut self) {
        let counters = self.all_counters();
        self.marks.push(counters);
    }

    /// What all flows have counted since the beginning, living connections included.
    pub(crate) fn all_counters(&self) -> Vec<FlowCounters> {
        let mut counters: Vec<FlowCounters> = self.flows.iter().map(|flow| flow.counters).collect();
        for connection in self.connections.iter() {
            connection.add_to(&mut counters[connection.flow()]);
        }
        counters
    }

    /// The same of one flow.
    fn counters_of(&self, flow: usize) -> FlowCounters {
        let mut counters = self.flows[flow].counters;
        match self.flows[flow].work {
            Work::Udp { .. } => {}
            Work::Tcp { connection, .. } => self
                .connections
                .get(connection as usize)
                .add_to(&mut counters),
            Work::Web { .. } => self
                .connections
                .iter()
                .filter(|connection| connection.flow() == flow)
                .for_each(|connection| connection.add_to(&mut counters)),
        }
        counters
    }

    /// Time series are sampled.
    pub(crate) fn sample(&mut self) {
        let Some(mut sampler) = self.sampler.take() else {
            return;
        };
        let now = self.now;
        sampler.times.push(now);
        for sampled in &mut sampler.flows {
            let flow = &self.flows[sampled.flow];
            let mut values = [f64::NAN; 5];
            if let Work::Tcp { connection, .. } = flow.work {
                let sender = &self.connections.get(connection as usize).sender;
                values[0] = sender.cwnd();
                values[1] = sender.ssthresh();
                values[2] = sender
                    .smoothed_rtt()
                    .map_or(f64::NAN, |rtt| rtt.as_secs_f64());
            }
            let counters = self.counters_of(sampled.flow);
            if counters.received_packets > 0 {
                values[3] = Duration::from_nanos(flow.one_way_delay_ns).as_secs_f64();
            }
            let bytes = counters.goodput_bytes - sampled.goodput_bytes;
            sampled.goodput_bytes = counters.goodput_bytes;
            values[4] = bytes as f64 * 8.0 / sampler.interval.as_secs_f64();
            for (series, value) in sampler.series[sampled.first_series..]
                .iter_mut()
                .zip(values)
            {
                series.values.push(value);
            }
        }
        for &(link, first_series) in &sampler.links {
            let rate = self.links.rate(link);
            let (packets, bytes) = self.links.all[link].queue(now);
            let bits = bytes as f64 * 8.0;
            let delay = rate.map_or(0.0, |rate| bits / rate.as_f64());
            let values: [f64; OF_LINKS.len()] = [packets as f64, delay];
            for (series, value) in sampler.series[first_series..].iter_mut().zip(values) {
                series.values.push(value);
            }
        }
        self.push_barrier(now + sampler.interval, source::SAMPLE);
        self.sampler = Some(sampler);
    }

    /// What flow `id` has counted since the end of the warm-up.
    pub fn counters(&self, id: FlowId) -> FlowCounters {
        self.counters_of(id.index()) - self.flows[id.index()].counters_before()
    }

    /// What flow `id` had counted since the beginning of the run at each of [`RunOptions::marks`].
    ///
    /// [`RunOptions::marks`]: crate::RunOptions::marks
    pub fn marks(&self, id: FlowId) -> impl Iterator<Item = FlowCounters> {
        self.marks.iter().map(move |counters| counters[id.index()])
    }

    /// One-way delays of the packets that flow `id` has got through after the warm-up, in nanoseconds.
    pub fn delays(&self, id: FlowId) -> &Histogram {
        &self.flows[id.index()].delay
    }

    /// Round-trip times of flow `id` after the warm-up, one for each ACK of data, in nanoseconds.
    pub fn round_trips(&self, id: FlowId) -> &Histogram {
        &self.flows[id.index()].round_trip
    }

    /// How long the packets waited that have come out of a link since the warm-up, in nanoseconds; `None` where that is not
    /// measured ([`LinkSpec::measured`](crate::LinkSpec::measured)).
    pub fn waiting_times(&self, link: LinkId) -> Option<Histogram> {
        self.records[link.index()].waiting(&self.link_counters(link))
    }

    /// Response times of the objects that the sessions of flow `id` asked for after the warm-up.
    pub fn responses(&self, id: FlowId) -> Option<&ResponseTimes> {
        self.flows[id.index()].responses.as_deref()
    }

    /// When the receiver of flow `id` had all data, measured from the flow's start.
    pub fn completion(&self, id: FlowId) -> Option<std::time::Duration> {
        let flow = &self.flows[id.index()];
        Some(flow.completed? - flow.start)
    }

    /// The mean over time of the cwnd of flow `id` since the end of the warm-up, in packets; `None` for UDP and for web
    /// sessions.
    pub fn mean_cwnd(&self, id: FlowId) -> Option<f64> {
        match self.flows[id.index()].work {
            Work::Tcp { connection, .. } => Some(
                self.connections
                    .get(connection as usize)
                    .mean_cwnd(self.now),
            ),
            _ => None,
        }
    }

    /// The time series, and the times of their samples.
    pub fn series(&self) -> (&[Time], &[Series]) {
        match &self.sampler {
            Some(sampler) => (&sampler.times, &sampler.series),
            None => (&[], &[]),
        }
    }
}
