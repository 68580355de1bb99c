// SPDX-License-Identifier: MIT OR Apache-2.0
//! COBALT: CoDel and BLUE side by side, the queue management of CAKE.
//!
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways" (2018),
//! section III-D, with the constants of Linux. Unlike the CoDel of RFC 8289 its drop rate decays step by step while the delay is
//! small, and BLUE drops at random, regardless of ECN, once the queue has overflowed.

use std::time::Duration;

use crate::time::Time;

/// Increment of BLUE's probability at an overflow: 1/256, as a fraction of 2^32.
const INCREMENT: u32 = 1 << 24;
/// Decrement of BLUE's probability when the queue is found empty: 1/4096.
const DECREMENT: u32 = 1 << 20;

/// Parameters of one tin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CobaltLaw {
    /// Sojourn time that a standing queue may have, and the shortest time between two changes of BLUE's probability.
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    /// Time that a full packet takes at the tin's rate: a sojourn of four of them is never too long.
    pub(crate) packet_time: Duration,
    /// As in Linux, whose 1 / sqrt(count) is 0 until `count` is first changed by a signal or taken back: a new queue that exceeds the
    /// target signals at its next packet, and not after an interval.
    pub(crate) linux: bool,
}

impl CobaltLaw {
    /// The time between the drops number `count` and `count` + 1: interval / sqrt(count).
    fn spacing_ns(&self, count: u32) -> u64 {
        (self.interval.as_nanos() as f64 / f64::from(count.max(1)).sqrt()) as u64
    }
}

/// Treatment of a packet that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Send,
    /// Mark it as having experienced congestion, and send it.
    Mark,
    Drop,
}

/// State of COBALT for one flow queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cobalt {
    /// Drops and marks that were not taken back since.
    count: u32,
    /// Time of the next drop or of the next decrement of `count`; with a count of 0, end of an interval without packets.
    drop_next: Time,
    dropping: bool,
    /// A signal has raised `count`, or time has lowered it.
    counted: bool,
    /// BLUE's probability of a drop, as a fraction of 2^32.
    probability: u32,
    probability_changed: Time,
}

