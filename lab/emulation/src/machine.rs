// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load of this machine during a run.

use std::fs;
use std::time::{Duration, Instant};

use netnice_link::scheduling::stolen_time;

/// Counters of the machine at the start of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct MachineWatch {
    began: Instant,
    ticks: (u64, u64),
    stolen: Duration,
}

/// The load since then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MachineLoad {
    pub(super) elapsed: Duration,
    /// Share of all processors that was busy, 0 to 1.
    pub(super) busy: f64,
    /// Processor time that a hypervisor gave to other guests.
    pub(super) stolen: Duration,
}

impl MachineWatch {
    pub(super) fn begin() -> MachineWatch {
        MachineWatch {
            began: Instant::now(),
            ticks: ticks(),
            stolen: stolen_time(),
        }
    }

    pub(super) fn end(self) -> MachineLoad {
        let (busy, all) = ticks();
        let (busy, all) = (
            busy.saturating_sub(self.ticks.0),
            all.saturating_sub(self.ticks.1),
        );
        MachineLoad {
            elapsed: self.began.elapsed(),
            busy: busy as f64 / all.max(1) as f64,
            stolen: stolen_time().saturating_sub(self.stolen),
        }
    }
}

/// Returns the processor time over all processors since boot, in ticks: busy, and total.
fn ticks() -> (u64, u64) {
    read_ticks(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// "cpu user nice system idle iowait irq softirq steal …".
fn read_ticks(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().unwrap_or_default();
    let fields = line.split_whitespace().skip(1).take(8);
    let fields: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
    let all = fields.iter().sum::<u64>();
    let idle: u64 = fields.iter().skip(3).take(2).sum();
    (all - idle, all)
}

/// Returns the release of the running kernel.
pub(super) fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy() {
        let stat = "cpu  10 20 30 400 5 0 6 7 0 0\ncpu0 1 2 3 4\n";
        assert_eq!(read_ticks(stat), (73, 478));
        assert_eq!(read_ticks(""), (0, 0));
        assert!(!kernel_release().is_empty());
    }
}
