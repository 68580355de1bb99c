// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs: links, flows, and the events between them.
//!
//! [`Simulation`] is what users of the crate see. Behind it is a [`Run`](run::Run), which owns the parts: a scheduler of
//! pending events (`engine/`), links with routes (`links/`), flows with connections (`flows/`), and the lookahead
//! (`lookahead/`). The run takes the earliest event (`run.rs`) and hands packets from link to link (`forwarding.rs`), to the
//! ends of connections (`transport.rs`), and, where the lookahead allows it, ahead of the present (`fast_forward.rs`).

mod conservation;
mod fast_forward;
mod forwarding;
mod run;
mod sampling;
mod setup;
mod timers;
mod transport;
mod video;
mod web;

use std::borrow::Borrow;
use std::time::Duration;

use netnice_queue::{LinkCounters, Time};
use netnice_results::{CallQuality, VideoQuality};

use crate::engine::fast::FastScheduler;
use crate::engine::fifo_lanes::FifoLanes;
use crate::engine::link_fifos::LinkFifos;
use crate::engine::options::{EngineOptions, SchedulerKind};
use crate::engine::reference::HeapScheduler;
use crate::error::BuildError;
use crate::flows::Flows;
use crate::flows::spec::FlowSpec;
use crate::ids::{FlowId, LinkId};
use crate::links::network::{LinkSpec, Network};
use crate::measure::{FlowCounters, Histogram, ResponseTimes, Series};
use crate::trace::events::{EventSink, EventTrace};
use crate::trace::merged::MergedCapture;
use run::Run;
pub(crate) use sampling::LinkReport;

/// Options of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// End of the run.
    pub duration: Duration,
    /// Time at the beginning that measurements leave out.
    pub warm_up: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Interval between samples; `None` records no time series.
    pub sampling_interval: Option<Duration>,
    /// Times at which the counters of all flows are recorded, in order.
    pub checkpoints: Vec<Duration>,
    /// How the run is computed. Results do not depend on it.
    pub engine: EngineOptions,
}

impl RunOptions {
    /// A run of this length, measured from the beginning.
    pub fn new(duration: Duration, seed: u64) -> RunOptions {
        RunOptions {
            duration,
            warm_up: Duration::ZERO,
            seed,
            sampling_interval: None,
            checkpoints: Vec::new(),
            engine: EngineOptions::default(),
        }
    }
}

/// A run, ready or under way.
#[derive(Debug)]
pub struct Simulation(AnyRun);

/// A run for each kind of scheduler: a type parameter, so that the compiler specializes the per-packet code.
#[derive(Debug)]
enum AnyRun {
    FewLinks(Box<Run<FastScheduler<LinkFifos>>>),
    ManyLinks(Box<Run<FastScheduler<FifoLanes>>>),
    Reference(Box<Run<HeapScheduler>>),
}

/// Evaluates an expression on the run, for every kind of scheduler.
macro_rules! each {
    ($simulation:expr, $run:ident => $result:expr) => {
        match $simulation {
            Simulation(AnyRun::FewLinks($run)) => $result,
            Simulation(AnyRun::ManyLinks($run)) => $result,
            Simulation(AnyRun::Reference($run)) => $result,
        }
    };
}

impl Simulation {
    /// A run of `flows` over `network`, at time zero.
    pub fn new(
        network: Network,
        flows: &[FlowSpec],
        options: &RunOptions,
    ) -> Result<Simulation, BuildError> {
        let links = network.links.into_iter().map(Ok);
        Simulation::build(links, flows.iter().map(Ok), options)
    }

