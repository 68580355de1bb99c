// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes of traffic by DSCP that share a link by weight, each with a discipline of its own.
//!
//! Deficit round robin over classes (Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1996), in the
//! form of RFC 8290 section 4.2: a discipline may drop packets when one is taken from it, so that the length of the next packet is
//! not known before. A class therefore sends until it has used up its credits, and owes the rest of its last packet.

use std::collections::VecDeque;
use std::fmt;

use serde::de::{EnumAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::described::DescribedVisitor;
use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::registry::{Discipline, DisciplineConfig};
use crate::dscp::Dscp;
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::random::seed_of;
use crate::time::Time;
use crate::units::{Bytes, QueueBound, QueueLimit, Rate, positive_bytes};

/// Configuration of classes that share a link by weight.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedDrrConfig {
    /// Bound over all classes beyond which arrivals are dropped; each class has its own besides.
    #[serde(default = "default_limit")]
    pub limit: QueueLimit,
    /// The classes, in the order in which they are served. A DSCP belongs to one class, and the one class without DSCPs takes the
    /// packets of all others.
    pub classes: Vec<DrrClass>,
    /// Bytes that a class of weight 1 may send per turn; at least the largest packet keeps the cost per packet constant.
    #[serde(default = "default_quantum", deserialize_with = "positive_bytes")]
    pub quantum: Bytes,
}

impl WeightedDrrConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        self.classes.iter().any(|class| class.queue.marks())
    }
}

/// A class.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// DSCPs of its packets; without any it is the class of all other packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Dscp>,
    /// Its share of the link beside the weights of the other classes that have packets, 1 to 1000.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// The queue of its packets. A time in it is at the class's share of the link's rate.
    #[serde(deserialize_with = "nested")]
    pub queue: Box<DisciplineConfig>,
}

const MOST_WEIGHT: u32 = 1000;
const MOST_CLASSES: u32 = 64;

fn default_limit() -> QueueLimit {
    QueueLimit::Packets(10_240)
}

fn default_quantum() -> Bytes {
    Bytes::new(1500)
}

fn default_weight() -> u32 {
    1
}

/// Reads a discipline within another. A deserializer that knows `DisciplineConfig` by name calls `visit_enum`, so that an error
/// knows its field; any other reads the tagged table as serde does.
fn nested<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<DisciplineConfig>, D::Error> {
    struct Nested;
    impl<'de> Visitor<'de> for Nested {
        type Value = DisciplineConfig;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a queue discipline")
        }

        fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<DisciplineConfig, A::Error> {
            DescribedVisitor::default().visit_enum(data)
        }

        fn visit_newtype_struct<T: Deserializer<'de>>(
            self,
            deserializer: T,
        ) -> Result<DisciplineConfig, T::Error> {
            DisciplineConfig::deserialize(deserializer)
        }
    }
    deserializer
        .deserialize_newtype_struct(DisciplineConfig::TYPE, Nested)
        .map(Box::new)
}

impl WeightedDrrConfig {
    /// Creates a configuration with these classes, 10,240 packets over all of them and a quantum of 1500 bytes.
    pub fn new(classes: Vec<DrrClass>) -> WeightedDrrConfig {
        WeightedDrrConfig {
            limit: default_limit(),
            classes,
            quantum: default_quantum(),
        }
    }
}

#[derive(Debug)]
struct Class<P> {
    queue: Discipline<P>,
    /// Bytes per turn.
    quantum: i64,
    /// Bytes that it may still send in its turn; below zero by less than a packet.
    credits: i64,
    listed: bool,
}

/// Classes that share a link by weight.
#[derive(Debug)]
pub struct WeightedDrr<P> {
    classes: Vec<Class<P>>,
    /// The class of each DSCP.
    class_of: [u8; 64],
    /// Classes in the order of their turns, the one whose turn it is first.
    turns: VecDeque<u8>,
    bound: QueueBound,
    packets: usize,
    bytes: u64,
    dropped: VecDeque<Dropped<P>>,
}

