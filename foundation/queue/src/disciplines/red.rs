// SPDX-License-Identifier: MIT OR Apache-2.0
//! RED: random early detection.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), as ns-2.35 computes it.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Deserializer, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::drop_tail::DropTail;
use crate::disciplines::early_detection::{
    Average, CountIn, Curve, EarlyDetection, IdleTime, Settings, Verdict,
};
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{Bytes, LossFraction, QueueBound, QueueLimit, Threshold, positive_bytes};

/// Treatment of ECN-capable packets (RFC 3168) in place of an early drop.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnMode {
    /// ECN-capable packets are dropped like all others.
    #[default]
    Off,
    /// ECN-capable packets are marked while the average is below the maximum threshold, and dropped from there on.
    /// (ns-2's `setbit_` with its `mark_p_` equal to the maximum probability, as its defaults are.)
    Mark,
    /// ECN-capable packets are marked wherever they would be dropped early, also above the maximum threshold. (ns-2's
    /// `setbit_` without `use_mark_p_` does so in RED's gentle part.)
    MarkAlways,
    /// No packet is dropped early. ECN-capable packets of class 1 and above are marked where RED would drop them, and
    /// above the maximum threshold all of them; all other packets only meet the limit: the router of TCP-LP/ECN
    /// (Kuzmanovic and Knightly 2003, section IV-A).
    MarkLowClass,
}

/// Configuration of a RED queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Bound beyond which arrivals are dropped regardless of the average.
    pub limit: QueueLimit,
    /// min_th: no packet is dropped while the average is below it.
    pub min_threshold: Threshold,
    /// max_th: the drop probability reaches `max_probability` there, and is 1 from there on unless `gentle` is set.
    pub max_threshold: Threshold,
    /// max_p, the drop probability at max_th.
    #[serde(default = "default_max_probability")]
    pub max_probability: LossFraction,
    /// w_q, the weight of one arrival in the average, above 0 and at most 1. The default is `1 - exp(-1 / (10 T C))` as
    /// in ns-2.35, where C is the link's rate in mean packets per second and T is three times its delay, at least 100
    /// ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// True if the probability rises linearly above max_th to 1 at twice max_th, rather than at once.
    #[serde(default = "yes")]
    pub gentle: bool,
    /// True if at least 1/p packets pass between two drops, as in ns-2.35; otherwise drops are spaced as in the paper
    /// of 1993.
    #[serde(default = "yes")]
    pub wait: bool,
    /// Unit of the average and the thresholds.
    #[serde(default)]
    pub count_in: CountIn,
    /// Marking of ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: EcnMode,
    /// True if max_p follows the average: Adaptive RED (Floyd, Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing
    /// the Robustness of RED's Active Queue Management", 2001). `max_probability` is where it begins.
    #[serde(default)]
    pub adaptive: bool,
    /// Packet length that RED reckons with, headers included: idle times, thresholds in packets where bytes are counted and
    /// thresholds in time or bytes where packets are. The default is the link's.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_bytes"
    )]
    pub mean_packet: Option<Bytes>,
}

fn given_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    positive_bytes(deserializer).map(Some)
}

pub(crate) fn yes() -> bool {
    true
}

fn default_max_probability() -> LossFraction {
    LossFraction::from_billionths(100_000_000).expect("10% is within range")
}

impl RedConfig {
    /// Creates a configuration with these thresholds and ns-2.35's defaults for the rest: max_p of 10 %, gentle, with
    /// wait, automatic weight; counted in packets.
    pub fn new(limit: QueueLimit, min_threshold: Threshold, max_threshold: Threshold) -> RedConfig {
        RedConfig {
            limit,
            min_threshold,
            max_threshold,
            max_probability: default_max_probability(),
            weight: None,
            gentle: true,
            wait: true,
            count_in: CountIn::Packets,
            ecn: EcnMode::Off,
            adaptive: false,
            mean_packet: None,
        }
    }