    /// As [`Simulation::new`], with links and flows from iterators, so that a hundred thousand descriptions need not be kept.
    pub(crate) fn build<F: Borrow<FlowSpec>, E: From<BuildError>>(
        links: impl ExactSizeIterator<Item = Result<LinkSpec, E>>,
        flows: impl ExactSizeIterator<Item = Result<F, E>>,
        options: &RunOptions,
    ) -> Result<Simulation, E> {
        let few = LinkFifos::can_hold(links.len(), Time::ZERO + options.duration);
        Ok(Simulation(match options.engine.scheduler {
            SchedulerKind::Fast if few => {
                AnyRun::FewLinks(Box::new(Run::build(links, flows, options)?))
            }
            SchedulerKind::Fast | SchedulerKind::FastForManyLinks => {
                AnyRun::ManyLinks(Box::new(Run::build(links, flows, options)?))
            }
            SchedulerKind::Reference => {
                AnyRun::Reference(Box::new(Run::build(links, flows, options)?))
            }
        }))
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.run_while(|_| true);
    }

    /// Runs to the end, or until `go_on`, called with the present time now and then, returns false. Returns true at the
    /// end.
    ///
    /// If `go_on` returns false, flows may be ahead of the present (see `lookahead/`), but not their time series. At checkpoints and the
    /// end none is. A run that was stopped does not go on.
    pub fn run_while(&mut self, mut go_on: impl FnMut(Time) -> bool) -> bool {
        self.run_while_dyn(&mut go_on)
    }

    /// [`Simulation::run_while`] without a type parameter: with one, each calling crate would compile the whole engine anew.
    fn run_while_dyn(&mut self, go_on: &mut dyn FnMut(Time) -> bool) -> bool {
        each!(self, run => run.run_while(go_on))
    }

    /// Writes the events at the links that are [recorded](crate::LinkSpec::recorded) to `sink`. Call it before the run.
    pub fn record_events(&mut self, sink: Box<dyn EventSink>) {
        each!(self, run => run.events = Some(EventTrace::new(sink)));
    }

    /// Writes the packets that come out of the links with [`LinkCapture::Merged`](crate::LinkCapture) to `trace`. Call it before the run.
    pub fn record_packets(&mut self, trace: MergedCapture) {
        each!(self, run => run.links.captures.set_merged(trace));
    }

    /// Writes what is left of all traces.
    pub fn finish_captures(&mut self) -> std::io::Result<()> {
        self.finish_packets()?;
        self.finish_events()
    }

    /// Writes what is left of the traces of packets.
    pub(crate) fn finish_packets(&mut self) -> std::io::Result<()> {
        each!(self, run => run.links.finish_captures())
    }

    /// Writes what is left of the trace of events.
    pub(crate) fn finish_events(&mut self) -> std::io::Result<()> {
        each!(self, run => run.finish_events())
    }

    /// Events so far: packets that came out of links, fast-forwarded or not, timers that expired, what programs did, and so
    /// on.
    pub fn events_handled(&self) -> u64 {
        each!(self, run => run.handled)
    }

    /// Counters of a link since the beginning.
    pub fn link_counters(&self, link: LinkId) -> LinkCounters {
        each!(self, run => run.link_counters(link))
    }

    /// Packets in a link, waiting, in transmission, in propagation or held by jitter.
    pub fn packets_in_link(&self, link: LinkId) -> usize {
        each!(self, run => run.packets_in_link(link))
    }

