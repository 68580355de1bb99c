// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link, and its form for a run.

use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{
    Bytes, DisciplineConfig, DisciplineContext, DisciplineError, Jitter as LinkJitter,
    LinkConditions, LinkConfig, LinkSetup, LossFraction, MarkerConfig, Packet, Rate,
    random::LinkStreams,
};

use crate::model::{Jitter, JitterDistribution};

/// Index of a node in [`super::Layout::nodes`].
pub type NodeIndex = usize;
/// Index of a direction of a link in [`super::Layout::links`].
pub type LinkIndex = usize;

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkLink {
    /// The link's name, with a member's number, and `(reverse)` on the way back: unique, and the same from run to run.
    pub name: String,
    /// Where packets come from.
    pub from: NodeIndex,
    /// Where they go.
    pub to: NodeIndex,
    /// Rate; `None` is a link that takes no time to send.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// The queue as it was written; limits are resolved by `base_rtt` and `packet_size`. Links of a group share it.
    pub queue: Arc<DisciplineConfig>,
    /// Random loss before the queue.
    pub loss: LossFraction,
    /// Random delay after the propagation.
    pub jitter: Option<Jitter>,
    /// Tagging before the queue.
    pub marker: Option<MarkerConfig>,
    /// Policer, shaper, trace, outages, changes and the like.
    pub conditions: Arc<LinkConditions>,
    /// Longest propagation round trip among the flows whose packets pass here, in either direction; of the link itself
    /// where none do.
    pub base_rtt: Duration,
    /// Largest packet of these flows; 1500 bytes where there are none.
    pub packet_size: Bytes,
}

impl NetworkLink {
    /// The link, with the random streams of the run with `seed`.
    pub fn setup<P: Packet>(&self, seed: u64) -> Result<LinkSetup<P>, DisciplineError> {
        let config = LinkConfig {
            rate: self.rate,
            delay: self.delay,
            loss: self.loss,
            ..LinkConfig::default()
        };
        let queue = (&*self.queue, &self.discipline_context());
        let streams = self.streams(seed);
        let mut setup = LinkSetup::described(config, queue, self.marker.as_ref(), streams)?;
        if let Some(jitter) = self.jitter {
            setup.jitter = match jitter.distribution {
                JitterDistribution::Uniform => LinkJitter::Uniform(jitter.size.get()),
                JitterDistribution::Exponential => LinkJitter::Exponential(jitter.size.get()),
                JitterDistribution::Pareto => LinkJitter::Pareto(jitter.size.get()),
                JitterDistribution::NetemPareto => LinkJitter::NetemPareto(jitter.size.get()),
                JitterDistribution::Early => {
                    let percent = || LossFraction::from_billionths(10_000_000).ok();
                    let early = jitter.early_fraction.or_else(percent).unwrap_or_default();
                    LinkJitter::Early(jitter.size.get(), early)
                }
            };
            setup.jitter_reorders = jitter.reordering;
        }
        setup.conditions = (*self.conditions).clone();
        Ok(setup)
    }

    /// Returns true if the link loses packets before its queue, at random or by a model, at some time.
    pub(crate) fn loses(&self) -> bool {
        let is_lossy = |loss: LossFraction| loss != LossFraction::NONE;
        let mut changes = self.conditions.changes.iter();
        is_lossy(self.loss)
            || self.conditions.loss_model.is_some()
            || changes.any(|change| change.loss.is_some_and(is_lossy))
    }

    /// The link's random streams in the run with `seed`.
    pub fn streams(&self, seed: u64) -> LinkStreams<'_> {
        LinkStreams::new(seed, &self.name)
    }

    /// The properties of the link that the queue's discipline must know.
    pub fn discipline_context(&self) -> DisciplineContext {
        DisciplineContext {
            rate: self.rate,
            delay: self.delay,
            base_rtt: self.base_rtt,
            packet_size: self.packet_size,
        }
    }
}
