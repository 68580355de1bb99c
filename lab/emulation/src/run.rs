// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: setup, a common start, and teardown.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use netnice_queue::Time;
use netnice_results::RunResults;
use netnice_scenario::model::Application;
use netnice_scenario::network::Problems;
use netnice_scenario::{Layout, Scenario};
use netnice_sim::EventTrace;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::check::notes;
use super::commands::{self, Ended};
use super::controls::Controls;
use super::event_record::{Background, EventRecord, HANDED_OVER};
use super::machine::{MachineLoad, MachineWatch};
use super::measurement::{Measured, MeasuredNetwork, Schedule};
use super::netns::{self, LiveNetns};
use super::network::{LinkEvents, LinkNetwork};
use super::plan::Plan;
use super::programs::{self, Programs, ProgramsReport};
use super::results::Findings;
use crate::error::LabError;
use netnice_link::clock::RunClock;
use netnice_link::driver::Driver;
use netnice_link::namespace::{Namespace, end_processes};
use netnice_link::scheduling;
use netnice_link::{Attempted, LinkError};

/// Time for all threads to reach their start before the run begins.
const LEAD: Duration = Duration::from_millis(50);
/// Interval at which the caller's `go_on` is called.
const TICK: Duration = Duration::from_millis(20);

/// Watches the namespaces in which the user's programs run, to end what is left there if this process dies.
pub trait Watch: Send + Sync {
    /// Called before programs start in `namespace`.
    fn begins(&self, namespace: &Namespace);
    /// Called when no more programs run in `namespace`.
    fn ended(&self, namespace: &Namespace);
}

/// Runs a scenario; the arguments are those of [`super::Lab::run`].
pub(super) fn run(
    controls: &Controls,
    watch: Option<&dyn Watch>,
    (scenario, layout): (&Scenario, Arc<Layout>),
    seed: u64,
    events: Option<EventRecord>,
    go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, LabError> {
    raise_file_limit();
    let plan = Plan::new(layout);
    let mut network = LinkNetwork::new(&plan.network, plan.routes.clone(), seed)
        .map_err(|problem| Problems(vec![problem]))?;
    let mut events_lost = Arc::default();
    if let Some(EventRecord { links, sink }) = events {
        let sink = Background::new(sink).attempted("start a thread")?;
        events_lost = sink.lost();
        let chosen = plan
            .network
            .links
            .iter()
            .map(|link| links.contains(&link.name));
        network.recording = Some(LinkEvents {
            trace: EventTrace::new(Box::new(sink)).with_batch(HANDED_OVER),
            recorded: chosen.collect(),
        });
    }
    let (namespaces, devices) = netns::set_up(&plan)?;
    let schedule = Schedule {
        warm_up: Time::ZERO + scenario.warm_up.get(),
        marks: scenario
            .phase_ends()
            .into_iter()
            .map(|mark| Time::ZERO + mark)
            .collect(),
        end: Time::ZERO + scenario.duration.get(),
        sampling: scenario.sampling.interval.map(|interval| interval.get()),
    };
    let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
        .attempted("create an event file descriptor")?;
    let at_work = AtWork {
        controls,
        plan: &plan,
        namespaces: &namespaces,
        schedule: &schedule,
        seed,
        stop: AtomicBool::new(false),
        wake,
    };
    let driver = |clock| {
        let schedule = schedule.clone();
        let network = MeasuredNetwork::new(&plan, network, schedule, clock);
        Driver::new(network, devices, plan.largest_packet, clock)
    };
    let watched = at_work.watched();
    for netns in &watched {
        watch
            .iter()
            .for_each(|watch| watch.begins(&netns.namespace));
    }
    let outcome = thread::scope(|scope| at_work.run(scope, driver, go_on));
    if !watched.is_empty() {
        let namespaces: Vec<_> = watched.iter().map(|netns| &netns.namespace).collect();
        end_processes(&namespaces);
        for namespace in namespaces {
            watch.iter().for_each(|watch| watch.ended(namespace));
        }
    }
    let Some(mut outcome) = outcome? else {
        return Ok(None);
    };
    if let Some(events) = outcome.measured.events.take() {
        events.finish().attempted("write the events at links")?;
    }
    let findings = Findings {
        scenario,
        plan: &plan,
        seed,
        measured: outcome.measured,
        programs: outcome.programs,
        device_drops: outcome.device_drops,
        events_lost: events_lost.load(Ordering::Relaxed),
        load: outcome.load,
        notes: notes(scenario),
    };
    Ok(Some(findings.results()))
}

/// The state that all threads of a run share.
struct AtWork<'run> {
    controls: &'run Controls,
    plan: &'run Plan,
    namespaces: &'run [LiveNetns],
    schedule: &'run Schedule,
    seed: u64,
    stop: AtomicBool,
    /// Event file descriptor that wakes the network's thread.
    wake: EventFd,
}

/// The figures of a finished run.
struct Outcome {
    measured: Measured,
    programs: ProgramsReport,
    device_drops: u64,
    load: MachineLoad,
}

/// Thread that sets itself up, waits for the start of the run, and does its part.
type Worker<'scope, T> = ScopedJoinHandle<'scope, Result<T, LabError>>;

