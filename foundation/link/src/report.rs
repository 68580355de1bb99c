// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a link: its counts, its lateness, and whether measurements over it can be trusted.

use std::fmt;
use std::time::Duration;

use netnice_queue::LinkCounters;
use serde::{Deserialize, Serialize};

use crate::Direction;
use crate::lateness::{ENOUGH_PACKETS, LatenessRecord, too_many_late};
use crate::scheduling::SchedulingClass;
use crate::serde_seconds;

/// The verdict on measurements over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Measurements can be trusted.
    Trustworthy,
    /// Too few packets passed to judge.
    #[default]
    Unknown,
    /// Measurements cannot be trusted.
    NotTrustworthy,
}

/// Lateness of packets: the time they were handed over minus the time they were due.
///
/// The due time is counted from when the link read a packet. A late read is not visible, but the same thread reads and
/// hands over in turn, so reads are about as late as writes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// Half of the packets were at most this late, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub p50: Duration,
    /// 99 % of the packets were at most this late.
    #[serde(with = "serde_seconds")]
    pub p99: Duration,
    /// The latest packet.
    #[serde(with = "serde_seconds")]
    pub max: Duration,
    /// Share of the packets later than the link's bound, 0 to 1.
    pub late_fraction: f64,
    /// Packets handed over, whose lateness is known.
    pub packets: u64,
}

impl Lateness {
    pub(crate) fn of(record: &LatenessRecord) -> Lateness {
        let delays = record.delays();
        Lateness {
            p50: Duration::from_secs_f64(delays.p50_s),
            p99: Duration::from_secs_f64(delays.p99_s),
            max: Duration::from_secs_f64(delays.max_s),
            late_fraction: record.late_fraction(),
            packets: delays.count,
        }
    }

    fn is_too_large(&self) -> bool {
        let late = (self.late_fraction * self.packets as f64).round() as u64;
        too_many_late(self.packets, late)
    }
}

/// Counters of one direction of a link since its start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Packets that entered the link.
    pub offered: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Bytes that came out, network headers included.
    pub delivered_bytes: u64,
    /// Packets dropped at a full queue.
    pub dropped_queue_full: u64,
    /// Packets lost at random.
    pub dropped_random_loss: u64,
    /// Packets dropped by active queue management.
    #[serde(default)]
    pub dropped_early: u64,
    /// Packets pushed out of a full queue.
    #[serde(default)]
    pub dropped_pushed_out: u64,
    /// Packets dropped by the policer.
    #[serde(default)]
    pub dropped_policed: u64,
    /// Packets still inside the link.
    pub inside: u64,
    /// Largest number of packets waiting.
    pub max_queue_packets: u64,
    /// Longest wait of a packet before its transmission, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub max_queue_wait: Duration,
    /// Packets that the entering device dropped because the link did not read them in time; they are no loss of the
    /// emulated queue.
    pub device_drops: u64,
    /// Packets that the device at the exit refused.
    pub refused: u64,
    /// Lateness of packets.
    pub lateness: Lateness,
}

impl DirectionReport {
    pub(crate) fn new(
        counters: LinkCounters,
        inside: usize,
        refused: u64,
        lateness: Lateness,
    ) -> DirectionReport {
        DirectionReport {
            offered: counters.offered,
            delivered: counters.delivered,
            delivered_bytes: counters.delivered_bytes,
            dropped_queue_full: counters.queue_full,
            dropped_random_loss: counters.random_loss,
            dropped_early: counters.early_drop + counters.forced_drop,
            dropped_pushed_out: counters.pushed_out,
            dropped_policed: counters.policed,
            inside: inside as u64,
            max_queue_packets: counters.max_queue_packets as u64,
            max_queue_wait: counters.max_queue_wait,
            device_drops: 0,
            refused,
            lateness,
        }
    }
}

/// Report of a link since its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// From the near side to the far side.
    pub up: DirectionReport,
    /// From the far side to the near side.
    pub down: DirectionReport,
    /// The link's description, as it is written.
    pub spec: String,
    /// Class in which the kernel scheduled the link.
    pub scheduling: SchedulingClass,
    /// Processor time that the link's thread used, including the kernel's on its behalf, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub processor_time: Duration,
    /// Processor time that a hypervisor gave to other guests while this machine wanted it, over all processors, to 10
    /// ms: a frequent cause of lateness that this machine cannot prevent. In seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub stolen_time: Duration,
    /// Time since the link began, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub elapsed: Duration,
    /// Lateness that measurements tolerate, in seconds when serialised.
    #[serde(with = "serde_seconds")]
    pub lateness_bound: Duration,
    /// Verdict on measurements over this link: trustworthy if at most 1 % of the packets in each direction were later
    /// than the bound, and none was lost outside the link's own queue and loss. Unknown with fewer than 299 packets in
    /// both directions together, unless so many of them were late that chance explains it in 5 % of cases at most.
    pub verdict: Verdict,
    /// True if the verdict is [`Verdict::Trustworthy`].
    pub trustworthy: bool,
    /// Reason of the verdict, in words.
    pub reason: String,
}

