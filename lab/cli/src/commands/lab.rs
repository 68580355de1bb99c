// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice lab`: runs a scenario on the running kernel.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use clap::Args;
use netnice_emulation::{self as emulation, EventRecord, Lab, Watch};
use netnice_kernel::need_root;
use netnice_link::Namespace;
use netnice_results::Backend;
use netnice_scenario::model::Scenario;
use netnice_scenario::{Layout, ScenarioFile, explain};
use netnice_sim::Traces;
use netnice_study::{Made, Run};

use super::batch::{BatchArguments, Maker, WantedTraces};
use netnice_guard::Guard;
use netnice_terminal::text::{self, say};

const EXAMPLES: &str = "\
Examples:
  Two Reno flows of this kernel over one link, three seeds; takes as long as the scenario says:
      netnice lab scenarios/two_reno.toml --seeds 3 --set duration=60s

  Print the set-up, and its differences from the scenario, without running it:
      netnice lab scenarios/two_reno.toml --explain

  Another control of this kernel:
      netnice lab scenarios/two_reno.toml --set flows.reno.congestion_control=bbr

  Simulated and measured, side by side:
      netnice sim scenarios/two_reno.toml --out results/sim
      netnice lab scenarios/two_reno.toml --out results/lab
      netnice compare results/sim results/lab

  Each packet at the bottleneck, retransmissions included, in the format of `netnice sim --events`:
      netnice lab scenarios/two_reno.toml --seeds 1 --out results/lab --events bottleneck

Real parts:
  Each node at an end of a flow is a network namespace with this kernel's TCP and UDP; programs there send and \
  receive. The simulator's code computes the network between them, with all links and queues of the scenario, and \
  moves the real packets. If the scenario needs what this kernel lacks, the command fails before the first run.

  Figures are valid only if the machine hands packets over in time. netnice marks a run NOT TRUSTWORTHY, here and in \
  its results, if packets were late or lost outside the queues, or if its --events have gaps because the disk was too \
  slow.

The directory of --out is as in `netnice sim`; the field `lab` of each run says how far its figures can be trusted. \
Needs root. Labs that run at the same time do not interfere; nothing is left behind, however a lab ends.

Exit codes: 0 done; 1 failed, or events are missing in a record; 2 wrong usage, or the scenario has mistakes or needs \
what this kernel lacks; 130 interrupted.";

/// Run a scenario on this kernel: real TCP over an emulated network.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The scenario, a TOML file
    file: PathBuf,
    /// Describe topology, flows and their realisation in words, and run nothing
    #[arg(long)]
    explain: bool,
    /// Number of runs at a time: more than one only if links are slow enough for this machine
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = text::at_least_one)]
    jobs: NonZeroUsize,
    /// For each run, write arrivals, drops, marks and deliveries of packets at this link to events.parquet, like
    /// `netnice sim --events`; `all` for all links; can be repeated. `NAME (reverse)` is the reverse path. --resume
    /// repeats a finished run if this file is missing or has gaps
    #[arg(long, value_name = "LINK", requires = "out")]
    events: Vec<String>,
    #[command(flatten)]
    batch: BatchArguments,
}

/// Runs the scenario and prints its results.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    // Without root, a refusal of the kernel would look like a mistake in the scenario.
    if !arguments.explain {
        need_root("the lab, which makes network namespaces,")?;
    }
    let traces = WantedTraces {
        pcap: &[],
        events: &arguments.events,
        decisions: false,
    };
    let batch = &arguments.batch;
    let Some(file) = batch.load(&arguments.file, &emulation::check, traces)? else {
        return Ok(ExitCode::from(2));
    };
    if arguments.explain {
        text::print(&explain(&file))?;
        text::print(&emulation::explain(&file.points[0]))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !batch.quiet {
        for note in notes(&file) {
            say!("netnice: {note}");
        }
    }
    let lab = open(file.points.iter().map(|point| &point.scenario))?;
    let maker = Maker {
        backend: Backend::Lab,
        jobs: arguments.jobs.get(),
        traces,
        make: &|run, traces, go_on| {
            let on = run.laid_out()?;
            let events = traces.map(|traces| record(traces, &on.1));
            let events = events.transpose()?.flatten();
            Ok(lab.run(on, run.seed, events, go_on)?)
        },
    };
    let code = batch.run(&file, &maker);
    lab.close()?;
    code
}

/// Begins the record of a run's events, if there is to be one.
fn record(traces: &Traces, layout: &Layout) -> Result<Option<EventRecord>> {
    let sink = traces.begin_events(layout)?;
    let links = traces.events.clone();
    Ok(sink.map(|sink| EventRecord { links, sink }))
}

/// Opens a lab for these scenarios; a guard cleans up however this process ends.
pub fn open<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Result<Lab> {
    let guard = Guard::post()?;
    guard.cover_pins()?;
    Ok(Lab::open(scenarios)?.watched_by(Guarded(Mutex::new(guard))))
}

/// Returns the function that makes runs in a lab.
pub fn maker(lab: &Lab) -> impl Fn(Run<'_>, &dyn Fn() -> bool) -> Made {
    |run, go_on| Ok(lab.run(run.laid_out()?, run.seed, None, go_on)?)
}

/// Passes the namespaces of the user's programs to the guard.
struct Guarded(Mutex<Guard>);

impl Watch for Guarded {
    fn begins(&self, namespace: &Namespace) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = guard.cover(namespace) {
            say!("netnice: {error:#}; what is left after a kill will have to be ended by hand");
        }
    }

    fn ended(&self, namespace: &Namespace) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A namespace that the guard does not forget costs it a look and no more.
        let _ = guard.forget(namespace);
    }
}

/// The parts that this kernel only approximates, over all points and each once.
fn notes(file: &ScenarioFile) -> BTreeSet<String> {
    let points = file.points.iter();
    points
        .flat_map(|point| emulation::notes(&point.scenario))
        .collect()
}
