// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mechanisms common to RED and RIO: the average queue, the drop probability over it, and the spacing of drops.
//!
//! After Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), as ns-2.35 computes it.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::random::uniform;
use crate::time::Time;
use crate::units::{Bytes, LossFraction, QueueBound, Rate, Threshold};

/// Unit of queue lengths and thresholds.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountIn {
    /// Packets of any size.
    #[default]
    Packets,
    /// Bytes; a packet's drop probability grows with its size (ns-2's `bytes_` and `queue_in_bytes_`).
    Bytes,
}

impl CountIn {
    /// Converts `threshold` to this unit.
    pub(crate) fn threshold(
        self,
        threshold: Threshold,
        rate: Rate,
        limit: QueueBound,
        packet_size: Bytes,
    ) -> f64 {
        match self {
            CountIn::Packets => threshold.in_packets(rate, limit, packet_size),
            CountIn::Bytes => threshold.in_bytes(rate, limit, packet_size),
        }
    }

    /// Returns `packets` or `bytes`, whichever this unit counts.
    pub(crate) fn of(self, packets: usize, bytes: u64) -> u64 {
        match self {
            CountIn::Packets => packets as u64,
            CountIn::Bytes => bytes,
        }
    }
}

/// Exponentially weighted moving average of a queue's length, sampled at each arrival.
#[derive(Debug, Clone)]
pub(crate) struct Average {
    value: f64,
    /// w_q, the weight of a new sample.
    weight: f64,
}

impl Average {
    pub(crate) fn new(weight: f64) -> Average {
        Average { value: 0.0, weight }
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// Updates the average for an arrival that finds `length` waiting, after an idle time in which the link could have
    /// sent `missed` packets.
    pub(crate) fn update(&mut self, length: u64, missed: u64) {
        self.value *= power(1.0 - self.weight, missed);
        self.value = self.value * (1.0 - self.weight) + self.weight * length as f64;
    }
}

/// Computes `base^exponent` by squaring: the result has the same bits on every machine, which `powi` does not
/// guarantee.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// Idle time of the link, counted in packets that it could have sent.
#[derive(Debug, Clone)]
pub(crate) struct IdleTime {
    since: Option<Time>,
    /// Time of the last arrival; no idle time begins before it.
    last_arrival: Time,
    packets_per_second: f64,
}

impl IdleTime {
    pub(crate) fn new(packets_per_second: f64) -> IdleTime {
        IdleTime {
            since: Some(Time::ZERO),
            last_arrival: Time::ZERO,
            packets_per_second,
        }
    }

    /// Starts the idle time: the link has nothing to send.
    pub(crate) fn begin(&mut self, now: Time) {
        if self.since.is_none() {
            self.since = Some(now.max(self.last_arrival));
        }
    }

    /// Ends the idle time at an arrival and returns the whole packets of mean size that the link could have sent in it.
    pub(crate) fn end(&mut self, now: Time) -> u64 {
        self.last_arrival = now;
        match self.since.take() {
            Some(since) => (self.packets_per_second * (now - since).as_secs_f64()) as u64,
            None => 0,
        }
    }
}

/// Drop probability as a function of the average queue.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    /// min_th and max_th, in the unit counted.
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// max_p, reached at max_th.
    pub(crate) max_probability: f64,
    /// True if the probability rises linearly from max_p at max_th to 1 at twice max_th, instead of being 1 from max_th
    /// on.
    pub(crate) gentle: bool,
}

impl Curve {
    /// Rejects a min_th above max_th.
    fn check(&self) -> Result<(), DisciplineError> {
        let (min, max) = (self.min, self.max);
        match min <= max {
            true => Ok(()),
            false => Err(DisciplineError::Thresholds { min, max }),
        }
    }

    /// p_b, the probability before the spacing of drops.
    pub(crate) fn probability(&self, average: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            self.max_probability * (average - self.min) / (self.max - self.min)
        } else if self.gentle && average < 2.0 * self.max {
            let beyond = (average - self.max) / self.max;
            self.max_probability + (1.0 - self.max_probability) * beyond
        } else {
            1.0
        }
    }
}