impl Cobalt {
    /// The queue has overflowed, and its first packet was dropped.
    pub(crate) fn queue_full(&mut self, now: Time, law: &CobaltLaw) {
        if now - self.probability_changed > law.target {
            self.probability = self.probability.saturating_add(INCREMENT);
            self.probability_changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty when its turn came.
    pub(crate) fn queue_empty(&mut self, now: Time, law: &CobaltLaw) {
        if self.probability > 0 && now - self.probability_changed > law.target {
            self.probability = self.probability.saturating_sub(DECREMENT);
            self.probability_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.decay(law);
        }
    }

    /// Returns true if the state is that of a new queue, so that an empty queue may be forgotten.
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0 && self.count == 0 && now >= self.drop_next
    }

    fn decay(&mut self, law: &CobaltLaw) {
        self.counted = true;
        self.count -= 1;
        self.drop_next = self.drop_next.plus_nanos(law.spacing_ns(self.count));
    }

    /// Decides on the first packet of the queue, which has waited for `sojourn`. `random` is uniform in 0 .. 2^32 and drawn only
    /// where BLUE's probability is above 0.
    pub(crate) fn judge(
        &mut self,
        now: Time,
        sojourn: Duration,
        law: &CobaltLaw,
        ecn_capable: bool,
        random: impl FnOnce() -> u32,
    ) -> Verdict {
        let mut late = now > self.drop_next;
        let mut due = self.count > 0 && now >= self.drop_next;
        self.dropping = if sojourn > law.target && sojourn > 4 * law.packet_time {
            if !self.dropping {
                self.drop_next = match law.linux && !self.counted {
                    true => now,
                    false => now.plus_nanos(law.spacing_ns(self.count)),
                };
            }
            self.count = self.count.max(1);
            true
        } else {
            false
        };
        let mut verdict = Verdict::Send;
        if due && self.dropping {
            verdict = match ecn_capable {
                true => Verdict::Mark,
                false => Verdict::Drop,
            };
            self.counted = true;
            self.count = self.count.saturating_add(1);
            self.drop_next = self.drop_next.plus_nanos(law.spacing_ns(self.count));
            late = now > self.drop_next;
        }
        while due && !self.dropping {
            self.decay(law);
            late = now > self.drop_next;
            due = self.count > 0 && now >= self.drop_next;
        }
        if self.probability > 0 && random() < self.probability {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if late && verdict != Verdict::Drop {
            self.drop_next = now;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target of 5 ms, an interval of 100 ms, full packets of 1 ms.
    const LAW: CobaltLaw = CobaltLaw {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        packet_time: Duration::from_millis(1),
        linux: false,
    };

    /// Judges a packet each millisecond; returns the milliseconds at which it signals.
    fn signals(cobalt: &mut Cobalt, ms: std::ops::Range<u64>, sojourn_ms: u64) -> Vec<u64> {
        let sojourn = Duration::from_millis(sojourn_ms);
        ms.filter(|&ms| {
            let verdict = cobalt.judge(Time::from_millis(ms), sojourn, &LAW, true, || u32::MAX);
            verdict == Verdict::Mark
        })
        .collect()
    }

    #[test]
    fn signals_come_at_interval_over_root_of_count() {
        let mut cobalt = Cobalt::default();
        assert!(signals(&mut cobalt, 0..10, 5).is_empty());
        // Above the target from 10 ms on: the first signal after 100 ms, and then 100 / sqrt(count) with count = 2, 3, 4, 5:
        // 110 + 70.7 = 180.7, + 57.7 = 238.4, + 50 = 288.4, + 44.7 = 333.2.
        let times = signals(&mut cobalt, 10..335, 6);
        assert_eq!(times, [110, 181, 239, 289, 334]);
    }

    #[test]
    fn the_first_signal_of_linux_comes_at_once() {
        let law = CobaltLaw { linux: true, ..LAW };
        let mut cobalt = Cobalt::default();
        let mut signals = |ms: std::ops::Range<u64>, sojourn_ms| {
            let sojourn = Duration::from_millis(sojourn_ms);
            ms.filter(|&ms| {
                let verdict = cobalt.judge(Time::from_millis(ms), sojourn, &law, true, || u32::MAX);
                verdict == Verdict::Mark
            })
            .collect::<Vec<u64>>()
        };
        assert!(signals(0..10, 5).is_empty());
        // Above the target from 10 ms on: due at once, and then after 100 / sqrt(2) = 70.7 and 100 / sqrt(3) = 57.7 ms.
        assert_eq!(signals(10..160, 6), [11, 81, 139]);
        // Until 600 ms all are taken back. From then on an interval passes first, as it does without `linux`.
        assert!(signals(160..600, 0).is_empty());
        assert_eq!(signals(600..720, 6), [700]);
    }

    #[test]
    fn the_count_decays_step_by_step_while_the_delay_is_small() {
        let mut cobalt = Cobalt::default();
        signals(&mut cobalt, 0..10, 0);
        signals(&mut cobalt, 10..335, 6);
        // Five signals, after which the sixth would be due at 333.2 + 100 / sqrt(6) = 374.0.
        assert_eq!(cobalt.count, 6);
        signals(&mut cobalt, 335..374, 0);
        assert_eq!(cobalt.count, 6);
        // Then one step of 100 / sqrt(count) after the other: 374.0, + 44.7 = 418.7, + 50 = 468.7, + 57.7 = 526.4.
        for (until, count) in [
            (375, 5),
            (418, 5),
            (419, 4),
            (468, 4),
            (469, 3),
            (526, 3),
            (527, 2),
        ] {
            let from = until - 1;
            signals(&mut cobalt, from..until + 1, 0);
            assert_eq!(cobalt.count, count, "{until}");
        }
    }

    #[test]
    fn four_packet_times_are_never_too_long() {
        let law = CobaltLaw {
            packet_time: Duration::from_millis(3),
            ..LAW
        };
        let mut cobalt = Cobalt::default();
        for ms in 0..1000 {
            let sojourn = Duration::from_millis(12);
            let verdict = cobalt.judge(Time::from_millis(ms), sojourn, &law, false, || 0);
            assert_eq!(verdict, Verdict::Send);
        }
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn overflows_raise_the_probability_and_emptiness_lowers_it() {
        let mut cobalt = Cobalt::default();
        // At most one step within a target of 5 ms.
        for ms in [6, 7, 11, 12, 17, 18] {
            cobalt.queue_full(Time::from_millis(ms), &LAW);
        }
        // At 6, 12 and 18 ms.
        assert_eq!(cobalt.probability, 3 * INCREMENT);
        let mut judge =
            |ms, random| cobalt.judge(Time::from_millis(ms), Duration::ZERO, &LAW, true, || random);
        assert_eq!(judge(19, 3 * INCREMENT - 1), Verdict::Drop);
        assert_eq!(judge(20, 3 * INCREMENT), Verdict::Send);
        // 16 steps down take back one step up.
        for step in 0..16 {
            cobalt.queue_empty(Time::from_millis(100 + 6 * step), &LAW);
        }
        assert_eq!(cobalt.probability, 2 * INCREMENT);
        assert!(!cobalt.is_at_rest(Time::from_millis(300)));
    }
}
