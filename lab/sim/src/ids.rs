// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of nodes, links and flows.

/// A node: a host or a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    /// The link at a place, from 0.
    pub fn new(index: usize) -> LinkId {
        LinkId(u32::try_from(index).expect("fewer than 2^32 links"))
    }

    /// The place among the links of a run, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow, in the order in which it was described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub(crate) u32);

impl FlowId {
    /// The flow at a place, from 0.
    pub fn new(index: usize) -> FlowId {
        FlowId(u32::try_from(index).expect("fewer than 2^32 flows"))
    }

    /// The place among the flows of a run, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
