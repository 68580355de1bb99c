// SPDX-License-Identifier: MIT OR Apache-2.0
//! RIO: RED with IN and OUT.
//!
//! Clark and Fang, "Explicit Allocation of Best-Effort Packet Delivery Service" (1998): the average of the IN packets
//! waiting determines drops of packets within their profile (IN), the average of all packets waiting those of packets
//! beyond it (OUT). So OUT yields first. ns-2.35's RIO leaves the average unchanged when an OUT packet arrives, which
//! its own source calls a fault; here every arrival counts, as in the paper.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::drop_tail::DropTail;
use crate::disciplines::early_detection::{
    Average, CountIn, EarlyDetection, IdleTime, Settings, Verdict,
};
use crate::disciplines::red::{EcnMode, yes};
use crate::queue_discipline::{Colour, DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{LossFraction, QueueLimit, Threshold};

/// Average that determines drops of OUT packets.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RioCoupling {
    /// RIO-C: the average of all packets waiting.
    #[default]
    Coupled,
    /// RIO-D: the average of the OUT packets waiting, independent of IN.
    Decoupled,
}

/// The thresholds of one kind of packets.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RioThresholds {
    /// Average below which no packet is dropped.
    pub min_threshold: Threshold,
    /// Average at which the drop probability reaches `max_probability`; from there on it is 1 unless `gentle` is set.
    pub max_threshold: Threshold,
    /// The drop probability at the maximum threshold.
    pub max_probability: LossFraction,
}

/// Configuration of a RIO queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RioConfig {
    /// Bound beyond which arrivals are dropped regardless of the averages.
    pub limit: QueueLimit,
    /// Thresholds for packets within their profile, on the average of those waiting.
    #[serde(rename = "in")]
    pub in_profile: RioThresholds,
    /// Thresholds for packets beyond their profile, on the average that `coupling` selects.
    #[serde(rename = "out")]
    pub out_of_profile: RioThresholds,
    /// Thresholds for red packets, on the average for OUT packets; without them red packets are as other OUT packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RioThresholds>,
    /// Average that determines drops of OUT packets: all packets (RIO-C) or OUT packets alone (RIO-D).
    #[serde(default)]
    pub coupling: RioCoupling,
    /// w_q of all averages; see [`RedConfig::weight`](crate::RedConfig::weight).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// True if the probability rises linearly above the maximum threshold to 1 at twice that, rather than at once. The
    /// papers' RIO has five phases without it.
    #[serde(default)]
    pub gentle: bool,
    /// Spacing of drops; see [`RedConfig::wait`](crate::RedConfig::wait).
    #[serde(default = "yes")]
    pub wait: bool,
    /// Unit of averages and thresholds.
    #[serde(default)]
    pub count_in: CountIn,
    /// Marking instead of dropping, on the average that determines drops of the packet's kind.
    #[serde(default)]
    pub ecn: EcnMode,
}

impl RioConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        self.ecn != EcnMode::Off
    }
}

/// The state of one kind of packets.
#[derive(Debug, Clone)]
struct Kind {
    average: Average,
    idle: IdleTime,
    detection: EarlyDetection,
}

/// A RIO queue.
#[derive(Debug, Clone)]
pub struct Rio<P> {
    queue: DropTail<P>,
    in_profile: Kind,
    out_of_profile: Kind,
    /// Drops of red packets, if they differ from those of other OUT packets.
    red: Option<EarlyDetection>,
    /// Waiting packets within their profile.
    in_packets: usize,
    in_bytes: u64,
    coupling: RioCoupling,
    count_in: CountIn,
    ecn: EcnMode,
    random: Xoshiro256PlusPlus,
    marks: u64,
}

