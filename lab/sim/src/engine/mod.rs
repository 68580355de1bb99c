// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pending events of a run and the data structures that sort them.
//!
//! Read `scheduler` first, the interface, then `reference`, which implements it by one heap. `fast` implements it by
//! `packet_queue` (`link_fifos` with a `winner_tree`, or for many links `fifo_lanes`, each a `lane`, with a `calendar_queue` of `buckets`) for
//! packets on drop-tail links, by a `winner_tree` for links of other kinds, and by a `timing_wheel` before a `heap` for timers.
//! A `flight` is a packet on a link; `event_source` numbers the causes of events, which also orders simultaneous ones.

mod buckets;
mod calendar_queue;
pub(crate) mod event_source;
pub(crate) mod fast;
pub(crate) mod fifo_lanes;
pub(crate) mod flight;
mod heap;
mod lane;
pub(crate) mod link_fifos;
pub(crate) mod options;
mod packet_queue;
pub(crate) mod reference;
pub(crate) mod scheduler;
mod timing_wheel;
mod winner_tree;
