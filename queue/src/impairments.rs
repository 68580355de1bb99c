// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link does to packets at random: it loses them before the queue, and delays them after the propagation.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::early_detection::uniform;
use crate::{LinkConfig, LossFraction, Time};

/// A random delay after the propagation, drawn anew for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jitter {
    /// None.
    #[default]
    None,
    /// Uniform from 0 to this.
    Uniform(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

/// The random part of a link that has one.
#[derive(Debug, Clone)]
pub(crate) struct Impairments {
    loss: LossFraction,
    loss_random: Xoshiro256PlusPlus,
    jitter: Jitter,
    /// A stream of its own, so that neither loss nor jitter changes the other's draws.
    jitter_random: Xoshiro256PlusPlus,
    /// When the packet before comes out.
    last_due: Time,
}

impl Impairments {
    /// `None` where nothing is random.
    pub(crate) fn new(config: &LinkConfig, jitter: Jitter) -> Option<Box<Impairments>> {
        let none = match jitter {
            Jitter::None => true,
            Jitter::Uniform(size) | Jitter::Exponential(size) => size.is_zero(),
        };
        if none && config.loss == LossFraction::NONE {
            return None;
        }
        let loss_random = Xoshiro256PlusPlus::seed_from_u64(config.seed);
        let mut jitter_random = loss_random.clone();
        jitter_random.jump();
        Some(Box::new(Impairments {
            loss: config.loss,
            loss_random,
            jitter: if none { Jitter::None } else { jitter },
            jitter_random,
            last_due: Time::ZERO,
        }))
    }

    /// Packets are delayed at random.
    pub(crate) fn delays(&self) -> bool {
        self.jitter != Jitter::None
    }

    /// The next packet offered is lost.
    pub(crate) fn loses(&mut self) -> bool {
        self.loss.strikes(self.loss_random.next_u64())
    }

    /// When a packet comes out that would do so at `due`.
    pub(crate) fn delay(&mut self, due: Time) -> Time {
        let seconds = match self.jitter {
            Jitter::None => return due,
            Jitter::Uniform(largest) => largest.as_secs_f64() * uniform(&mut self.jitter_random),
            Jitter::Exponential(mean) => {
                -mean.as_secs_f64() * (-uniform(&mut self.jitter_random)).ln_1p()
            }
        };
        self.last_due = due.plus_nanos((seconds * 1e9) as u64).max(self.last_due);
        self.last_due
    }
}
