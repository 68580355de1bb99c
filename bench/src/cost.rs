// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor time that a control takes, by the kernel's own run-time statistics of BPF programs.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd};

use anyhow::{Context, Result, ensure};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapType, ObjectBuilder, libbpf_sys};
use netnice_lab::experiment::Lab;
use netnice_scenario::{Scenario, ScenarioFile};

use crate::trial::check_on_kernel;

/// Statistics are counted while this lives; the kernel takes them off when the descriptor closes.
struct Statistics(#[allow(dead_code, reason = "held for its Drop")] OwnedFd);

impl Statistics {
    fn enable() -> Result<Self> {
        // SAFETY: no pointers; the result is a descriptor of ours, or negative.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        ensure!(
            fd >= 0,
            "the kernel does not count the time of BPF programs (needs root and 5.8)"
        );
        // SAFETY: just made, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

/// Calls and nanoseconds of every BPF program whose name begins with `prefix`.
fn snapshot(prefix: &str) -> BTreeMap<String, (u64, u64)> {
    ProgInfoIter::default()
        .map(|info| {
            (
                info.name.to_string_lossy().into_owned(),
                (info.run_cnt, info.run_time_ns),
            )
        })
        .filter(|(name, _)| name.starts_with(prefix))
        .collect()
}

/// The kernel's CUBIC as BPF programs that do nothing but call it.
const CUBIC: &str = "bench_cubic";

/// Aligned as an ELF file must be.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

static CUBIC_OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(
    env!("OUT_DIR"),
    "/bench_cubic.bpf.o"
)));

/// Registers [`CUBIC`] for as long as the link lives.
fn register_cubic() -> Result<(libbpf_rs::Object, Link)> {
    let mut object = ObjectBuilder::default()
        .open_memory(&CUBIC_OBJECT.0)?
        .load()
        .context("the kernel's CUBIC can't be called from BPF here")?;
    let link = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .context("the object has a struct_ops map")?
        .attach_struct_ops()?;
    Ok((object, link))
}

/// One flow over a fast link.
fn scenario(control: &str) -> Result<Scenario> {
    let text = format!(
        "name = \"cost\"\nduration = \"10s\"\n\
         [[links]]\nname = \"link\"\nfrom = \"near\"\nto = \"far\"\nrate = \"100mbit\"\ndelay = \"5ms\"\nqueue = \"1bdp\"\n\
         [[flows]]\nname = \"bulk\"\nfrom = \"near\"\nto = \"far\"\ncongestion_control = \"{control}\"\n\
         tcp = {{ delayed_ack = true, min_rto = \"200ms\" }}\n"
    );
    let file = ScenarioFile::parse("cost", &text, &[], None)?;
    let scenario = file.scenario().clone();
    check_on_kernel(&scenario)?;
    Ok(scenario)
}

/// Runs one flow of each control, and of the kernel's CUBIC, over a fast link: the time that each of its programs takes.
pub fn table(controls: &[String]) -> Result<String> {
    let _cubic = register_cubic()?;
    let mut text = String::from("\ncost, one flow at 100 Mb/s\n");
    for control in controls.iter().map(String::as_str).chain([CUBIC]) {
        let scenario = scenario(control)?;
        let lab = Lab::open([&scenario])?;
        let _statistics = Statistics::enable()?;
        let before = snapshot(control);
        let results = lab.run(&scenario, 1, || true)?;
        let results = results.context("a run ended early")?;
        // An ACK is one packet on the way back.
        let mut queues = results.queues.iter();
        let acks = queues
            .find(|queue| queue.link == "link (reverse)")
            .context("the link has a way back")?
            .delivered
            .max(1) as f64;
        let mut sum = 0.0;
        for (name, (calls, time_ns)) in snapshot(control) {
            let (calls_before, before_ns) = before.get(&name).copied().unwrap_or_default();
            let (calls, time_ns) = (calls - calls_before, time_ns - before_ns);
            if calls > 0 {
                sum += time_ns as f64;
                text += &format!(
                    "  {name:<20} {calls:>8} calls  {:>7.0} ns each\n",
                    time_ns as f64 / calls as f64
                );
            }
        }
        text += &format!(" {control}: {:.0} ns for each ACK\n", sum / acks);
        lab.close()?;
    }
    Ok(text)
}
