// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor time that a control takes, by the kernel's own run-time statistics of BPF programs.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapType, ObjectBuilder, libbpf_sys};
use netnice_kernel::control::Control;
use netnice_kernel::pins::Pins;
use netnice_link::{EmulatedLink, EmulatedLinkSpec};
use socket2::{Domain, Socket, Type};

/// Time for which a control sends.
const LENGTH: Duration = Duration::from_secs(10);

/// Enables the statistics while it lives; the kernel disables them when the descriptor closes.
struct Statistics(#[allow(dead_code, reason = "held for its Drop")] OwnedFd);

impl Statistics {
    fn enable() -> Result<Self> {
        // SAFETY: no pointers; the result is a descriptor owned by this process, or negative.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        ensure!(
            fd >= 0,
            "the kernel does not count the time of BPF programs (needs root and 5.8)"
        );
        // SAFETY: just created, with no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

/// Returns the calls and nanoseconds of every BPF program whose name begins with `prefix`.
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

/// The kernel's CUBIC as BPF programs that only call it.
const CUBIC: &str = "bench_cubic";

/// Aligned as an ELF file requires.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

static CUBIC_OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(
    env!("OUT_DIR"),
    "/bench_cubic.bpf.o"
)));

/// Registers [`CUBIC`] while the link lives.
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

/// Sends under a control over a fast link; the packets that came back, each an ACK. Not a scenario, whose controls are
/// those that everybody has.
fn transfer(control: &str) -> Result<u64> {
    let spec = EmulatedLinkSpec::symmetric("rate=100mbit,delay=5ms,queue=1bdp".parse()?);
    let link = EmulatedLink::start(&spec)?;
    let bind = || TcpListener::bind((link.far_ipv4(), 0));
    let listener = link.far().run(bind)?.context("listening")?;
    let address = listener.local_addr()?;
    let connect = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(control.as_bytes())?;
        socket.connect(&address.into())?;
        Ok::<_, io::Error>(socket)
    };
    let socket = link.near().run(connect)?;
    let mut sender = socket.with_context(|| format!("connecting under {control}"))?;
    let (mut receiver, _) = listener.accept()?;
    thread::scope(|scope| {
        scope.spawn(move || io::copy(&mut receiver, &mut io::sink()));
        let begin = Instant::now();
        while begin.elapsed() < LENGTH {
            sender.write_all(&[0; 1 << 16])?;
        }
        // The receiver reads to the end.
        drop(sender);
        Ok::<_, io::Error>(())
    })?;
    Ok(link.stop()?.down.delivered.max(1))
}

/// Runs one flow of each control, and of the kernel's CUBIC, over a fast link; returns a table of the time per program.
pub fn table(controls: &[String]) -> Result<String> {
    let _cubic = register_cubic()?;
    let pins = Pins::open()?;
    for name in controls {
        if let Ok(control) = Control::find(name) {
            control.register(&pins)?;
        }
    }
    let mut text = String::from("\ncost, one flow at 100 Mb/s\n");
    for control in controls.iter().map(String::as_str).chain([CUBIC]) {
        let _statistics = Statistics::enable()?;
        let before = snapshot(control);
        let acks = transfer(control)?;
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
        text += &format!(" {control}: {:.0} ns for each ACK\n", sum / acks as f64);
    }
    pins.close()?;
    Ok(text)
}
