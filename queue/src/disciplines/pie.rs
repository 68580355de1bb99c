// SPDX-License-Identifier: MIT OR Apache-2.0
//! PIE: proportional integral controller enhanced (RFC 8033).

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::codel::TimedFifo;
use crate::disciplines::update_clock::UpdateClock;
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
}
