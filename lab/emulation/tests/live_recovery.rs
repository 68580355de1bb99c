// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the running kernel's TCP recovers from losses, beside `recovery = "linux"` of the simulator: needs root and /dev/net/tun, and
//! fails without them.
//!
//! The link loses packets by their number, so that both senders meet the same losses. Both worlds record each packet at the link, and
//! are compared packet by packet. `--nocapture` prints the figures. With `NETNICE_RECORD=DIRECTORY` (an absolute path) what the kernel
//! did is written there, in the form of `recorded`, which `recorded_recovery.rs` reads.

mod recovery;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use netnice_emulation::{EventRecord, Lab};
use netnice_scenario::Layout;
use recovery::{Case, Control, Recorded, Recovery};

/// Runs of the kernel, as the machine may come late to a sample.
const RUNS: usize = 3;

/// Runs a case on the running kernel.
fn measure(case: &Case, control: &Control) -> Recovery {
    let directory = tempfile::tempdir().unwrap();
    let (traces, events) = recovery::recorded_events(directory.path());
    // A SYN and an ACK precede the data.
    let scenario = recovery::scenario(case, &format!("\"{}\"", control.name), 2);
    let layout = Arc::new(Layout::new(&scenario).unwrap());
    let problems = netnice_emulation::check(&scenario, &layout);
    assert!(problems.is_empty(), "{problems:?}");
    let lab = Lab::open([&scenario]).expect("a lab (these tests need root)");
    let sink = traces.begin_events(&layout);
    let record = EventRecord {
        links: traces.events.clone(),
        sink: sink.unwrap().unwrap(),
    };
    let results = lab.run((&scenario, layout), 1, Some(record), || true);
    lab.close().unwrap();
    recovery::recovery(&results.unwrap().unwrap(), &events)
}

/// Writes a run of the kernel, if the environment asks for it.
fn record(case: &Case, control: &Control, run: usize, recovery: Recovery) {
    let Some(directory) = std::env::var_os("NETNICE_RECORD") else {
        return;
    };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    // Without what a distribution appends.
    let version = release.trim().split('-').next().unwrap_or_default();
    let date = Command::new("date").args(["-u", "+%F"]).output().unwrap();
    let recorded = Recorded {
        version: version.to_owned(),
        date: String::from_utf8(date.stdout).unwrap().trim().to_owned(),
        run,
        recovery,
    };
    let file = Path::new(&directory).join(Recorded::file_name(case, control));
    let text = recorded.text(case, control);
    assert_eq!(Recorded::parse(&text).text(case, control), text);
    std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// Compares both worlds under each control of the case.
fn compare(case: &Case) {
    for control in case.controls {
        let model = recovery::simulate(case, control);
        for run in 1..=RUNS {
            let real = measure(case, control);
            let figures = recovery::comparison(&model, &real);
            let alike = recovery::alike(case, control, &model, &real);
            println!("{}, {}: {figures}", case.name, control.name);
            if alike || run == RUNS {
                record(case, control, run, real);
                assert!(alike, "{}, {}: {figures}", case.name, control.name);
                break;
            }
        }
    }
}

#[test]
fn one_lost_packet_is_recovered_as_simulated() {
    compare(&recovery::ONE);
}

#[test]
fn half_of_a_window_is_recovered_as_simulated() {
    compare(&recovery::HALF);
}

#[test]
fn a_burst_of_losses_is_recovered_as_simulated() {
    compare(&recovery::BURST);
}

#[test]
fn scattered_losses_are_recovered_as_simulated() {
    compare(&recovery::SCATTERED);
}

#[test]
fn an_overflow_is_recovered_as_simulated() {
    compare(&recovery::OVERFLOW);
}

#[test]
fn a_lost_retransmission_is_recovered_as_simulated() {
    compare(&recovery::RETRANSMISSION);
}

#[test]
fn a_lost_tail_is_recovered_as_simulated() {
    compare(&recovery::TAIL);
}
