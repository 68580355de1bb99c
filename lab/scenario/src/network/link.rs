// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link between two nodes.

use std::ops::Deref;
use std::sync::Arc;

use netnice_queue::LinkDescription;

/// Index of a node in [`super::Layout::nodes`].
pub type NodeIndex = usize;
/// Index of a direction of a link in [`super::Layout::links`].
pub type LinkIndex = usize;

/// One direction of a link, and the nodes that it joins. Its description's name is the link's, with a member's number, and
/// `(reverse)` on the reverse path: unique, and the same from run to run.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkLink {
    /// Where packets come from.
    pub from: NodeIndex,
    /// Where they go.
    pub to: NodeIndex,
    /// The description's name without a member's number.
    pub group: Arc<str>,
    /// What the link is like.
    pub description: LinkDescription,
}

impl Deref for NetworkLink {
    type Target = LinkDescription;

    fn deref(&self) -> &LinkDescription {
        &self.description
    }
}
