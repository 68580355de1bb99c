// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strict priority over classes, fair among the flows of each: the reference model of TCP-LP.
//!
//! Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer" (2003), section II: a
//! packet of a lower class is sent only while none of a higher class waits; within a class, deficit round robin
//! (Shreedhar and Varghese 1996).

use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::drr::Drr;
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{Bytes, QueueLimit};

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
        }
    }
}

/// A priority queue.
#[derive(Debug, Clone)]
pub struct Priority<P> {
    /// One queue per class, from the highest class, which goes first, to the lowest.
    classes: Vec<Drr<P>>,
    packets: usize,
    limit: usize,
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
        Ok(Priority {
            classes: (0..config.classes)
                .map(|_| Drr::new(config.quantum.get()))
                .collect(),
            packets: 0,
            limit: context.bound_in_packets(config.limit)?,
        })
    }
}

impl<P: Packet> QueueDiscipline<P> for Priority<P> {
    fn enqueue(&mut self, _now: Time, packet: P) -> Result<(), Dropped<P>> {
        let class = usize::from(packet.class()).min(self.classes.len() - 1);
        let slot = self.classes[class].push(packet);
        if self.packets < self.limit {
            self.packets += 1;
            return Ok(());
        }
        for lowest in (0..self.classes.len()).rev() {
            if let Some((loser, packet)) = self.classes[lowest].push_out() {
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

    fn dequeue(&mut self, _now: Time) -> Option<P> {
        let packet = self.classes.iter_mut().find_map(Drr::pop)?;
        self.packets -= 1;
        Some(packet)
    }

    fn lets_through(&self) -> bool {
        self.limit > 0 && self.classes.iter().all(Drr::is_untouched)
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(Drr::bytes).sum()
    }
}
