// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pending events of a run and the data structures that sort them.

mod buckets;
mod calendar_queue;
pub(crate) mod event_queue;
pub(crate) mod fifo_lanes;
pub(crate) mod flight;
mod heap;
mod link_fifos;
pub(crate) mod source;
mod timing_wheel;
mod winner_tree;
