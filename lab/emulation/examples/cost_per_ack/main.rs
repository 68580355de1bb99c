// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor time that congestion controls take for an ACK, by the kernel's own run-time statistics of BPF programs
//! (`BPF_ENABLE_STATS`, Linux 5.8): one flow of each control at 100 Mb/s for ten seconds, and one of the kernel's CUBIC
//! called from BPF. Needs root, clang and an otherwise idle machine:
//!
//! ```text
//! cargo build --release -p netnice-emulation --example cost_per_ack
//! sudo target/release/examples/cost_per_ack netnice tcplp
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::libbpf_sys;
use libbpf_rs::query::ProgInfoIter;
use netnice_kernel::control::Control;
use netnice_kernel::pins::Pins;
use netnice_link::{EmulatedLink, EmulatedLinkSpec};
use socket2::{Domain, Socket, Type};

#[path = "../struct_ops/mod.rs"]
mod struct_ops;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Time for which a control sends.
const LENGTH: Duration = Duration::from_secs(10);

/// Enables the statistics while it lives; the kernel disables them when the descriptor closes.
struct Statistics(#[allow(dead_code, reason = "held for its Drop")] OwnedFd);

impl Statistics {
    fn enable() -> Result<Self> {
        // SAFETY: no pointers; the result is a descriptor owned by this process, or negative.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        if fd < 0 {
            return Err(
                "the kernel does not count the time of BPF programs (needs root and 5.8)".into(),
            );
        }
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

/// Sends under a control over a fast link; the packets that came back, each an ACK. Not a scenario, whose controls are
/// those that everybody has.
fn transfer(control: &str) -> Result<u64> {
    let spec = EmulatedLinkSpec::symmetric("rate=100mbit,delay=5ms,queue=1bdp".parse()?);
    let link = EmulatedLink::start(&spec)?;
    let bind = || TcpListener::bind((link.far_ipv4(), 0));
    let listener = link.far().run(bind)??;
    let address = listener.local_addr()?;
    let connect = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(control.as_bytes())?;
        socket.connect(&address.into())?;
        Ok::<_, io::Error>(socket)
    };
    let socket = link.near().run(connect)?;
    let mut sender = socket.map_err(|error| format!("connecting under {control}: {error}"))?;
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

fn main() -> Result<()> {
    let mut controls: Vec<String> = std::env::args().skip(1).collect();
    if controls.is_empty() {
        controls.push("netnice".to_owned());
    }
    let _cubic = struct_ops::register("cost_per_ack/cubic.bpf.c")?;
    let pins = Pins::open()?;
    for name in &controls {
        // Other names are of controls that the kernel itself has; no BPF program of theirs is counted.
        if let Ok(control) = Control::find(name) {
            control.register(&pins)?;
        }
    }
    let _statistics = Statistics::enable()?;
    for control in controls.iter().map(String::as_str).chain([CUBIC]) {
        let before = snapshot(control);
        let acks = transfer(control)?;
        let mut sum = 0.0;
        for (name, (calls, time_ns)) in snapshot(control) {
            let (calls_before, before_ns) = before.get(&name).copied().unwrap_or_default();
            let (calls, time_ns) = (calls - calls_before, (time_ns - before_ns) as f64);
            if calls > 0 {
                sum += time_ns;
                let each_ns = time_ns / calls as f64;
                println!("  {name:<20} {calls:>8} calls  {each_ns:>7.0} ns each");
            }
        }
        println!("{control}: {:.0} ns for each ACK", sum / acks as f64);
    }
    pins.close()?;
    Ok(())
}
