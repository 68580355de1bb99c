// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real-time scheduling of single threads.
//!
//! Under load, a link that runs as an ordinary task delivers seconds late. Under `SCHED_DEADLINE` the kernel grants
//! each link a share of processor time; `SCHED_FIFO` is the second best.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use netnice_queue::Rate;
use nix::sys::signal::SigSet;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

const SCHED_FLAG_RESET_ON_FORK: u64 = 0x01;
const SCHED_FLAG_RECLAIM: u64 = 0x02;

/// Period of a link's share of processor time.
const PERIOD: Duration = Duration::from_millis(1);
/// Priority above most of netnice's other real-time threads, below the kernel's own.
const LINK_PRIORITY: u32 = 60;

/// Scheduling class that a link's thread obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// `SCHED_DEADLINE`: a guaranteed share of processor time.
    Deadline,
    /// `SCHED_FIFO`: priority over every ordinary task.
    Fifo,
    /// An ordinary task.
    Ordinary,
}

impl fmt::Display for SchedulingClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SchedulingClass::Deadline => "SCHED_DEADLINE",
            SchedulingClass::Fifo => "SCHED_FIFO",
            SchedulingClass::Ordinary => "ordinary",
        })
    }
}

/// Makes the calling thread carry packets in time, up to `rate` (`None`: as fast as it can): without signals and in the
/// best class that the kernel grants. Processors do not halt while the second value lives.
pub fn make_carrier(rate: Option<Rate>) -> (SchedulingClass, Option<Awake>) {
    // The threads that serve the terminal handle signals.
    let _ = SigSet::all().thread_block();
    let awake = keep_awake();
    make_responsive();
    (make_link_thread(rate), awake)
}

/// Returns the processor time that the calling thread has used.
pub fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Gives the calling thread the best class the kernel grants, for carrying up to `rate` (`None`: as fast as it can).
fn make_link_thread(rate: Option<Rate>) -> SchedulingClass {
    // About a microsecond per packet and system call. The kernel admits 0.95 of each processor over all threads, so a
    // slow link reserves little: eight of 10 Mb/s must fit. RECLAIM lends it what others leave unused.
    let megabits = rate
        .map_or(300, |rate| rate.bits_per_second() / 1_000_000)
        .min(600);
    let mut runtime = Duration::from_micros(100 + megabits);
    while runtime >= Duration::from_micros(50) {
        for flags in [SCHED_FLAG_RECLAIM, 0] {
            if set_deadline(runtime, PERIOD, flags).is_ok() {
                return SchedulingClass::Deadline;
            }
        }
        runtime /= 2;
    }
    if make_fifo(LINK_PRIORITY) {
        SchedulingClass::Fifo
    } else {
        SchedulingClass::Ordinary
    }
}

/// Gives the calling thread `SCHED_FIFO` with this priority (1 to 99), if permitted.
pub fn make_fifo(priority: u32) -> bool {
    // SAFETY: sched_attr is a plain C structure for which all zeroes is a valid value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.sched_policy = libc::SCHED_FIFO as u32;
    attributes.sched_priority = priority;
    attributes.sched_flags = SCHED_FLAG_RESET_ON_FORK;
    set_scheduler(attributes).is_ok()
}

fn set_deadline(runtime: Duration, period: Duration, flags: u64) -> std::io::Result<()> {
    // SAFETY: as above.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.sched_policy = libc::SCHED_DEADLINE as u32;
    attributes.sched_flags = SCHED_FLAG_RESET_ON_FORK | flags;
    attributes.sched_runtime = runtime.as_nanos() as u64;
    attributes.sched_deadline = period.as_nanos() as u64;
    attributes.sched_period = period.as_nanos() as u64;
    set_scheduler(attributes)
}

fn set_scheduler(mut attributes: libc::sched_attr) -> std::io::Result<()> {
    attributes.size = std::mem::size_of::<libc::sched_attr>() as u32;
    // SAFETY: the structure is valid, its size is stated, and 0 means the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Locks the process's memory and minimises the timer slack of the calling thread. Best effort: lateness is measured in
/// any case.
pub fn make_responsive() {
    // Not MCL_FUTURE: it makes later allocations of unprivileged threads fail at their limit, and a link uses what it
    // allocates later all the time.
    // SAFETY: mlockall takes flags only; ONFAULT locks pages as they are used rather than all of them now.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) };
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// While it lives, idle processors do not halt.
#[derive(Debug)]
pub struct Awake {
    /// The kernel drops the request when this file is closed, however the process ends.
    _request: File,
}

/// Keeps the processors of a virtual machine from halting, through the kernel's interface for a bound on their latency.
/// A halted processor returns to the host, which gives it back when it has time; packets that wait for it are late by
/// tens of milliseconds. Returns `None` on a real machine, where it would gain microseconds and cost power, and where
/// it is not permitted.
fn keep_awake() -> Option<Awake> {
    if !is_virtual(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()) {
        return None;
    }
    let mut request = File::options()
        .write(true)
        .open("/dev/cpu_dma_latency")
        .ok()?;
    request.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(Awake { _request: request })
}

/// Returns true if this `/proc/cpuinfo` is of a virtual machine. Only x86 shows that.
fn is_virtual(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Returns the processor time that a hypervisor gave to other guests while this machine wanted it, since boot, over all
/// processors. Zero if there is no hypervisor or it does not report it.
pub fn stolen_time() -> Duration {
    // "cpu user nice system idle iowait irq softirq steal guest guest_nice", in ticks of 10 ms whatever the kernel's
    // HZ.
    let ticks = fs::read_to_string("/proc/stat")
        .ok()
        .and_then(|text| text.lines().next()?.split_whitespace().nth(8)?.parse().ok());
    Duration::from_millis(ticks.map_or(0, |ticks: u64| ticks.saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_virtual_machine_is_known_by_its_flags() {
        assert!(is_virtual(
            "processor\t: 0\nflags\t\t: fpu hypervisor rdrand\n"
        ));
        assert!(!is_virtual(
            "model name\t: hypervisor\nflags\t\t: fpu rdrand\n"
        ));
        assert!(!is_virtual(""));
    }

    #[test]
    fn processors_are_kept_awake_by_a_request_of_no_latency() {
        let device = |options: &mut fs::OpenOptions| options.open("/dev/cpu_dma_latency").ok();
        let permitted = device(File::options().write(true)).is_some();
        let expected = permitted && is_virtual(&fs::read_to_string("/proc/cpuinfo").unwrap());
        let awake = keep_awake();
        assert_eq!(awake.is_some(), expected);
        if let Some(mut bound) = device(File::options().read(true)).filter(|_| expected) {
            let mut microseconds = [1; 4];
            bound.read_exact(&mut microseconds).unwrap();
            assert_eq!(i32::from_ne_bytes(microseconds), 0);
        }
    }
}
