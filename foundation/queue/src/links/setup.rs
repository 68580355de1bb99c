// SPDX-License-Identifier: MIT OR Apache-2.0
//! Construction of a link from its parts, and the random stream that each part draws from.

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::{Discipline, DisciplineConfig};
use crate::links::conditions::LinkConditions;
use crate::links::config::LinkConfig;
use crate::links::impairments::{Jitter, ReorderingJitter};
use crate::links::link::Queued;
use crate::markers::{Marker, MarkerConfig};
use crate::queue_discipline::Packet;
use crate::random::LinkStreams;

/// One direction of a link before a run: its queue, its marker and its impairments.
#[derive(Debug)]
pub struct LinkSetup<P> {
    /// Rate, propagation delay and random loss. [`LinkSetup::seeded`] sets the seed.
    pub config: LinkConfig,
    /// The queue discipline.
    pub queue: Discipline<Queued<P>>,
    /// Random delay after propagation.
    pub jitter: Jitter,
    /// True if jitter lets packets overtake each other; otherwise each waits for the one before.
    pub jitter_reorders: bool,
    /// Marker before the queue.
    pub marker: Option<Marker>,
    /// Policer, shaper, trace and the like.
    pub conditions: LinkConditions,
}

impl<P: Packet> LinkSetup<P> {
    /// Creates a link with this queue, without marker and without jitter.
    pub fn new(config: LinkConfig, queue: Discipline<Queued<P>>) -> LinkSetup<P> {
        LinkSetup {
            config,
            queue,
            jitter: Jitter::None,
            jitter_reorders: false,
            marker: None,
            conditions: LinkConditions::default(),
        }
    }

    /// Creates a link from descriptions of its queue and marker; `streams` are the link's.
    pub fn described(
        config: LinkConfig,
        queue: (&DisciplineConfig, &DisciplineContext),
        marker: Option<&MarkerConfig>,
        streams: LinkStreams<'_>,
    ) -> Result<LinkSetup<P>, DisciplineError> {
        let queue = Discipline::new(queue.0, queue.1, streams.queue_seed())?;
        Ok(LinkSetup {
            marker: marker.map(|config| Marker::new(config, streams.marker_seed())),
            ..LinkSetup::new(config, queue)
        })
    }

    /// Lets loss and jitter draw from `streams`. A packet passes the marker, the link, and the jitter that lets packets
    /// overtake each other, if there is one: it comes back beside the rest.
    pub fn seeded(
        mut self,
        streams: LinkStreams<'_>,
    ) -> (LinkSetup<P>, Option<ReorderingJitter<P>>) {
        self.config.seed = streams.link_seed();
        if !self.jitter_reorders || self.jitter.is_none() {
            return (self, None);
        }
        let reordering = ReorderingJitter::new(self.jitter, streams.reordering());
        self.jitter = Jitter::None;
        (self, Some(reordering))
    }
}
