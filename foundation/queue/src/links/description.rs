// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link as it is described: by a scenario, or by the options of `netnice link`.

use std::sync::Arc;
use std::time::Duration;

use super::conditions::LinkConditions;
use super::config::LinkConfig;
use super::jitter_config::JitterConfig;
use super::setup::LinkSetup;
use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::DisciplineConfig;
use crate::markers::MarkerConfig;
use crate::queue_discipline::Packet;
use crate::random::LinkStreams;
use crate::units::{Bytes, LossFraction, QueueBound, Rate};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkDescription {
    /// Name, unique in its network: the link's random streams depend on it.
    pub name: String,
    /// Rate; `None` is a link that takes no time to send.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// The queue as it was written; limits are resolved by `base_rtt` and `packet_size`. Links of a group share it.
    pub queue: Arc<DisciplineConfig>,
    /// Random loss before the queue.
    pub loss: LossFraction,
    /// Random delay after the propagation.
    pub jitter: Option<JitterConfig>,
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

impl LinkDescription {
    /// The link, with the random streams of the run with `seed`.
    ///
    /// # Errors
    /// If the queue cannot be made for a link of this rate and these packets.
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
            setup.jitter = jitter.jitter();
            setup.jitter_reorders = jitter.reordering;
        }
        setup.conditions = (*self.conditions).clone();
        Ok(setup)
    }

    /// Returns true if the link loses packets before its queue, at random or by a model, at some time.
    pub fn loses(&self) -> bool {
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

    /// Returns the bytes that the link and its queue hold with a round-trip time of `rtt`; `None` of a link without a rate.
    pub fn bytes_in_flight(&self, rtt: Duration) -> Option<u64> {
        let bound = self.discipline_context().bound(self.queue.limit()).ok()?;
        let queue = match bound {
            QueueBound::Packets(packets) => packets as u64 * self.packet_size.get(),
            QueueBound::Bytes(bytes) => bytes,
        };
        Some(self.rate?.bytes_in(rtt).get() + queue)
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
