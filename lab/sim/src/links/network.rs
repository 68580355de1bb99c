// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes and links as they are described to the simulator.

use netnice_queue::{Discipline, DropTail, LinkConfig, LinkSetup, Queued};

use crate::engine::fast::MAX_LINKS;
use crate::error::BuildError;
use crate::ids::{LinkId, NodeId};
use crate::packet::Packet;
use crate::trace::captures::LinkCapture;

/// The queue of a simulated link.
pub type Queue = Discipline<Queued<Packet>>;

/// One direction of a link of the simulator.
#[derive(Debug)]
pub struct LinkSpec {
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// Queue, marker and impairments. The simulator derives the seeds of loss and jitter from the run's seed and the name.
    pub setup: LinkSetup<Packet>,
    /// Name in results, and of its random stream. Should be unique.
    pub name: String,
    /// Waiting times and occupancy are measured.
    pub measured: bool,
    /// Queue length and waiting time are recorded at the sampling interval.
    pub sampled: bool,
    /// Packets that come out of the link are written to a trace.
    pub capture: Option<LinkCapture>,
    /// Events of packets are written to the run's trace of events
    /// ([`Simulation::record_events`](crate::Simulation::record_events)).
    pub recorded: bool,
}

impl LinkSpec {
    /// A link with a drop-tail queue of `limit` packets, whose waiting times are measured.
    pub fn drop_tail(
        name: impl Into<String>,
        (from, to): (NodeId, NodeId),
        config: LinkConfig,
        limit: usize,
    ) -> LinkSpec {
        LinkSpec {
            from,
            to,
            setup: LinkSetup::new(config, Queue::DropTail(DropTail::packets(limit))),
            name: name.into(),
            measured: true,
            sampled: false,
            capture: None,
            recorded: false,
        }
    }

    /// Checks that this may be link number `index` of a run.
    pub(crate) fn check(&self, index: usize) -> Result<(), BuildError> {
        let refuse = |reason: &str| {
            Err(BuildError::Link {
                link: self.name.clone(),
                reason: reason.to_owned(),
            })
        };
        if self.from == self.to {
            return refuse("it leads to the node where it begins");
        }
        if index >= MAX_LINKS {
            return refuse("a run has at most 2^24 links");
        }
        Ok(())
    }
}

/// The nodes of a simulation and the links between them.
#[derive(Debug, Default)]
pub struct Network {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<LinkSpec>,
}

impl Network {
    /// A network without nodes.
    pub fn new() -> Network {
        Network::default()
    }

    /// A new node called `name`.
    pub fn node(&mut self, name: impl Into<String>) -> NodeId {
        self.nodes.push(name.into());
        NodeId(u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 nodes"))
    }

    /// A new link in one direction.
    pub fn link(&mut self, link: LinkSpec) -> Result<LinkId, BuildError> {
        let index = self.links.len();
        link.check(index)?;
        self.links.push(link);
        Ok(LinkId(index as u32))
    }

    /// The description of a link, to change it.
    pub fn link_mut(&mut self, link: LinkId) -> &mut LinkSpec {
        &mut self.links[link.index()]
    }

    /// Number of links, each in one direction.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize]
    }
}
