// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a scenario to a run.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use netnice_congestion::congestion_control::MarkFeedback;
use netnice_congestion::decisions::Observer;
use netnice_congestion::floor::Group;
use netnice_congestion::receivers::Shared;
use netnice_congestion::registry;
use netnice_queue::Time;
use netnice_scenario::Layout;
use netnice_scenario::model::{self, Application, Scenario};
use netnice_scenario::network::{FlowGroup, NetworkFlow, NetworkLink};

use crate::engine::options::EngineOptions;
use crate::error::RunError;
use crate::flows::path::Path;
use crate::flows::spec::{FlowSpec, MakeControl, Program, TcpSpec};
use crate::flows::web_paths::WebPaths;
use crate::ids::{LinkId, NodeId};
use crate::links::network::LinkSpec;
use crate::scenario::trace_files::{Selection, Traces};
use crate::simulation::{RunOptions, Simulation};
use crate::tcp::{
    Clock, DelayedAck, LARGEST_GOVERNED_WINDOW, LowPriority, Opener, ReceiverConfig, Recovery,
    SenderConfig, TimeoutConfig,
};
use crate::trace::captures::LinkCapture;
use crate::trace::decisions::DecisionTrace;
use crate::traffic::{Traffic, Web};

/// Controls instead of those that the scenario names, by the name of the flows.
pub type OutsideControls = BTreeMap<String, MakeControl>;

/// A run of `scenario`, laid out as `layout`, at time zero.
pub(crate) fn prepare(
    scenario: &Scenario,
    layout: &Layout,
    seed: u64,
    traces: Option<&Traces>,
    engine: EngineOptions,
    outside: &OutsideControls,
    decisions: Option<&DecisionTrace>,
) -> Result<Simulation, RunError> {
    let traced = traces.map(|traces| (traces, traces.files(layout)));
    let links = layout.links.iter().enumerate().map(|(index, link)| {
        let mut spec = link_spec(link, seed)?;
        spec.sampled = scenario.sampling.takes_link(&link.name, &link.group) && link.rate.is_some();
        if let Some((traces, files)) = &traced {
            spec.capture = match &files[index] {
                Some(path) => Some(LinkCapture::Own(traces.begin(path, &link.name)?)),
                None => (traces.links == Selection::All).then_some(LinkCapture::Merged),
            };
            spec.recorded = traces.events.contains(&link.name);
        }
        spec.check(index)?;
        Ok(spec)
    });
    let options = RunOptions {
        duration: scenario.duration.get(),
        warm_up: scenario.warm_up.get(),
        seed,
        sampling_interval: scenario.sampling.interval.map(model::TimeSpan::get),
        checkpoints: scenario.phase_ends(),
        engine,
    };
    let mut controls = Controls {
        outside,
        decisions,
        last: None,
        paths: Paths::new(),
        groups: HashMap::new(),
    };
    let flows = layout.flows.iter().map(|flow| {
        let mut spec = flow_spec(layout, flow, &mut controls)?;
        spec.sampled = scenario.sampling.takes_flow(&flow.name, &flow.group.name);
        Ok::<_, RunError>(spec)
    });
    let merged = traces.map_or(Ok(None), |traces| traces.begin_merged(layout))?;
    let mut prepared = Simulation::build(links, flows, &options)?;
    if let Some(trace) = merged {
        prepared.record_packets(trace);
    }
    #[cfg(feature = "parquet")]
    if let Some(sink) = traces.map_or(Ok(None), |traces| traces.begin_events(layout))? {
        prepared.record_events(sink);
    }
    Ok(prepared)
}

fn link_spec(link: &NetworkLink, seed: u64) -> Result<LinkSpec, RunError> {
    let setup = link.setup(seed).map_err(|error| RunError::Queue {
        link: link.name.clone(),
        error,
    })?;
    Ok(LinkSpec {
        from: NodeId(link.from as u32),
        to: NodeId(link.to as u32),
        setup,
        name: link.name.clone(),
        measured: link.rate.is_some() || link.conditions.policer.is_some(),
        sampled: false,
        capture: None,
        recorded: false,
    })
}

