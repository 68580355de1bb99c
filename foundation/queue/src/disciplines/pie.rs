// SPDX-License-Identifier: MIT OR Apache-2.0
//! PIE: proportional integral controller enhanced (RFC 8033).

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::codel::TimedFifo;
use crate::disciplines::update_clock::UpdateClock;
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::random::uniform;
use crate::time::Time;
use crate::units::{LossFraction, QueueBound, QueueLimit, delay_text, positive_delay};

/// Configuration of a PIE queue. The defaults are those of RFC 8033.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PieConfig {
    /// Bound beyond which arrivals are dropped.
    pub limit: QueueLimit,
    /// QDELAY_REF: the queueing delay that the controller aims at.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub target: Duration,
    /// T_UPDATE: interval at which the drop probability is computed.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub update: Duration,
    /// alpha: change of the drop probability for each second of delay above the target, in 1/s.
    pub alpha: f64,
    /// beta: change of the drop probability for each second by which the delay rose since the last update, in 1/s.
    pub beta: f64,
    /// MAX_BURST: time after an idle phase for which no packet is dropped.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "delay_text")]
    pub max_burst: Duration,
    /// True if ECN-capable packets are marked in place of a drop while the probability is below `mark_threshold`
    /// (RFC 8033 section 5.1).
    pub ecn: bool,
    /// mark_ecnth: probability from which ECN-capable packets are dropped, too.
    pub mark_threshold: LossFraction,
    /// True if drops are spaced: none before the probabilities since the last drop sum up to 0.85, one at 8.5 at the
    /// latest (RFC 8033 section 5.4).
    pub derandomize: bool,
}

impl PieConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        self.ecn
    }
}

impl Default for PieConfig {
    fn default() -> PieConfig {
        PieConfig {
            limit: QueueLimit::Packets(1000),
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            ecn: false,
            mark_threshold: LossFraction::from_billionths(100_000_000)
                .expect("10% is within range"),
            derandomize: true,
        }
    }
}

impl PieConfig {
    /// Creates a configuration with the defaults of RFC 8033: target and update 15 ms, alpha 1/8, beta 1 1/4, burst
    /// 150 ms; without ECN.
    pub fn new(limit: QueueLimit) -> PieConfig {
        PieConfig {
            limit,
            ..PieConfig::default()
        }
    }
}

/// The controller: the drop probability as a function of the queueing delay.
#[derive(Debug, Clone)]
struct Controller {
    target: f64,
    alpha: f64,
    beta: f64,
    max_burst: Duration,
    /// `drop_prob_`.
    probability: f64,
    /// `qdelay_old_`, the queueing delay at the last update, in seconds.
    old_delay: f64,
    burst_allowance: Duration,
    updates: UpdateClock,
}

impl Controller {
    /// Computes the drop probability for a queueing delay in seconds (RFC 8033 section 4.2, with the cap of 5.5).
    fn compute(&mut self, delay: f64) {
        let mut change = self.alpha * (delay - self.target) + self.beta * (delay - self.old_delay);
        change /= match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        self.probability += change;
        if delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        // RFC 8033 section 4.4.
        self.burst_allowance = self.burst_allowance.saturating_sub(self.updates.interval());
        if self.probability == 0.0
            && delay < self.target / 2.0
            && self.old_delay < self.target / 2.0
        {
            self.burst_allowance = self.max_burst;
        }
        self.old_delay = delay;
    }

    /// Makes the updates that are due at or before `now`, for a delay that has not changed since the last.
    fn advance(&mut self, now: Time, delay: f64) {
        while self.updates.take_due(now).is_some() {
            self.compute(delay);
            let settled =
                self.probability == 0.0 && delay == 0.0 && self.burst_allowance == self.max_burst;
            if settled {
                self.updates.skip_due(now);
            }
        }
    }
}

/// A PIE queue.
#[derive(Debug, Clone)]
pub struct Pie<P> {
    queue: TimedFifo<P>,
    bound: QueueBound,
    controller: Controller,
    /// Sojourn time of the last packet that left, in seconds; zero while the queue is empty.
    delay: f64,
    packet_size: u64,
    ecn: bool,
    mark_threshold: f64,
    derandomize: bool,
    /// `accu_prob_`, the sum of the probabilities since the last drop.
    accumulated: f64,
    random: Xoshiro256PlusPlus,
    marks: u64,
}

