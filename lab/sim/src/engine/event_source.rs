// SPDX-License-Identifier: MIT OR Apache-2.0
//! Causes of events: the kind in the upper 4 bits, an index in the lower 28. Of simultaneous events the smaller number comes
//! first.

/// The first packet of a link's pipe comes out.
pub(crate) const LINK: u32 = 0;
/// A packet that jitter has held goes on.
pub(crate) const JITTER: u32 = 1 << 28;
/// The timer of a connection's receiver.
pub(crate) const RECEIVER_TIMER: u32 = 2 << 28;
/// The timer of a connection's sender.
pub(crate) const SENDER_TIMER: u32 = 3 << 28;
/// A flow's program begins.
pub(crate) const START: u32 = 4 << 28;
/// A flow's program writes.
pub(crate) const WRITE: u32 = 5 << 28;
/// A web session requests an object.
pub(crate) const SESSION: u32 = 6 << 28;
/// A flow's program writes no more.
pub(crate) const STOP: u32 = 7 << 28;
/// Time series are sampled.
pub(crate) const SAMPLE: u32 = 8 << 28;
/// Counters are recorded.
pub(crate) const CHECKPOINT: u32 = 9 << 28;
/// The warm-up is over.
pub(crate) const MEASURE: u32 = 10 << 28;

pub(crate) const KIND: u32 = 0xf000_0000;
pub(crate) const INDEX: u32 = !KIND;