    /// Returns true if an average exists at which packets are marked: with [`EcnMode::Mark`] none does where both thresholds are
    /// the same.
    pub fn marks(&self) -> bool {
        match self.ecn {
            EcnMode::Off => false,
            EcnMode::Mark => self.min_threshold != self.max_threshold,
            EcnMode::MarkAlways | EcnMode::MarkLowClass => true,
        }
    }

    /// Creates the router of TCP-LP/ECN (Kuzmanovic and Knightly 2003, section IV-A): both thresholds at `delta` (0 to
    /// 1) of the limit, low-priority packets marked above them, no packet dropped before the queue overflows.
    pub fn for_tcplp_ecn(limit: QueueLimit, delta: f64) -> RedConfig {
        let threshold = Threshold::OfLimit(delta);
        RedConfig {
            gentle: false,
            ecn: EcnMode::MarkLowClass,
            ..RedConfig::new(limit, threshold, threshold)
        }
    }
}

/// Control of max_p by Adaptive RED (figure 2 of the paper), with the values that it recommends.
#[derive(Debug, Clone)]
struct Adaptation {
    next: Time,
    /// The range in which the average is to lie, in the unit counted.
    low: f64,
    high: f64,
}

impl Adaptation {
    /// Time from one adaptation to the next.
    const INTERVAL: Duration = Duration::from_millis(500);
    /// max_p is increased up to this probability, and decreased down to that.
    const MOST: f64 = 0.5;
    const LEAST: f64 = 0.01;
    /// beta.
    const DECREASE: f64 = 0.9;

    fn new(curve: &Curve) -> Adaptation {
        let range = curve.max - curve.min;
        Adaptation {
            next: Time::ZERO + Adaptation::INTERVAL,
            low: curve.min + 0.4 * range,
            high: curve.min + 0.6 * range,
        }
    }

    /// Adapts max_p to the average at an arrival, if the last time is an interval ago.
    fn adapt(&mut self, now: Time, average: f64, max_probability: &mut f64) {
        if now < self.next {
            return;
        }
        self.next = now + Adaptation::INTERVAL;
        if average > self.high && *max_probability <= Adaptation::MOST {
            // alpha.
            *max_probability += (*max_probability / 4.0).min(0.01);
        } else if average < self.low && *max_probability >= Adaptation::LEAST {
            *max_probability *= Adaptation::DECREASE;
        }
    }
}

/// RED's decisions about arrivals, apart from the queue that holds the packets. RED decides only as packets arrive, so that a link
/// that computes departures on arrival can ask it as well.
#[derive(Debug, Clone)]
pub struct RedAdmission {
    average: Average,
    idle: IdleTime,
    detection: EarlyDetection,
    adaptation: Option<Adaptation>,
    count_in: CountIn,
    ecn: EcnMode,
    random: Xoshiro256PlusPlus,
    marks: u64,
}

