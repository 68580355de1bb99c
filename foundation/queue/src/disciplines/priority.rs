// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strict priority over classes, fair among the flows of each: the reference model of TCP-LP.
//!
//! Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer" (2003), section II: a
//! packet of a lower class is sent only while none of a higher class waits; within a class, deficit round robin
//! (Shreedhar and Varghese 1996). With a guaranteed minimum it is the model of a floor as well: the lower classes together get
//! that rate before the first class gets anything.

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::drr::Drr;
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{Bytes, QueueLimit, Rate};

/// Configuration of a priority queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityConfig {
    /// Packets over all classes together; bytes, a time or bandwidth-delay products are converted to packets of mean
    /// length. A full queue drops the last packet of the flow with the most packets in the lowest class present: no
    /// packet is lost while one of a lower class waits.
    pub limit: QueueLimit,
    /// Number of classes; packets with a higher class number join the last class.
    #[serde(default = "default_classes")]
    pub classes: u8,
    /// Bytes a flow may send per turn; the unused part carries over. A quantum of at least the largest packet keeps the
    /// cost per packet constant.
    #[serde(default = "default_quantum")]
    pub quantum: Bytes,
    /// Rate, in bits of whole packets, that the classes below the first get together before it gets any. `limit` then counts for the
    /// first class and for the others separately: a queue full of the first would drop what is guaranteed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Rate>,
}

impl PriorityConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        false
    }
}

fn default_classes() -> u8 {
    2
}

fn default_quantum() -> Bytes {
    Bytes::new(1500)
}

impl PriorityConfig {
    /// Creates a configuration with two classes and a quantum of 1500 bytes.
    pub fn new(limit: QueueLimit) -> PriorityConfig {
        PriorityConfig {
            limit,
            classes: default_classes(),
            quantum: default_quantum(),
            at_least: None,
        }
    }
}

/// A priority queue.
#[derive(Debug, Clone)]
pub struct Priority<P> {
    /// One queue per class, from the highest class, which goes first, to the lowest.
    classes: Vec<Drr<P>>,
    /// Packets waiting: of the first class and of the others.
    packets: [usize; 2],
    limit: usize,
    minimum: Option<Minimum>,
}

/// The rate that the classes below the first get in any case.
#[derive(Debug, Clone)]
struct Minimum {
    bucket: Bucket,
    /// Length of a full packet: what there must be tokens for.
    packet_size: Bytes,
}

/// Packets that may be sent at once after the lower classes have been idle.
const MINIMUM_BURST_PACKETS: u64 = 2;

impl Minimum {
    fn new(rate: Rate, packet_size: Bytes) -> Minimum {
        let burst = Bytes::new(MINIMUM_BURST_PACKETS * packet_size.get());
        Minimum {
            bucket: Bucket::new(rate, burst),
            packet_size,
        }
    }

    /// Returns true if the lower classes have got less than the minimum of late.
    fn is_due(&mut self, now: Time) -> bool {
        self.bucket.fill(now);
        self.bucket.tokens() >= self.packet_size
    }
}

impl<P: Packet> Priority<P> {
    /// Creates an empty queue. It is not random.
    pub fn from_config(
        config: &PriorityConfig,
        context: &DisciplineContext,
        _seed: u64,
    ) -> Result<Priority<P>, DisciplineError> {
        let field = match (config.classes, config.quantum.get()) {
            (0, _) => Some("classes"),
            (_, 0) => Some("quantum"),
            _ => None,
        };
        if let Some(field) = field {
            return Err(DisciplineError::Zero { field });
        }
        let minimum = config.at_least;
        Ok(Priority {
            classes: (0..config.classes)
                .map(|_| Drr::new(config.quantum.get()))
                .collect(),
            packets: [0; 2],
            limit: context.bound_in_packets(config.limit)?,
            minimum: minimum.map(|rate| Minimum::new(rate, context.packet_size)),
        })
    }

    /// The classes that share the limit with `class`, and the packets that wait in them.
    fn sharing(&self, class: usize) -> (std::ops::Range<usize>, usize) {
        match (&self.minimum, class) {
            (None, _) => (0..self.classes.len(), self.packets.iter().sum()),
            (Some(_), 0) => (0..1, self.packets[0]),
            (Some(_), _) => (1..self.classes.len(), self.packets[1]),
        }
    }

    /// Takes the next packet of the first of these classes that has one.
    fn pop_from(&mut self, first: usize) -> Option<P> {
        let mut classes = self.classes.iter_mut().enumerate().skip(first);
        let (class, packet) = classes.find_map(|(class, queue)| Some((class, queue.pop()?)))?;
        self.packets[class.min(1)] -= 1;
        if let Some(minimum) = self.minimum.as_mut().filter(|_| class > 0) {
            minimum.bucket.take(packet.length() as u64);
        }
        Some(packet)
    }
}

impl<P: Packet> QueueDiscipline<P> for Priority<P> {
    fn enqueue(&mut self, _now: Time, packet: P) -> Result<(), Dropped<P>> {
        let class = usize::from(packet.class()).min(self.classes.len() - 1);
        let (sharing, waiting) = self.sharing(class);
        let slot = self.classes[class].push(packet);
        self.packets[class.min(1)] += 1;
        if waiting < self.limit {
            return Ok(());
        }
        for lowest in sharing.rev() {
            if let Some((loser, packet)) = self.classes[lowest].push_out() {
                self.packets[lowest.min(1)] -= 1;
                // If the losing flow is the arriving packet's, the packet pushed out is the arriving one.
                let cause = match (lowest, loser) == (class, slot) {
                    true => DropCause::QueueFull,
                    false => DropCause::PushedOut,
                };
                return Err(Dropped { packet, cause });
            }
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        let due = (self.minimum.as_mut()).is_some_and(|minimum| minimum.is_due(now));
        match self.pop_from(usize::from(due)) {
            None if due => self.pop_from(0),
            packet => packet,
        }
    }

    fn lets_through(&self) -> bool {
        // Packets that pass an idle link count towards the minimum.
        let untouched = self.classes.iter().all(Drr::is_untouched);
        self.minimum.is_none() && self.limit > 0 && untouched
    }

    fn packets(&self) -> usize {
        self.packets.iter().sum()
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(Drr::bytes).sum()
    }
}
