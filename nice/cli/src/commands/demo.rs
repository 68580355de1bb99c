// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice demo`: shows low priority with real programs over an emulated link.

mod progress;
mod report;
mod stage;

pub(super) use stage::check_programs;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use netnice_kernel::need_root;

use netnice_guard::Guard;
use netnice_terminal::signals::HeldSignals;
use netnice_terminal::text::{self, say};
use progress::Progress;
use report::{Demonstration, Run};
use stage::{Bulk, Interrupted, Stage, Way};

/// Time for the bulk transfer to reach its rate before the measurement.
const SETTLING: Duration = Duration::from_secs(3);
/// Time for queues to empty between phases.
const PAUSE: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Sequence:
  A machine serves a page of 10 kB (python3 -m http.server), which a visitor fetches every 0.3 s (curl). Its line has \
  10 Mb/s each way, a round trip of 40 ms and queues of 83 packets. netnice measures this three times: without other \
  traffic, while rsync uploads a backup over the same line, and while `netnice run -- rsync` does. Then the machine \
  fetches such a page from a server, also three times: alone, while curl downloads a file, and while `netnice run -- \
  curl` does. All are real programs on this kernel's TCP, over a `netnice link`. The other connections use cubic, \
  whatever this machine's default.

Needs root, curl, python3 and rsync. Changes nothing on this machine and leaves nothing behind.

Examples:
  sudo netnice demo                    two minutes
  sudo netnice demo --seconds 5        rougher, in 45 seconds
  sudo netnice demo --runs 5 --json    with the spread over five runs, for a script";

/// Show what low priority does, with rsync, curl and web servers over an emulated link.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Seconds to measure in each of the six phases
    #[arg(long, default_value_t = 17, value_name = "SECONDS",
          value_parser = text::whole_number::<u64>(2..=600))]
    seconds: u64,
    /// Number of runs of the six phases
    #[arg(long, default_value_t = 1, value_name = "NUMBER",
          value_parser = text::whole_number::<u32>(1..=100))]
    runs: u32,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// Phases: the way of pages and bulk transfer, the latter, and its name.
const PHASES: [(Way, Option<Bulk>, &str); 6] = [
    (Way::Upload, None, "no upload"),
    (Way::Upload, Some(Bulk::Plain), "rsync"),
    (Way::Upload, Some(Bulk::LowPriority), "netnice run -- rsync"),
    (Way::Download, None, "no download"),
    (Way::Download, Some(Bulk::Plain), "curl"),
    (
        Way::Download,
        Some(Bulk::LowPriority),
        "netnice run -- curl",
    ),
];

/// Runs the demonstration and prints its results.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("the demo, which emulates a link,")?;
    stage::check_programs()?;
    let mut guard = Guard::post()?;
    let signals = HeldSignals::hold()?;
    let measured = Duration::from_secs(arguments.seconds);
    let once = PHASES
        .iter()
        .map(|(_, bulk, _)| measured + PAUSE + bulk.map_or(Duration::ZERO, |_| SETTLING))
        .sum::<Duration>();
    let mut progress = Progress::new(once * arguments.runs);

    let mut demonstration = Demonstration::new(arguments.seconds);
    let outcome = (1..=arguments.runs).try_for_each(|number| {
        let of_runs = match arguments.runs {
            1 => String::new(),
            runs => format!("run {number} of {runs}, "),
        };
        let run = run_once(measured, &of_runs, &mut guard, &signals, &mut progress)?;
        demonstration.add(run);
        Ok::<_, anyhow::Error>(())
    });
    progress.finish();
    if let Err(error) = outcome {
        let Interrupted(signal) = error.downcast::<Interrupted>()?;
        say!("netnice: the demo was interrupted; nothing is left behind");
        return Ok(ExitCode::from(128 + signal as u8));
    }
    demonstration.print(arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn run_once(
    measured: Duration,
    of_runs: &str,
    guard: &mut Guard,
    signals: &HeldSignals,
    progress: &mut Progress,
) -> Result<Run> {
    let longest = SETTLING + measured + PAUSE;
    let mut stage = Stage::set(longest, guard, signals)?;
    let mut phases = Vec::new();
    let outcome = PHASES
        .iter()
        .enumerate()
        .try_for_each(|(number, (way, bulk, name))| {
            progress.begin(format!(
                "{of_runs}{} of {}: {name}",
                number + 1,
                PHASES.len()
            ));
            let phase = stage.measure(*way, *bulk, measured, SETTLING, progress)?;
            phases.push((*way, *name, phase));
            progress.advance(PAUSE);
            thread::sleep(PAUSE);
            Ok(())
        });
    // In any case, the programs must end before their files are removed.
    guard.clear()?;
    let report = stage.strike()?;
    outcome.map(|()| Run::new(phases, report))
}