    /// The flow called `name`.
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        each!(self, run => run.flow(name))
    }

    /// The name of flow `id`.
    pub(crate) fn flow_name(&self, id: FlowId) -> &str {
        each!(self, run => run.flows.names.get(id.index()))
    }

    /// Counters of flow `id` since the end of the warm-up.
    pub fn counters(&self, id: FlowId) -> FlowCounters {
        each!(self, run => run.counters(id))
    }

    /// Counters of flow `id` since the beginning of the run, at each of [`RunOptions::checkpoints`].
    pub fn checkpoints(&self, id: FlowId) -> impl Iterator<Item = FlowCounters> {
        let checkpoints = each!(self, run => &run.checkpoints);
        checkpoints.iter().map(move |counters| counters[id.index()])
    }

    /// One-way delays of the packets of flow `id` delivered after the warm-up, in nanoseconds.
    pub fn delays(&self, id: FlowId) -> &Histogram {
        each!(self, run => &run.flows.all[id.index()].delay)
    }

    /// Round-trip times of flow `id` after the warm-up, one for each ACK of data, in nanoseconds.
    pub fn round_trips(&self, id: FlowId) -> &Histogram {
        each!(self, run => &run.flows.all[id.index()].round_trip)
    }

    /// Waiting times, in nanoseconds, of the packets that have come out of a link since the warm-up; `None` if they are
    /// not measured ([`LinkSpec::measured`](crate::LinkSpec::measured)).
    pub fn waiting_times(&self, link: LinkId) -> Option<Histogram> {
        each!(self, run => run.waiting_times(link))
    }

    /// Response times of the objects that the sessions of flow `id` requested after the warm-up.
    pub fn responses(&self, id: FlowId) -> Option<&ResponseTimes> {
        each!(self, run => run.flows.all[id.index()].responses.as_deref())
    }

    /// The quality of the call of flow `id`, by the packets sent since the end of the warm-up that had to be played by now;
    /// `None` for other flows.
    pub fn call(&self, id: FlowId) -> Option<CallQuality> {
        each!(self, run => run.call(id))
    }

    /// Quality that the viewer of the video of flow `id` had since the end of the warm-up; `None` for other flows.
    pub fn video(&self, id: FlowId) -> Option<VideoQuality> {
        each!(self, run => run.video(id))
    }

    /// When the receiver of flow `id` had all data, measured from the flow's start.
    pub fn completion(&self, id: FlowId) -> Option<Duration> {
        let flow = each!(self, run => &run.flows.all[id.index()]);
        (flow.completed != Time::NEVER).then(|| flow.completed - flow.start)
    }

    /// The mean over time of the cwnd of flow `id` since the end of the warm-up, in packets; `None` for UDP and for web
    /// sessions.
    pub fn mean_cwnd(&self, id: FlowId) -> Option<f64> {
        each!(self, run => run.mean_cwnd(id))
    }

    /// The time series, and the times of their samples.
    pub fn series(&self) -> (&[Time], &[Series]) {
        match each!(self, run => &run.sampler) {
            Some(sampler) => (&sampler.times, &sampler.series),
            None => (&[], &[]),
        }
    }

    /// Removes the samples from the time series, and returns them.
    pub(crate) fn take_series(&mut self) -> (Vec<Time>, Vec<Series>) {
        match each!(self, run => &mut run.sampler) {
            Some(sampler) => (
                std::mem::take(&mut sampler.times),
                std::mem::take(&mut sampler.series),
            ),
            None => (Vec::new(), Vec::new()),
        }
    }

    /// Checks that every packet was delivered, was dropped, or is under way, at any time of a run without a warm-up; an error
    /// says what does not agree.
    pub fn check_conservation(&self) -> Result<(), String> {
        each!(self, run => run.check_conservation())
    }

    /// The seed of all random streams.
    pub(crate) fn seed(&self) -> u64 {
        each!(self, run => run.seed)
    }

    /// The time from the end of the warm-up to the end.
    pub(crate) fn measured_time(&self) -> Duration {
        each!(self, run => run.end - run.warm_up)
    }

    /// Frees all connections at the end, and returns the [mean cwnd](Simulation::mean_cwnd) of each flow, 0 where it has none.
    pub(crate) fn close_connections(&mut self) -> Vec<f64> {
        each!(self, run => run.close_connections())
    }

    /// Counters of flow `id` since the end of the warm-up, once the connections are closed.
    pub(crate) fn closed_counters(&self, id: FlowId) -> FlowCounters {
        let flow = each!(self, run => &run.flows.all[id.index()]);
        flow.counters - flow.counters_before()
    }

    /// Frees the flows, once all that is measured of them has been read.
    pub(crate) fn discard_flows(&mut self) {
        each!(self, run => run.flows = Flows::default());
    }

    /// Calls a function on the measurements of each link that has a rate and was offered packets, one link after the
    /// other.
    pub(crate) fn link_reports<T>(&mut self, make: impl FnMut(LinkReport) -> T) -> Vec<T> {
        each!(self, run => {
            // Doubling would need twice the room for a moment.
            let mut made = Vec::with_capacity(run.links.all.len());
            made.extend(run.link_reports().map(make));
            made.shrink_to_fit();
            made
        })
    }
}
