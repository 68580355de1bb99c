// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures how the controls yield and how they fill an idle link: real kernel TCP over the
//! emulated link, every row a ratio within one run.

mod cost;
mod report;
mod trial;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use netnice_kernel::control::Control;
use netnice_kernel::pins::Pins;

use trial::{Cell, Outcome, Test, Trial};

/// Measures low-priority controls beside others on an emulated link (real kernel TCP; needs root).
#[derive(Parser)]
struct Arguments {
    /// Cells to measure, as RATE/RTT/QUEUE; repeat for more. `grid` stands for the whole grid:
    /// 1.5, 100 and 500 Mb/s; 4, 40 and 200 ms; queues of 0.25, 1 and 5 BDP.
    #[arg(long = "cell", default_value = "10mbit/40ms/83p")]
    cells: Vec<String>,
    /// Controls under test.
    #[arg(long, value_delimiter = ',', default_value = "netnice,tcplp")]
    controls: Vec<String>,
    /// Best-effort controls to compete with; the first is the measure of an idle link.
    #[arg(long, value_delimiter = ',', default_value = "cubic,reno,bbr")]
    rivals: Vec<String>,
    /// Tests to run: alone, beside, web, square, two.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "alone,beside,web,square,two"
    )]
    tests: Vec<Test>,
    /// Runs of each trial.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds over which goodput is measured, once flows have settled; longer on long paths.
    #[arg(long, default_value_t = 30)]
    window: u64,
    /// Trials at a time: more than one only while the links are slow enough for this machine.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Also tells what each control costs the processor for each ACK.
    #[arg(long)]
    cost: bool,
    /// Writes every outcome here as JSON.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pins = Pins::open()?;
    for name in &arguments.controls {
        if let Ok(control) = Control::find(name) {
            control.register(&pins)?;
        }
    }
    let cells = cells(&arguments.cells)?;
    let trials = trials(&arguments, &cells);
    let outcomes = run_all(&trials, arguments.jobs)?;
    if arguments.cost {
        print!("{}", cost::table(&arguments.controls)?);
    }
    pins.close()?;

    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&outcomes)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    for cell in &cells {
        let of_cell: Vec<_> = outcomes.iter().filter(|o| o.trial.cell == *cell).collect();
        print!(
            "{}",
            report::table(cell, &of_cell, &arguments.controls, &arguments.rivals)
        );
    }
    Ok(())
}

fn cells(texts: &[String]) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for text in texts {
        if text == "grid" {
            for rate in ["1.5mbit", "100mbit", "500mbit"] {
                for rtt in ["4ms", "40ms", "200ms"] {
                    for queue in ["0.25bdp", "1bdp", "5bdp"] {
                        cells.push(format!("{rate}/{rtt}/{queue}").parse()?);
                    }
                }
            }
        } else {
            cells.push(text.parse()?);
        }
    }
    Ok(cells)
}

/// All trials, the runs outermost: what slows the machine for a while slows all alike.
fn trials(arguments: &Arguments, cells: &[Cell]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for run in 0..arguments.runs {
        for cell in cells {
            let mut add = |test, control: Option<&String>, rival: Option<&String>| {
                trials.push(Trial {
                    cell: cell.clone(),
                    test,
                    control: control.cloned(),
                    rival: rival.cloned(),
                    run,
                    window: std::time::Duration::from_secs(arguments.window),
                });
            };
            for &test in &arguments.tests {
                match test {
                    Test::Alone => {
                        for name in arguments.rivals.iter().chain(&arguments.controls) {
                            add(test, Some(name), None);
                        }
                    }
                    Test::Beside => {
                        for control in &arguments.controls {
                            for rival in &arguments.rivals {
                                add(test, Some(control), Some(rival));
                            }
                        }
                    }
                    Test::Web => {
                        add(test, None, None);
                        add(test, arguments.rivals.first(), None);
                        for control in &arguments.controls {
                            add(test, Some(control), None);
                        }
                    }
                    Test::Square | Test::Two => {
                        for control in &arguments.controls {
                            add(test, Some(control), None);
                        }
                    }
                }
            }
        }
    }
    trials
}

fn run_all(trials: &[Trial], jobs: usize) -> Result<Vec<Outcome>> {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} trials, {eta} left  {msg}")?;
    let progress = ProgressBar::new(trials.len() as u64).with_style(style);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(trial) = trials.get(index) else {
                        break;
                    };
                    match trial.run() {
                        Ok(outcome) => {
                            done.lock().expect("no panic").insert(index, outcome);
                        }
                        Err(error) => {
                            failed.lock().expect("no panic").get_or_insert(error);
                            next.store(trials.len(), Ordering::Relaxed);
                        }
                    }
                    progress.inc(1);
                }
            });
        }
    });
    progress.finish_and_clear();
    match failed.into_inner().expect("no panic") {
        Some(error) => Err(error),
        None => Ok(done.into_inner().expect("no panic").into_values().collect()),
    }
}
