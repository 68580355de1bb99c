// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes and links as they are described to the engine.

use netnice_queue::{LinkConfig, Queued};

use crate::Packet;
use crate::error::BuildError;

/// The discipline of a simulated link.
pub type Queue = netnice_queue::DropTail<Queued<Packet>>;

/// A node: a host or a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

/// One direction of a link.
#[derive(Debug)]
pub struct LinkSpec {
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// Rate, propagation delay and random loss. The seed is set by the engine from the run's seed and the name.
    pub config: LinkConfig,
    /// Packets wait here.
    pub queue: Queue,
    /// Name in results, and of its random stream.
    pub name: String,
    /// Occupancy is sampled over time, and it has an entry in the results.
    pub measured: bool,
}

/// The nodes and the links between them.
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
        if link.from == link.to {
            return Err(BuildError::Link {
                link: link.name,
                reason: "it leads to the node where it begins".to_owned(),
            });
        }
        self.links.push(link);
        Ok(LinkId(
            u32::try_from(self.links.len() - 1).expect("fewer than 2^32 links"),
        ))
    }

    /// The name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize]
    }
}
