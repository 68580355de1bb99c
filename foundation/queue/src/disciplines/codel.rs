// SPDX-License-Identifier: MIT OR Apache-2.0
//! CoDel: controlled delay active queue management (RFC 8289).

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{Bytes, QueueBound, QueueLimit, positive_delay};

/// Configuration of a CoDel queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodelConfig {
    /// Bound beyond which arrivals are dropped.
    pub limit: QueueLimit,
    /// TARGET: sojourn time that a standing queue may have (RFC 8289 section 4.3).
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub target: Duration,
    /// INTERVAL: time for which the sojourn time must exceed the target before the first drop; about the longest round
    /// trip of the flows (RFC 8289 section 4.2).
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub interval: Duration,
    /// True if ECN-capable packets are marked in place of a drop (RFC 8289 section 4.4).
    pub ecn: bool,
}

impl CodelConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        self.ecn
    }
}

impl Default for CodelConfig {
    fn default() -> CodelConfig {
        CodelConfig {
            limit: QueueLimit::Packets(1000),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
        }
    }
}

impl CodelConfig {
    /// Creates a configuration with a target of 5 ms and an interval of 100 ms, without ECN (RFC 8289 section 4.2, 4.3).
    pub fn new(limit: QueueLimit) -> CodelConfig {
        CodelConfig {
            limit,
            ..CodelConfig::default()
        }
    }
}

/// A first-in first-out queue whose packets carry their arrival times.
#[derive(Debug, Clone)]
pub(crate) struct TimedFifo<P> {
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
}

impl<P> Default for TimedFifo<P> {
    fn default() -> TimedFifo<P> {
        TimedFifo {
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<P: Packet> TimedFifo<P> {
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        self.bytes += packet.length() as u64;
        self.waiting.push_back((now, packet));
    }

    /// Removes the first packet and returns it with its arrival time.
    pub(crate) fn pop(&mut self) -> Option<(Time, P)> {
        let (arrived, packet) = self.waiting.pop_front()?;
        self.bytes -= packet.length() as u64;
        Some((arrived, packet))
    }

    /// Arrival time of the first packet.
    pub(crate) fn first_arrival(&self) -> Option<Time> {
        self.waiting.front().map(|(arrived, _)| *arrived)
    }

    pub(crate) fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Parameters of the control law, shared by all queues of a discipline.
#[derive(Debug, Clone)]
pub(crate) struct ControlLaw {
    target: Duration,
    interval: Duration,
    /// MAXPACKET of RFC 8289 section 5.2: a queue of at most as many bytes is never a standing one.
    max_packet: Bytes,
    ecn: bool,
}

impl ControlLaw {
    pub(crate) fn new(
        (target, interval): (Duration, Duration),
        ecn: bool,
        context: &DisciplineContext,
    ) -> Result<ControlLaw, DisciplineError> {
        if target >= interval {
            return Err(DisciplineError::TargetAboveInterval { target, interval });
        }
        Ok(ControlLaw {
            target,
            interval,
            max_packet: context.packet_size,
            ecn,
        })
    }

    /// The time of the next drop after one at `time`: t + INTERVAL / sqrt(count) (RFC 8289 section 5.6).
    fn next_drop(&self, time: Time, count: u32) -> Time {
        time.plus_nanos((self.interval.as_nanos() as f64 / f64::from(count).sqrt()) as u64)
    }
}

/// Packets that a discipline dropped after it had admitted them, and the number it marked.
#[derive(Debug, Clone)]
pub(crate) struct Signals<P> {
    pub(crate) dropped: VecDeque<Dropped<P>>,
    pub(crate) marks: u64,
}

impl<P> Default for Signals<P> {
    fn default() -> Signals<P> {
        Signals {
            dropped: VecDeque::new(),
            marks: 0,
        }
    }
}

/// The state of CoDel on one queue (RFC 8289 section 5.3).
#[derive(Debug, Clone, Default)]
pub(crate) struct CodelState {
    /// End of the interval that began when the sojourn time rose above the target; `None` while it is below.
    first_above: Option<Time>,
    /// Time of the next drop while dropping.
    drop_next: Time,
    /// Drops since entering the dropping state.
    count: u32,
    /// `count` when the dropping state was entered.
    last_count: u32,
    dropping: bool,
}

impl CodelState {
    /// Removes the first packet; the second value is true if it may be dropped (`dodequeue` of RFC 8289 section 5.5).
    fn take<P: Packet>(
        &mut self,
        now: Time,
        law: &ControlLaw,
        queue: &mut TimedFifo<P>,
        others: u64,
    ) -> Option<(P, bool)> {
        let Some((arrived, packet)) = queue.pop() else {
            self.first_above = None;
            return None;
        };
        if now - arrived < law.target || queue.bytes() + others <= law.max_packet.get() {
            self.first_above = None;
            return Some((packet, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + law.interval);
                Some((packet, false))
            }
            Some(time) => Some((packet, now >= time)),
        }
    }

    /// Dequeues the next packet to send; packets dropped before it go to `signals` (RFC 8289 section 5.4). The bytes `others`
    /// wait elsewhere and count as if they were in this queue.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Time,
        law: &ControlLaw,
        queue: &mut TimedFifo<P>,
        others: u64,
        signals: &mut Signals<P>,
    ) -> Option<P> {
        let Some((mut packet, mut may_drop)) = self.take(now, law, queue, others) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if law.ecn && packet.ecn_capable() {
                    packet.mark_congestion_experienced();
                    signals.marks += 1;
                    self.drop_next = law.next_drop(self.drop_next, self.count);
                    return Some(packet);
                }
                signals.dropped.push_back(Dropped {
                    packet,
                    cause: DropCause::EarlyDrop,
                });
                (packet, may_drop) = self.take_another(now, law, queue, others)?;
                match may_drop {
                    true => self.drop_next = law.next_drop(self.drop_next, self.count),
                    false => self.dropping = false,
                }
            }
            return Some(packet);
        }
        if may_drop {
            if law.ecn && packet.ecn_capable() {
                packet.mark_congestion_experienced();
                signals.marks += 1;
            } else {
                signals.dropped.push_back(Dropped {
                    packet,
                    cause: DropCause::EarlyDrop,
                });
                (packet, _) = self.take_another(now, law, queue, others)?;
            }
            self.dropping = true;
            // The drop rate of the last dropping state is resumed if that ended less than 16 intervals ago.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now - self.drop_next < 16 * law.interval;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = law.next_drop(now, self.count);
            self.last_count = self.count;
        }
        Some(packet)
    }

