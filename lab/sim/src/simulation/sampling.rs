// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recording of counters and time series.

use std::time::Duration;

use netnice_queue::{ColourCounters, DropCounters, LinkCounters, LinkUsage, Rate, Time};
use netnice_results::{CallQuality, VideoQuality};

use crate::engine::event_source;
use crate::engine::scheduler::Scheduler;
use crate::flows::connection::Connection;
use crate::flows::state::Work;
use crate::ids::{FlowId, LinkId};
use crate::links::state::{Links, SimulatedLink};
use crate::measure::{FlowCounters, Histogram, OF_LINKS, Received, SENDERS_QUANTITIES};
use crate::simulation::run::Run;

impl<S: Scheduler> Run<S> {
    /// Ends the warm-up: discards all measurements so far.
    pub(super) fn end_warm_up(&mut self) {
        self.complete_links();
        self.settle_links();
        let baselines = self.all_counters();
        for (flow, baseline) in self.flows.all.iter_mut().zip(baselines) {
            flow.baseline = (baseline != FlowCounters::default()).then(|| Box::new(baseline));
        }
        for connection in self.flows.connections.iter_mut() {
            connection.restart_cwnd(self.now.max(connection.opened()));
        }
        let inside = self.flights_by_link();
        self.links.waits.clear();
        let links = self.links.all.iter_mut().zip(&mut self.links.records);
        for ((link, record), inside) in links.zip(inside) {
            record.begin_measurement(self.now, link, inside);
        }
    }

    /// Brings all links up to now, so that packets that queues drop when transmissions begin are counted.
    pub(super) fn settle_links(&mut self) {
        for index in 0..self.links.all.len() {
            if let SimulatedLink::Other(link) = &mut self.links.all[index] {
                link.usage(self.now);
                self.take_dropped(index);
            }
        }
    }

    /// Records the counters of all flows.
    pub(super) fn take_checkpoint(&mut self) {
        self.settle_links();
        let counters = self.all_counters();
        self.checkpoints.push(counters);
    }

    /// Counters of all flows since the beginning, living connections included.
    pub(super) fn all_counters(&self) -> Vec<FlowCounters> {
        let mut counters: Vec<FlowCounters> =
            self.flows.all.iter().map(|flow| flow.counters).collect();
        for connection in self.flows.connections.iter() {
            connection.add_to(&mut counters[connection.flow()]);
        }
        counters
    }

    /// Counters of one flow since the beginning, living connections included.
    fn counters_of(&self, flow: usize) -> FlowCounters {
        let mut counters = self.flows.all[flow].counters;
        self.each_connection_of(flow, |connection| connection.add_to(&mut counters));
        counters
    }

    /// Packets and bytes of a flow's data received since the beginning: two of its counters.
    fn received_by(&self, flow: usize) -> (u64, u64) {
        let counters = &self.flows.all[flow].counters;
        let mut received = (counters.received_packets, counters.goodput_bytes);
        self.each_connection_of(flow, |connection| {
            let (packets, bytes) = connection.received();
            received = (received.0 + packets, received.1 + bytes);
        });
        received
    }

    /// Calls a function on each living connection of a flow.
    fn each_connection_of(&self, flow: usize, mut call: impl FnMut(&Connection)) {
        let connections = &self.flows.connections;
        match self.flows.all[flow].work {
            Work::Udp { .. } => {}
            Work::Tcp { connection, .. } => call(connections.get(connection as usize)),
            Work::Web { .. } => connections
                .iter()
                .filter(|connection| connection.flow() == flow)
                .for_each(call),
        }
    }

    /// The run has come to the time of a sample: looks at the links that are not drop-tail links, which change by themselves. All else is
    /// sampled before it changes.
    pub(super) fn sample(&mut self) {
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        sampler.times.push(self.now);
        for number in 0..sampler.links_in_time.len() {
            let link = sampler.links_in_time[number];
            sampler.complete_link(link, |at| queue_values(&mut self.links, link, at));
        }
        let next = self.now + sampler.interval;
        self.scheduler.insert(next, event_source::SAMPLE);
    }