impl AtWork<'_> {
    /// Returns the namespaces in which the user's programs run.
    fn watched(&self) -> Vec<&LiveNetns> {
        let mut namespaces: Vec<usize> = self
            .commands()
            .flat_map(|flow| {
                let (senders, receivers) = self.plan.ends[flow].clone();
                senders.chain(receivers)
            })
            .map(|endpoint| self.plan.endpoints[endpoint].netns)
            .collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        namespaces
            .into_iter()
            .map(|netns| &self.namespaces[netns])
            .collect()
    }

    /// Returns the flows whose ends are commands.
    fn commands(&self) -> impl Iterator<Item = usize> + use<'_> {
        let flows = self.plan.network.flows.iter().enumerate();
        flows
            .filter(|(_, flow)| matches!(flow.group.application, Application::Command(_)))
            .map(|(index, _)| index)
    }

    fn run<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        driver: impl FnOnce(RunClock) -> Driver<MeasuredNetwork>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<Outcome>, LabError> {
        let mut starting = Vec::new();
        let begin = |name: &str, starting: &mut Vec<_>| {
            let (begin, begun) = mpsc::channel();
            let (ready, is_ready) = mpsc::channel();
            starting.push((begin, is_ready));
            (thread::Builder::new().name(name.into()), ready, begun)
        };
        let (builder, ready, begun) = begin("lab-programs", &mut starting);
        let programs: Worker<ProgramsReport> = builder
            .spawn_scoped(scope, move || self.programs(&ready, &begun))
            .attempted("start a thread")?;
        let mut commands: Vec<(usize, Worker<Ended>)> = Vec::new();
        for flow in self.commands() {
            let (builder, ready, begun) = begin("lab-command", &mut starting);
            let command = builder
                .spawn_scoped(scope, move || self.command(flow, &ready, &begun))
                .attempted("start a thread")?;
            commands.push((flow, command));
        }
        // A worker that fails closes its channel without sending; joining it returns its error.
        let all_ready = starting.iter().all(|(_, is_ready)| is_ready.recv().is_ok());
        let watch = MachineWatch::begin();
        let clock = RunClock::beginning_in(LEAD);
        let mut network = None;
        if all_ready {
            let driver = driver(clock);
            let thread = thread::Builder::new()
                .name("lab-network".into())
                .spawn_scoped(scope, move || self.carry(driver));
            network = Some(thread.attempted("start the network's thread")?);
            for (begin, _) in &starting {
                let _ = begin.send(clock);
            }
        }
        drop(starting);
        // One tick more, so that the network's thread has passed the end.
        let end = self.schedule.end + TICK;
        let mut complete = all_ready;
        while complete && clock.now() < end {
            complete = go_on() && (!programs.is_finished() || clock.now() >= self.schedule.end);
            thread::sleep(clock.until(end).min(TICK));
        }
        let load = watch.end();
        let device_drops = self
            .namespaces
            .iter()
            .map(LiveNetns::drops)
            .sum::<Result<u64, _>>();
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.wake.write(1);
        let measured = network
            .map(|network| joined("lab-network", network))
            .transpose()?;
        let programs = joined("lab-programs", programs)?;
        let commands: Vec<(usize, Ended)> = commands
            .into_iter()
            .map(|(flow, command)| Ok((flow, joined("lab-command", command)??)))
            .collect::<Result<_, LabError>>()?;
        let mut programs = programs?;
        let Some(measured) = measured.filter(|_| complete) else {
            return Ok(None);
        };
        for (flow, ended) in commands {
            let report = &mut programs.flows[flow];
            report.completed = ended.completed;
            report.failure = ended.failure;
        }
        Ok(Some(Outcome {
            measured,
            programs,
            device_drops: device_drops?,
            load,
        }))
    }

    /// Carries packets until the run ends.
    fn carry(&self, mut driver: Driver<MeasuredNetwork>) -> Measured {
        let (scheduling, _awake) = scheduling::make_carrier(self.plan.carried());
        let outcome = driver.run(&self.wake, |_| match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        driver.network.measured(scheduling, outcome)
    }

    fn programs(
        &self,
        ready: &Sender<()>,
        begun: &Receiver<RunClock>,
    ) -> Result<ProgramsReport, LabError> {
        let controls = self.controls;
        let programs = Programs::prepare(
            self.plan,
            self.namespaces,
            controls,
            self.schedule,
            self.seed,
        )?;
        let _ = ready.send(());
        match begun.recv() {
            Ok(clock) => programs.run(clock, &self.stop),
            // Another thread has failed.
            Err(_) => Ok(ProgramsReport::default()),
        }
    }

    fn command(
        &self,
        flow: usize,
        ready: &Sender<()>,
        begun: &Receiver<RunClock>,
    ) -> Result<Ended, LabError> {
        let described = &self.plan.network.flows[flow];
        let (start, _) = programs::begin(&described.group, &described.name, self.seed);
        let (plan, namespaces) = (self.plan, self.namespaces);
        commands::run(plan, namespaces, flow, start, ready, begun, &self.stop)
    }
}

fn joined<T>(name: &str, thread: ScopedJoinHandle<'_, T>) -> Result<T, LabError> {
    Ok(thread
        .join()
        .map_err(|_| LinkError::Panicked(name.into()))?)
}

/// Raises the limit of open files to the hard limit, since thousands of flows need thousands of sockets. If it stays
/// too low, opening a socket reports the error.
fn raise_file_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