/// Spacing of drops.
#[derive(Debug, Clone)]
pub(crate) struct Spacing {
    /// True if the packets between two drops are uniform over [1/p, 2/p] rather than over [1, 1/p].
    pub(crate) wait: bool,
    /// Mean packet size in which `count` is measured if the queue counts bytes.
    pub(crate) packet_size: Option<Bytes>,
}

impl Spacing {
    /// p_a: p_b adjusted by the packets since the last drop so that drops are uniform, and scaled by the packet's size
    /// if the queue counts bytes.
    pub(crate) fn probability(&self, base: f64, count: u64, count_bytes: u64, length: u64) -> f64 {
        let since_last = match self.packet_size {
            None => count,
            Some(mean) => count_bytes / mean.get(),
        } as f64
            * base;
        let mut probability = if self.wait {
            if since_last < 1.0 {
                0.0
            } else if since_last < 2.0 {
                base / (2.0 - since_last)
            } else {
                1.0
            }
        } else if since_last < 1.0 {
            base / (1.0 - since_last)
        } else {
            1.0
        };
        if let (Some(mean), true) = (self.packet_size, probability < 1.0) {
            probability *= length as f64 / mean.get() as f64;
        }
        probability.min(1.0)
    }
}

/// Decision on an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Enqueue the packet.
    Pass,
    /// Drop or mark the packet: it was drawn at random below the upper threshold (or in the gentle range above it).
    Early,
    /// Drop the packet: the average is too large for any packet to pass.
    Forced,
}

/// A curve with the state of its drops: RED has one, RIO one for IN and one for OUT.
#[derive(Debug, Clone)]
pub(crate) struct EarlyDetection {
    pub(crate) curve: Curve,
    pub(crate) spacing: Spacing,
    /// Arrivals since the last drop.
    count: u64,
    count_bytes: u64,
    /// True if the previous arrival found the average above min_th and more than one packet (or byte) waiting.
    above: bool,
}

/// Settings of the curve of RED or of one half of RIO, with thresholds in the units of configurations.
pub(crate) struct Settings {
    pub(crate) min_threshold: Threshold,
    pub(crate) max_threshold: Threshold,
    pub(crate) max_probability: LossFraction,
    pub(crate) gentle: bool,
    pub(crate) wait: bool,
    pub(crate) count_in: CountIn,
}

impl EarlyDetection {
    /// Creates the state that `settings` describe, for a queue of `limit`.
    pub(crate) fn configured(
        settings: &Settings,
        context: &DisciplineContext,
        limit: QueueBound,
    ) -> Result<EarlyDetection, DisciplineError> {
        let rate = context.rate()?;
        let count_in = settings.count_in;
        let packet_size = context.packet_size;
        let threshold = |threshold| count_in.threshold(threshold, rate, limit, packet_size);
        let curve = Curve {
            min: threshold(settings.min_threshold),
            max: threshold(settings.max_threshold),
            max_probability: settings.max_probability.as_f64(),
            gentle: settings.gentle,
        };
        curve.check()?;
        let spacing = Spacing {
            wait: settings.wait,
            packet_size: (count_in == CountIn::Bytes).then_some(packet_size),
        };
        Ok(EarlyDetection::new(curve, spacing))
    }

    /// Rejects thresholds that no queue of `limit` reaches; `kind` is the table that has them, empty for the whole queue.
    pub(crate) fn check_within(
        &self,
        context: &DisciplineContext,
        limit: QueueBound,
        count_in: CountIn,
        kind: &'static str,
    ) -> Result<(), DisciplineError> {
        let (rate, packet_size) = (context.rate()?, context.packet_size);
        let in_unit = |threshold| count_in.threshold(threshold, rate, limit, packet_size);
        let limit = in_unit(Threshold::OfLimit(1.0));
        // Allow one packet: a limit given as a time has been rounded.
        let most = limit + in_unit(Threshold::Packets(1.0));
        let thresholds = [
            ("min_threshold", self.curve.min),
            ("max_threshold", self.curve.max),
        ];
        match thresholds.into_iter().find(|&(_, value)| value >= most) {
            Some((field, value)) => Err(DisciplineError::BeyondLimit {
                kind,
                field,
                value,
                limit,
            }),
            None => Ok(()),
        }
    }