impl LinkReport {
    /// Returns the report of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionReport {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Sets `verdict`, `trustworthy` and `reason` from the other fields and from the failure that ended the link early,
    /// if any.
    pub(crate) fn judge(&mut self, failure: Option<&str>) {
        let mut faults = Vec::new();
        if let Some(failure) = failure {
            faults.push(format!("the link stopped early: {failure}"));
        }
        for direction in [Direction::Up, Direction::Down] {
            let report = self.direction(direction);
            let lateness = &report.lateness;
            if lateness.is_too_large() {
                faults.push(format!(
                    "{:.1} % of the packets {direction} were more than {:?} late (at most {:?})",
                    100.0 * lateness.late_fraction,
                    self.lateness_bound,
                    lateness.max,
                ));
            }
            if report.device_drops > 0 {
                faults.push(format!(
                    "{} {direction} lost on the way to the link",
                    packets(report.device_drops)
                ));
            }
            if report.refused > 0 {
                faults.push(format!(
                    "{} {direction} refused at the exit",
                    packets(report.refused)
                ));
            }
        }
        let stolen = match self.stolen_time.is_zero() || faults.is_empty() {
            true => String::new(),
            false => format!(
                "; the hypervisor took {:?} of processor time meanwhile",
                self.stolen_time
            ),
        };
        let class = match self.scheduling {
            SchedulingClass::Ordinary => {
                "; without real-time scheduling any load on this machine delays the link"
            }
            _ => "",
        };
        let passed = self.up.lateness.packets + self.down.lateness.packets;
        self.verdict = match faults.is_empty() {
            false => Verdict::NotTrustworthy,
            true if passed < ENOUGH_PACKETS => Verdict::Unknown,
            true => Verdict::Trustworthy,
        };
        self.trustworthy = self.verdict == Verdict::Trustworthy;
        self.reason = match self.verdict {
            Verdict::Trustworthy => format!(
                "99 % of the packets were at most {:?} late{class}",
                self.up.lateness.p99.max(self.down.lateness.p99)
            ),
            Verdict::Unknown => format!(
                "{}, too few to tell, at most {:?} late{class}",
                packets(passed),
                self.up.lateness.max.max(self.down.lateness.max)
            ),
            Verdict::NotTrustworthy => format!("{}{class}{stolen}", faults.join("; ")),
        };
    }
}

fn packets(number: u64) -> String {
    match number {
        1 => "1 packet".to_owned(),
        number => format!("{number} packets"),
    }
}

impl fmt::Display for LinkReport {
    /// Writes one line for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Trustworthy => "trustworthy",
            Verdict::Unknown => "not judged",
            Verdict::NotTrustworthy => "NOT TRUSTWORTHY",
        };
        write!(
            f,
            "link {verdict}: {} ({} scheduling)",
            self.reason, self.scheduling
        )?;
        for direction in [Direction::Up, Direction::Down] {
            let report = self.direction(direction);
            write!(
                f,
                "; {direction}: {} delivered, {} dropped at the queue, {} lost",
                report.delivered,
                report.dropped_queue_full + report.dropped_early + report.dropped_pushed_out,
                report.dropped_random_loss
            )?;
            if report.dropped_policed > 0 {
                write!(f, ", {} policed", report.dropped_policed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(packets: u64, late: u64) -> Lateness {
        Lateness {
            late_fraction: if packets == 0 {
                0.0
            } else {
                late as f64 / packets as f64
            },
            packets,
            ..Lateness::default()
        }
    }

    fn judged(up: (u64, u64), down: (u64, u64), refused: u64) -> LinkReport {
        let direction = |(packets, late), refused| {
            DirectionReport::new(LinkCounters::default(), 0, refused, lateness(packets, late))
        };
        let mut report = LinkReport {
            up: direction(up, refused),
            down: direction(down, 0),
            spec: String::new(),
            scheduling: SchedulingClass::Deadline,
            processor_time: Duration::ZERO,
            stolen_time: Duration::ZERO,
            elapsed: Duration::ZERO,
            lateness_bound: Duration::from_millis(1),
            verdict: Verdict::default(),
            trustworthy: false,
            reason: String::new(),
        };
        report.judge(None);
        report
    }

    #[test]
    fn few_packets_are_judged_by_what_chance_would_do() {
        use Verdict::{NotTrustworthy, Trustworthy, Unknown};
        for (up, down, expected) in [
            ((0, 0), (0, 0), Unknown),
            ((12, 0), (0, 0), Unknown),
            // 1 - 0.99^12 = 11 %; 1 - 0.99^12 - 12 * 0.01 * 0.99^11 = 0.6 %.
            ((12, 1), (12, 0), Unknown),
            ((12, 2), (12, 0), NotTrustworthy),
            // 1 - 0.99^5 = 4.9 %.
            ((5, 1), (5, 0), NotTrustworthy),
            ((298, 0), (0, 0), Unknown),
            ((299, 0), (0, 0), Trustworthy),
            ((150, 0), (149, 1), Trustworthy),
            ((299, 2), (0, 0), Trustworthy),
            ((299, 3), (0, 0), NotTrustworthy),
            ((1000, 10), (1000, 10), Trustworthy),
            ((1000, 11), (1000, 0), NotTrustworthy),
            // Three late packets of 100 exceed 1 %, but chance explains them.
            ((1000, 0), (100, 3), Trustworthy),
            ((1000, 0), (100, 4), NotTrustworthy),
        ] {
            let report = judged(up, down, 0);
            assert_eq!(report.verdict, expected, "{up:?}, {down:?}: {report}");
            assert_eq!(report.trustworthy, expected == Trustworthy);
        }
        assert_eq!(judged((5, 0), (0, 0), 1).verdict, NotTrustworthy);
        for (up, refused, begin) in [
            ((12, 1), 0, "link not judged: 12 packets, too few to tell"),
            ((1, 0), 0, "link not judged: 1 packet, too few to tell"),
            ((5, 0), 1, "link NOT TRUSTWORTHY: 1 packet up refused"),
        ] {
            let words = judged(up, (0, 0), refused).to_string();
            assert!(words.starts_with(begin), "{words}");
        }
    }
}
