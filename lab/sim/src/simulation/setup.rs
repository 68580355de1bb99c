// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the description of a run to a run at time zero.

use std::borrow::Borrow;
use std::collections::HashMap;

use netnice_queue::Time;
use netnice_scenario::model::Multiplexing;

use crate::engine::event_source;
use crate::engine::scheduler::{Scheduler, Shape};
use crate::error::BuildError;
use crate::flows::Flows;
use crate::flows::connection::{Connection, NO_SESSION, PLAYER};
use crate::flows::path::Path;
use crate::flows::spec::{FlowSpec, Program};
use crate::flows::state::{FlowState, Work};
use crate::flows::web_paths::WebRoutes;
use crate::flows::web_sessions::{Pages, SessionState, Unloaded};
use crate::labels::Labels;
use crate::links::network::LinkSpec;
use crate::links::routes::{Ends, Hop};
use crate::links::state::{Links, SimulatedLink};
use crate::lookahead::Lookahead;
use crate::lookahead::prefetch_batches::LOOK_AHEAD;
use crate::measure::{FlowCounters, Histogram, ResponseTimes, Sampler};
use crate::packet::Route;
use crate::simulation::RunOptions;
use crate::simulation::run::Run;
use crate::tcp::Opener;
use crate::traffic::{Clients, Session, Traffic, Write};
use netnice_queue::random::Stream;

impl<S: Scheduler> Run<S> {
    /// A run of `flows` over `links`, at time zero. Both are described one after the other: of a hundred thousand none is kept.
    pub(super) fn build<F: Borrow<FlowSpec>, E: From<BuildError>>(
        described: impl ExactSizeIterator<Item = Result<LinkSpec, E>>,
        flows: impl ExactSizeIterator<Item = Result<F, E>>,
        options: &RunOptions,
    ) -> Result<Run<S>, E> {
        let end = Time::ZERO + options.duration;
        let mut ends = Vec::with_capacity(described.len());
        let mut links = Links::with_capacity(described.len());
        for spec in described {
            let spec = spec?;
            ends.push((spec.from, spec.to));
            links.add(spec, options.seed, options.engine.computed_departures);
        }
        let lanes = links.seal(S::NEEDS_LANES);
        let shape = Shape {
            links: links.all.len(),
            event_links: links.others(),
            lanes,
            preview: LOOK_AHEAD,
        };
        let mut run = Run {
            now: Time::ZERO,
            warm_up: Time::ZERO + options.warm_up,
            end,
            seed: options.seed,
            scheduler: S::new(&shape),
            links,
            flows: Flows::with_capacity(flows.len()),
            lookahead: Lookahead::new(end),
            sampler: options.sampling_interval.map(Sampler::new),
            checkpoints: Vec::new(),
            events: None,
            handled: 0,
        };
        let mut sampled_flows = Vec::new();
        for (index, flow) in flows.enumerate() {
            let flow = flow?;
            let flow = flow.borrow();
            run.add_flow(&ends, flow)?;
            if flow.sampled {
                sampled_flows.push((index, flow.name.clone()));
            }
        }
        run.links.routes.seal();
        if !run.links.captures.is_empty() {
            let flows = run.flows.all.iter();
            run.links
                .captures
                .set_labels(flows.map(|flow| flow.labels.clone()));
        }
        run.flows.names.seal();
        if let Some(sampler) = &mut run.sampler {
            for (index, name) in &sampled_flows {
                let has_sender = matches!(run.flows.all[*index].work, Work::Tcp { .. });
                sampler.add_flow(*index, name, has_sender);
            }
            for &index in &run.links.sampled {
                let in_time = matches!(run.links.all[index], SimulatedLink::Other(_));
                sampler.add_link(index, run.links.name(index), in_time);
            }
            let first = Time::ZERO + sampler.interval;
            run.scheduler.insert(first, event_source::SAMPLE);
        }
        if run.warm_up == Time::ZERO {
            // Before anything is sent: an event would come after what is sent at once.
            run.end_warm_up();
        } else {
            run.push_barrier(run.warm_up, event_source::MEASURE);
        }
        for (index, &at) in options.checkpoints.iter().enumerate() {
            run.push_barrier(Time::ZERO + at, event_source::CHECKPOINT | index as u32);
        }
        run.begin_lookahead(options.engine.lookahead);
        Ok(run)
    }

