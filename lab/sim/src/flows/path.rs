// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of a flow.

use crate::ids::LinkId;

/// The way between two hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    /// The links from the sender of the data to the receiver.
    pub forward: Vec<LinkId>,
    /// The links back, for ACKs; ignored for UDP.
    pub back: Vec<LinkId>,
}