impl RedAdmission {
    /// Updates the average with an arrival that finds so many packets and bytes `waiting`, and decides whether to admit it,
    /// possibly marked. `fits`: the queue has room for it.
    pub fn admit(
        &mut self,
        now: Time,
        packet: &mut impl Packet,
        (packets, bytes): (usize, u64),
        fits: bool,
    ) -> Result<(), DropCause> {
        let waiting = self.count_in.of(packets, bytes);
        let missed = self.idle.end(now);
        self.average.update(waiting, missed);
        let average = self.average.value();
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.adapt(now, average, &mut self.detection.curve.max_probability);
        }
        let length = packet.length() as u64;
        let verdict = self
            .detection
            .judge(average, waiting, length, &mut self.random);
        // A full queue drops the packet without marking it first.
        if !fits {
            self.detection.dropped();
            return Err(DropCause::QueueFull);
        }
        if verdict == Verdict::Pass {
            return Ok(());
        }
        self.mark(packet, verdict).map_or(Ok(()), Err)
    }

    /// Marks `packet` where ECN permits and returns `None`; otherwise returns the cause of the drop, if any.
    fn mark(&mut self, packet: &mut impl Packet, verdict: Verdict) -> Option<DropCause> {
        let below_max = self.average.value() < self.detection.curve.max;
        let low_class = self.ecn == EcnMode::MarkLowClass;
        let may_mark = match self.ecn {
            EcnMode::Off => false,
            EcnMode::Mark => below_max,
            EcnMode::MarkAlways => true,
            EcnMode::MarkLowClass => packet.class() > 0,
        };
        if may_mark && packet.ecn_capable() {
            packet.mark_congestion_experienced();
            self.marks += 1;
            return None;
        }
        match verdict {
            _ if low_class => None,
            Verdict::Pass => None,
            Verdict::Early => Some(DropCause::EarlyDrop),
            Verdict::Forced => Some(DropCause::ForcedDrop),
        }
    }

    /// The link has nothing to send at `now`. Only the first call after an arrival has an effect.
    pub fn begin_idle(&mut self, now: Time) {
        self.idle.begin(now);
    }

    /// Packets marked so far.
    pub fn marks(&self) -> u64 {
        self.marks
    }
}

/// A RED queue.
#[derive(Debug, Clone)]
pub struct Red<P> {
    queue: DropTail<P>,
    admission: RedAdmission,
}

impl<P: Packet> Red<P> {
    /// Creates an empty queue; `seed` determines its random draws.
    pub fn from_config(
        config: &RedConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<Red<P>, DisciplineError> {
        let context = &DisciplineContext {
            packet_size: config.mean_packet.unwrap_or(context.packet_size),
            ..*context
        };
        let limit = context.bound(config.limit)?;
        let settings = Settings {
            min_threshold: config.min_threshold,
            max_threshold: config.max_threshold,
            max_probability: config.max_probability,
            gentle: config.gentle,
            wait: config.wait,
            count_in: config.count_in,
        };
        let detection = EarlyDetection::configured(&settings, context, limit)?;
        detection.check_within(context, limit, config.count_in, "")?;
        Ok(Red {
            queue: DropTail::new(limit),
            admission: RedAdmission {
                average: Average::new(context.weight(config.weight)?),
                idle: IdleTime::new(context.packets_per_second()?),
                adaptation: config.adaptive.then(|| Adaptation::new(&detection.curve)),
                detection,
                count_in: config.count_in,
                ecn: config.ecn,
                random: Xoshiro256PlusPlus::seed_from_u64(seed),
                marks: 0,
            },
        })
    }

    /// The average queue as of the last arrival, in the unit counted.
    pub fn average(&self) -> f64 {
        self.admission.average.value()
    }

    /// max_p, the drop probability at max_th.
    pub fn max_probability(&self) -> f64 {
        self.admission.detection.curve.max_probability
    }

    /// The bound of the queue, beyond which arrivals are dropped regardless of the average.
    pub fn bound(&self) -> QueueBound {
        self.queue.bound()
    }

    /// Returns its state for decisions about arrivals, without the queue, which has to be empty.
    pub fn into_admission(self) -> RedAdmission {
        self.admission
    }
}

impl<P: Packet> QueueDiscipline<P> for Red<P> {
    fn enqueue(&mut self, now: Time, mut packet: P) -> Result<(), Dropped<P>> {
        let waiting = (self.packets(), self.bytes());
        let fits = self.queue.fits(packet.length() as u64);
        match self.admission.admit(now, &mut packet, waiting, fits) {
            Ok(()) => self.queue.enqueue(now, packet),
            Err(cause) => Err(Dropped { packet, cause }),
        }
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        let packet = self.queue.dequeue(now);
        if packet.is_none() {
            self.admission.begin_idle(now);
        }
        packet
    }