    /// The sender of a connection is about to change.
    #[inline(always)]
    pub(super) fn sample_sender(&mut self, connection: usize) {
        if let Some(sampler) = &self.sampler {
            let flow = self.flows.connections.get(connection).flow();
            if sampler.sender_is_due(flow, self.now) {
                self.sample_sender_before(flow);
            }
        }
    }

    #[inline(never)]
    fn sample_sender_before(&mut self, flow: usize) {
        let values = self.sender_values(flow);
        if let Some(sampler) = &mut self.sampler {
            sampler.sample_sender(flow, self.now, values);
        }
    }

    /// The receiver of a flow is about to change.
    #[inline(always)]
    pub(super) fn sample_receiver(&mut self, flow: usize) {
        if let Some(sampler) = &self.sampler {
            if sampler.receiver_is_due(flow, self.now) {
                self.sample_receiver_before(flow);
            }
        }
    }

    #[inline(never)]
    fn sample_receiver_before(&mut self, flow: usize) {
        let received = self.receiver_values(flow);
        if let Some(sampler) = &mut self.sampler {
            sampler.sample_receiver(flow, self.now, received);
        }
    }

    /// A packet is about to be offered to a drop-tail link at `at`.
    #[inline(always)]
    pub(super) fn sample_link(&mut self, index: usize, at: Time) {
        if let Some(sampler) = &self.sampler {
            // Most links never have a packet that waits.
            let (link, _) = self.links.drop_tail(index);
            let may_queue = link.is_busy_at(at) || link.has_queued();
            if may_queue && sampler.link_is_due(index, at) {
                self.sample_link_before(index, at);
            }
        }
    }

    #[inline(never)]
    fn sample_link_before(&mut self, index: usize, at: Time) {
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        let (link, _) = self.links.drop_tail(index);
        if link.is_queued_after(sampler.link_due(index)) {
            sampler.sample_link(index, at, |at| queue_values(&mut self.links, index, at));
        } else {
            sampler.skip_link(index, at);
        }
    }

