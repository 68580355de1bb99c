// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records what the running kernel passes to a congestion control, and what the control answers, call by call.
//!
//! The recorded control is the one that is shipped, compiled with a wrapper around each of its programs
//! (`record.h`). Each scenario becomes a file of comma-separated values, which `lab/congestion/tests/kernel_calls/`
//! replays through the simulator's implementation. Needs root, clang and Linux 6.10 or later:
//!
//! ```text
//! cargo build -p netnice-emulation --example record_calls
//! sudo target/debug/examples/record_calls lab/congestion/tests/kernel_calls/*.toml
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use libbpf_rs::{MapCore, MapFlags};
use netnice_emulation::Lab;
use netnice_kernel::control::Control;
use netnice_scenario::ScenarioFile;

#[path = "../struct_ops/mod.rs"]
mod struct_ops;

use struct_ops::Registered;

#[repr(C)]
#[derive(Clone, Copy)]
struct Window {
    pacing_rate: u64,
    cwnd: u32,
    ssthresh: u32,
}

/// `struct call` of `record.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Call {
    program: [u8; 24],
    now_us: u64,
    rtt_us: i64,
    interval_us: i64,
    before: Window,
    after: Window,
    port: u32,
    event: u32,
    answer: u32,
    acked: u32,
    lost: u32,
    tsval: u32,
    tsecr: u32,
    srtt_us_shift_3: u32,
    rtt_min_us: u32,
    packets_out: u32,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    delivered: u32,
    prior_delivered: u32,
    rate_delivered: i32,
    max_packets_out: u32,
    mss: u32,
    ca_state: u8,
    has_timestamp: u8,
    is_cwnd_limited: u8,
    app_limited: u8,
}

impl Call {
    fn from_bytes(bytes: &[u8]) -> Result<Call> {
        ensure!(
            bytes.len() == size_of::<Call>(),
            "a call has {} bytes",
            bytes.len()
        );
        // SAFETY: as long as the struct, whose members are integers; read without regard to alignment.
        Ok(unsafe { bytes.as_ptr().cast::<Call>().read_unaligned() })
    }

    /// Name of the program, as `netnice_cong_control`.
    fn program(&self) -> Cow<'_, str> {
        let end = self.program.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&self.program[..end.unwrap_or(self.program.len())])
    }

    /// The file's columns. Zeros are left out, so that most lines are short.
    fn columns(&self, began_us: u64) -> [(&'static str, i128); 29] {
        [
            ("now_us", (self.now_us - began_us).into()),
            ("ca_state", self.ca_state.into()),
            ("cwnd", self.before.cwnd.into()),
            ("ssthresh", self.before.ssthresh.into()),
            ("acked", self.acked.into()),
            ("lost", self.lost.into()),
            ("rtt_us", self.rtt_us.into()),
            ("srtt_us_shift_3", self.srtt_us_shift_3.into()),
            ("rtt_min_us", self.rtt_min_us.into()),
            ("has_timestamp", self.has_timestamp.into()),
            ("tsval", self.tsval.into()),
            ("tsecr", self.tsecr.into()),
            ("packets_out", self.packets_out.into()),
            ("sacked_out", self.sacked_out.into()),
            ("lost_out", self.lost_out.into()),
            ("retrans_out", self.retrans_out.into()),
            ("delivered", self.delivered.into()),
            ("prior_delivered", self.prior_delivered.into()),
            ("rate_delivered", self.rate_delivered.into()),
            ("interval_us", self.interval_us.into()),
            ("app_limited", self.app_limited.into()),
            ("is_cwnd_limited", self.is_cwnd_limited.into()),
            ("max_packets_out", self.max_packets_out.into()),
            ("mss", self.mss.into()),
            ("event", self.event.into()),
            ("answer", self.answer.into()),
            ("cwnd_after", self.after.cwnd.into()),
            ("ssthresh_after", self.after.ssthresh.into()),
            ("pacing_rate", self.after.pacing_rate.into()),
        ]
    }
}

