// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random impairments of a link: loss before the queue, and delay after propagation.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::links::config::LinkConfig;
use crate::random::{Stream, seconds, uniform};
use crate::time::Time;
use crate::units::LossFraction;

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
    /// Pareto of the second kind (Lomax) with this mean and shape 3: heavy-tailed, from zero.
    Pareto(Duration),
    /// Pareto of shape 3 with this standard deviation, as netem's table `pareto` has it: from zero to 14/3 of that.
    NetemPareto(Duration),
    /// This duration, except for packets that come early, without it: each with this probability.
    Early(Duration, LossFraction),
}

impl Jitter {
    /// Returns whether no packet is delayed.
    pub fn is_none(&self) -> bool {
        match self {
            Jitter::None => true,
            Jitter::Uniform(size)
            | Jitter::Exponential(size)
            | Jitter::Pareto(size)
            | Jitter::NetemPareto(size)
            | Jitter::Early(size, _) => size.is_zero(),
        }
    }
}

/// The random loss of a link.
#[derive(Debug, Clone)]
pub struct RandomLoss {
    fraction: LossFraction,
    random: Xoshiro256PlusPlus,
}

/// A jitter's delays, computed once: in seconds, as numbers that a draw needs.
#[derive(Debug, Clone, Copy)]
enum Delays {
    None,
    Uniform { largest: f64 },
    Exponential { mean: f64 },
    Pareto { lambda: f64 },
    NetemPareto { size: f64 },
    Early { size: f64, early: f64 },
}

impl Delays {
    fn of(jitter: Jitter) -> Delays {
        match jitter {
            Jitter::None => Delays::None,
            Jitter::Uniform(largest) => Delays::Uniform {
                largest: largest.as_secs_f64(),
            },
            Jitter::Exponential(mean) => Delays::Exponential {
                mean: mean.as_secs_f64(),
            },
            // The mean is lambda / 2.
            Jitter::Pareto(mean) => Delays::Pareto {
                lambda: 2.0 * mean.as_secs_f64(),
            },
            Jitter::NetemPareto(size) => Delays::NetemPareto {
                size: size.as_secs_f64(),
            },
            Jitter::Early(size, early) => Delays::Early {
                size: size.as_secs_f64(),
                early: early.as_f64(),
            },
        }
    }

    /// The delay in seconds for a number drawn uniformly from [0, 1).
    #[inline]
    fn seconds(self, draw: f64) -> f64 {
        match self {
            Delays::None => 0.0,
            Delays::Uniform { largest } => largest * draw,
            Delays::Exponential { mean } => -mean * (-draw).ln_1p(),
            // The inverse of the distribution: lambda ((1 - u)^(-1/3) - 1).
            Delays::Pareto { lambda } => lambda * ((1.0 - draw).powf(-1.0 / 3.0) - 1.0),
            // iproute2's netem/pareto.c: 4/3 (x - 1.5), at most 4, in units of the size; -2/3 is its least.
            Delays::NetemPareto { size } => {
                size * (4.0 / 3.0 * ((1.0 - draw).powf(-1.0 / 3.0) - 1.0)).min(14.0 / 3.0)
            }
            Delays::Early { early, .. } if draw < early => 0.0,
            Delays::Early { size, .. } => size,
        }
    }
}

impl Jitter {
    /// The longest delay that is ever drawn, in nanoseconds.
    pub fn longest_ns(&self) -> u64 {
        // The largest number below 1 that `uniform` returns; all delays but `Early` grow with it.
        let draw = 1.0 - f64::EPSILON / 2.0;
        (Delays::of(*self).seconds(draw) * 1e9) as u64
    }
}

impl RandomLoss {
    /// Creates the random loss of the link with this configuration; `None` if its loss fraction is zero.
    pub fn new(config: &LinkConfig) -> Option<RandomLoss> {
        (config.loss != LossFraction::NONE).then(|| RandomLoss::from_seed(config))
    }

    /// Creates the random loss, even if its fraction is zero.
    pub(crate) fn from_seed(config: &LinkConfig) -> RandomLoss {
        RandomLoss {
            fraction: config.loss,
            random: Xoshiro256PlusPlus::seed_from_u64(config.seed),
        }
    }

    /// Changes the fraction.
    pub(crate) fn set(&mut self, fraction: LossFraction) {
        self.fraction = fraction;
    }