    /// The values that are sampled of a flow's sender.
    fn sender_values(&self, flow: usize) -> [f64; SENDERS_QUANTITIES] {
        let Work::Tcp { connection, .. } = self.flows.all[flow].work else {
            return [f64::NAN; SENDERS_QUANTITIES];
        };
        let sender = &self.flows.connections.get(connection as usize).sender;
        let rtt = sender.smoothed_rtt();
        [
            sender.cwnd(),
            sender.ssthresh(),
            rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64()),
        ]
    }

    /// The values that are sampled of a flow's receiver.
    fn receiver_values(&self, flow: usize) -> Received {
        let (packets, goodput_bytes) = self.received_by(flow);
        let delay = Duration::from_nanos(self.flows.all[flow].one_way_delay_ns);
        Received {
            one_way_delay_s: match packets {
                0 => f64::NAN,
                _ => delay.as_secs_f64(),
            },
            goodput_bytes,
        }
    }

    /// Brings the samples of drop-tail links up to now, as looking at such a link discards what was before.
    fn complete_links(&mut self) {
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        for number in 0..sampler.links.len() {
            let link = sampler.links[number];
            if self.links.all[link].may_be_queued() {
                sampler.complete_link(link, |at| queue_values(&mut self.links, link, at));
            }
        }
    }

    /// Brings all samples up to now, and adds them to the series.
    pub(super) fn finish_samples(&mut self) {
        self.complete_links();
        let Some(mut sampler) = self.sampler.take() else {
            return;
        };
        for number in 0..sampler.flows.len() {
            let flow = sampler.flows[number];
            let (values, received) = (self.sender_values(flow), self.receiver_values(flow));
            sampler.complete_flow(flow, values, received);
        }
        sampler.finish();
        self.sampler = Some(sampler);
    }

    /// Counters of flow `id` since the end of the warm-up.
    pub fn counters(&self, id: FlowId) -> FlowCounters {
        self.counters_of(id.index()) - self.flows.all[id.index()].counters_before()
    }

    /// Waiting times, in nanoseconds, of the packets that have come out of a link since the warm-up; `None` if they are
    /// not measured ([`LinkSpec::measured`](crate::LinkSpec::measured)).
    pub fn waiting_times(&self, link: LinkId) -> Option<Histogram> {
        self.links.waiting(link.index(), &self.link_counters(link))
    }

    /// The mean over time of the cwnd of flow `id` since the end of the warm-up, in packets; `None` for UDP and for web
    /// sessions.
    pub fn mean_cwnd(&self, id: FlowId) -> Option<f64> {
        match self.flows.all[id.index()].work {
            Work::Tcp { connection, .. } => Some(
                self.flows
                    .connections
                    .get(connection as usize)
                    .mean_cwnd(self.now),
            ),
            _ => None,
        }
    }

    /// The quality of the call of flow `id` since the end of the warm-up; `None` for other flows.
    pub fn call(&self, id: FlowId) -> Option<CallQuality> {
        let flow = &self.flows.all[id.index()];
        let call = flow.call.as_ref()?;
        Some(call.quality(flow.counters.sent_packets, self.warm_up, self.now))
    }

    /// Quality that the viewer of the video of flow `id` had since the end of the warm-up; `None` for other flows.
    pub fn video(&self, id: FlowId) -> Option<VideoQuality> {
        let player = self.flows.all[id.index()].player.as_ref()?;
        Some(player.quality(self.warm_up, self.now))
    }

    /// Adds what the living connections have counted to their flows, and frees them. Returns the mean cwnd of each flow, 0 where
    /// it has none.
    pub fn close_connections(&mut self) -> Vec<f64> {
        let windows = (0..self.flows.all.len()).map(|index| self.mean_cwnd(FlowId(index as u32)));
        let windows = windows.map(Option::unwrap_or_default).collect();
        let connections = std::mem::take(&mut self.flows.connections);
        for connection in connections.iter() {
            connection.add_to(&mut self.flows.all[connection.flow()].counters);
        }
        windows
    }

    /// Measurements of each link that has a rate and was offered packets.
    pub fn link_reports(&mut self) -> impl Iterator<Item = LinkReport> {
        let now = self.now;
        let inside = self.flights_by_link().into_iter().enumerate();
        inside.filter_map(move |(index, inside)| {
            let rate = self.links.rate(index)?;
            let link = &mut self.links.all[index];
            let counters = link.counters(inside);
            if counters.offered == 0 {
                return None;
            }
            let usage = link.usage(now);
            let record = &self.links.records[index];
            Some(LinkReport {
                name: self.links.name(index).to_owned(),
                rate,
                counters,
                counters_before: record.counters_before(),
                usage,
                usage_before: record.usage_before(),
                drops: record.drops(),
                colours: record.colours(),
                waiting: self.links.waiting(index, &counters),
            })
        })
    }
}

/// The values that are sampled of a link at `at`.
fn queue_values(links: &mut Links, link: usize, at: Time) -> [f64; OF_LINKS.len()] {
    let rate = links.rate(link);
    let (packets, bytes) = links.all[link].queue(at);
    let bits = bytes as f64 * 8.0;
    let delay_s = rate.map_or(0.0, |rate| bits / rate.as_f64());
    [packets as f64, delay_s]
}

/// Measurements of a link in a run.
#[derive(Debug)]
pub(crate) struct LinkReport {
    pub name: String,
    pub rate: Rate,
    /// Counters since the beginning; those at the end of the warm-up follow.
    pub counters: LinkCounters,
    pub counters_before: LinkCounters,
    pub usage: LinkUsage,
    pub usage_before: LinkUsage,
    /// Drops by cause and class since the end of the warm-up.
    pub drops: DropCounters,
    /// Packets by colour since the end of the warm-up, if any link has a marker.
    pub colours: ColourCounters,
    /// Waiting times since the end of the warm-up in nanoseconds, if they are measured.
    pub waiting: Option<Histogram>,
}
