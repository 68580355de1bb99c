// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of a run that is a part of the network: the packets that go to other parts.

use netnice_queue::Time;

use crate::flows::bodies::Body;
use crate::packet::{Packet, Route};
use crate::simulation::partition::Share;

/// A packet on its way from one part to another: a link of the one has taken it in, and it comes out in the other.
#[derive(Debug)]
pub(super) struct Message {
    pub link: u32,
    pub due: Time,
    pub packet: Packet,
    pub body: Body,
}

/// State that only a run which is a part has.
#[derive(Debug)]
pub(super) struct Crossing {
    /// The part at the far end of each link that is a cut.
    pub cut_to: Vec<Option<u32>>,
    /// The links of this part.
    pub own: Vec<bool>,
    /// The route of packets that have gone to another part and stay on the link for its measurements.
    pub crossed: Route,
    /// Packets that have gone to each part in this window.
    pub sent: Vec<Vec<Message>>,
    /// Packets that have come from other parts.
    pub received: u64,
    /// Events that another part has counted, too.
    pub counted_elsewhere: u64,
}

impl Crossing {
    pub fn new(share: Share<'_>, links: usize) -> Crossing {
        Crossing {
            cut_to: (0..links).map(|link| share.cut_to(link)).collect(),
            own: (0..links).map(|link| share.has_link(link)).collect(),
            crossed: Route::default(),
            sent: (0..share.partition.parts).map(|_| Vec::new()).collect(),
            received: 0,
            counted_elsewhere: 0,
        }
    }

    /// The link leads to another part.
    pub fn is_cut(&self, link: usize) -> bool {
        self.cut_to[link].is_some()
    }

    /// The link belongs to this part.
    pub fn has(&self, link: usize) -> bool {
        self.own[link]
    }
}
