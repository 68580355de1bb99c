// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration of one direction of a link.

use std::time::Duration;

use crate::units::{LossFraction, Rate};

/// Rate, propagation delay and random loss of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkConfig {
    /// Transmission rate; with `None`, a transmission takes no time and the link never queues.
    pub rate: Option<Rate>,
    /// One-way propagation delay, after the last bit is sent.
    pub delay: Duration,
    /// Random loss of arriving packets, before the queue: a lost packet takes neither queue space nor link time. The
    /// loss of the n-th packet offered depends only on the seed and n, never on timing.
    pub loss: LossFraction,
    /// Seed of this direction's own random streams: one for loss, one for jitter.
    pub seed: u64,
}

impl LinkConfig {
    /// The propagation delay in nanoseconds, 584 years at most.
    pub fn delay_ns(&self) -> u64 {
        u64::try_from(self.delay.as_nanos()).unwrap_or(u64::MAX)
    }
}