    fn add_flow(&mut self, ends: &[Ends], spec: &FlowSpec) -> Result<(), BuildError> {
        let refuse = |reason: &str| BuildError::Flow {
            flow: spec.name.clone(),
            reason: reason.to_owned(),
        };
        let mut stream = Stream::new(self.seed, &spec.name);
        let start = spec.start + spec.start_spread.mul_f64(stream.uniform());
        let stop = spec.stop.unwrap_or(Time::NEVER);
        let index = self.flows.all.len() as u32;
        if index >= 1 << 28 {
            return Err(refuse("a run has at most 2^28 flows"));
        }
        let mut flow = FlowState {
            work: Work::Udp {
                route: Route::default(),
            },
            class: spec.class,
            header_bytes: spec.header_bytes,
            one_way_delay_ns: 0,
            generator: None,
            next_write: Write {
                at: start,
                bytes: 0,
            },
            data_left: spec.bytes.unwrap_or(u64::MAX),
            counters: FlowCounters::default(),
            baseline: None,
            delay: Histogram::default(),
            round_trip: Histogram::default(),
            start,
            stop,
            completed: Time::NEVER,
            labels: Labels {
                index,
                dscp: spec.dscp,
                header_bytes: spec.header_bytes,
                tcp: None,
            },
            tcp: None,
            responses: None,
            player: None,
            call: None,
        };
        match &spec.program {
            Program::Udp { path, traffic } => {
                match traffic.largest_packet() {
                    None => {
                        return Err(refuse(
                            "a bulk transfer needs TCP, which tells it how fast to be",
                        ));
                    }
                    Some(bytes) if bytes > LONGEST_PACKET => return Err(refuse(TOO_LONG)),
                    Some(bytes) => self
                        .lookahead
                        .limits
                        .know_packet(bytes.max(u32::from(spec.header_bytes) + 1)),
                }
                let route = self
                    .links
                    .routes
                    .add(ends, &path.forward, Hop::SINK, &spec.name)?;
                flow.work = Work::Udp { route };
                flow.generator = traffic.generator(start, stream);
                flow.call = traffic.call_receiver(start).map(Box::new);
            }
            Program::Tcp { path, traffic, tcp } => {
                check_mss(tcp.sender.mss, spec.header_bytes).map_err(refuse)?;
                let data_bytes = tcp.sender.mss.max(tcp.receiver.request_length);
                self.lookahead
                    .limits
                    .know_packet(data_bytes.saturating_add(spec.header_bytes.into()));
                let routes = self.way(ends, path, &spec.name)?;
                let player = traffic.player(start).map(Box::new);
                let session = match player {
                    Some(_) if tcp.receiver.opener != Opener::Receiver => {
                        return Err(refuse("a player asks for its video: its end must open"));
                    }
                    Some(_) => PLAYER,
                    None => NO_SESSION,
                };
                flow.player = player;
                let mut connection = {
                    let configs = &mut self.flows.connections.configs;
                    Connection::new(tcp, configs, (index, session), routes, start)
                };
                match (traffic, spec.bytes) {
                    (Traffic::Bulk, None) => connection.sender.supply_unlimited(),
                    (Traffic::Bulk, Some(bytes)) => {
                        connection.sender.supply(bytes);
                        connection.sender.close();
                    }
                    _ => flow.generator = traffic.generator(start, stream),
                }
                flow.work = Work::Tcp {
                    connection: self.flows.connections.insert(connection),
                    bulk: matches!(traffic, Traffic::Bulk),
                };
                flow.labels.tcp = Some(tcp.labels());
                self.scheduler.insert(start, event_source::START | index);
                if stop != Time::NEVER {
                    self.push_barrier(stop.max(start), event_source::STOP | index);
                }
            }
            Program::Web {
                paths,
                unloaded,
                size_classes,
                web,
                tcp,
            } => {
                check_mss(tcp.sender.mss, spec.header_bytes).map_err(refuse)?;
                if is_too_long(tcp.receiver.request_length, spec.header_bytes) {
                    return Err(refuse(TOO_LONG));
                }
                if web.multiplexing != Multiplexing::None && tcp.receiver.opener != Opener::Receiver
                {
                    return Err(refuse(
                        "objects that share a connection are asked for: its receiver must open",
                    ));
                }
                if paths.clients == 0 || paths.servers == 0 {
                    return Err(refuse(
                        "web sessions need at least one client and one server",
                    ));
                }
                let mut routes = WebRoutes::new(paths.clone());
                for &pair in &paths.covering {
                    routes.keep(pair, self.way(ends, &paths.find(pair), &spec.name)?);
                }
                for number in 0..web.sessions {
                    let stream = Stream::new(self.seed, &format!("{} session {number}", spec.name));
                    let clients = match size_classes {
                        Some(_) => Clients::Any(paths.clients),
                        None => Clients::One(number as usize % paths.clients),
                    };
                    // Each client can have each server.
                    let mut session = Session::new(paths.servers, clients, stream);
                    let first = session.next_page(web, start);
                    self.scheduler.insert(
                        first,
                        event_source::SESSION | self.flows.sessions.len() as u32,
                    );
                    self.flows.sessions.push(SessionState {
                        session,
                        flow: index,
                        unloaded: (!unloaded.is_empty()).then(|| {
                            Box::new(Unloaded {
                                paths: unloaded.clone(),
                                pending_ns: HashMap::new(),
                            })
                        }),
                        pages: web.page_times.then(Box::<Pages>::default),
                        streams: HashMap::new(),
                    });
                }
                flow.work = Work::Web {
                    web: Box::new(web.clone()),
                    routes: Box::new(routes),
                };
                flow.labels.tcp = Some(tcp.labels());
                flow.tcp = Some(Box::new(tcp.clone()));
                flow.responses = Some(Box::new(match size_classes {
                    Some(bounds) => ResponseTimes::in_classes(bounds),
                    None if web.page_times => ResponseTimes::with_pages(),
                    None => ResponseTimes::default(),
                }));
            }
        }
        if flow.prepare_write() {
            self.scheduler
                .insert(flow.next_write.at, event_source::WRITE | index);
        }
        self.flows.names.add(&spec.name);
        self.flows.all.push(flow);
        Ok(())
    }