impl<P: Packet> Pie<P> {
    /// Creates an empty queue; `seed` determines its random draws.
    pub fn from_config(
        config: &PieConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<Pie<P>, DisciplineError> {
        for (field, value) in [("alpha", config.alpha), ("beta", config.beta)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(DisciplineError::NotPositive { field, value });
            }
        }
        Ok(Pie {
            queue: TimedFifo::default(),
            bound: context.bound(config.limit)?,
            controller: Controller {
                target: config.target.as_secs_f64(),
                alpha: config.alpha,
                beta: config.beta,
                max_burst: config.max_burst,
                probability: 0.0,
                old_delay: 0.0,
                burst_allowance: config.max_burst,
                updates: UpdateClock::new(config.update),
            },
            delay: 0.0,
            packet_size: context.packet_size.get(),
            ecn: config.ecn,
            mark_threshold: config.mark_threshold.as_f64(),
            derandomize: config.derandomize,
            accumulated: 0.0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            marks: 0,
        })
    }

    /// `drop_prob_` as of the last arrival or departure.
    pub fn probability(&self) -> f64 {
        self.controller.probability
    }

    /// Returns true if an arriving packet is to be dropped or marked (`drop_early` of RFC 8033 section 4.1 and 5.4).
    fn strikes(&mut self) -> bool {
        let Controller {
            probability,
            old_delay,
            target,
            burst_allowance,
            ..
        } = self.controller;
        if !burst_allowance.is_zero()
            || (old_delay < target / 2.0 && probability < 0.2)
            || self.queue.bytes() <= 2 * self.packet_size
        {
            return false;
        }
        if self.derandomize {
            if probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += probability;
            if self.accumulated < 0.85 {
                return false;
            }
        }
        let forced = self.derandomize && self.accumulated >= 8.5;
        let strikes = forced || uniform(&mut self.random) < probability;
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }
}

impl<P: Packet> QueueDiscipline<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P) -> Result<(), Dropped<P>> {
        self.controller.advance(now, self.delay);
        let length = packet.length() as u64;
        let (packets, bytes) = (self.queue.packets(), self.queue.bytes());
        if !self.bound.fits(packets, bytes, length) {
            self.accumulated = 0.0;
            let cause = DropCause::QueueFull;
            return Err(Dropped { packet, cause });
        }
        if self.strikes() {
            let may_mark = self.ecn && self.controller.probability < self.mark_threshold;
            if !(may_mark && packet.ecn_capable()) {
                let cause = DropCause::EarlyDrop;
                return Err(Dropped { packet, cause });
            }
            packet.mark_congestion_experienced();
            self.marks += 1;
        }
        self.queue.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        self.controller.advance(now, self.delay);
        let taken = self.queue.pop();
        // Timestamps measure the delay, as RFC 8033 section 5.2 permits in place of the departure rate.
        self.delay = match &taken {
            Some((arrived, _)) if self.queue.packets() > 0 => (now - *arrived).as_secs_f64(),
            _ => 0.0,
        };
        taken.map(|(_, packet)| packet)
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> Controller {
        let config = PieConfig::default();
        Controller {
            target: 0.015,
            alpha: config.alpha,
            beta: config.beta,
            max_burst: config.max_burst,
            probability: 0.0,
            old_delay: 0.0,
            burst_allowance: Duration::ZERO,
            updates: UpdateClock::new(config.update),
        }
    }

    #[test]
    fn the_probability_follows_rfc_8033_section_4_2() {
        let close = |left: f64, right: f64| assert!((left - right).abs() < 1e-15, "{left} {right}");
        let mut controller = controller();
        // 0.125 * (0.035 - 0.015) + 1.25 * (0.035 - 0) = 0.04625, divided by 2048 as the probability is below 1e-6.
        controller.compute(0.035);
        close(controller.probability, 0.04625 / 2048.0);
        // 2.26e-5 is below 1e-4: 0.125 * 0.02 + 1.25 * 0 = 0.0025, divided by 128.
        controller.compute(0.035);
        close(controller.probability, 0.04625 / 2048.0 + 0.0025 / 128.0);
        for (before, delay, divisor) in [
            (0.000_002, 0.035, 512.0),
            (0.000_5, 0.035, 32.0),
            (0.005, 0.035, 8.0),
            (0.05, 0.035, 2.0),
            (0.15, 0.035, 1.0),
        ] {
            controller.probability = before;
            controller.old_delay = 0.035;
            controller.compute(delay);
            close(controller.probability, before + 0.0025 / divisor);
        }
        // From 10 % on it rises by at most 2 percentage points (section 5.5).
        (controller.probability, controller.old_delay) = (0.15, 0.0);
        controller.compute(0.035);
        close(controller.probability, 0.17);
        // An empty queue: -0.125 * 0.015 is added, then 2 % taken off.
        (controller.probability, controller.old_delay) = (0.15, 0.0);
        controller.compute(0.0);
        close(controller.probability, (0.15 - 0.001_875) * 0.98);
        (controller.probability, controller.old_delay) = (0.001, 0.2);
        controller.compute(0.0);
        assert_eq!(controller.probability, 0.0);
    }