    /// Takes the packet after one that was dropped.
    fn take_another<P: Packet>(
        &mut self,
        now: Time,
        law: &ControlLaw,
        queue: &mut TimedFifo<P>,
        others: u64,
    ) -> Option<(P, bool)> {
        let taken = self.take(now, law, queue, others);
        if taken.is_none() {
            self.dropping = false;
        }
        taken
    }
}

/// A CoDel queue.
#[derive(Debug, Clone)]
pub struct Codel<P> {
    queue: TimedFifo<P>,
    bound: QueueBound,
    law: ControlLaw,
    state: CodelState,
    signals: Signals<P>,
}

impl<P: Packet> Codel<P> {
    /// Creates an empty queue. It is not random, so `seed` has no effect.
    pub fn from_config(
        config: &CodelConfig,
        context: &DisciplineContext,
        _seed: u64,
    ) -> Result<Codel<P>, DisciplineError> {
        Ok(Codel {
            queue: TimedFifo::default(),
            bound: context.bound(config.limit)?,
            law: ControlLaw::new((config.target, config.interval), config.ecn, context)?,
            state: CodelState::default(),
            signals: Signals::default(),
        })
    }
}

impl<P: Packet> QueueDiscipline<P> for Codel<P> {
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let length = packet.length() as u64;
        let (packets, bytes) = (self.queue.packets(), self.queue.bytes());
        if !self.bound.fits(packets, bytes, length) {
            let cause = DropCause::QueueFull;
            return Err(Dropped { packet, cause });
        }
        self.queue.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        self.state
            .dequeue(now, &self.law, &mut self.queue, 0, &mut self.signals)
    }

    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        self.signals.dropped.pop_front()
    }

    fn marks(&self) -> u64 {
        self.signals.marks
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