fn flow_spec(
    layout: &Layout,
    flow: &NetworkFlow,
    controls: &mut Controls<'_>,
) -> Result<FlowSpec, RunError> {
    let group = &*flow.group;
    let refuse = |reason: &str| RunError::Flow {
        flow: flow.name.clone(),
        reason: reason.to_owned(),
    };
    let path = |from: usize, to: usize| -> Result<Path, RunError> {
        let links = |from, to| -> Result<Vec<LinkId>, RunError> {
            let links = layout
                .path(from, to)
                .ok_or_else(|| refuse("there is no way between its hosts"))?;
            Ok(links.into_iter().map(LinkId::new).collect())
        };
        Ok(Path {
            forward: links(from, to)?,
            back: links(to, from)?,
        })
    };
    let header_bytes =
        u16::try_from(group.header_size.get()).map_err(|_| refuse("its headers are too long"))?;
    let (sender, receiver) = match (&*flow.senders, &*flow.receivers) {
        ([sender, ..], [receiver, ..]) => (*sender, *receiver),
        _ => return Err(refuse("it has no hosts")),
    };
    let web_paths = || {
        let covering = layout.covering_pairs(flow).into_iter();
        let (paths, servers, clients) =
            (layout.paths(), flow.senders.clone(), flow.receivers.clone());
        let links = move |from, to| -> Vec<LinkId> {
            // There is a way between all of them in a network that was laid out.
            let links = paths.path(from, to).unwrap_or_default();
            links.into_iter().map(LinkId::new).collect()
        };
        WebPaths::new(
            (clients.len(), servers.len()),
            covering.map(|(server, client)| (client, server)).collect(),
            move |client, server| Path {
                forward: links(servers[server], clients[client]),
                back: links(clients[client], servers[server]),
            },
        )
    };
    let program = match (&group.application, group.transport) {
        (Application::Web(web), _) => {
            let request = Some(web.request_size.get());
            Program::Web {
                paths: web_paths(),
                unloaded: Vec::new(),
                size_classes: None,
                web: Web::of(web),
                tcp: tcp_spec(layout, flow, (sender, receiver), request, controls)?,
            }
        }
        (Application::Arrivals(arrivals), _) => {
            let classes = arrivals.size_classes.iter();
            let request = Some(arrivals.request_size.get());
            Program::Web {
                paths: web_paths(),
                unloaded: layout.unloaded_paths(flow, arrivals),
                size_classes: Some(classes.map(|bytes| bytes.get()).collect()),
                web: Web::of_arrivals(arrivals),
                tcp: tcp_spec(layout, flow, (sender, receiver), request, controls)?,
            }
        }
        (_, model::Transport::Udp) => Program::Udp {
            path: path(sender, receiver)?,
            traffic: Traffic::of(group),
        },
        (application, model::Transport::Tcp) => {
            let request = match application {
                Application::Video(video) => Some(video.request_size.get()),
                _ => None,
            };
            Program::Tcp {
                path: path(sender, receiver)?,
                traffic: Traffic::of(group),
                tcp: tcp_spec(layout, flow, (sender, receiver), request, controls)?,
            }
        }
    };
    Ok(FlowSpec {
        class: group.class.number(),
        dscp: group.dscp.get(),
        header_bytes,
        start: Time::ZERO + group.start,
        start_spread: group.start_spread,
        stop: Some(Time::ZERO + group.stop),
        bytes: group.bytes.map(|bytes| bytes.get()),
        ..FlowSpec::new(&flow.name, program)
    })
}

/// The paths that receivers at low priority share, by group, sender and receiver.
type Paths = HashMap<(String, usize, usize), Arc<Mutex<Shared>>>;

/// The parts that flows of one group have in common.
struct Controls<'a> {
    outside: &'a OutsideControls,
    decisions: Option<&'a DecisionTrace>,
    /// The congestion control of the group seen last: the flows of a group follow on one another.
    last: Option<(Arc<FlowGroup>, MakeControl)>,
    paths: Paths,
    /// State that the connections of a group share at one sender.
    groups: HashMap<(String, usize), Arc<Mutex<Group>>>,
}

impl Controls<'_> {
    /// Makes controls that know of one another, for connections from one sender with packets of `mss` bytes of data.
    fn at(&mut self, flow: &NetworkFlow, sender: usize, mss: u32) -> Result<MakeControl, RunError> {
        let make = self.of(flow)?;
        let key = (flow.group.name.clone(), sender);
        let shared = self.groups.entry(key).or_default().clone();
        if let (Some(by), Some(bytes)) = (flow.group.by, flow.group.bytes) {
            let mut group = shared.lock().unwrap_or_else(PoisonError::into_inner);
            group.promise(bytes.get(), by);
        }
        let observer = self.observer(flow);
        Ok(Arc::new(move || {
            let mut control = make();
            control.join(&shared, mss);
            if let Some(observer) = &observer {
                control.observe(observer);
            }
            control
        }))
    }

    /// Returns what takes note of the decisions at one end of a flow, if somebody wants to know them.
    fn observer(&self, flow: &NetworkFlow) -> Option<Observer> {
        self.decisions.map(|trace| trace.observer(&flow.name))
    }

    fn of(&mut self, flow: &NetworkFlow) -> Result<MakeControl, RunError> {
        match &self.last {
            Some((group, control)) if Arc::ptr_eq(group, &flow.group) => Ok(control.clone()),
            _ if self.outside.contains_key(&flow.group.name) => {
                Ok(self.outside[&flow.group.name].clone())
            }
            _ if flow.group.congestion_control.is_file() => {
                // It was compiled when the scenario was read.
                let file = flow.group.congestion_control.file.clone().ok_or_else(|| {
                    let reason = format!(
                        "its control `{}` was not read",
                        flow.group.congestion_control.name
                    );
                    RunError::Flow {
                        flow: flow.name.clone(),
                        reason,
                    }
                })?;
                file.create().map_err(|error| RunError::Flow {
                    flow: flow.name.clone(),
                    reason: error.to_string(),
                })?;
                let control: MakeControl =
                    Arc::new(move || file.create().expect("the same was created before"));
                self.last = Some((flow.group.clone(), control.clone()));
                Ok(control)
            }
            _ => {
                let parameters = flow.group.congestion_control.control_parameters();
                let name = flow.group.congestion_control.name.clone();
                // Checked once, so that it can't fail for each connection.
                registry::create(&name, &parameters).map_err(|error| RunError::Control {
                    flow: flow.name.clone(),
                    error,
                })?;
                let control: MakeControl = Arc::new(move || {
                    registry::create(&name, &parameters).expect("the same was created before")
                });
                self.last = Some((flow.group.clone(), control.clone()));
                Ok(control)
            }
        }
    }
}