impl<P: Packet> Rio<P> {
    /// Creates an empty queue; `seed` determines its random draws.
    pub fn from_config(
        config: &RioConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<Rio<P>, DisciplineError> {
        let limit = context.bound(config.limit)?;
        let weight = context.weight(config.weight)?;
        if config.ecn == EcnMode::MarkLowClass {
            return Err(DisciplineError::LowClassInRio);
        }
        let detection = |thresholds: &RioThresholds, kind| {
            let settings = Settings {
                min_threshold: thresholds.min_threshold,
                max_threshold: thresholds.max_threshold,
                max_probability: thresholds.max_probability,
                gentle: config.gentle,
                wait: config.wait,
                count_in: config.count_in,
            };
            let detection = EarlyDetection::configured(&settings, context, limit)?;
            detection.check_within(context, limit, config.count_in, kind)?;
            Ok(detection)
        };
        let kind = |thresholds: &RioThresholds, name| {
            Ok(Kind {
                average: Average::new(weight),
                idle: IdleTime::new(context.packets_per_second()?),
                detection: detection(thresholds, name)?,
            })
        };
        let red = config.red.as_ref().map(|red| detection(red, "red"));
        Ok(Rio {
            queue: DropTail::new(limit),
            in_profile: kind(&config.in_profile, "in")?,
            out_of_profile: kind(&config.out_of_profile, "out")?,
            red: red.transpose()?,
            in_packets: 0,
            in_bytes: 0,
            coupling: config.coupling,
            count_in: config.count_in,
            ecn: config.ecn,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            marks: 0,
        })
    }

    /// The average of the IN packets waiting, as of the last IN arrival, in the unit counted.
    pub fn average_in(&self) -> f64 {
        self.in_profile.average.value()
    }

    /// The average that determines drops of OUT packets: of all packets (RIO-C) or of OUT packets (RIO-D).
    pub fn average_out(&self) -> f64 {
        self.out_of_profile.average.value()
    }

    /// Updates the averages with an arrival and decides whether to admit it, possibly marked.
    fn admit(&mut self, now: Time, packet: &mut P) -> Result<(), DropCause> {
        let length = packet.length() as u64;
        let total = self.count_in.of(self.packets(), self.bytes());
        let waiting_in = self.count_in.of(self.in_packets, self.in_bytes);
        let waiting_out = match self.coupling {
            RioCoupling::Coupled => total,
            RioCoupling::Decoupled => total - waiting_in,
        };
        let is_in = packet.in_profile();
        if is_in {
            let missed = self.in_profile.idle.end(now);
            self.in_profile.average.update(waiting_in, missed);
        }
        if !is_in || self.coupling == RioCoupling::Coupled {
            let missed = self.out_of_profile.idle.end(now);
            self.out_of_profile.average.update(waiting_out, missed);
        }
        let (kind, waiting) = match is_in {
            true => (&mut self.in_profile, waiting_in),
            false => (&mut self.out_of_profile, waiting_out),
        };
        let average = kind.average.value();
        let detection = match &mut self.red {
            Some(red) if packet.colour() == Colour::Red => red,
            _ => &mut kind.detection,
        };
        let verdict = detection.judge(average, waiting, length, &mut self.random);
        if !self.queue.fits(length) {
            detection.dropped();
            return Err(DropCause::QueueFull);
        }
        let may_mark = match self.ecn {
            EcnMode::Mark => average < detection.curve.max,
            EcnMode::MarkAlways => true,
            EcnMode::Off | EcnMode::MarkLowClass => false,
        };
        match verdict {
            Verdict::Pass => {}
            _ if may_mark && packet.ecn_capable() => {
                packet.mark_congestion_experienced();
                self.marks += 1;
            }
            Verdict::Early => return Err(DropCause::EarlyDrop),
            Verdict::Forced => return Err(DropCause::ForcedDrop),
        }
        Ok(())
    }
}

impl<P: Packet> QueueDiscipline<P> for Rio<P> {
    fn enqueue(&mut self, now: Time, mut packet: P) -> Result<(), Dropped<P>> {
        if let Err(cause) = self.admit(now, &mut packet) {
            return Err(Dropped { packet, cause });
        }
        if packet.in_profile() {
            self.in_packets += 1;
            self.in_bytes += packet.length() as u64;
        }
        self.queue.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        let packet = self.queue.dequeue(now);
        match &packet {
            Some(packet) if packet.in_profile() => {
                self.in_packets -= 1;
                self.in_bytes -= packet.length() as u64;
            }
            Some(_) => {}
            None => {
                self.in_profile.idle.begin(now);
                self.out_of_profile.idle.begin(now);
            }
        }
        packet
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn packets(&self) -> usize {
        QueueDiscipline::packets(&self.queue)
    }

    fn bytes(&self) -> u64 {
        QueueDiscipline::bytes(&self.queue)
    }
}
