// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario on the running kernel.
//!
//! ```text
//!  namespace of a node      a real-time thread       namespace of another node
//!  sockets == TUN ==> link -> link -> link (computed) ==> TUN == sockets
//! ```
//!
//! Each node that is an end of a flow, or group of such nodes, is a network namespace with one TUN device. The network
//! between them is computed: a packet that is read from a device passes all links of its path in virtual time, and is
//! written to the device of its destination when it is due. So it costs one thread whatever the topology, and only where
//! packets enter and leave anything can be late. Routers need no namespace.
//!
//! Each end of a flow has an address of its own, by which the network knows flows, and to which a route tells the kernel
//! what the scenario wants of that flow's connections.

mod check;
mod clock;
mod driver;
mod explain;
mod hop;
mod machine;
mod meter;
mod network;
mod packet;
mod plan;
mod programs;
mod results;
mod site;
mod tcp_info;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use netnice_queue::Time;
use netnice_scenario::Scenario;
use netnice_scenario::results::RunResults;
use nix::sys::eventfd::{EfdFlags, EventFd};

use self::clock::RunClock;
use self::driver::{Driver, Schedule};
use self::machine::MachineWatch;
use self::network::LinkNetwork;
use self::plan::Plan;
use self::programs::Programs;
use self::results::Findings;
use crate::LabError;
use crate::error::Attempted;

pub use check::{available_controls, can_load_control, check, notes};
pub use explain::explain;

/// Time for all threads to be in place before the run begins.
const LEAD: Duration = Duration::from_millis(50);
/// How often the caller is asked whether to go on.
const TICK: Duration = Duration::from_millis(20);
/// Lateness that figures can bear.
const LATENESS_BOUND: Duration = Duration::from_millis(1);

/// Runs `scenario` with one seed, in real time. `go_on` is asked every few milliseconds; `None` where it said no before
/// the end. Needs root. The congestion controls of all flows must be known to the kernel, see [`check`].
///
/// Several runs at once do not meet, but share the machine: [`RunResults::lab`] tells whether that was too much.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<RunResults>, LabError> {
    let plan = Plan::new(scenario).map_err(LabError::Scenario)?;
    let network = LinkNetwork::new(&plan.network, plan.routes.clone(), seed)
        .map_err(|problem| LabError::Scenario(vec![problem]))?;
    let (sites, devices) = site::set_up(&plan)?;
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
    let stop = AtomicBool::new(false);
    let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
        .attempted("create an event file descriptor")?;
    let (plan, sites, stop, wake) = (&plan, &sites[..], &stop, &wake);
    let outcome = thread::scope(|scope| {
        let (ready, prepared) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        let of_programs = schedule.clone();
        let programs = thread::Builder::new().name("lab-programs".into());
        let programs = programs.spawn_scoped(scope, move || {
            let programs = Programs::prepare(plan, sites, &of_programs, seed)?;
            let _ = ready.send(());
            // The other side is gone where the run cannot begin.
            let clock: RunClock = match begun.recv() {
                Ok(clock) => clock,
                Err(_) => return Err(LabError::Testbed("the run did not begin".into())),
            };
            programs.run(clock, stop)
        });
        let programs = programs.attempted("start a thread")?;
        if prepared.recv().is_err() {
            drop(begin);
            let failed = programs.join();
            return match failed {
                Ok(Err(error)) => Err(error),
                _ => Err(LabError::Panicked("lab-programs".into())),
            };
        }
        let watch = MachineWatch::begin();
        let clock = RunClock::beginning_in(LEAD);
        let driver = Driver::new(
            plan,
            network,
            devices,
            schedule.clone(),
            clock,
            LATENESS_BOUND,
        );
        let driver = thread::Builder::new()
            .name("lab-network".into())
            .spawn_scoped(scope, move || driver.run(wake, stop))
            .attempted("start the network's thread")?;
        let _ = begin.send(clock);
        // A little longer, so that the network's thread has passed the end.
        let end = schedule.end + TICK;
        let mut complete = true;
        while clock.now() < end && !programs_failed(&programs, clock, &schedule) {
            if !go_on() {
                complete = false;
                break;
            }
            thread::sleep(clock.until(end).min(TICK));
        }
        let load = watch.end();
        let drops = sites
            .iter()
            .map(site::LiveSite::drops)
            .sum::<Result<u64, _>>();
        stop.store(true, Ordering::Relaxed);
        let _ = wake.write(1);
        let measured = driver
            .join()
            .map_err(|_| LabError::Panicked("lab-network".into()))?;
        let programs = programs
            .join()
            .map_err(|_| LabError::Panicked("lab-programs".into()))??;
        Ok(complete.then_some((measured, programs, drops, load)))
    })?;
    let Some((measured, programs, drops, load)) = outcome else {
        return Ok(None);
    };
    let findings = Findings {
        scenario,
        plan,
        seed,
        measured,
        programs,
        device_drops: drops?,
        load,
        lateness_bound: LATENESS_BOUND,
        notes: notes(scenario),
    };
    Ok(Some(findings.results()))
}

/// The programs' thread has ended before its time.
fn programs_failed<T>(
    thread: &thread::ScopedJoinHandle<'_, T>,
    clock: RunClock,
    schedule: &Schedule,
) -> bool {
    thread.is_finished() && clock.now() < schedule.end
}