/// `request_bytes` is given where the receiver asks for the data.
fn tcp_spec(
    layout: &Layout,
    flow: &NetworkFlow,
    (sender, receiver): (usize, usize),
    request_bytes: Option<u64>,
    controls: &mut Controls<'_>,
) -> Result<TcpSpec, RunError> {
    let group = &*flow.group;
    let tcp = &group.tcp;
    let timeout = TimeoutConfig {
        initial: tcp.initial_rto.get(),
        min: tcp.least_rto().get(),
        rtt_tick: tcp.rtt_tick.get(),
        ..TimeoutConfig::default()
    };
    let opener = if request_bytes.is_some() {
        Opener::Receiver
    } else {
        Opener::Sender
    };
    let mss = group
        .packet_size
        .get()
        .saturating_sub(group.header_size.get());
    let mss = u32::try_from(mss).unwrap_or(u32::MAX);
    let low_priority = low_priority(flow, (sender, receiver), mss, controls)?;
    let largest_window = match low_priority {
        Some(_) => LARGEST_GOVERNED_WINDOW,
        None => u32::MAX,
    };
    let window = tcp.receiver_window.map_or(largest_window, |bytes| {
        u32::try_from(bytes.get())
            .unwrap_or(u32::MAX)
            .min(largest_window)
    });
    let control = controls.at(flow, sender, mss)?;
    Ok(TcpSpec {
        sender: SenderConfig {
            mss,
            initial_window: tcp.initial_window,
            initial_ssthresh: tcp.initial_ssthresh.unwrap_or(f64::INFINITY),
            recovery: match tcp.recovery {
                model::Recovery::Reno => Recovery::Reno,
                model::Recovery::NewReno => Recovery::NewReno,
                model::Recovery::Sack | model::Recovery::Linux => Recovery::Sack,
            },
            timeout,
            timestamps: tcp.timestamps,
            clock: clock(&layout.nodes[sender].clock),
            ecn: tcp.ecn,
            opener,
            prr: tcp.prr,
            rack: tcp.rack,
            linux: tcp.recovery == model::Recovery::Linux,
            accurate_ecn: tcp.accurate_ecn,
            pacing: tcp.pacing,
            handshake: tcp.handshake,
            ..SenderConfig::default()
        },
        receiver: ReceiverConfig {
            window,
            window_scale: (32 - window.leading_zeros()).saturating_sub(16).min(14) as u8,
            delayed_ack: tcp.delayed_ack.timeout().map(|timeout| DelayedAck {
                segments: tcp.packets_per_ack,
                timeout: timeout.get(),
            }),
            sack: tcp.has_sack(),
            duplicate_sack: tcp.has_rack(),
            timestamps: tcp.timestamps,
            clock: clock(&layout.nodes[receiver].clock),
            ecn: tcp.ecn,
            mark_feedback: match tcp.accurate_ecn {
                true => MarkFeedback::Accurate,
                false => control().mark_feedback(),
            },
            opener,
            handshake: tcp.handshake,
            request_length: request_bytes
                .map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
            quick_acks: tcp.has_quick_acks(),
            timeout,
        },
        low_priority,
        control,
    })
}

/// Low priority from the receiving end, if the flow has it; `mss` is the data of a full packet in bytes.
fn low_priority(
    flow: &NetworkFlow,
    (sender, receiver): (usize, usize),
    mss: u32,
    controls: &mut Controls<'_>,
) -> Result<Option<LowPriority>, RunError> {
    let wanted = flow
        .group
        .receiver
        .wanted()
        .map_err(|error| RunError::Flow {
            flow: flow.name.clone(),
            reason: error.to_string(),
        })?;
    let Some(control) = wanted else {
        return Ok(None);
    };
    let one_path = flow.senders.len() == 1 && flow.receivers.len() == 1;
    let shared = one_path.then(|| {
        let key = (flow.group.name.clone(), sender, receiver);
        controls.paths.entry(key).or_default().clone()
    });
    Ok(Some(LowPriority {
        control,
        mss,
        shared,
        observer: controls.observer(flow),
    }))
}

fn clock(clock: &model::Clock) -> Clock {
    let tick = clock.tick.as_nanos().max(1);
    // A clock shows the lowest 32 bits of its ticks.
    let offset = (clock.offset.as_nanos() / tick) as u32;
    Clock::new(clock.tick.get(), offset, clock.drift_ppm)
}
