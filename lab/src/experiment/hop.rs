// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link at work: what it does to packets, and what is measured of it.

use std::collections::BTreeMap;

use netnice_queue::{
    Conditioner, Discipline, DropCause, Dropped, Jitter, Link, LinkConfig, LinkCounters, LinkUsage,
    Queued, Time,
};
use netnice_scenario::model::{JitterDistribution, TrafficClass};
use netnice_scenario::network::{NetworkLink, Problem};
use netnice_scenario::results::{Drops, QueueResult};
use netnice_sim::measure::Histogram;
use netnice_sim::random::{Stream, seconds, seed_of};

use super::packet::Frame;

/// A link, its conditioner and its jitter. Random draws are those of the simulator with the same seed.
#[derive(Debug)]
pub(super) struct Hop {
    link: Link<Frame, Discipline<Queued<Frame>>>,
    conditioner: Option<Conditioner>,
    reordering: Option<Reordering>,
    name: String,
    drops: Vec<(DropCause, u8, u64)>,
    waiting: Histogram,
    baseline: LinkCounters,
    usage_before: LinkUsage,
}

impl Hop {
    pub(super) fn new(link: &NetworkLink, seed: u64) -> Result<Hop, Problem> {
        let queue = Discipline::new(
            &link.queue,
            &link.discipline_context(),
            seed_of(seed, &format!("{} queue", link.name)),
        )
        .map_err(|error| {
            let place = netnice_scenario::network::Place::key("links");
            place.problem(format!("{}: {error}", link.name))
        })?;
        let config = LinkConfig {
            rate: link.rate,
            delay: link.delay,
            loss: link.loss,
            seed: seed_of(seed, &link.name),
        };
        let conditioner_seed = seed_of(seed, &format!("{} conditioner", link.name));
        let jitter = link
            .jitter
            .map_or(Jitter::None, |jitter| match jitter.distribution {
                JitterDistribution::Uniform => Jitter::Uniform(jitter.size.get()),
                JitterDistribution::Exponential => Jitter::Exponential(jitter.size.get()),
            });
        let reorders = link.jitter.is_some_and(|jitter| jitter.reordering);
        let in_order = if reorders { Jitter::None } else { jitter };
        Ok(Hop {
            link: Link::new(config, queue).with_jitter(in_order),
            conditioner: link
                .conditioner
                .map(|config| Conditioner::new(&config, conditioner_seed)),
            reordering: reorders.then(|| Reordering {
                jitter,
                stream: Stream::new(seed, &format!("{} jitter", link.name)),
                held: BTreeMap::new(),
                sequence: 0,
            }),
            name: link.name.clone(),
            drops: Vec::new(),
            waiting: Histogram::default(),
            baseline: LinkCounters::default(),
            usage_before: LinkUsage::default(),
        })
    }

    /// Takes a packet in, or gives back the one that was dropped.
    pub(super) fn offer(&mut self, now: Time, mut frame: Frame) -> Result<(), Dropped<Frame>> {
        if let Some(conditioner) = &mut self.conditioner {
            conditioner.tag(now, &mut frame);
        }
        self.link.offer(now, frame).inspect_err(|dropped| {
            let key = (dropped.cause, dropped.packet.class);
            match self
                .drops
                .iter_mut()
                .find(|known| (known.0, known.1) == key)
            {
                Some(known) => known.2 += 1,
                None => self.drops.push((key.0, key.1, 1)),
            }
        })
    }

    /// When [`Hop::deliver`] should be called next.
    pub(super) fn next_event(&self) -> Option<Time> {
        let held = self.reordering.as_ref().and_then(Reordering::due);
        [self.link.next_event(), held].into_iter().flatten().min()
    }

    /// The next packet due at or before `now`, and when it was.
    pub(super) fn deliver(&mut self, now: Time) -> Option<(Frame, Time)> {
        while let Some(delivery) = self.link.deliver(now) {
            self.waiting.record(delivery.waited_ns);
            match &mut self.reordering {
                None => return Some((delivery.packet, delivery.due)),
                Some(reordering) => reordering.hold(delivery.due, delivery.packet),
            }
        }
        self.reordering.as_mut()?.release(now)
    }

    /// Packets waiting, and the time in seconds that their bytes take to send.
    pub(super) fn queue(&mut self, now: Time) -> (f64, f64) {
        let bits = self.link.queue_bytes(now) as f64 * 8.0;
        let rate = self.link.config().rate;
        let delay = rate.map_or(0.0, |rate| bits / rate.as_f64());
        (self.link.queue_packets(now) as f64, delay)
    }

    /// Forgets what was measured so far.
    pub(super) fn begin_measurement(&mut self, now: Time) {
        self.usage_before = self.link.usage(now);
        self.baseline = self.link.counters();
        self.drops.clear();
        self.waiting = Histogram::default();
    }

    /// What was measured since; `None` of a link that has no rate or that no packet has passed.
    pub(super) fn result(&mut self, now: Time) -> Option<QueueResult> {
        let rate = self.link.config().rate?;
        let usage = self.link.usage(now);
        let counters = self.link.counters();
        if counters.offered == 0 {
            return None;
        }
        let mut drops = self.drops.clone();
        drops.sort_by_key(|&(cause, class, _)| (cause as usize, class));
        let drops = drops.into_iter().map(|(cause, class, packets)| Drops {
            cause: cause.name().to_owned(),
            class: match class {
                0 => TrafficClass::BestEffort,
                _ => TrafficClass::Low,
            },
            packets,
        });
        Some(QueueResult {
            link: self.name.clone(),
            rate_bps: rate.bits_per_second(),
            utilisation: usage.utilisation_since(&self.usage_before),
            arrived: counters.offered - self.baseline.offered,
            delivered: counters.delivered - self.baseline.delivered,
            marked: counters.marked - self.baseline.marked,
            drops: drops.collect(),
            mean_packets: usage.mean_packets_since(&self.usage_before),
            mean_bytes: usage.mean_bytes_since(&self.usage_before),
            max_packets: counters.max_queue_packets as u64,
            waiting: self.waiting.delays(),
        })
    }
}

/// Packets held a little longer than the link's delay, which may overtake each other.
#[derive(Debug)]
struct Reordering {
    jitter: Jitter,
    stream: Stream,
    held: BTreeMap<(Time, u64), Frame>,
    sequence: u64,
}

impl Reordering {
    fn hold(&mut self, now: Time, frame: Frame) {
        let extra = match self.jitter {
            Jitter::None => 0.0,
            Jitter::Uniform(largest) => largest.as_secs_f64() * self.stream.uniform(),
            Jitter::Exponential(mean) => self.stream.exponential(mean.as_secs_f64()),
        };
        self.held
            .insert((now + seconds(extra), self.sequence), frame);
        self.sequence += 1;
    }

    fn due(&self) -> Option<Time> {
        self.held.first_key_value().map(|(&(due, _), _)| due)
    }

    fn release(&mut self, now: Time) -> Option<(Frame, Time)> {
        let due = self.due().filter(|&due| due <= now)?;
        self.held.pop_first().map(|(_, frame)| (frame, due))
    }
}
