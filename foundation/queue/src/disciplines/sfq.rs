// SPDX-License-Identifier: MIT OR Apache-2.0
//! SFQ: stochastic fairness queueing.
//!
//! McKenney, "Stochastic Fairness Queueing" (1990): flows are hashed into buckets, which send one packet each in turn,
//! as in ns-2.35.

use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::fair_queue::{FairQueue, Turn};
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{QueueLimit, optional_delay};

/// Rule that selects the packet to drop.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SfqDrop {
    /// The last packet of the longest bucket, once the queue is full (McKenney).
    #[default]
    Longest,
    /// The arriving packet, as in ns-2.35: if its bucket holds at least half of the remaining room or, with room for
    /// fewer packets than there are buckets, more than its share of the limit.
    FairShare,
}

/// Configuration of an SFQ queue. ns-2.35's defaults are a limit of 40 packets, 16 buckets and fair shares.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SfqConfig {
    /// Packets over all buckets; bytes, a time or bandwidth-delay products are converted to packets of mean length.
    pub limit: QueueLimit,
    /// Number of buckets that flows are hashed into.
    #[serde(default = "default_buckets")]
    pub buckets: u32,
    /// Interval at which the hash changes, so that no two flows share a bucket for ever. Waiting packets move to their
    /// new buckets. Without it the hash never changes.
    #[serde(
        default,
        with = "optional_delay",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "Option<crate::units::DelayText>")
    )]
    pub perturbation: Option<Duration>,
    /// Rule that selects the packet to drop.
    #[serde(default)]
    pub drop: SfqDrop,
}

impl SfqConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        false
    }
}

/// As in Linux; every bucket takes memory, used or not.
const MOST_BUCKETS: u32 = 65_536;

fn default_buckets() -> u32 {
    16
}

impl SfqConfig {
    /// Creates a configuration with 16 buckets and no perturbation that drops from the longest bucket.
    pub fn new(limit: QueueLimit) -> SfqConfig {
        SfqConfig {
            limit,
            buckets: default_buckets(),
            perturbation: None,
            drop: SfqDrop::Longest,
        }
    }
}

/// An SFQ queue.
#[derive(Debug, Clone)]
pub struct Sfq<P> {
    queue: FairQueue<P>,
    limit: usize,
    buckets: u32,
    perturbation: Option<Duration>,
    drop: SfqDrop,
    /// Key of the hash until `perturb_at`.
    key: u64,
    perturb_at: Option<Time>,
    random: SplitMix64,
}

impl<P: Packet> Sfq<P> {
    /// Creates an empty queue; `seed` determines its hashes.
    pub fn from_config(
        config: &SfqConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<Sfq<P>, DisciplineError> {
        let field = match (config.buckets, config.perturbation) {
            (0, _) => Some("buckets"),
            (_, Some(Duration::ZERO)) => Some("perturbation"),
            _ => None,
        };
        if let Some(field) = field {
            return Err(DisciplineError::Zero { field });
        }
        if config.buckets > MOST_BUCKETS {
            return Err(DisciplineError::TooMany {
                field: "buckets",
                most: MOST_BUCKETS,
            });
        }
        let mut random = SplitMix64::seed_from_u64(seed);
        Ok(Sfq {
            queue: FairQueue::new(config.buckets as usize, Turn::Packet),
            limit: context.bound_in_packets(config.limit)?,
            buckets: config.buckets,
            perturbation: config.perturbation,
            drop: config.drop,
            key: random.next_u64(),
            perturb_at: config.perturbation.map(|interval| Time::ZERO + interval),
            random,
        })
    }

    fn bucket(&self, flow: u64) -> u32 {
        // SplitMix64's mixing serves as a 64-bit hash that is the same on every machine.
        let hash = SplitMix64::seed_from_u64(flow ^ self.key).next_u64();
        ((u128::from(hash) * u128::from(self.buckets)) >> 64) as u32
    }

    /// Changes the hash when the interval has passed, and moves the waiting packets to their new buckets.
    fn perturb(&mut self, now: Time) {
        let (Some(at), Some(interval)) = (self.perturb_at, self.perturbation) else {
            return;
        };
        if now < at {
            return;
        }
        let intervals = (now - at).as_nanos() / interval.as_nanos() + 1;
        let passed = u64::try_from(intervals * interval.as_nanos()).unwrap_or(u64::MAX);
        self.perturb_at = Some(at + Duration::from_nanos(passed));
        self.key = self.random.next_u64();
        for packet in self.queue.drain() {
            let bucket = self.bucket(packet.flow());
            self.queue.push(bucket, packet);
        }
    }

    /// Returns whether ns-2.35's rule drops an arrival in `bucket`.
    fn exceeds_fair_share(&self, bucket: u32) -> bool {
        let used = self.queue.packets_in(bucket);
        let left = self.limit.saturating_sub(self.queue.packets());
        let buckets = self.buckets as usize;
        used >= left / 2 || (left < buckets && used > self.limit / buckets)
    }
}

impl<P: Packet> QueueDiscipline<P> for Sfq<P> {
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.perturb(now);
        let bucket = self.bucket(packet.flow());
        if self.drop == SfqDrop::FairShare {
            if self.exceeds_fair_share(bucket) {
                let cause = DropCause::QueueFull;
                return Err(Dropped { packet, cause });
            }
            self.queue.push(bucket, packet);
            return Ok(());
        }
        self.queue.push(bucket, packet);
        if self.queue.packets() <= self.limit {
            return Ok(());
        }
        let longest = self.queue.longest().unwrap_or(bucket);
        // If the longest bucket is the arriving packet's, the packet pushed out is the arriving packet.
        let cause = match longest == bucket {
            true => DropCause::QueueFull,
            false => DropCause::PushedOut,
        };
        match self.queue.pop_last(longest) {
            Some(packet) => Err(Dropped { packet, cause }),
            None => Ok(()),
        }
    }

    fn dequeue(&mut self, _now: Time) -> Option<P> {
        self.queue.pop(|_| ())
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
