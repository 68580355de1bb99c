// SPDX-License-Identifier: MIT OR Apache-2.0
//! FQ-CoDel: flow queues served by deficit round robin, each under CoDel (RFC 8290).

use std::collections::VecDeque;
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::codel::{CodelConfig, CodelState, ControlLaw, Signals, TimedFifo};
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{Bytes, QueueLimit, positive_bytes, positive_delay};

/// Configuration of an FQ-CoDel queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Packets over all flow queues; bytes, a time or bandwidth-delay products are converted to packets of mean length.
    /// A full queue drops the first half, at most 64 packets, of the flow queue with the most bytes.
    pub limit: QueueLimit,
    /// TARGET of CoDel.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub target: Duration,
    /// INTERVAL of CoDel.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub interval: Duration,
    /// Bytes a flow may send per turn (RFC 8290 section 5.2.2).
    #[serde(deserialize_with = "positive_bytes")]
    pub quantum: Bytes,
    /// Number of flow queues that flows are hashed into (RFC 8290 section 5.2.4).
    pub flows: u32,
    /// True if ECN-capable packets are marked in place of a drop (RFC 8290 section 5.2.7).
    pub ecn: bool,
    /// As sch_fq_codel of Linux: a flow queue stands if the flow queues together have more than a full packet, even if its own packet
    /// is alone. Where RFC 8289 counts the bytes of one queue, a flow with few packets in flight is spared.
    pub linux: bool,
}

impl FqCodelConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        self.ecn
    }
}

/// As in Linux; every flow queue takes memory, used or not.
const MOST_FLOWS: u32 = 65_536;
/// Most packets dropped at once when the queue is full (RFC 8290 section 4.1).
const MOST_DROPPED: usize = 64;
const NONE: u32 = u32::MAX;

impl Default for FqCodelConfig {
    fn default() -> FqCodelConfig {
        let codel = CodelConfig::default();
        FqCodelConfig {
            limit: QueueLimit::Packets(10_240),
            target: codel.target,
            interval: codel.interval,
            quantum: Bytes::new(1514),
            flows: 1024,
            ecn: true,
            linux: false,
        }
    }
}

impl FqCodelConfig {
    /// Creates a configuration with the defaults of RFC 8290 section 5.2: target 5 ms, interval 100 ms, quantum 1514
    /// bytes, 1024 flow queues, ECN.
    pub fn new(limit: QueueLimit) -> FqCodelConfig {
        FqCodelConfig {
            limit,
            ..FqCodelConfig::default()
        }
    }
}

/// A flow queue that holds packets, or had some when its turn last came.
#[derive(Debug, Clone)]
struct FlowQueue<P> {
    queue: TimedFifo<P>,
    state: CodelState,
    /// Byte credits; at most the quantum, and below zero by less than a packet.
    credits: i64,
    listed: bool,
}

/// An FQ-CoDel queue.
#[derive(Debug, Clone)]
pub struct FqCodel<P> {
    /// The place of each hash value in `queues`, [`NONE`] before its first packet.
    places: Vec<u32>,
    queues: Vec<FlowQueue<P>>,
    /// Flow queues that became active since their last turn, and all other active ones (RFC 8290 section 4.2).
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
    limit: usize,
    quantum: i64,
    law: ControlLaw,
    linux: bool,
    key: u64,
    signals: Signals<P>,
}

impl<P: Packet> FqCodel<P> {
    /// Creates an empty queue; `seed` determines its hash.
    pub fn from_config(
        config: &FqCodelConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<FqCodel<P>, DisciplineError> {
        match config.flows {
            0 => return Err(DisciplineError::Zero { field: "flows" }),
            1..=MOST_FLOWS => {}
            _ => {
                return Err(DisciplineError::TooMany {
                    field: "flows",
                    most: MOST_FLOWS,
                });
            }
        }
        Ok(FqCodel {
            places: vec![NONE; config.flows as usize],
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            limit: context.bound_in_packets(config.limit)?,
            quantum: i64::try_from(config.quantum.get()).unwrap_or(i64::MAX),
            law: ControlLaw::new((config.target, config.interval), config.ecn, context)?,
            linux: config.linux,
            key: SplitMix64::seed_from_u64(seed).next_u64(),
            signals: Signals::default(),
        })
    }

    /// The flow queue of `flow`.
    fn place(&mut self, flow: u64) -> u32 {
        // SplitMix64's mixing serves as a 64-bit hash that is the same on every machine.
        let hash = SplitMix64::seed_from_u64(flow ^ self.key).next_u64();
        let bucket = ((u128::from(hash) * self.places.len() as u128) >> 64) as usize;
        let place = &mut self.places[bucket];
        if *place == NONE {
            *place = self.queues.len() as u32;
            self.queues.push(FlowQueue {
                queue: TimedFifo::default(),
                state: CodelState::default(),
                credits: 0,
                listed: false,
            });
        }
        *place
    }

    /// Drops packets from the head of the flow queue with the most bytes; `arrived_in` is that of the packet that
    /// arrived last.
    fn drop_from_largest(&mut self, arrived_in: u32) {
        let largest = (0..self.queues.len())
            .rev()
            .max_by_key(|&place| self.queues[place].queue.bytes());
        let Some(largest) = largest else { return };
        let queue = &mut self.queues[largest].queue;
        let batch = queue.packets().div_ceil(2).min(MOST_DROPPED);
        for _ in 0..batch {
            let Some((_, packet)) = queue.pop() else {
                break;
            };
            self.packets -= 1;
            self.bytes -= packet.length() as u64;
            // The packet that just arrived is the last of its flow queue.
            let cause = match largest == arrived_in as usize && queue.packets() == 0 {
                true => DropCause::QueueFull,
                false => DropCause::PushedOut,
            };
            self.signals.dropped.push_back(Dropped { packet, cause });
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let place = self.place(packet.flow());
        self.packets += 1;
        self.bytes += packet.length() as u64;
        let flow = &mut self.queues[place as usize];
        flow.queue.push(now, packet);
        if !flow.listed {
            flow.listed = true;
            flow.credits = self.quantum;
            self.new.push_back(place);
        }
        if self.packets > self.limit {
            self.drop_from_largest(place);
        }
        Ok(())
    }

    /// The scheduler of RFC 8290 section 4.2.
    fn dequeue(&mut self, now: Time) -> Option<P> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new {
                &mut self.new
            } else {
                &mut self.old
            };
            let place = *list.front()?;
            let flow = &mut self.queues[place as usize];
            if flow.credits <= 0 {
                flow.credits = flow.credits.saturating_add(self.quantum);
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let dropped_before = self.signals.dropped.len();
            let others = match self.linux {
                true => self.bytes - flow.queue.bytes(),
                false => 0,
            };
            let FlowQueue { queue, state, .. } = flow;
            let packet = state.dequeue(now, &self.law, queue, others, &mut self.signals);
            for dropped in self.signals.dropped.range(dropped_before..) {
                self.packets -= 1;
                self.bytes -= dropped.packet.length() as u64;
            }
            let Some(packet) = packet else {
                // A new flow queue goes through the old ones once before it may be new again, so that a flow can't be
                // new in each round and starve the others.
                list.pop_front();
                if from_new {
                    self.old.push_back(place);
                } else {
                    flow.listed = false;
                }
                continue;
            };
            flow.credits -= packet.length() as i64;
            self.packets -= 1;
            self.bytes -= packet.length() as u64;
            return Some(packet);
        }
    }

    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        self.signals.dropped.pop_front()
    }

    fn marks(&self) -> u64 {
        self.signals.marks
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
