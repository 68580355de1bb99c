// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real-time scheduling of single threads.
//!
//! A link that shares the processor as an ordinary task delivers seconds late beside load. Under `SCHED_DEADLINE` the
//! kernel grants each link a share of processor time; `SCHED_FIFO` is the second best.

use std::fmt;
use std::time::Duration;

use netnice_queue::Rate;
use serde::{Deserialize, Serialize};

const SCHED_FLAG_RESET_ON_FORK: u64 = 0x01;
const SCHED_FLAG_RECLAIM: u64 = 0x02;

/// Time within which a link gets its share of the processor.
const PERIOD: Duration = Duration::from_millis(1);
/// Above most other real-time threads of ours, below the kernel's own.
const LINK_PRIORITY: u32 = 60;

/// The scheduling class that a link's thread obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// `SCHED_DEADLINE`: a guaranteed share of processor time.
    Deadline,
    /// `SCHED_FIFO`: before every ordinary task.
    Fifo,
    /// An ordinary task among others.
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

/// Gives the calling thread the best class the kernel grants, for carrying up to `rate` (`None`: as fast as it can).
pub(crate) fn make_link_thread(rate: Option<Rate>) -> SchedulingClass {
    // About a microsecond per packet and system call. The kernel admits 0.95 of each processor over all threads, so a
    // slow link asks for little: eight of 10 Mb/s must fit. RECLAIM lends it what others leave.
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
pub(crate) fn make_fifo(priority: u32) -> bool {
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

/// Keeps the process's memory in place and the calling thread's timers sharp. Best effort: lateness is measured in any
/// case.
pub(crate) fn make_responsive() {
    // Not MCL_FUTURE: it makes later allocations of threads without privilege fail at their limit, and what a link
    // allocates later it uses all the time.
    // SAFETY: mlockall takes flags only; ONFAULT locks pages as they are used rather than all of them now.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) };
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Processor time that a hypervisor gave to others while this machine wanted it, since the boot, over all processors.
/// Zero where there is none or it does not say.
pub(crate) fn stolen_time() -> Duration {
    // "cpu user nice system idle iowait irq softirq steal guest guest_nice", in ticks of 10 ms whatever the kernel's.
    let ticks = std::fs::read_to_string("/proc/stat")
        .ok()
        .and_then(|text| text.lines().next()?.split_whitespace().nth(8)?.parse().ok());
    Duration::from_millis(ticks.map_or(0, |ticks: u64| ticks.saturating_mul(10)))
}