    /// Draws once and returns whether the next packet offered is lost.
    pub fn strikes(&mut self) -> bool {
        self.fraction.strikes(self.random.next_u64())
    }
}

/// Jitter that keeps the order of packets.
#[derive(Debug, Clone)]
pub struct InOrderJitter {
    delays: Delays,
    /// The jitter's own stream, so that neither loss nor jitter changes the other's draws.
    random: Xoshiro256PlusPlus,
    /// Time at which the previous packet comes out.
    last_due: Time,
}

impl InOrderJitter {
    /// Creates the jitter of a link with this seed; `None` for no jitter.
    pub fn new(jitter: Jitter, seed: u64) -> Option<InOrderJitter> {
        (!jitter.is_none()).then(|| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            random.jump();
            InOrderJitter {
                delays: Delays::of(jitter),
                random,
                last_due: Time::ZERO,
            }
        })
    }

    /// Returns when a packet comes out that is due at `due` without jitter. Draws once: call it for each packet in order.
    #[inline]
    pub fn delay(&mut self, due: Time) -> Time {
        let seconds = self.delays.seconds(uniform(&mut self.random));
        self.last_due = due.plus_nanos((seconds * 1e9) as u64).max(self.last_due);
        self.last_due
    }
}

/// A packet held by jitter. The greatest is due first, and of those due together the one that arrived first.
#[derive(Debug)]
struct Held<P> {
    due: Time,
    sequence: u64,
    packet: P,
}

impl<P> Ord for Held<P> {
    fn cmp(&self, other: &Held<P>) -> Ordering {
        (other.due, other.sequence).cmp(&(self.due, self.sequence))
    }
}

impl<P> PartialOrd for Held<P> {
    fn partial_cmp(&self, other: &Held<P>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Held<P> {
    fn eq(&self, other: &Held<P>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Held<P> {}

/// Jitter after a link that lets packets overtake each other.
#[derive(Debug)]
pub struct ReorderingJitter<P> {
    jitter: Jitter,
    stream: Stream,
    /// The next one first. A heap keeps its memory: a packet that comes to an empty link and leaves it allocates nothing.
    held: BinaryHeap<Held<P>>,
    sequence: u64,
}

impl<P> ReorderingJitter<P> {
    /// Creates jitter that draws from `stream` and holds no packet yet.
    pub fn new(jitter: Jitter, stream: Stream) -> ReorderingJitter<P> {
        ReorderingJitter {
            jitter,
            stream,
            held: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Holds a packet that came out of the link at `now`, and returns when it is due.
    pub fn hold(&mut self, now: Time, packet: P) -> Time {
        let extra = match self.jitter {
            Jitter::None => 0.0,
            Jitter::Uniform(largest) => largest.as_secs_f64() * self.stream.uniform(),
            Jitter::Exponential(mean) => self.stream.exponential(mean.as_secs_f64()),
            Jitter::Pareto(_) | Jitter::NetemPareto(_) | Jitter::Early(..) => {
                Delays::of(self.jitter).seconds(self.stream.uniform())
            }
        };
        let due = now + seconds(extra);
        self.held.push(Held {
            due,
            sequence: self.sequence,
            packet,
        });
        self.sequence += 1;
        due
    }

    /// Returns when the next packet is due; `None` if no packet is held.
    pub fn next_due(&self) -> Option<Time> {
        self.held.peek().map(|held| held.due)
    }

    /// Removes the packet that is due next and returns it with its due time.
    pub fn release(&mut self) -> Option<(Time, P)> {
        self.held.pop().map(|held| (held.due, held.packet))
    }

    /// Packets held.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_by_due_time_then_as_they_came() {
        for jitter in [Jitter::None, Jitter::Uniform(Duration::from_nanos(5))] {
            let mut held = ReorderingJitter::new(jitter, Stream::new(1, "link"));
            let mut expected = Vec::new();
            for number in 0..200u32 {
                let now = Time::ZERO.plus_nanos(u64::from(number / 3));
                expected.push((held.hold(now, number), number));
            }
            let overtaken = !expected.is_sorted();
            assert_eq!(overtaken, jitter != Jitter::None);
            // Stable: of those due together the first stays first.
            expected.sort_by_key(|&(due, _)| due);
            assert_eq!(held.held(), expected.len());
            for (due, number) in expected {
                assert_eq!(held.next_due(), Some(due));
                assert_eq!(held.release(), Some((due, number)));
            }
            assert_eq!((held.next_due(), held.release()), (None, None));
        }
    }
}
