// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that meet no other flow any more are simulated to the end of their route ahead of the present, and what packets
//! will need is fetched into the cache before they come.
//!
//! Results do not depend on it, and [`EngineOptions::lookahead`](crate::EngineOptions::lookahead) switches it off.

pub(crate) mod deferred;
pub(crate) mod limits;
pub(crate) mod prefetch;
pub(crate) mod prefetch_batches;
pub(crate) mod survey;

use netnice_queue::Time;

use deferred::Deferred;
use limits::Limits;
use prefetch_batches::Batches;

/// The state of the lookahead of a run.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// How far packets are fast-forwarded.
    pub limits: Limits,
    /// Those whose turn is deferred.
    pub deferred: Deferred,
    /// Those that are prefetched for.
    pub batches: Batches,
}

impl Lookahead {
    /// Nothing is done ahead of the present yet, in a run that ends at `end`.
    pub fn new(end: Time) -> Lookahead {
        Lookahead {
            limits: Limits::default(),
            deferred: Deferred::new(end),
            batches: Batches::default(),
        }
    }
}
