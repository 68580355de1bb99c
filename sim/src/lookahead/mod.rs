// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that meet no other flow any more are simulated to the end of their route ahead of the present, and what packets
//! will need is fetched into the cache before they come.

pub(crate) mod fast_forward;
pub(crate) mod prefetch;
pub(crate) mod prefetch_batches;
pub(crate) mod survey;