impl<P: Packet> WeightedDrr<P> {
    /// Creates an empty queue; `seed` determines the random draws of the classes' disciplines.
    pub fn from_config(
        config: &WeightedDrrConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<WeightedDrr<P>, DisciplineError> {
        let bound = context.bound(config.limit)?;
        let class_of = class_of_each_dscp(&config.classes)?;
        let weights: u64 = config
            .classes
            .iter()
            .map(|class| u64::from(class.weight))
            .sum();
        let class = |(index, class): (usize, &DrrClass)| {
            let share = |rate: Rate| {
                let bits = u128::from(rate.bits_per_second()) * u128::from(class.weight);
                let bits = u64::try_from(bits / u128::from(weights)).unwrap_or(u64::MAX);
                Rate::from_bits_per_second(bits).unwrap_or(rate)
            };
            let context = DisciplineContext {
                rate: context.rate.map(share),
                ..*context
            };
            let seed = seed_of(seed, &format!("class {index}"));
            let quantum = config.quantum.get().saturating_mul(class.weight.into());
            Ok(Class {
                queue: Discipline::new(&class.queue, &context, seed).map_err(|error| {
                    DisciplineError::InClass {
                        class: index,
                        error: Box::new(error),
                    }
                })?,
                quantum: i64::try_from(quantum).unwrap_or(i64::MAX / 2),
                credits: 0,
                listed: false,
            })
        };
        Ok(WeightedDrr {
            classes: config
                .classes
                .iter()
                .enumerate()
                .map(class)
                .collect::<Result<_, _>>()?,
            class_of,
            turns: VecDeque::new(),
            bound,
            packets: 0,
            bytes: 0,
            dropped: VecDeque::new(),
        })
    }

    /// Packets waiting in the class with this index.
    pub fn packets_in(&self, class: usize) -> usize {
        self.classes
            .get(class)
            .map_or(0, |class| class.queue.packets())
    }

    /// Takes over the packets that a class's discipline dropped.
    fn collect_dropped(&mut self, class: usize) {
        while let Some(dropped) = self.classes[class].queue.take_dropped() {
            self.packets -= 1;
            self.bytes -= dropped.packet.length() as u64;
            self.dropped.push_back(dropped);
        }
    }
}

/// The class of each DSCP, or an error if a DSCP has none or two.
fn class_of_each_dscp(classes: &[DrrClass]) -> Result<[u8; 64], DisciplineError> {
    if classes.is_empty() {
        return Err(DisciplineError::Zero { field: "classes" });
    }
    if classes.len() > MOST_CLASSES as usize {
        return Err(DisciplineError::TooMany {
            field: "classes",
            most: MOST_CLASSES,
        });
    }
    let mut class_of = [None; 64];
    let mut others = None;
    for (index, class) in classes.iter().enumerate() {
        match class.weight {
            0 => return Err(DisciplineError::Zero { field: "weight" }),
            1..=MOST_WEIGHT => {}
            _ => {
                return Err(DisciplineError::TooMany {
                    field: "weight",
                    most: MOST_WEIGHT,
                });
            }
        }
        if class.dscp.is_empty() && others.replace(index as u8).is_some() {
            return Err(DisciplineError::ClassOfOthers);
        }
        for &dscp in &class.dscp {
            let before = class_of[usize::from(dscp.get())].replace(index as u8);
            if before.is_some() {
                return Err(DisciplineError::ClassOfDscp { dscp });
            }
        }
    }
    let others = others.ok_or(DisciplineError::ClassOfOthers)?;
    Ok(class_of.map(|class| class.unwrap_or(others)))
}

impl<P: Packet> QueueDiscipline<P> for WeightedDrr<P> {
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let length = packet.length() as u64;
        if !self.bound.fits(self.packets, self.bytes, length) {
            let cause = DropCause::QueueFull;
            return Err(Dropped { packet, cause });
        }
        let index = self.class_of[usize::from(packet.ip_fields().dscp & 63)];
        let class = &mut self.classes[usize::from(index)];
        let outcome = class.queue.enqueue(now, packet);
        self.packets += 1;
        self.bytes += length;
        if !class.listed && class.queue.packets() > 0 {
            class.listed = true;
            // It keeps its debt, so that a pause gains nothing.
            class.credits = class.credits.min(0) + class.quantum;
            self.turns.push_back(index);
        }
        if let Err(dropped) = &outcome {
            self.packets -= 1;
            self.bytes -= dropped.packet.length() as u64;
        }
        self.collect_dropped(usize::from(index));
        outcome
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        while let Some(&index) = self.turns.front() {
            let class = &mut self.classes[usize::from(index)];
            if class.credits <= 0 {
                class.credits += class.quantum;
                self.turns.rotate_left(1);
                continue;
            }
            let packet = class.queue.dequeue(now);
            if let Some(packet) = &packet {
                class.credits -= packet.length() as i64;
                self.packets -= 1;
                self.bytes -= packet.length() as u64;
            } else {
                // Its discipline knows now that it is idle.
                class.listed = false;
                self.turns.pop_front();
            }
            self.collect_dropped(usize::from(index));
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }

    fn reads_ip_fields(&self) -> bool {
        true
    }

    fn marks(&self) -> u64 {
        self.classes.iter().map(|class| class.queue.marks()).sum()
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