/// Registers a control that records its calls.
fn register(control: &str) -> Result<Registered> {
    ensure!(
        ["netnice", "tcplp"].contains(&control),
        "{control} is not a control that can be recorded: netnice, tcplp"
    );
    struct_ops::register(&format!("record_calls/record_{control}.bpf.c"))
}

/// The calls so far, in order.
fn calls(recorder: &Registered) -> Result<Vec<Call>> {
    let map = recorder.object.maps().find(|map| map.name() == "calls");
    let map = map.context("the recorder has a map of calls")?;
    let room = map.info()?.info.max_entries;
    let mut calls = Vec::new();
    for place in 0..room {
        let bytes = map.lookup(&place.to_ne_bytes(), MapFlags::ANY)?;
        let call = Call::from_bytes(&bytes.context("an entry of an array")?)?;
        if call.program[0] == 0 {
            return Ok(calls);
        }
        calls.push(call);
    }
    bail!("more than {} calls: shorten the scenario", room - 1)
}

/// Selects the connection with the most calls: the other end of the flow, which gets no ACKs of data, has the control too.
fn of_sender(mut calls: Vec<Call>) -> Vec<Call> {
    let mut numbers = BTreeMap::new();
    for call in &calls {
        *numbers.entry(call.port).or_insert(0) += 1;
    }
    let sender = numbers.into_iter().max_by_key(|(_, number)| *number);
    calls.retain(|call| sender.is_some_and(|(port, _)| port == call.port));
    calls
}

/// Leaves out all `min_tso_segs` that answer as the one before, since the kernel asks for each segment.
fn without_repeated(calls: Vec<Call>) -> Vec<Call> {
    let mut latest = None;
    let mut kept = Vec::new();
    for call in calls {
        if call.program().ends_with("_min_tso_segs") {
            if latest == Some(call.answer) {
                continue;
            }
            latest = Some(call.answer);
        }
        kept.push(call);
    }
    kept
}

fn table(calls: &[Call]) -> String {
    let began_us = calls.iter().map(|call| call.now_us).min().unwrap_or(0);
    let mut text = String::from("program");
    for (name, _) in calls[0].columns(began_us) {
        let _ = write!(text, ",{name}");
    }
    for call in calls {
        text += "\n";
        text += &call.program();
        for (_, value) in call.columns(began_us) {
            text += ",";
            if value != 0 {
                let _ = write!(text, "{value}");
            }
        }
    }
    text + "\n"
}

/// Runs a scenario on this kernel and writes the calls of its one flow under a control that can be recorded to
/// `FILE.csv`, where the scenario is `FILE.toml`.
fn record(path: &Path) -> Result<()> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
    let file = ScenarioFile::parse(&shown.to_string(), &text, &[], None)?;
    let scenario = file.scenario();
    let layout = file.points[0].layout();
    let layout = layout.ok().context("the scenario has no network")?;
    if let Some(problem) = netnice_emulation::check(scenario, &layout).first() {
        bail!("{problem}");
    }
    let controls = scenario.flows.iter().map(|flow| &flow.congestion_control);
    let mut ours = controls.filter(|control| Control::find(&control.name).is_ok());
    let (Some(control), None) = (ours.next(), ours.next()) else {
        bail!("{shown}: one flow is recorded, so just one may have a control of netnice");
    };
    let control = &control.name;
    // The lab finds the name taken, and leaves it.
    let recorder = register(control)?;
    let lab = Lab::open([scenario])?;
    lab.run((scenario, layout), 1, None, || true)?
        .context("the run has ended early")?;
    lab.close()?;
    let calls = calls(&recorder)?;
    ensure!(
        !calls.is_empty(),
        "{shown}: the kernel has not called {control}"
    );
    let calls = without_repeated(of_sender(calls));
    let to = path.with_extension("csv");
    fs::write(&to, table(&calls)).with_context(|| format!("writing {}", to.display()))?;
    println!("{}: {} calls", to.display(), calls.len());
    Ok(())
}

fn main() -> Result<()> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    ensure!(
        !paths.is_empty(),
        "name the scenarios to record, as TOML files"
    );
    paths.iter().try_for_each(|path| record(Path::new(path)))
}