    #[test]
    fn updates_missed_in_idle_time_are_made_up_for() {
        let mut stepwise = controller();
        stepwise.probability = 0.3;
        stepwise.old_delay = 0.04;
        let mut at_once = stepwise.clone();
        for number in 1..=10_000 {
            stepwise.advance(Time::from_millis(15 * number), 0.0);
        }
        at_once.advance(Time::from_millis(150_000), 0.0);
        assert_eq!(format!("{stepwise:?}"), format!("{at_once:?}"));
        assert_eq!(at_once.burst_allowance, Duration::from_millis(150));
    }

    /// Each row of the table of section 4.2 begins at its probability, for rises and falls.
    #[test]
    fn the_tuning_steps_at_the_bounds_of_section_4_2() {
        for (bound, below, from) in [
            (0.000_001, 2048.0, 512.0),
            (0.000_01, 512.0, 128.0),
            (0.000_1, 128.0, 32.0),
            (0.001, 32.0, 8.0),
            (0.01, 8.0, 2.0),
            (0.1, 2.0, 1.0),
        ] {
            for (probability, divisor) in [(bound * 0.999_999, below), (bound, from)] {
                // 0.125 * 0.000_016 = 2e-6, as much up as down.
                for (delay, change) in [(0.015_016, 2e-6), (0.014_984, -2e-6)] {
                    let mut controller = controller();
                    (controller.probability, controller.old_delay) = (probability, delay);
                    controller.compute(delay);
                    let expected = (probability + change / divisor).max(0.0);
                    let apart = (controller.probability - expected).abs();
                    assert!(apart < 1e-15, "{probability}: {apart}");
                }
            }
        }
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Probe {
        ecn: bool,
        marked: bool,
    }

    impl Packet for Probe {
        fn length(&self) -> usize {
            1000
        }

        fn ecn_capable(&self) -> bool {
            self.ecn
        }

        fn mark_congestion_experienced(&mut self) {
            self.marked = true;
        }
    }

    const PROBE: Probe = Probe {
        ecn: false,
        marked: false,
    };

    /// A queue of three packets whose last delay was 100 ms, without burst allowance, with this drop probability.
    fn standing(config: &PieConfig, seed: u64, probability: f64) -> Pie<Probe> {
        let context = DisciplineContext {
            rate: None,
            delay: Duration::ZERO,
            base_rtt: Duration::ZERO,
            packet_size: crate::units::Bytes::new(1000),
        };
        let mut pie = Pie::from_config(config, &context, seed).unwrap();
        for _ in 0..3 {
            pie.queue.push(Time::ZERO, PROBE);
        }
        pie.delay = 0.1;
        pie.controller.old_delay = 0.1;
        pie.controller.burst_allowance = Duration::ZERO;
        pie.controller.probability = probability;
        pie
    }

    fn at_random() -> PieConfig {
        PieConfig {
            derandomize: false,
            ..PieConfig::default()
        }
    }

    /// Section 4.4: no packet is dropped for MAX_BURST, ten updates of 15 ms.
    #[test]
    fn a_burst_of_150_ms_passes() {
        let mut pie = standing(&at_random(), 1, 1.0);
        pie.controller.burst_allowance = Duration::from_millis(150);
        for ms in 0..150 {
            pie.enqueue(Time::from_millis(ms), PROBE).unwrap();
        }
        let dropped = pie.enqueue(Time::from_millis(150), PROBE).unwrap_err();
        assert_eq!(dropped.cause, DropCause::EarlyDrop);
    }

    /// Section 4.4: the next burst may come after the probability was zero with both delays below half of QDELAY_REF, 7.5 ms.
    #[test]
    fn the_burst_allowance_returns_when_the_queue_was_short() {
        let allowance = |probability, old_delay, delay| {
            let mut controller = controller();
            (controller.probability, controller.old_delay) = (probability, old_delay);
            controller.compute(delay);
            controller.burst_allowance
        };
        let (whole, none) = (Duration::from_millis(150), Duration::ZERO);
        assert_eq!(allowance(0.0, 0.007_4, 0.007_4), whole);
        assert_eq!(allowance(0.0, 0.007_5, 0.007_4), none);
        // 0.125 * -0.007_5 + 1.25 * 0.000_1 is below zero, and the probability stays zero.
        assert_eq!(allowance(0.0, 0.007_4, 0.007_5), none);
        assert_eq!(allowance(0.5, 0.007_4, 0.007_4), none);
    }

    /// Section 4.1: none of 1000 packets is dropped while the last delay is below 7.5 ms and the probability below 0.2.
    #[test]
    fn a_short_delay_is_safe_from_drops_below_a_fifth() {
        let struck = |probability, old_delay| {
            let mut pie = standing(&at_random(), 1, probability);
            pie.controller.old_delay = old_delay;
            (0..1000).filter(|_| pie.strikes()).count()
        };
        assert_eq!(struck(0.199, 0.007_49), 0);
        // Four standard deviations of a binomial distribution, sqrt(1000 * 0.2 * 0.8) = 12.6.
        for (probability, old_delay) in [(0.2, 0.007_49), (0.199, 0.007_5)] {
            let struck = struck(probability, old_delay);
            assert!((150..=250).contains(&struck), "{struck}");
        }
    }

    /// Section 4.1: a queue of two mean packets is safe, whatever the probability.
    #[test]
    fn two_packets_are_safe_from_drops() {
        let mut pie = standing(&at_random(), 1, 1.0);
        assert!(pie.strikes(), "three packets");
        assert!(pie.queue.pop().is_some());
        assert!(!pie.strikes(), "two packets");
    }

    /// Section 5.4: none before the probabilities sum up to 0.85, here with the fourth packet at 0.25 each.
    #[test]
    fn drops_are_spaced_by_the_sum_of_probabilities() {
        let mut pie = standing(&PieConfig::default(), 1, 0.25);
        let struck: Vec<usize> = (1..=40_000).filter(|_| pie.strikes()).collect();
        let gaps = || struck.windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(struck.first().map(|first| *first >= 4), Some(true));
        assert_eq!(gaps().min(), Some(4));
        // 0.25 * 34 = 8.5.
        assert!(gaps().max() <= Some(34));
        // Three packets pass, and of the others each is dropped with 0.25: seven from drop to drop.
        let mean = gaps().sum::<usize>() as f64 / gaps().count() as f64;
        assert!((mean - 7.0).abs() < 0.2, "{mean}");
        // Without it drops follow each other.
        let mut random = standing(&at_random(), 1, 0.25);
        let struck: Vec<usize> = (1..=1000).filter(|_| random.strikes()).collect();
        assert!(struck.windows(2).any(|pair| pair[1] - pair[0] == 1));
    }

    /// Section 5.4: one at a sum of 8.5; a drop, a full queue and a probability of zero begin the sum again.
    #[test]
    fn a_drop_is_due_at_a_sum_of_eight_and_a_half() {
        let struck = |before: f64| {
            let strikes = |seed: &u64| {
                let mut pie = standing(&PieConfig::default(), *seed, 0.01);
                pie.accumulated = before;
                let strikes = pie.strikes();
                assert_eq!(pie.accumulated == 0.0, strikes);
                strikes
            };
            (0..100).filter(strikes).count()
        };
        assert_eq!(struck(8.495), 100);
        assert!(struck(8.485) < 10);
        let mut pie = standing(&PieConfig::default(), 1, 0.0);
        pie.accumulated = 8.0;
        assert!(!pie.strikes());
        assert_eq!(pie.accumulated, 0.0);
        let full = PieConfig::new(QueueLimit::Packets(3));
        let mut pie = standing(&full, 1, 0.01);
        pie.accumulated = 8.0;
        let dropped = pie.enqueue(Time::ZERO, PROBE).unwrap_err();
        assert_eq!(dropped.cause, DropCause::QueueFull);
        assert_eq!(pie.accumulated, 0.0);
    }

    /// Section 5.1: an ECN-capable packet is marked while the probability is below mark_ecnth.
    #[test]
    fn packets_are_marked_below_the_mark_threshold() {
        let ecn = PieConfig {
            ecn: true,
            ..PieConfig::default()
        };
        let higher = PieConfig {
            mark_threshold: "40%".parse().unwrap(),
            ..ecn.clone()
        };
        let capable = Probe { ecn: true, ..PROBE };
        // The packet that is due at a sum of 8.5 arrives fourth: is it marked, or dropped?
        let marked = |config: &PieConfig, probability, packet| {
            let mut pie = standing(config, 1, probability);
            pie.accumulated = 8.5;
            let taken = pie.enqueue(Time::ZERO, packet);
            let queued: Vec<Probe> = std::iter::from_fn(|| pie.dequeue(Time::ZERO)).collect();
            match taken {
                Ok(()) => {
                    assert!(queued.len() == 4 && queued[3].marked && pie.marks() == 1);
                    true
                }
                Err(dropped) => {
                    assert_eq!(dropped.cause, DropCause::EarlyDrop);
                    assert!(queued.len() == 3 && pie.marks() == 0);
                    false
                }
            }
        };
        assert!(marked(&ecn, 0.099_9, capable));
        assert!(!marked(&ecn, 0.1, capable));
        assert!(!marked(&ecn, 0.05, PROBE));
        assert!(!marked(&PieConfig::default(), 0.05, capable));
        assert!(marked(&higher, 0.399, capable));
        assert!(!marked(&higher, 0.4, capable));
    }
}