    fn new(curve: Curve, spacing: Spacing) -> EarlyDetection {
        EarlyDetection {
            curve,
            spacing,
            count: 0,
            count_bytes: 0,
            above: false,
        }
    }

    /// Judges a packet of `length` bytes that finds `waiting` (in the unit counted) at this average.
    ///
    /// As in ns-2, no packet is dropped early while at most one packet (or byte) waits, and the first arrival after the
    /// average has crossed min_th only starts the count.
    pub(crate) fn judge(
        &mut self,
        average: f64,
        waiting: u64,
        length: u64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Verdict {
        self.count += 1;
        self.count_bytes += length;
        if average < self.curve.min || waiting <= 1 {
            self.above = false;
            return Verdict::Pass;
        }
        let base = self.curve.probability(average);
        if base >= 1.0 {
            self.dropped();
            return Verdict::Forced;
        }
        if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = length;
            return Verdict::Pass;
        }
        let probability = self
            .spacing
            .probability(base, self.count, self.count_bytes, length);
        if uniform(random) < probability {
            self.dropped();
            return Verdict::Early;
        }
        Verdict::Pass
    }

    /// Restarts the count after any drop or mark.
    pub(crate) fn dropped(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} {right}");
    }

    #[test]
    fn the_probability_rises_between_the_thresholds() {
        let curve = |gentle| Curve {
            min: 5.0,
            max: 15.0,
            max_probability: 0.1,
            gentle,
        };
        for (average, sharp, gentle) in [
            (4.9, 0.0, 0.0),
            (5.0, 0.0, 0.0),
            (10.0, 0.05, 0.05),
            (15.0, 1.0, 0.1),
            (22.5, 1.0, 0.55),
            (30.0, 1.0, 1.0),
        ] {
            close(curve(false).probability(average), sharp);
            close(curve(true).probability(average), gentle);
        }
    }

    #[test]
    fn drops_are_uniform_over_the_packets_since_the_last() {
        let spacing = |wait| Spacing {
            wait,
            packet_size: None,
        };
        // With p = 1/20, each of 19 positions (from 1) or of 20 (from 20) is equally likely.
        for (wait, first, places) in [(false, 1, 19), (true, 20, 20)] {
            let mut left = 1.0;
            for count in first..first + places {
                let probability = spacing(wait).probability(0.05, count, 0, 0);
                close(left * probability, 1.0 / places as f64);
                left *= 1.0 - probability;
            }
            close(left, 0.0);
        }
        close(spacing(true).probability(0.05, 19, 0, 0), 0.0);
        close(spacing(true).probability(0.05, 30, 0, 0), 0.1);
        close(spacing(false).probability(0.05, 10, 0, 0), 0.1);
    }

    #[test]
    fn in_bytes_large_packets_are_likelier() {
        let spacing = Spacing {
            wait: false,
            packet_size: Some(Bytes::new(1000)),
        };
        // 10,999 bytes since the last drop are 10 whole packets: 0.05 / (1 - 0.5), times length over mean.
        close(spacing.probability(0.05, 99, 10_999, 1000), 0.1);
        close(spacing.probability(0.05, 99, 10_999, 500), 0.05);
        close(spacing.probability(0.05, 99, 10_999, 1500), 0.15);
    }

    #[test]
    fn powers_are_those_of_repeated_multiplication() {
        let (mut product, base) = (1.0, 0.998);
        for exponent in 0..1000 {
            close(power(base, exponent), product);
            product *= base;
        }
        assert_eq!(power(0.5, u64::MAX), 0.0);
    }
}
