// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random impairments of a link: loss before the queue, and delay after propagation.

use std::collections::BTreeMap;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::early_detection::uniform;
use crate::random::{Stream, seconds};
use crate::{LinkConfig, LossFraction, Time};

/// A random delay after propagation, drawn independently for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jitter {
    /// No random delay.
    #[default]
    None,
    /// Uniform between 0 and this duration.
    Uniform(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

impl Jitter {
    /// Returns whether no packet is delayed.
    pub fn is_none(&self) -> bool {
        match self {
            Jitter::None => true,
            Jitter::Uniform(size) | Jitter::Exponential(size) => size.is_zero(),
        }
    }
}

/// The random loss of a link.
#[derive(Debug, Clone)]
pub struct RandomLoss {
    fraction: LossFraction,
    random: Xoshiro256PlusPlus,
}

impl RandomLoss {
    /// Creates the random loss of the link with this configuration; `None` if its loss fraction is zero.
    pub fn new(config: &LinkConfig) -> Option<RandomLoss> {
        (config.loss != LossFraction::NONE).then(|| RandomLoss {
            fraction: config.loss,
            random: Xoshiro256PlusPlus::seed_from_u64(config.seed),
        })
    }

    /// Draws once and returns whether the next packet offered is lost.
    pub fn strikes(&mut self) -> bool {
        self.fraction.strikes(self.random.next_u64())
    }
}

/// Jitter that keeps the order of packets.
#[derive(Debug, Clone)]
pub(crate) struct InOrderJitter {
    jitter: Jitter,
    /// The jitter's own stream, so that neither loss nor jitter changes the other's draws.
    random: Xoshiro256PlusPlus,
    /// Time at which the previous packet comes out.
    last_due: Time,
}

impl InOrderJitter {
    /// Creates the jitter of a link with this seed; `None` for no jitter.
    pub(crate) fn new(jitter: Jitter, seed: u64) -> Option<InOrderJitter> {
        (!jitter.is_none()).then(|| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            random.jump();
            InOrderJitter {
                jitter,
                random,
                last_due: Time::ZERO,
            }
        })
    }

    /// Returns when a packet comes out that is due at `due` without jitter.
    pub(crate) fn delay(&mut self, due: Time) -> Time {
        let seconds = match self.jitter {
            Jitter::None => return due,
            Jitter::Uniform(largest) => largest.as_secs_f64() * uniform(&mut self.random),
            Jitter::Exponential(mean) => -mean.as_secs_f64() * (-uniform(&mut self.random)).ln_1p(),
        };
        self.last_due = due.plus_nanos((seconds * 1e9) as u64).max(self.last_due);
        self.last_due
    }
}

/// Jitter after a link that lets packets overtake each other.
#[derive(Debug)]
pub struct ReorderingJitter<P> {
    jitter: Jitter,
    stream: Stream,
    /// Packets by due time, then by order of arrival.
    held: BTreeMap<(Time, u64), P>,
    sequence: u64,
}

impl<P> ReorderingJitter<P> {
    /// Creates jitter that draws from `stream` and holds no packet yet.
    pub fn new(jitter: Jitter, stream: Stream) -> ReorderingJitter<P> {
        ReorderingJitter {
            jitter,
            stream,
            held: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Holds a packet that came out of the link at `now`, and returns when it is due.
    pub fn hold(&mut self, now: Time, packet: P) -> Time {
        let extra = match self.jitter {
            Jitter::None => 0.0,
            Jitter::Uniform(largest) => largest.as_secs_f64() * self.stream.uniform(),
            Jitter::Exponential(mean) => self.stream.exponential(mean.as_secs_f64()),
        };
        let due = now + seconds(extra);
        self.held.insert((due, self.sequence), packet);
        self.sequence += 1;
        due
    }

    /// Returns when the next packet is due; `None` if no packet is held.
    pub fn next_due(&self) -> Option<Time> {
        self.held.first_key_value().map(|(&(due, _), _)| due)
    }

    /// Removes the packet that is due next and returns it with its due time.
    pub fn release(&mut self) -> Option<(Time, P)> {
        self.held
            .pop_first()
            .map(|((due, _), packet)| (due, packet))
    }

    /// Packets held.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}