    fn marks(&self) -> u64 {
        self.admission.marks()
    }

    fn packets(&self) -> usize {
        QueueDiscipline::packets(&self.queue)
    }

    fn bytes(&self) -> u64 {
        QueueDiscipline::bytes(&self.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(config: RedConfig) -> Red<Vec<u8>> {
        let context = DisciplineContext {
            rate: Some("8mbit".parse().unwrap()),
            delay: Duration::from_millis(10),
            base_rtt: Duration::from_millis(20),
            packet_size: Bytes::new(1000),
        };
        Red::from_config(&config, &context, 1).unwrap()
    }

    #[test]
    fn the_mean_packet_counts_where_units_differ() {
        let kilobytes = |count: u64| Threshold::Bytes(Bytes::new(1000 * count));
        let config = RedConfig::new(QueueLimit::Packets(100), kilobytes(5), kilobytes(10));
        let of = |mean_packet: Option<u64>| {
            let red = red(RedConfig {
                mean_packet: mean_packet.map(Bytes::new),
                ..config.clone()
            });
            (
                red.admission.detection.curve.min,
                red.admission.detection.curve.max,
            )
        };
        assert_eq!(of(None), (5.0, 10.0));
        assert_eq!(of(Some(500)), (10.0, 20.0));
    }

    #[test]
    fn a_long_queue_raises_max_p_and_an_idle_one_lowers_it() {
        let (min, max) = (Threshold::Packets(5.0), Threshold::Packets(15.0));
        let mut red = red(RedConfig {
            adaptive: true,
            weight: Some(1.0),
            ..RedConfig::new(QueueLimit::Packets(100), min, max)
        });
        let mut arrive = |milliseconds| {
            let _ = red.enqueue(Time::from_millis(milliseconds), vec![0; 1000]);
            red.max_probability()
        };
        // A queue that nobody serves: the average passes 11 packets before the adaptation at 600 ms.
        for milliseconds in 0..30 {
            arrive(milliseconds);
        }
        assert!((arrive(600) - 0.11).abs() < 1e-12);
        while red.dequeue(Time::from_millis(700)).is_some() {}
        let _ = red.enqueue(Time::from_millis(1100), vec![0; 1000]);
        assert!((red.max_probability() - 0.099).abs() < 1e-12);
    }

    #[test]
    fn max_p_follows_the_average_by_hand() {
        let curve = Curve {
            min: 10.0,
            max: 30.0,
            max_probability: 0.02,
            gentle: true,
        };
        // The target is 18 to 22.
        let mut adaptation = Adaptation::new(&curve);
        let mut max_p = curve.max_probability;
        let mut adapted = |milliseconds, average| {
            adaptation.adapt(Time::from_millis(milliseconds), average, &mut max_p);
            max_p
        };
        assert_eq!(adapted(499, 25.0), 0.02);
        // A quarter of it, and 0.01 from 0.04 on.
        assert_eq!(adapted(500, 25.0), 0.025);
        assert_eq!(adapted(900, 25.0), 0.025);
        assert_eq!(adapted(1000, 22.1), 0.03125);
        // Within the target nothing changes, and below it falls to nine tenths.
        assert_eq!(adapted(1500, 20.0), 0.03125);
        assert_eq!(adapted(2000, 17.9), 0.03125 * 0.9);
        // Less often than that after a pause.
        assert_eq!(adapted(9000, 17.9), 0.03125 * 0.9 * 0.9);
        assert_eq!(adapted(9100, 17.9), 0.03125 * 0.9 * 0.9);
        let mut at = |mut max_p: f64, average| {
            adaptation.next = Time::ZERO;
            adaptation.adapt(Time::ZERO, average, &mut max_p);
            max_p
        };
        assert_eq!(at(0.25, 25.0), 0.25 + 0.01);
        assert_eq!((at(0.51, 25.0), at(0.0099, 5.0)), (0.51, 0.0099));
    }
}