    /// The routes there and back.
    fn way(
        &mut self,
        ends: &[Ends],
        path: &Path,
        flow: &str,
    ) -> Result<(Route, Route), BuildError> {
        let forward = self
            .links
            .routes
            .add(ends, &path.forward, Hop::RECEIVER, flow)?;
        let back = self.links.routes.add(ends, &path.back, Hop::SENDER, flow)?;
        Ok((forward, back))
    }
}

/// Largest value of IP's total length field, in bytes.
const LONGEST_PACKET: u32 = 65_535;
const TOO_LONG: &str = "a packet would be longer than the 65535 bytes that IP allows";

/// Returns whether a packet with so many bytes of data is longer than [`LONGEST_PACKET`].
fn is_too_long(data_bytes: u32, header_bytes: u16) -> bool {
    data_bytes.saturating_add(u32::from(header_bytes)) > LONGEST_PACKET
}

/// Checks that a packet of `mss` bytes of data is at most [`LONGEST_PACKET`] bytes long and has data.
fn check_mss(mss: u32, header_bytes: u16) -> Result<(), &'static str> {
    match mss {
        0 => Err("packets without data; the maximum segment size must be at least 1 byte"),
        _ if is_too_long(mss, header_bytes) => Err(TOO_LONG),
        _ => Ok(()),
    }
}
